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
TOOL_NAMES = tuple(
    "attachment_site pinch_site pinch grasp_site grasp gripperframe gripper_frame"
    " gripper_frame_link tcp tool0 tool_frame grasptarget ee_site ee_link end_effector"
    " end_effector_link gripper".split()
)
"""Sites, and links that no joint of their own moves, that are taken for the tool, best first."""

JAW_JOINTS = re.compile("finger|jaw|grip|thumb|knuckle|claw", re.IGNORECASE)
JAW_BODIES = re.compile("finger|thumb|knuckle|claw|(jaw|grip).*mov|mov.*(jaw|grip)", re.IGNORECASE)
STANDING = re.compile("static|fixed|base", re.IGNORECASE)
"""Names of joints and bodies that open and close a gripper, and of fingers that do not move.

``gripper_link`` is often the hand.
"""

TENDON_FORCES = ("stiffness", "damping", "frictionloss", "armature")
"""What a tendon does by itself, without a motor."""

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
    fingers = jaws(spec)
    chain = [body for body in moving if not any(_carries(jaw, body) for jaw in fingers)]
    if not chain:
        # a single finger is an arm, too
        chain, fingers = moving, []
    for name in TOOL_NAMES:
        sites = [one for one in spec.sites if one.parent in chain and _has_name(one, name)]
        if len(sites) == 1:
            tool_at_site(spec, sites[0], what)
            return f"at the site {sites[0].name} of {_named(sites[0].parent)}"
        links = [body for body in chain if _has_name(body, name) and not body.joints]
        if len(links) == 1:
            links[0].add_site(name=TOOL)
            return f"at the origin of the link {links[0].name}"
    last = _end(chain)
    if last is None:
        names = ", ".join(_named(body) for body in moving)
        cause = "branches and has no tool frame"
        raise ModelError(f"{what} {cause}: {advice}; its moving bodies: {names}")
    last.add_site(name=TOOL)
    where = f"at the origin of {_named(last)}, the last body"
    gripper = " before the gripper" if fingers else ""
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


def _end(chain: list[mujoco.MjsBody]) -> mujoco.MjsBody | None:
    """The last body of a chain, or None if it branches before its last joint."""
    following = [body for body in chain if body.parent not in chain]
    last = None
    while len(following) == 1:
        last = following[0]
        following = [body for body in last.bodies if body in chain]
    return None if any(body.find_all("joint") for body in following) else last


def _has_name(element: mujoco.MjsBody | mujoco.MjsSite, name: str) -> bool:
    """Whether the name is this one, in capitals or behind the prefix of a robot or not."""
    found = element.name.lower().rpartition("/")[2]
    return found == name or found.endswith(f"_{name}")


def jaws(spec: mujoco.MjSpec) -> list[mujoco.MjsBody]:
    """Bodies whose joints open and close a gripper: by their names, or tied beside each other.

    A joint beyond which another one belongs to the arm is part of the arm, whatever ties it.
    """
    tied = _tied_joints(spec)
    found: list[mujoco.MjsBody] = []
    for body in reversed(spec.bodies):
        beyond = [one for one in spec.bodies if one != body and one.joints and _carries(body, one)]
        is_tied = body.joints and all(joint in tied for joint in body.joints)
        if is_jaw(body) or (is_tied and all(other in found for other in beyond)):
            found.append(body)
    return found[::-1]


def is_jaw(body: mujoco.MjsBody) -> bool:
    """Whether a joint of the body opens and closes a gripper, by their names."""
    matches = [match for joint in body.joints if (match := JAW_JOINTS.search(joint.name))]
    if any(match[0].lower() == "grip" for match in matches):
        # joint_gripper often turns the whole gripper, with its fingers
        return len(body.find_all("joint")) == len(body.joints)
    by_body = JAW_BODIES.search(body.name) and not STANDING.search(body.name)
    return bool(body.joints) and bool(matches or by_body)


def _tied_joints(spec: mujoco.MjSpec) -> list[mujoco.MjsJoint]:
    """Joints that a constraint ties to another one that neither carries nor is carried by it."""
    tied = []
    for equality in spec.equalities:
        tied += joints_of_loop(spec, equality)
        if equality.type == mujoco.mjtEq.mjEQ_JOINT and equality.name2:
            pair = [spec.joint(equality.name1), spec.joint(equality.name2)]
            bodies = [joint.parent for joint in pair]
            if not (_carries(*bodies) or _carries(*bodies[::-1])):
                tied += pair
    return tied


def joints_of_loop(spec: mujoco.MjSpec, equality: mujoco.MjsEquality) -> list[mujoco.MjsJoint]:
    """Joints of the loop that a constraint closes between two bodies beyond the same moving one.

    None for any other constraint.
    """
    if equality.type not in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD):
        return []
    names = [equality.name1, equality.name2]
    if equality.objtype == mujoco.mjtObj.mjOBJ_SITE:
        names = [spec.site(name).parent.name for name in names]
    first, second = (carriers(spec.body(name or "world")) for name in names)
    if not any(body.joints for body in first if body in second):
        return []
    bodies = [body for body in first if body not in second]
    bodies += [body for body in second if body not in first]
    return [joint for body in bodies for joint in body.joints]


def carriers(body: mujoco.MjsBody) -> list[mujoco.MjsBody]:
    """The body and all that carry it, the world left out."""
    found = []
    while body.name != "world":
        found.append(body)
        body = body.parent
    return found


def _carries(body: mujoco.MjsBody, other: mujoco.MjsBody) -> bool:
    """Whether ``other`` is the body itself or fixed to it, directly or through others."""
    return body in carriers(other)


def _named(body: mujoco.MjsBody) -> str:
    return body.name or "(unnamed)"


def moves(body: mujoco.MjsBody) -> bool:
    """Whether a joint of the body, or of a body that carries it, moves it."""
    return any(one.joints for one in carriers(body))


def lock(spec: mujoco.MjSpec, names: Sequence[str], where: str) -> list[str]:
    """Fix joints at zero: remove them, their actuators, tendons and keyframe entries, in place.

    A joint that is tied to a locked one cannot move either and is locked with it. All sensors go.

    Returns:
        The joints that were locked.

    Raises:
        UnknownName: there is no such joint.
    """
    for name in names:
        if spec.joint(name) is None:
            raise UnknownName("joint", name, [item.name for item in spec.joints])
    if not names:
        return []
    kind = mujoco.mjtEq.mjEQ_JOINT
    ties = [one for one in spec.equalities if one.type == kind and one.active and one.name2]
    locked = list(dict.fromkeys(names))
    while new := [
        other
        for one in ties
        for name, other in ((one.name1, one.name2), (one.name2, one.name1))
        if name in locked and other not in locked
    ]:
        locked.append(new[0])
    if spec.keys:
        _shorten_keyframes(spec, locked, where)
    tendons = [tendon for tendon in spec.tendons if _goes_with(tendon, set(locked))]
    targets = {*locked, *(tendon.name for tendon in tendons)}
    transmission = mujoco.mjtTrn
    kinds = (transmission.mjTRN_JOINT, transmission.mjTRN_JOINTINPARENT, transmission.mjTRN_TENDON)
    actuators = [one for one in spec.actuators if one.trntype in kinds and one.target in targets]
    equalities = [
        one for one in spec.equalities if one.type == kind and {one.name1, one.name2} & set(locked)
    ]
    joints = [spec.joint(name) for name in locked]
    for element in [*spec.sensors, *actuators, *equalities, *tendons, *joints]:
        spec.delete(element)
    return locked


def _goes_with(tendon: mujoco.MjsTendon, locked: set[str]) -> bool:
    """Whether a tendon has nothing left to do once some joints are locked."""
    joints = set(joints_of_tendon(tendon))
    forceless = not any(np.any(getattr(tendon, field)) for field in TENDON_FORCES)
    return joints <= locked or (forceless and not locked.isdisjoint(joints))


def joints_of_tendon(tendon: mujoco.MjsTendon) -> list[str | None]:
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
