"""Pictures and short animations of every rig, taken of the page in a browser without a window.

The page shows recordings of runs in virtual time at fixed times, so the pictures change only with
the rig or the page.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import viser

from farhand.console.player import Player
from farhand.console.scene import Scene, scene_of
from farhand.console.source import RecordedSource, Requests
from farhand.console.status import Health
from farhand.console.viewer import PANEL_WIDTH, Console
from farhand.console.views import fit_camera
from farhand.errors import FileError
from farhand.files import write_bytes
from farhand.recording.loader import Recording, load
from farhand.rigs import Options, Rig, build_rig
from farhand.running.rerun import record

CHROMIUM = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
ARGUMENTS = (
    *("--no-sandbox", "--no-first-run"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
"""Without a graphics card, and without network access."""

WIDE, PHONE, SMALL = (1280, 800), (390, 844), (480 + PANEL_WIDTH, 320)  # [px]
FRAMES, FILM_S, FRAME_MS = 12, 6.0, 250
COVERAGE = 1  # Pillow's way to choose a palette that keeps the colour of a small arrow
PAGE_TIMEOUT_S = 120.0  # for the page to be drawn: software rendering is slow

SCENARIOS = {"dual-arm": "wall"}
"""What is shown, if it is not the default scenario."""

MORE = {"humanoid": "balance"}
"""Another scenario of a rig that is worth a picture."""

Margin = Callable[[Rig], str | None]

# Hides the browser's remark that it has no graphics card
_HIDE_NOTES = ".mantine-Notifications-root { display: none }"


@dataclass(frozen=True)
class RecordedRun:
    """A rig and a recording of its run.

    Attributes:
        scene: what to draw.
        recording: of its run.
        moment: worth a picture, [s].
    """

    scene: Scene
    recording: Recording
    moment: float


def record_run(
    rig: str, folder: Path, scenario: str | None = None, margin: Margin | None = None
) -> RecordedRun:
    """Run a rig in virtual time, record it, and find the moment worth a picture.

    Args:
        rig: by name.
        folder: where the recording goes.
        scenario: the one of :data:`SCENARIOS` or the rig's own by default.
        margin: predicts the stability.
    """
    built = build_rig(rig, Options(scenario=scenario or SCENARIOS.get(rig)))
    scene = scene_of(built)
    scene["margin"] = ((margin(built) if margin else None) or "").partition("; hand:")[0]
    recording = load(record(built, folder / f"{rig}-{built.scenario.name}.mcap"))
    return RecordedRun(scene, recording, _moment(scene, recording))


def take(rig: str, item: RecordedRun, folder: Path) -> list[Path]:
    """Take all pictures of a rig: wide, phone and moving; of dual-arm also the console."""
    with _page_in_browser(item) as (driver, server, source, player):
        paths = [
            _still(driver, server, player, item.moment, WIDE, folder / f"{rig}.png"),
            _still(driver, server, player, item.moment, PHONE, folder / f"{rig}-phone.png"),
            _moving(driver, server, player, item.moment, folder / f"{rig}.gif"),
        ]
        if rig == "dual-arm":
            console = Console(server, source, item.scene, Requests(None))
            source.seek(round(1e9 * item.moment))
            margin = item.scene["margin"]
            for size, name in ((WIDE, "console.png"), (PHONE, "console-phone.png")):
                paths.append(_console(driver, server, console, margin, size, folder / name))
        return paths


def take_more(rig: str, item: RecordedRun, folder: Path) -> list[Path]:
    """One wide picture of another scenario of a rig."""
    path = folder / f"{rig}-{MORE[rig]}.png"
    with _page_in_browser(item) as (driver, server, _, player):
        return [_still(driver, server, player, item.moment, WIDE, path)]


@contextmanager
def _page_in_browser(
    item: RecordedRun,
) -> Iterator[tuple[Any, viser.ViserServer, RecordedSource, Player]]:
    """A browser, and a page with a recording on it."""
    # viser prints to the terminal
    with browser() as driver, redirect_stdout(io.StringIO()):
        label = f"Farhand · {item.scene['rig']}"
        server = viser.ViserServer("127.0.0.1", 0, label=label, verbose=False)
        try:
            source = RecordedSource(item.recording)
            player = Player(server, source, item.scene)
            server.on_client_connect(lambda client: fit_camera(client, *player.drawing.view))
            yield driver, server, source, player
        finally:
            server.stop()


@contextmanager
def browser() -> Iterator[Any]:
    """A browser without a window."""
    program = next((path for path in CHROMIUM if Path(path).exists()), None)
    if program is None:
        raise FileError("the gallery needs Chromium, such as with: apt install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise FileError("the gallery needs playwright: pip install playwright") from None
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def _page(driver: Any, server: viser.ViserServer, size: tuple[int, int]) -> Iterator[Any]:
    page = driver.new_page(viewport={"width": size[0], "height": size[1]})
    page.set_default_timeout(1e3 * PAGE_TIMEOUT_S)
    try:
        page.goto(f"http://127.0.0.1:{server.get_port()}")
        page.locator("canvas").first.wait_for()
        page.add_style_tag(content=_HIDE_NOTES)
        yield page
    finally:
        page.close()


def _still(
    driver: Any,
    server: viser.ViserServer,
    player: Player,
    t: float,
    size: tuple[int, int],
    path: Path,
) -> Path:
    with _page(driver, server, size) as page:
        player.seek(t)
        write_bytes(path, _settled(page))
    return path


def _console(
    driver: Any,
    server: viser.ViserServer,
    console: Console,
    margin: str,
    size: tuple[int, int],
    path: Path,
) -> Path:
    """The page as an operator sees it; ticks of a recording are not timed."""
    with _page(driver, server, size) as page:
        console.frame(0.0, Health(margin=margin), False, True)
        write_bytes(path, _settled(page))
    return path


def _moving(driver: Any, server: viser.ViserServer, player: Player, t: float, path: Path) -> Path:
    from PIL import Image

    clip = {"x": 0, "y": 0, "width": SMALL[0] - PANEL_WIDTH, "height": SMALL[1]}
    frames = []
    with _page(driver, server, SMALL) as page:
        start = max(0.0, t - FILM_S / 2)
        player.seek(start)
        _settled(page)
        for moment in np.linspace(start, t + FILM_S / 2, FRAMES):
            player.seek(float(moment))
            picture = Image.open(io.BytesIO(_settled(page, clip)))
            frames.append(picture.convert("RGB").quantize(128, COVERAGE))
    film = io.BytesIO()
    more = {"append_images": frames[1:], "duration": FRAME_MS, "loop": 0}
    frames[0].save(film, "GIF", save_all=True, optimize=True, **more)
    write_bytes(path, film.getvalue())
    return path


def _settled(page: Any, clip: dict[str, int] | None = None) -> bytes:
    """A picture of the page once two in a row are equal, or after a timeout."""
    deadline, before = time.monotonic() + PAGE_TIMEOUT_S, b""
    while True:
        page.wait_for_timeout(150)
        now = page.screenshot(clip=clip, timeout=1e3 * PAGE_TIMEOUT_S)
        if now == before or time.monotonic() > deadline:
            return now
        before = now


def _moment(scene: Scene, recording: Recording) -> float:
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
