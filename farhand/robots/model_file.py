"""MJCF and URDF files as MuJoCo specs: read, complete with a tool site, and strip of everything but the mechanism."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
from numpy.typing import NDArray

from farhand.errors import FileError, ModelError

SUFFIXES = (".xml", ".mjcf", ".urdf")
TOOL = "tool"


def read_spec(path: Path) -> mujoco.MjSpec:
    """Parse an MJCF or URDF file. Meshes and includes are looked up from the file's folder.

    Static bodies are kept apart even where the file asks for fusing, so that every link keeps its name.

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
    """Compile a spec; MuJoCo's complaint becomes a :class:`ModelError` on one line that starts with ``what``."""
    try:
        return spec.compile()
    except ValueError as error:
        raise ModelError(f"{what}: {one_line(error)}") from None


def one_line(error: Exception) -> str:
    """An exception's text without line breaks."""
    return " ".join(str(error).split())


def strip(spec: mujoco.MjSpec) -> None:
    """Remove actuators, sensors, keyframes and ``<option>`` in place: the plant and the rig decide about those."""
    for element in [*spec.keys, *spec.sensors, *spec.actuators]:
        spec.delete(element)
    spec.option = mujoco.MjSpec().option
    for field in ("option", "disableflags", "enableflags", "disableactuator"):
        setattr(spec.authored, field, 0)  # otherwise attaching the spec warns about options that are gone


def place(spec: mujoco.MjSpec, position: NDArray[np.float64], quaternion_wxyz: NDArray[np.float64]) -> None:
    """Move everything in a spec's world to another pose, in place.

    Attaching to an empty world would do the same, but MuJoCo warns about an empty name prefix.
    """
    world = spec.worldbody
    elements = [*world.frames, *world.bodies, *world.geoms, *world.sites, *world.cameras, *world.lights]
    frame = world.add_frame(pos=position, quat=quaternion_wxyz)
    for element in elements:
        if element.frame is None:
            element.set_frame(frame)


def add_tool(spec: mujoco.MjSpec, what: str) -> str:
    """Add the ``tool`` site at the end of a single chain, in place; return where it went, in words.

    Raises:
        ModelError: the moving bodies branch, so that the end is not unique.
    """
    moving = [body for body in spec.bodies if _moves(body)]
    roots = [body for body in moving if not _moves(body.parent)]
    if len(roots) != 1 or any(len(body.bodies) > 1 for body in moving):
        names = ", ".join(body.name or "(unnamed)" for body in moving) or "none"
        raise ModelError(f'{what} has no tool frame: add <site name="{TOOL}"/> to one of its moving bodies: {names}')
    last = moving[-1]
    last.add_site(name=TOOL)
    return f"origin of the last body, {last.name or '(unnamed)'}: the model has no site named {TOOL!r}"


def _moves(body: mujoco.MjsBody) -> bool:
    while body.name != "world":
        if body.joints:
            return True
        body = body.parent
    return False


def torque_limits(model: mujoco.MjModel) -> NDArray[np.float64]:
    """Largest effort of each DOF that the file states, [N·m or N]; inf where it states none.

    Looks at the joint's ``actuatorfrcrange`` (a URDF's ``effort``) and at actuators that act on one joint: their
    ``forcerange``, or the ``ctrlrange`` of a plain motor, times the gear.
    """
    limits = np.full(model.nv, np.inf)
    for joint in np.flatnonzero(model.jnt_actfrclimited):
        dof = int(model.jnt_dofadr[joint])
        limits[dof] = np.abs(model.jnt_actfrcrange[joint]).max()
    for actuator in range(model.nu):
        if int(model.actuator_trntype[actuator]) != int(mujoco.mjtTrn.mjTRN_JOINT):
            continue
        dof = int(model.jnt_dofadr[model.actuator_trnid[actuator, 0]])
        force = _actuator_force(model, actuator) * abs(float(model.actuator_gear[actuator, 0]))
        limits[dof] = min(limits[dof], force)
    return limits


def _actuator_force(model: mujoco.MjModel, actuator: int) -> float:
    if model.actuator_forcelimited[actuator]:
        return float(np.abs(model.actuator_forcerange[actuator]).max())
    plain = int(model.actuator_biastype[actuator]) == int(mujoco.mjtBias.mjBIAS_NONE)
    if plain and model.actuator_ctrllimited[actuator]:
        return float(np.abs(model.actuator_ctrlrange[actuator]).max() * abs(model.actuator_gainprm[actuator, 0]))
    return np.inf


def velocity_limits(path: Path, model: mujoco.MjModel) -> NDArray[np.float64]:
    """Speed limit of each DOF, [rad/s or m/s]: a URDF's ``<limit velocity>``, which MuJoCo does not keep; else inf."""
    limits = np.full(model.nv, np.inf)
    if path.suffix.lower() != ".urdf":
        return limits
    try:
        joints = ElementTree.parse(path).getroot().iter("joint")
        pairs = [(joint.get("name", ""), limit) for joint in joints for limit in joint.iter("limit")]
        speeds = {name: float(limit.get("velocity", 0)) for name, limit in pairs}
    except (ElementTree.ParseError, ValueError) as error:
        raise ModelError(f"{path}: {one_line(error)}") from None
    for name, speed in speeds.items():
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        if index >= 0 and speed > 0:
            limits[int(model.jnt_dofadr[index])] = speed
    return limits


def position_limits(model: mujoco.MjModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper limit of each DOF, [rad or m]; infinite for unlimited, ball and free joints."""
    lower, upper = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    for joint in np.flatnonzero(model.jnt_limited & single_dof(model)):
        dof = int(model.jnt_dofadr[joint])
        lower[dof], upper[dof] = model.jnt_range[joint]
    return lower, upper


def single_dof(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Which joints are hinges or slides."""
    return (model.jnt_type == int(mujoco.mjtJoint.mjJNT_HINGE)) | (model.jnt_type == int(mujoco.mjtJoint.mjJNT_SLIDE))
