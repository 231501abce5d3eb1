"""The process behind the page: it reads the telemetry, draws, and passes requests on."""

from __future__ import annotations

import itertools
import logging
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import viser

from farhand.console.controls import Controls
from farhand.console.drawing import Drawing
from farhand.console.gate import open_server
from farhand.console.grasp import Grasp
from farhand.console.live import VISITOR, Live
from farhand.console.prediction import Prediction
from farhand.console.scene import Scene, line_width
from farhand.console.serve import Tokens
from farhand.console.shaking import Shaking
from farhand.console.source import Requests, Source
from farhand.console.status import Health, Reading, about, derived, summary
from farhand.errors import FarhandError
from farhand.loop.telemetry import Reader

FRAME_PERIOD_S = 1.0 / 30.0
MIN_REST_S = 0.005  # between two frames, even when behind
FRAMES_PER_STATUS = 6
NICENESS = 5
PANEL_WIDTH = 340  # [px]
MARK = """<span id="farhand-page"></span>"""
"""Tells the style sheet which panel is ours: on a phone it is a sheet below the picture."""


class Console:
    """One run on the page: its picture, its panel and the visitor's hand.

    Args:
        live: the page's own line to its visitors.
        ring_path: of the run's telemetry; without it nothing is predicted, as in a recording.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        source: Source,
        scene: Scene,
        requests: Requests,
        live: Live | None = None,
        ring_path: Path | None = None,
    ) -> None:
        live = live or Live()
        clear(server)
        self._server, self._source, self._scene, self._live = server, source, scene, live
        self.reading = Reading()  #: the newest of everything
        self.drawing = Drawing(server, scene)
        self.grasp = grasp_of(server, scene, requests)
        self.controls = Controls(server, scene, requests, self.grasp, self.drawing, live)
        self._prediction = Prediction.of(scene) if ring_path else None
        self._shaking = None
        if ring_path is not None:
            self._shaking = Shaking(Reader(ring_path), scene["shaking"], self._prediction)
        live.begin(source, about(scene, source), self.controls.actions)

    def frame(self, dt: float, health: Health, recording: bool, status: bool) -> None:
        """Read what is new and draw it; ``dt`` [s] since the last frame."""
        reading = self.reading
        reading.refresh(self._source, self._scene)
        health = self._foresee(health)
        if self._server.get_clients():
            self.drawing.update(reading)
        else:
            self.drawing.kinematics.update(reading.q)
        if self.grasp is not None:
            self.grasp.update(reading, self.drawing.kinematics, dt)
        self.controls.keep_alive(reading)
        self.controls.follow(reading)
        tell(self._live, reading, self._scene, health)
        if status:
            self.controls.show(reading, health, recording)

    def _foresee(self, health: Health) -> Health:
        """What is predicted after every change, and what shakes now."""
        prediction, shaking = self._prediction, self._shaking
        if prediction is None or shaking is None:
            return health
        for path, value in self.reading.changes.items():
            prediction.change(path, value)
        shakes = shaking.look().removeprefix("it shakes: ")
        return replace(health, margin=prediction.text, level=prediction.level, shakes=shakes)

    def close(self) -> None:
        """Predict no longer."""
        if self._prediction is not None:
            self._prediction.close()


def tell(live: Live, reading: Reading, scene: Scene, health: Health, **more: float) -> None:
    """Send everybody the state of the run, with ``more`` of it, and what they plot."""
    if reading.time_ns is not None:
        live.sample(1e-9 * reading.time_ns, derived(reading, scene, health))
    live.show(summary(reading, scene, health) | more)


def clear(server: viser.ViserServer) -> None:
    """An empty page, its panel at the side."""
    server.scene.reset()
    server.gui.reset()
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(PANEL_WIDTH)
    server.gui.add_html(MARK)


def grasp_of(
    server: viser.ViserServer, scene: Scene, requests: Requests, live: bool = True
) -> Grasp | None:
    """The hand of a scene that can be dragged, if there is one."""
    hands = [thing for thing in scene["things"] if thing["kind"] == "hand" and "start" in thing]
    if not hands:
        return None
    return Grasp(server, hands[0], requests, live, scene["size"], line_width(scene, 0.004))


def view(
    ring_path: Path,
    scene: Scene,
    host: str,
    port: int,
    tokens: Tokens,
    pipes: tuple[Connection, Connection],
    health: Any,
) -> None:
    """Serve the page until this process or its parent ends; runs in a process of its own.

    It first sends the port that was opened, or a line of text that says why there is none. The
    pipes come from the session and go to it; ``health`` is :attr:`farhand.console.Page.health`.
    """
    incoming, outgoing = pipes
    behave()
    live = Live()
    try:
        source = Reader(ring_path)
        server = open_server(host, port, tokens, scene["rig"], live)
    except FarhandError as error:
        outgoing.send(str(error))
        return
    know_clients(server, live)
    # Before any request: a page that was open when its last server ended is back at once
    outgoing.send(server.get_port())
    requests = Requests(outgoing)
    console = Console(server, source, scene, requests, live, ring_path)
    greet_all(live)
    waiter = threading.Thread(target=_announce, args=(live, requests), daemon=True)
    waiter.start()

    def another(ring_path: Path, scene: Scene) -> Console:
        return Console(server, Reader(ring_path), scene, requests, live, ring_path)

    _follow(console, another, incoming, health)
    server.stop()


def _announce(live: Live, requests: Requests) -> None:
    """Tell the session that its first visitor has come."""
    live.arrived.wait()
    requests.send("arrived")


def know_clients(server: viser.ViserServer, live: Live) -> None:
    """Remember which visitor is behind which of viser's clients, and give each the overview.

    Before anybody comes: of a client that is there already, viser does not say whose it is.
    """

    async def arrive(client: viser.ClientHandle) -> None:
        live.clients[client.client_id] = VISITOR.get()
        if "hello" in live.actions:
            live.actions["hello"](VISITOR.get(), None)

    server.on_client_connect(arrive)

    async def leave(client: viser.ClientHandle) -> None:
        live.clients.pop(client.client_id, None)

    server.on_client_disconnect(leave)


def greet_all(live: Live) -> None:
    """Give the overview to those who came before there was anything to see."""
    for number in set(live.clients.values()):
        live.actions["hello"](number, None)


def behave() -> None:
    """Let the session go first, leave Ctrl-C to the parent, and keep the terminal clean."""
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.pop("_VISER_PORT_OVERRIDE", None)
    # A port scanner is no reason for a traceback
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    sys.stdout = open(os.devnull, "w")


def parent_gone() -> bool:
    """Whether the process that started this one has ended."""
    parent = multiprocessing.parent_process()
    return parent is not None and not parent.is_alive()


def _follow(
    console: Console, another: Callable[[Path, Scene], Console], incoming: Connection, health: Any
) -> None:
    """Draw at a steady rate while the parent lives; show another run on its request."""
    last, due, failed = time.monotonic(), time.monotonic(), False
    for frame in itertools.count():
        if parent_gone():
            return
        if (run := _receive(incoming)) is not None:
            console.close()
            console = another(*run)
        now = time.monotonic()
        tick, rate, overruns, recording = health[:]
        state = Health(tick or math.nan, rate, int(overruns))
        try:
            console.frame(now - last, state, bool(recording), frame % FRAMES_PER_STATUS == 0)
        except Exception:
            # A picture that cannot be drawn must not take STOP away, so the page stays
            if not failed:
                traceback.print_exc()
            failed = True
        last = now
        due = max(due + FRAME_PERIOD_S, time.monotonic() + MIN_REST_S)
        time.sleep(max(0.0, due - time.monotonic()))


def _receive(incoming: Connection) -> tuple[Path, Scene] | None:
    """The ring and the scene of another run, if the session sent them."""
    try:
        return incoming.recv() if incoming.poll() else None
    except (EOFError, OSError):
        return None
