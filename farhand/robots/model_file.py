"""MJCF and URDF files as MuJoCo specs: read, lock joints, add a tool, keep only the mechanism."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from farhand.errors import FileError, ModelError, UnknownName

SUFFIXES = (".xml", ".mjcf", ".urdf")
TOOL = "tool"
TOOL_NAMES = ("attachment_site", "pinch_site", "tool0", "tcp", "ee_site", "gripper")
"""Sites, and links that no joint of their own moves, that are taken for the tool, best first."""

JAW_JOINTS = re.compile("finger|jaw|grip|thumb|knuckle|claw", re.IGNORECASE)
JAW_BODIES = re.compile("finger|thumb|knuckle|claw|(jaw|grip).*mov|mov.*(jaw|grip)", re.IGNORECASE)
"""Names of joints and bodies that open and close a gripper. ``gripper_link`` is often the hand."""


# otherwise MuJoCo writes a log file into the working directory
mujoco.set_mju_user_warning(lambda text: None)


def read_spec(path: Path) -> mujoco.MjSpec:
    """Parse an MJCF or URDF file. Meshes and includes are looked up from the file's folder.

    Static bodies are never fused, so that every link keeps its name.

    Raises:
        FileError: the file is not there or cannot be read.
        ModelError: its content is not a model.
    """
    path = path.absolute()
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise FileError(f"cannot read robot file {path}: {error.strerror}") from None
    try:
        spec = mujoco.MjSpec.from_file(str(path))
    except ValueError as error:
        raise ModelError(f"{path}: {one_line(error)}") from None
    spec.compiler.fusestatic = False
    return spec


def compile_spec(spec: mujoco.MjSpec, what: str) -> mujoco.MjModel:
    """Compile a spec; MuJoCo's error becomes a one-line :class:`ModelError` about ``what``."""
    try:
        return spec.compile()
    except ValueError as error:
        text = one_line(error)
        if "balanceinertia" in text:
            compiler = '<compiler balanceinertia="true"/>'
            advice = f"correct its <inertia>, or write {compiler} below <mujoco> to have it evened"
            text = f"{text.partition(';')[0]} ({text.partition('Element ')[2]}): {advice}"
            text += f"; in a URDF <mujoco>{compiler}</mujoco> below <robot>"
        raise ModelError(f"{what}: {text}") from None


def one_line(error: Exception) -> str:
    """An exception's text without line breaks."""
    return " ".join(str(error).split())


def strip(spec: mujoco.MjSpec) -> None:
    """Remove actuators, sensors, keyframes and ``<option>``, in place: plant and rig decide."""
    for element in [*spec.keys, *spec.sensors, *spec.actuators]:
        spec.delete(element)
    spec.option = mujoco.MjSpec().option
    for field in ("option", "disableflags", "enableflags", "disableactuator"):
        # otherwise attaching the spec warns about options that are gone
        setattr(spec.authored, field, 0)


def place(
    spec: mujoco.MjSpec, position: NDArray[np.float64], quaternion_wxyz: NDArray[np.float64]
) -> None:
    """Move everything in a spec's world to another pose, in place.

    Attaching to an empty world would do the same, but MuJoCo warns about an empty name prefix.
    """
    world = spec.worldbody
    kinds = world.frames, world.bodies, world.geoms, world.sites, world.cameras, world.lights
    elements = [element for kind in kinds for element in kind]
    frame = world.add_frame(pos=position, quat=quaternion_wxyz)
    for element in elements:
        if element.frame is None:
            element.set_frame(frame)


def add_tool(spec: mujoco.MjSpec, what: str, advice: str) -> str:
    """Add the ``tool`` site, in place, and return where it is and why.

    A site or a link with one of the :data:`TOOL_NAMES` counts first, then the end of a single
    chain. What opens and closes a gripper is no part of that chain.

    Raises:
        ModelError: the moving bodies branch, so that the end is not unique.
    """
    moving = [body for body in spec.bodies if moves(body)]
    for name in TOOL_NAMES:
        site = next((site for site in spec.sites if site.name.lower() == name), None)
        if site is not None and moves(site.parent):
            tool_at_site(spec, site, what)
            return f"at the site {site.name} of {_named(site.parent)}"
        link = next((body for body in moving if body.name.lower() == name), None)
        if link is not None and not link.joints:
            link.add_site(name=TOOL)
            return f"at the origin of the link {link.name}"
    jaws = [body for body in moving if _is_jaw(body)]
    chain = [body for body in moving if not any(_carries(jaw, body) for jaw in jaws)]
    roots = [body for body in chain if not moves(body.parent)]
    if len(roots) != 1 or any(sum(child in chain for child in body.bodies) > 1 for body in chain):
        names = ", ".join(_named(body) for body in moving)
        cause = "branches and has no tool frame"
        raise ModelError(f"{what} {cause}: {advice}; its moving bodies: {names}")
    last = chain[-1]
    last.add_site(name=TOOL)
    where = f"at the origin of {_named(last)}, the last body"
    joints = ", ".join(f'"{joint.name}"' for jaw in jaws for joint in jaw.joints)
    gripper = f" before the gripper, which locked = [{joints}] would fix" if jaws else ""
    return f"{where}{gripper}: the model has no site named {TOOL!r}"


def tool_at_site(spec: mujoco.MjSpec, site: mujoco.MjsSite, what: str) -> None:
    """Put the ``tool`` site where another one is, replacing any other, in place."""
    model = compile_spec(spec.copy(), what)
    at = model.site(site.name)
    existing = spec.site(TOOL)
    if existing is not None:
        spec.delete(existing)
    # in the body's own axes, whatever frame the site was written in
    site.parent.add_site(name=TOOL, pos=at.pos, quat=at.quat)


def _is_jaw(body: mujoco.MjsBody) -> bool:
    """Whether a joint of the body opens and closes a gripper, by their names."""
    names = [joint.name for joint in body.joints]
    return bool(names) and (
        any(JAW_JOINTS.search(name) for name in names) or bool(JAW_BODIES.search(body.name))
    )


def _carries(body: mujoco.MjsBody, other: mujoco.MjsBody) -> bool:
    """Whether ``other`` is the body itself or fixed to it, directly or through others."""
    while other.name != "world":
        if other == body:
            return True
        other = other.parent
    return False


def _named(body: mujoco.MjsBody) -> str:
    return body.name or "(unnamed)"


def moves(body: mujoco.MjsBody) -> bool:
    """Whether a joint of the body, or of a body that carries it, moves it."""
    while body.name != "world":
        if body.joints:
            return True
        body = body.parent
    return False


def lock(spec: mujoco.MjSpec, names: Sequence[str], where: str) -> None:
    """Fix joints at zero: remove them, their actuators, tendons and keyframe entries, in place.

    A constraint that makes a locked joint follow another goes too. One that makes another joint
    follow a locked one stays, because that other joint is still tied. All sensors go.

    Raises:
        UnknownName: there is no such joint.
    """
    for name in names:
        if spec.joint(name) is None:
            raise UnknownName("joint", name, [item.name for item in spec.joints])
    if not names:
        return
    if spec.keys:
        _shorten_keyframes(spec, names, where)
    tendons = [tendon for tendon in spec.tendons if set(_joints_of(tendon)) <= set(names)]
    targets = {*names, *(tendon.name for tendon in tendons)}
    transmission, equality = mujoco.mjtTrn, mujoco.mjtEq.mjEQ_JOINT
    kinds = (transmission.mjTRN_JOINT, transmission.mjTRN_JOINTINPARENT, transmission.mjTRN_TENDON)
    actuators = [one for one in spec.actuators if one.trntype in kinds and one.target in targets]
    following = [one for one in spec.equalities if one.type == equality and one.name1 in names]
    joints = [spec.joint(name) for name in names]
    for element in [*spec.sensors, *actuators, *following, *tendons, *joints]:
        spec.delete(element)


def _joints_of(tendon: mujoco.MjsTendon) -> list[str | None]:
    """Names of the joints that a tendon runs over; None for a site, a geom or a pulley."""
    joint = mujoco.mjtWrap.mjWRAP_JOINT
    return [wrap.target.name if wrap.type == joint else None for wrap in tendon.path]


def _shorten_keyframes(spec: mujoco.MjSpec, names: Sequence[str], where: str) -> None:
    """Keep the positions of the joints that stay; speeds and commands are not used."""
    model = compile_spec(spec.copy(), where)
    widths = {int(mujoco.mjtJoint.mjJNT_FREE): 7, int(mujoco.mjtJoint.mjJNT_BALL): 4}
    stays = np.ones(model.nq, dtype=bool)
    for name in names:
        joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        at = int(model.jnt_qposadr[joint])
        stays[at : at + widths.get(int(model.jnt_type[joint]), 1)] = False
    for key in spec.keys:
        positions = np.array(key.qpos)
        key.qpos = positions[stays] if positions.size == model.nq else []
        key.qvel = key.act = key.ctrl = []
