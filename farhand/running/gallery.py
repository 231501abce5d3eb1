"""Pictures and short animations of every rig, taken of the page in a browser without a window.

The page shows recordings of runs in virtual time at fixed times, so the pictures change only with
the rig or the page.
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from farhand.console.gate import open_server
from farhand.console.live import Live
from farhand.console.player import Player
from farhand.console.scene import Scene
from farhand.console.serve import Tokens
from farhand.console.source import RecordedSource, Requests
from farhand.console.status import Health
from farhand.console.viewer import PANEL_WIDTH, Console, know_clients
from farhand.errors import FileError
from farhand.files import write_bytes
from farhand.recording.loader import Recording, load
from farhand.rigs import Options, build_rig
from farhand.running.page import scene_for
from farhand.running.rerun import record

CHROMIUM = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
ARGUMENTS = (
    *("--no-sandbox", "--no-first-run"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
"""Without a graphics card, and without network access."""

WIDE, PHONE = (1280, 800), (390, 844)  # [px]
PAGE_TIMEOUT_S = 120.0  # for the page to be drawn: software rendering is slow


@dataclass(frozen=True)
class Film:
    """How a film is taken."""

    size: tuple[int, int] = (480, 320)  #: [px]
    frames: int = 12
    frame_ms: int = 250  #: how long each is shown, [ms]
    seconds: float = 6.0  #: of the run, [s]
    start: float | None = None  #: in the run, [s]; by default the moment is in the middle


PUSH = Film((520, 320), frames=62, frame_ms=160, seconds=10.0, start=3.5)
"""The loop that opens the README: into the wall and back to where it began, in real time."""

SCENARIOS = {"dual-arm": "wall"}
"""What is shown, if it is not the default scenario."""

MORE = {"humanoid": "balance"}
"""Another scenario of a rig that is worth a picture."""

# Hides the browser's remark that it has no graphics card, and what a page says that waits for one
_HIDE_NOTES = """
.mantine-Notifications-root, #fh-cover { display: none !important }
body.fh-lost #root { filter: none !important }
"""
_HIDE_BAR = "#fh-bar { display: none !important }"


def take(rig: str, folder: Path) -> list[Path]:
    """Take all pictures of a rig: wide, phone and moving; of dual-arm also the console."""
    with Studio.of(rig, SCENARIOS.get(rig)) as studio:
        paths = [
            studio.still(WIDE, folder / f"{rig}.png"),
            studio.still(PHONE, folder / f"{rig}-phone.png"),
            studio.film(folder / f"{rig}.gif"),
        ]
        if rig == "dual-arm":
            sizes = {"console.png": WIDE, "console-phone.png": PHONE}
            paths += [studio.console(size, folder / name) for name, size in sizes.items()]
    if rig in MORE:
        with Studio.of(rig, MORE[rig]) as studio:
            paths.append(studio.still(WIDE, folder / f"{rig}-{MORE[rig]}.png"))
    if rig == "dual-arm":
        with Studio.of(rig, "press-and-leave") as studio:
            paths.append(studio.film(folder / "push.gif", PUSH))
    return paths


class Studio:
    """A browser, and a page in it that shows the recording of a run."""

    def __init__(self, browser: Any, scene: Scene, recording: Recording) -> None:
        self._browser, self._scene, self._moment = browser, scene, moment_of(scene, recording)
        self._live = Live()
        self.server = open_server("127.0.0.1", 0, Tokens(), scene["rig"], self._live)
        self._source = RecordedSource(recording)
        self._player = Player(self.server, self._source, scene, self._live)
        know_clients(self.server, self._live)

    @classmethod
    @contextmanager
    def of(cls, rig: str, scenario: str | None) -> Iterator[Studio]:
        """Run a rig in virtual time, and show its recording."""
        with open_browser() as browser, tempfile.TemporaryDirectory() as folder:
            # With a link, as every run on a page has one
            built = build_rig(rig, Options(scenario=scenario, linked=True))
            scene = scene_for(built)
            recording = load(record(built, Path(folder) / "run.mcap"))
            # viser prints to the terminal
            with redirect_stdout(io.StringIO()):
                studio = cls(browser, scene, recording)
                try:
                    yield studio
                finally:
                    studio.server.stop()

    def still(self, size: tuple[int, int], path: Path) -> Path:
        """A picture of that size, [px]."""
        with self._page(size) as page:
            page.add_style_tag(content=_HIDE_BAR)
            self._player.seek(self._moment)
            write_bytes(path, _settled(page, self._draw))
        return path

    def console(self, size: tuple[int, int], path: Path) -> Path:
        """The page as an operator sees it; ticks of a recording are not timed."""
        console = Console(self.server, self._source, self._scene, Requests(None), self._live)
        self._source.seek(round(1e9 * self._moment))
        with self._page(size) as page:
            health = Health(margin=self._scene["margin"])
            write_bytes(path, _settled(page, lambda: console.frame(0.0, health, False, True)))
        return path

    def film(self, path: Path, how: Film | None = None) -> Path:
        """Some seconds of the run as an animated GIF."""
        how = how or Film()
        width, height = how.size
        clip = {"x": 0, "y": 0, "width": width, "height": height}
        start = how.start
        if start is None:
            start = max(0.0, self._moment - how.seconds / 2)
        shots = []
        with self._page((width + PANEL_WIDTH, height)) as page:
            page.add_style_tag(content=_HIDE_BAR)
            self._player.seek(start)
            _settled(page, self._draw)
            for moment in np.linspace(start, start + how.seconds, how.frames):
                self._player.seek(float(moment))
                shots.append(_settled(page, self._draw, clip))
        write_bytes(path, animated(shots, how.frame_ms))
        return path

    def _draw(self) -> None:
        self._player.frame(0.0, status=False)

    @contextmanager
    def _page(self, size: tuple[int, int]) -> Iterator[Any]:
        page = self._browser.new_page(viewport={"width": size[0], "height": size[1]})
        page.set_default_timeout(1e3 * PAGE_TIMEOUT_S)
        try:
            page.goto(f"http://127.0.0.1:{self.server.get_port()}")
            page.locator("canvas").first.wait_for()
            page.add_style_tag(content=_HIDE_NOTES)
            yield page
        finally:
            page.close()


def animated(shots: list[bytes], frame_ms: int) -> bytes:
    """Pictures as a GIF; one palette for all of them, or the background would flicker."""
    from PIL import Image

    pictures = [Image.open(io.BytesIO(shot)).convert("RGB") for shot in shots]
    some = pictures[:: max(1, len(pictures) // 8)]
    width, height = pictures[0].size
    sheet = Image.new("RGB", (width, height * len(some)))
    for number, picture in enumerate(some):
        sheet.paste(picture, (0, height * number))
    # Keeps the colour of a small arrow, and grey lines on a white floor grey
    palette = sheet.quantize(method=Image.Quantize.FASTOCTREE)
    frames = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    content = io.BytesIO()
    more = {"append_images": frames[1:], "duration": frame_ms, "loop": 0}
    frames[0].save(content, "GIF", save_all=True, optimize=True, **more)
    return content.getvalue()


@contextmanager
def open_browser() -> Iterator[Any]:
    """A browser without a window.

    Raises:
        FileError: there is none, or no driver for it.
    """
    program = next((path for path in CHROMIUM if Path(path).exists()), None)
    if program is None:
        raise FileError("the gallery needs Chromium: install it, such as with apt install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise FileError("the gallery needs playwright: pip install playwright") from None
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


def _settled(page: Any, draw: Callable[[], None], clip: dict[str, int] | None = None) -> bytes:
    """A picture of the page once two in a row are equal, or after a timeout.

    It is drawn again and again: a page that hears nothing for seconds takes its server for lost.
    """
    deadline, before = time.monotonic() + PAGE_TIMEOUT_S, b""
    while True:
        draw()
        page.wait_for_timeout(150)
        now = page.screenshot(clip=clip, timeout=1e3 * PAGE_TIMEOUT_S)
        if now == before or time.monotonic() > deadline:
            return now
        before = now


def moment_of(scene: Scene, recording: Recording) -> float:
    """When an object is highest, or else the force on a follower's tool is largest, [s].

    The middle of the recording if nothing is lifted or touched.
    """
    best, when = 0.0, 0.5 * recording.duration
    for robot in scene["robots"]:
        if robot["role"] == "object":
            lifted = recording.streams[robot["stream"]]
            return float(lifted.times[int(lifted.channels["q"][:, 2].argmax())])
        stream = recording.streams.get(robot["stream"])
        if robot["role"] != "follower" or stream is None:
            continue
        measured, commanded = (
            stream.channels[f"wrench_{kind}_in_world"][:, :3] for kind in ("measured", "commanded")
        )
        sizes = np.linalg.norm(np.where(np.isfinite(measured), measured, commanded), axis=1)
        if sizes.size and float(sizes.max()) > best:
            best, when = float(sizes.max()), float(stream.times[int(sizes.argmax())])
    return when
