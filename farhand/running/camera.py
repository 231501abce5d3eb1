"""Pictures of a served session, drawn in another process from its signals.

The session writes its model once, before the first tick. A camera reads it, takes the joints from
the ring as they come, and draws them off-screen. What a user changes later, such as the place of a
wall, is not seen.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.client import Client, SessionGone, runtime_folder
from farhand.errors import BadValue, FileError, Mismatch
from farhand.spatial import Array

if TYPE_CHECKING:
    from farhand.rigs import Rig

VIEWS = ("overview", "follower", "tool")
WALL_COLOUR = (0.55, 0.62, 0.72, 0.5)
FLOOR_COLOUR = (0.82, 0.82, 0.80, 1.0)
BACKGROUND = (235, 238, 242)
"""Where nothing is, red, green, blue of 255."""

EYE_DISTANCE = 0.35
"""Of the eye at the tool, as a share of the arm's reach."""


def scene_paths(name: str) -> tuple[Path, Path]:
    """Where a session leaves its model, and what else is in the picture."""
    folder = runtime_folder()
    return folder / f"{name}.mjb", folder / f"{name}.scene.json"


def save_scene(rig: Rig, name: str) -> None:
    """Write what a camera needs of a rig."""
    import mujoco

    from farhand.console.things import things_of

    model, rest = scene_paths(name)
    mujoco.mj_saveModel(rig.world.model, str(model), None)
    walls = [
        {key: one[key] for key in ("point", "normal", "size")}
        for one in things_of(rig)
        if one["kind"] == "wall" and one["present"]
    ]
    placed = {
        robot: [list(map(float, item.placement.position)), f"{robot}/{item.robot.tool}"]
        for robot, item in rig.world.placed.items()
    }
    rest.write_text(json.dumps({"walls": walls, "placed": placed}), encoding="utf-8")


class SessionCamera:
    """A camera that looks at a served session.

    Args:
        session: that it looks at.
        view: one of :data:`VIEWS`.
        width: of the pictures, in pixels.
        height: of the pictures, in pixels.
        station: the arm that ``follower`` and ``tool`` look at.

    Raises:
        BadValue: there is no such view.
        FileError: the session has left no model, or pictures cannot be drawn here.
    """

    def __init__(
        self, session: Client, view: str, width: int, height: int, station: str = "follower"
    ) -> None:
        if view not in VIEWS:
            raise BadValue(f"view {view!r} is none of {', '.join(VIEWS)}")
        import mujoco

        self._mujoco, self._session, self._view = mujoco, session, view
        model, rest = scene_paths(session.name)
        try:
            self._scene: dict[str, Any] = json.loads(rest.read_text(encoding="utf-8"))
            self._model = mujoco.MjModel.from_binary_path(str(model))
        except (OSError, ValueError) as error:
            raise FileError(f"session {session.name} has left no model: {error}") from None
        streams = session.signals()
        self._robots = [name for name in self._scene["placed"] if name in streams]
        if sum(streams[name]["q"].size for name in self._robots) != self._model.nq:
            raise Mismatch(f"session {session.name} does not publish the joints of all its bodies")
        if station not in self._robots:
            raise BadValue(f"session {session.name} has no {station}, but {self._robots}")
        self._station = station
        self._data = mujoco.MjData(self._model)
        self._model.vis.headlight.ambient[:] = 0.45
        self._model.vis.headlight.diffuse[:] = 0.55
        try:
            self._renderer = mujoco.Renderer(self._model, height, width)
        except Exception as error:
            hint = "try MUJOCO_GL=osmesa, or glfw with a screen"
            raise FileError(f"cannot draw off-screen: {error}; {hint}") from None
        self._take()
        self._camera = self._place()

    def frames(self, fps: float) -> Iterator[tuple[float, Array]]:
        """Pictures as they come: time in the session [s], and red, green, blue by pixel.

        Ends with the session.
        """
        due = time.monotonic()
        while True:
            try:
                t = self._take()
            except SessionGone:
                return
            yield t, self._draw()
            due = max(due + 1.0 / fps, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def close(self) -> None:
        """Let go of the renderer."""
        self._renderer.close()

    def _take(self) -> float:
        """Put the model where the session is now."""
        start = 0
        for name in self._robots:
            t, q = self._session.latest(name, "q")
            self._data.qpos[start : start + q.size] = q
            start += q.size
        self._mujoco.mj_kinematics(self._model, self._data)
        self._mujoco.mj_camlight(self._model, self._data)
        return t

    def _bodies(self, prefix: str) -> Array:
        """Where the bodies of a robot, or of all, are, shape (n, 3), [m]."""
        names = (self._model.body(k).name for k in range(1, self._model.nbody))
        return self._data.xpos[[k + 1 for k, name in enumerate(names) if name.startswith(prefix)]]

    def _place(self) -> Any:
        """A camera that sees all of it, or of the station."""
        camera = self._mujoco.MjvCamera()
        prefix = "" if self._view == "overview" else f"{self._station}/"
        places = self._bodies(prefix)
        low, high = places.min(axis=0), places.max(axis=0)
        camera.lookat[:] = (low + high) / 2.0
        camera.distance = 1.2 * float(np.linalg.norm(high - low)) + 0.2
        camera.azimuth, camera.elevation = 135.0, -25.0
        return camera

    def _draw(self) -> Array:
        renderer, scene = self._renderer, self._renderer.scene
        renderer.update_scene(self._data, self._camera)
        for wall in self._scene["walls"]:
            self._slab(scene, wall["point"], wall["normal"], wall["size"] / 2.0, WALL_COLOUR)
        lowest = min(place[2] for place, _ in self._scene["placed"].values())
        self._slab(scene, (0.0, 0.0, lowest - 0.005), (0.0, 0.0, 1.0), 5.0, FLOOR_COLOUR)
        if self._view == "tool":
            self._look_along_tool(scene)
        picture = renderer.render()
        picture[~picture.any(axis=2)] = BACKGROUND
        return picture

    def _look_along_tool(self, scene: Any) -> None:
        """Put the eye behind the tool; it turns with the wrist."""
        base, site = self._scene["placed"][self._station]
        tool = self._data.site(site)
        rotation = tool.xmat.reshape(3, 3)
        wrist = self._data.xpos[self._model.site(site).bodyid[0]]
        ahead = tool.xpos - wrist
        length = float(np.linalg.norm(ahead))
        ahead = ahead / length if length > 1e-3 else rotation[:, 2]
        across = rotation[:, int(np.argmin(np.abs(rotation.T @ ahead)))]
        reach = float(np.linalg.norm(tool.xpos - base))
        eye = tool.xpos + EYE_DISTANCE * reach * (0.5 * across - ahead)
        forward = (tool.xpos - eye) / np.linalg.norm(tool.xpos - eye)
        up = across - forward * (forward @ across)
        for camera in scene.camera:
            camera.pos[:] = eye
            camera.forward[:] = forward
            camera.up[:] = up / np.linalg.norm(up)

    def _slab(self, scene: Any, point: Any, normal: Any, half: float, colour: Any) -> None:
        """Add a thin square to the picture."""
        if scene.ngeom >= scene.maxgeom:
            return
        normal = np.asarray(normal) / np.linalg.norm(normal)
        other = np.eye(3)[int(np.argmin(np.abs(normal)))]
        first = np.cross(other, normal)
        first /= np.linalg.norm(first)
        axes = np.column_stack([first, np.cross(normal, first), normal])
        box = self._mujoco.mjtGeom.mjGEOM_BOX
        size = np.array([half, half, 0.002])
        place = np.asarray(point, dtype=float)
        geom = scene.geoms[scene.ngeom]
        self._mujoco.mjv_initGeom(geom, box, size, place, axes.ravel(), np.array(colour, "f4"))
        scene.ngeom += 1
