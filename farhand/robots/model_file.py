"""MJCF and URDF files as MuJoCo specs: read, lock joints, add a tool, keep only the mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from farhand.errors import FileError, ModelError, UnknownName

SUFFIXES = (".xml", ".mjcf", ".urdf")
TOOL = "tool"

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
        raise ModelError(f"{what}: {one_line(error)}") from None


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
    """Add the ``tool`` site at the end of a single chain, in place; return where, in words.

    Raises:
        ModelError: the moving bodies branch, so that the end is not unique.
    """
    moving = [body for body in spec.bodies if moves(body)]
    roots = [body for body in moving if not moves(body.parent)]
    if len(roots) != 1 or any(len(body.bodies) > 1 for body in moving):
        names = ", ".join(body.name or "(unnamed)" for body in moving)
        cause = "branches and has no tool frame"
        raise ModelError(f"{what} {cause}: {advice}; its moving bodies: {names}")
    last = moving[-1]
    last.add_site(name=TOOL)
    name = last.name or "(unnamed)"
    return f"origin of the last body, {name}: the model has no site named {TOOL!r}"


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
