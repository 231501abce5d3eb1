"""A dual-arm session in wall time with its page, and somebody who looks at it."""

from __future__ import annotations

import contextlib
import io
import re
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from farhand.console import Page, scene_of, serve
from farhand.console.scene import Kinematics
from farhand.console.serve import Tokens
from farhand.console.viewer import PANEL_WIDTH
from farhand.console.views import FIELD_OF_VIEW, MIN_ASPECT, camera_of
from farhand.loop.clock import WallClock
from farhand.rigs import Options, Rig, build_rig
from farhand.running.page import scene_for

SECONDS = (
    60.0  # [s], the longest a test waits for anything; software rendering on a busy machine is slow
)
SIZE = {"width": 640, "height": 300}
BESIDE = {"x": 0, "y": 0, "width": 290, "height": 200}
PHONE = {"width": 390, "height": 844}
FEW_FRAMES = (
    "window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 500)"
)
"""Script of a visitor for whom two pictures a second are enough: software drawing takes a core."""

TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Run:
    """A session that runs in wall time, and its page.

    Args:
        scenario: what happens in it; None for what the rig does by itself.
        rig: its name.
        predicted: whether its page predicts when it shakes, as that of a command does.
        options: more of the rig's.

    Attributes:
        rig: what runs.
        served: its page.
    """

    def __init__(
        self,
        scenario: str | None,
        host: str = "127.0.0.1",
        port: int = 0,
        rig: str = "dual-arm",
        tokens: Tokens | None = None,
        predicted: bool = False,
        **options: Any,
    ) -> None:
        # a busy machine is late, which is not what is tested here: no tick is left out, and no trip
        calm = [("deadlines.storm", 1_000_000), ("deadlines.catch_up", 10.0)]
        self.rig: Rig = build_rig(
            rig, Options(scenario=scenario, clock=WallClock(), settings=calm, **options)
        )
        session = self.rig.session
        scene = scene_for(self.rig) if predicted else scene_of(self.rig)
        self.served: Page = serve(
            session.telemetry.path, scene, host, port, session.commands, tokens
        )
        self._thread = threading.Thread(target=session.run, args=(600.0, self.served.poll, 0.02))
        self._thread.start()

    def close(self) -> None:
        """End the session and take the page down."""
        self.rig.session.finish()
        self._thread.join()
        self.served.close()
        self.rig.close()


class Wire:
    """The way from a browser to a page, which can fall silent, break, and be mended.

    Attributes:
        address: at which the browser finds the page.
        refused: a connection that asks with these words is closed.
    """

    def __init__(self, address: str, refused: bytes | None = None) -> None:
        self.refused = refused
        self._far = ("127.0.0.1", int(address.rpartition(":")[2]))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._whole, self._flows = True, threading.Event()
        self._ends: list[socket.socket] = []
        self._flows.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def silence(self) -> None:
        """Let nothing through; neither end notices."""
        self._flows.clear()

    def cut(self) -> None:
        """Break every connection, lose what was on its way, and refuse new ones."""
        self._whole = False
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._ends.clear()
        self._flows.set()

    def mend(self) -> None:
        """Let everything through again."""
        self._whole = True
        self._flows.set()

    def close(self) -> None:
        """Take it down."""
        self.cut()
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                if not self._whole:
                    near.close()
                    continue
                far = socket.create_connection(self._far)
                self._ends += [near, far]
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError), source, target:
            while data := source.recv(65536):
                self._flows.wait()
                if not self._whole or (self.refused is not None and self.refused in data):
                    break
                target.sendall(data)
            # Closed alone, a socket that the other thread reads from would stay open
            for end in (source, target):
                end.shutdown(socket.SHUT_RDWR)


class Visitor:
    """Somebody with the page open.

    Args:
        script: that the browser runs before the page's own.

    Attributes:
        page: of the browser.
        complaints: errors the browser's console has shown.
    """

    def __init__(
        self, browser: Any, address: str, size: dict[str, int] = SIZE, script: str = ""
    ) -> None:
        self.page = browser.new_page(viewport=size)
        self.page.add_init_script(script)
        self.page.set_default_timeout(1e3 * SECONDS)
        self.complaints: list[str] = []
        self.page.on(
            "console",
            lambda said: self.complaints.append(said.text) if said.type == "error" else None,
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address)
        self._await_picture()

    def reload(self) -> None:
        """Load the page again."""
        self.page.reload()
        self._await_picture()

    def _await_picture(self) -> None:
        self.page.locator("canvas").first.wait_for()
        self.page.add_style_tag(content=".mantine-Notifications-root { display: none }")

    def text(self) -> str:
        """What the page says."""
        return self.page.inner_text("body")

    def newtons(self, what: str) -> float:
        """A force that the panel tells, [N]."""
        found = re.search(rf"{what}\s.*?([\d.]+) N", self.text())
        return float(found.group(1)) if found else 0.0

    def pixels(self, clip: dict[str, int] = BESIDE) -> np.ndarray:
        """A part of the window in grey; by default the picture left of the panel."""
        image = pytest.importorskip("PIL.Image")
        # On a busy machine the window may still show what was drawn seconds ago
        self.page.evaluate(TWO_FRAMES)
        shot = self.page.screenshot(clip=clip, timeout=1e3 * SECONDS)
        return np.asarray(image.open(io.BytesIO(shot)).convert("L"), dtype=float)


def eventually(condition: Callable[[], bool], seconds: float = SECONDS) -> bool:
    """Whether it comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def on_screen(run: Run, point: np.ndarray) -> tuple[float, float]:
    """Where a point of the world [m] is in the window, [px], before anybody has moved the
    camera.
    """
    scene = scene_of(run.rig)
    middle, back = camera_of(scene, Kinematics(scene))
    back = back * max(1.0, MIN_ASPECT * SIZE["height"] / (SIZE["width"] - PANEL_WIDTH))
    forward = -back / np.linalg.norm(back)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    seen = point - (middle + back)
    scale = 0.5 * SIZE["height"] / np.tan(0.5 * FIELD_OF_VIEW) / float(seen @ forward)
    across, along = scale * float(seen @ right), scale * float(seen @ np.cross(right, forward))
    return 0.5 * (SIZE["width"] - PANEL_WIDTH) + across, 0.5 * SIZE["height"] - along
