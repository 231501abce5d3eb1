"""MJCF and URDF files as MuJoCo specs: read, complete with a tool site, and strip of everything but the mechanism."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from farhand.errors import FileError, ModelError

SUFFIXES = (".xml", ".mjcf", ".urdf")
TOOL = "tool"

# else it writes a log file wherever the user happens to be
mujoco.set_mju_user_warning(lambda text: None)


def read_spec(path: Path) -> mujoco.MjSpec:
    """Parse an MJCF or URDF file. Meshes and includes are looked up from the file's folder.

    Static bodies are kept apart even where the file asks for fusing, so that every link keeps its
    name.

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
        # otherwise attaching the spec warns about options that are gone
        setattr(spec.authored, field, 0)


def place(
    spec: mujoco.MjSpec, position: NDArray[np.float64], quaternion_wxyz: NDArray[np.float64]
) -> None:
    """Move everything in a spec's world to another pose, in place.

    Attaching to an empty world would do the same, but MuJoCo warns about an empty name prefix.
    """
    world = spec.worldbody
    elements = [
        *world.frames,
        *world.bodies,
        *world.geoms,
        *world.sites,
        *world.cameras,
        *world.lights,
    ]
    frame = world.add_frame(pos=position, quat=quaternion_wxyz)
    for element in elements:
        if element.frame is None:
            element.set_frame(frame)


def add_tool(spec: mujoco.MjSpec, what: str, advice: str) -> str:
    """Add the ``tool`` site at the end of a single chain, in place; return where it went, in words.

    Args:
        spec: the model; it has joints.
        what: the file, for the message.
        advice: how its user can name a tool, for the message.

    Raises:
        ModelError: the moving bodies branch, so that the end is not unique.
    """
    moving = [body for body in spec.bodies if moves(body)]
    roots = [body for body in moving if not moves(body.parent)]
    if len(roots) != 1 or any(len(body.bodies) > 1 for body in moving):
        names = ", ".join(body.name or "(unnamed)" for body in moving)
        raise ModelError(
            f"{what} branches and has no tool frame: {advice}; its moving bodies: {names}"
        )
    last = moving[-1]
    last.add_site(name=TOOL)
    return (
        f"origin of the last body, {last.name or '(unnamed)'}: the model has no site named {TOOL!r}"
    )


def moves(body: mujoco.MjsBody) -> bool:
    """Whether a joint of the body, or of one that carries it, moves it."""
    while body.name != "world":
        if body.joints:
            return True
        body = body.parent
    return False
