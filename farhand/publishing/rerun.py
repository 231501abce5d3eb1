"""A session in the Rerun viewer: signals as plots, the robots in 3-D, events as text."""

from __future__ import annotations

import os
import socket
from typing import Any

import numpy as np

from farhand.console.scene import Kinematics
from farhand.errors import LinkError, Mismatch
from farhand.loop.telemetry import columns
from farhand.publishing.viewer import (
    PICTURE_PERIOD_S,
    PORTS,
    Published,
    Times,
    Viewer,
    arrow_of,
    body_frames,
    pieces_of,
)
from farhand.recording.topics import Array

TIMELINE = "time"
PLOT_PERIOD_NS = 100_000_000
PLOTTED = ("error", "wrench_measured_in_world", "q")
"""Signals that the first layout plots, where a stream has them."""


class RerunViewer(Viewer):
    """A gRPC server that the Rerun viewer connects to; started beside it where there is a screen.

    Raises:
        Mismatch: the SDK is not installed.
        LinkError: the port is taken.
    """

    period_s = PICTURE_PERIOD_S

    def __init__(self, published: Published) -> None:
        self._rerun, blueprint = library()
        self.published = published
        port = int(published.address or PORTS["rerun"])
        self._columns: dict[str, dict[str, tuple[slice, Any]]] = {}
        self._every: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self._sent_ns: dict[str, int] = {}
        self._waiting: dict[str, list[tuple[Times, Array]]] = {}
        self._drawn: dict[str, Array] = {}
        for name, described in published.header["streams"].items():
            labels = {c["name"]: c["labels"] for c in described["channels"]}
            parts = columns(described).items()
            self._columns[name] = {key: (part, labels[key]) for key, part in parts}
            self._every[name] = max(1, round(described["rate"] / published.rate))
            self._seen[name] = self._sent_ns[name] = 0
            self._waiting[name] = []
        self._bodies = body_frames(published.scene)
        rr = self._rerun
        _check_port(port)
        rr.init("farhand", recording_id=f"farhand-{os.getppid()}")
        try:
            layout = self._layout(blueprint)
            address = rr.serve_grpc(grpc_port=port, default_blueprint=layout)
        except (OSError, RuntimeError) as error:
            raise LinkError(f"Rerun cannot listen at port {port}: {error}") from None
        self.address = f"Rerun: rerun --connect {address}"
        self._declare()
        if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
            rr.spawn(port=port, connect=False)

    def take(self, stream: str, times_ns: Times, rows: Array) -> None:
        """Plot the records that are due, those of a tenth of a second together."""
        every = self._every[stream]
        due = slice(-self._seen[stream] % every, None, every)
        self._seen[stream] += times_ns.size
        times_ns, rows = times_ns[due], rows[due]
        if not times_ns.size:
            return
        self._waiting[stream].append((times_ns, rows))
        if times_ns[-1] - self._sent_ns[stream] >= PLOT_PERIOD_NS:
            self._sent_ns[stream] = int(times_ns[-1])
            self._plot(stream)

    def _plot(self, stream: str) -> None:
        rr = self._rerun
        times_ns, rows = map(np.concatenate, zip(*self._waiting[stream], strict=True))
        self._waiting[stream].clear()
        times = [rr.TimeColumn(TIMELINE, timestamp=times_ns.astype("datetime64[ns]"))]
        for name, (part, _) in self._columns[stream].items():
            values = rr.Scalars.columns(scalars=rows[:, part].ravel())
            count = part.stop - part.start
            if count > 1:
                values = values.partition(np.full(times_ns.size, count))
            rr.send_columns(f"signals/{stream}/{name}", times, values)

    def event(self, t_ns: int, kind: str, text: str, data: dict[str, Any]) -> None:
        """Log what happened."""
        level = {"trip": "ERROR", "lost": "WARN"}.get(kind, "INFO")
        self._at(t_ns)
        self._rerun.log("events", self._rerun.TextLog(text, level=level))

    def draw(self, t_ns: int, kinematics: Kinematics, forces: dict[str, Array]) -> None:
        """Move the bodies, and draw the forces."""
        rr = self._rerun
        self._at(t_ns)
        for index, frame in self._bodies:
            x, turn = kinematics.body_position[index], kinematics.body_quaternion_wxyz[index]
            pose = np.concatenate([x, turn])
            # what stands still is drawn once
            if not np.array_equal(pose, self._drawn.get(frame, ())):
                self._drawn[frame] = pose
                xyzw = rr.Quaternion(xyzw=pose[[4, 5, 6, 3]])
                rr.log(f"world/{frame}", rr.Transform3D(translation=x, quaternion=xyzw))
        for robot, force in forces.items():
            arrow = arrow_of(force, self.published.scene)
            path = f"world/force_on_{robot}"
            if arrow is None:
                rr.log(path, rr.Clear(recursive=False))
            else:
                origin = kinematics.tool_position[robot]
                rr.log(path, rr.Arrows3D(vectors=[arrow], origins=[origin], colors=[214, 94, 0]))

    def diagnose(self, t_ns: int, statuses: Any) -> None:
        """Log what is not well."""
        for level, name, message, _ in statuses:
            if level:
                self.event(t_ns, "trip" if level > 1 else "lost", f"{name}: {message}", {})

    def close(self) -> None:
        """Send the rest."""
        for stream, waiting in self._waiting.items():
            if waiting:
                self._plot(stream)
        self._rerun.disconnect()

    def _at(self, t_ns: int) -> None:
        self._rerun.set_time(TIMELINE, timestamp=np.datetime64(t_ns, "ns"))

    def _declare(self) -> None:
        """Log what does not change: shapes, and the names of lines."""
        rr = self._rerun
        rr.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        kinematics = Kinematics(self.published.scene)
        for index, piece in enumerate(pieces_of(kinematics, self.published.scene)):
            mesh = rr.Mesh3D(
                vertex_positions=piece.vertices,
                triangle_indices=piece.triangles,
                albedo_factor=[round(255 * value) for value in piece.rgba],
            )
            where = "world" if piece.frame == "world" else f"world/{piece.frame}"
            rr.log(f"{where}/shape_{index}", mesh, static=True)
        for stream, channels in self._columns.items():
            for name, (_, labels) in channels.items():
                if labels:
                    lines = rr.SeriesLines(names=list(labels))
                    rr.log(f"signals/{stream}/{name}", lines, static=True)

    def _layout(self, blueprint: Any) -> Any:
        """The robots beside the plots that one asks for first."""
        plots = [
            blueprint.TimeSeriesView(origin=f"signals/{stream}/{name}", name=f"{stream} {name}")
            for name in PLOTTED
            for stream, channels in self._columns.items()
            if name in channels
        ]
        picture = blueprint.Spatial3DView(origin="world", name="robots")
        events = blueprint.TextLogView(origin="events", name="events")
        left = blueprint.Vertical(picture, events, row_shares=[4, 1])
        return blueprint.Blueprint(
            blueprint.Horizontal(left, blueprint.Vertical(*plots[:5]), column_shares=[3, 2])
        )


def _check_port(port: int) -> None:
    """Refuse a port that is taken: the SDK would go on, and nobody could connect."""
    try:
        socket.create_server(("", port)).close()
    except OSError as error:
        raise LinkError(f"Rerun cannot listen at port {port}: {error.strerror}") from None


def library() -> Any:
    """The SDK and its module for layouts.

    Raises:
        Mismatch: it is not installed.
    """
    try:
        import rerun
        import rerun.blueprint
    except ImportError:
        install = "pip install 'farhand[rerun]'"
        raise Mismatch(f"it needs the package rerun-sdk: {install}") from None
    return rerun, rerun.blueprint
