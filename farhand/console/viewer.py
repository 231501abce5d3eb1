"""Viewer: the process behind the page. It reads the telemetry ring, draws, and hands the operator's requests on."""

from __future__ import annotations

import contextlib
import itertools
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path

import viser

from farhand.console.drawing import Drawing
from farhand.console.scene import Scene
from farhand.console.status import Reading, panel
from farhand.errors import FarhandError
from farhand.telemetry import Reader

PERIOD = 1.0 / 30.0  # [s], between two frames
SHORTEST_REST = 0.005  # [s], even when behind
FRAMES_PER_STATUS = 3
NICENESS = 5

Request = tuple[str, str, object]
"""What :meth:`farhand.commands.Commands.post` takes: name, parameter path, value."""


class Requests:
    """The way from the page to the session; any thread may send.

    Args:
        outgoing: this process's end of the pipe.
    """

    def __init__(self, outgoing: Connection) -> None:
        self._outgoing, self._lock = outgoing, threading.Lock()

    def send(self, name: str, path: str = "", value: object = None) -> None:
        """Ask the session for a command; a session that has gone hears nothing."""
        with self._lock, contextlib.suppress(OSError):
            self._outgoing.send((name, path, value))


def view(ring_path: Path, scene: Scene, host: str, port: int, outgoing: Connection) -> None:
    """Serve the page until this process or its parent is terminated. The target of a :class:`multiprocessing.Process`.

    The first thing sent is the port that was opened, or a line of text that says why there is none.
    """
    _behave()
    try:
        reader = Reader(ring_path)
    except FarhandError as error:
        outgoing.send(str(error))
        return
    server = viser.ViserServer(host, port, label=f"Farhand · {scene['rig']}", verbose=False)
    drawing = Drawing(server, scene)
    status = _add_panel(server, scene, Requests(outgoing))
    outgoing.send(server.get_port())
    _follow(server, reader, scene, drawing, status)


def _behave() -> None:
    """Yield to the session, leave the keyboard to the parent, and keep the terminal clean."""
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.pop("_VISER_PORT_OVERRIDE", None)
    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # a port scanner is no reason for a traceback
    sys.stdout = open(os.devnull, "w")


def _add_panel(server: viser.ViserServer, scene: Scene, requests: Requests) -> viser.GuiHtmlHandle:
    """The panel at the side; returns where the status goes."""
    gui = server.gui
    gui.configure_theme(control_layout="collapsible", control_width="medium", show_logo=False, show_share_button=False)
    gui.set_panel_label(f"{scene['rig']} · {scene['law']}")
    stop = gui.add_button("Stop", color="red")  # first, so that nothing above it can grow and move it
    stop.on_click(lambda _: requests.send("stop"))
    others = gui.add_button_group("", ("Engage", "Release", "Reset"))
    others.on_click(lambda _: requests.send(others.value.lower()))
    return gui.add_html("")


def _follow(
    server: viser.ViserServer, reader: Reader, scene: Scene, drawing: Drawing, status: viser.GuiHtmlHandle
) -> None:
    """Draw at a steady rate for as long as the parent lives, while somebody is looking."""
    parent = multiprocessing.parent_process()
    reading, drawn_ns, due = Reading(), None, time.monotonic()
    for frame in itertools.count():
        if parent is not None and not parent.is_alive():
            return
        reading.refresh(reader, scene)
        watched = bool(server.get_clients())
        if watched and reading.time_ns != drawn_ns:
            drawing.update(reading)
            drawn_ns = reading.time_ns
        if watched and frame % FRAMES_PER_STATUS == 0:
            status.content = panel(reading, scene)
        due = max(due + PERIOD, time.monotonic() + SHORTEST_REST)
        time.sleep(due - time.monotonic())
