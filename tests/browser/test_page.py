"""The page in a real browser: the picture is there, the status tells, and the Stop button stops the arms."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from farhand.clock import WallClock
from farhand.console import scene_of, serve
from farhand.rigs import Options, build_rig

pytestmark = pytest.mark.browser

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SECONDS = 60.0  # [s], the longest a test waits for anything; software rendering on a busy machine is slow


@pytest.fixture
def page(tmp_path) -> Iterator[SimpleNamespace]:
    """The console of a dual-arm session that runs in wall time, open in a small window."""
    if not CHROMIUM.exists():
        pytest.skip("needs a browser: apt install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs its driver: pip install playwright")
    rig = build_rig("dual-arm", Options(clock=WallClock()))
    with serve(rig.session.telemetry.path, scene_of(rig), port=0, commands=rig.session.commands) as served:
        run = threading.Thread(target=rig.session.run, args=(600.0, served.poll, 0.05))
        run.start()
        try:
            with playwright.sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
                opened = browser.new_page(viewport={"width": 800, "height": 500})
                opened.set_default_timeout(1e3 * SECONDS)
                opened.goto(served.address)
                opened.locator("canvas").first.wait_for()
                yield SimpleNamespace(browser=opened, rig=rig)
                browser.close()
        finally:
            rig.session.finish()
            run.join()
            rig.close()


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it comes true in time."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def contrast(page: SimpleNamespace) -> float:
    """Standard deviation of the pixels of the picture, left of the panel and below the notice; 0 when it is blank."""
    image = pytest.importorskip("PIL.Image")
    shot = page.browser.screenshot(clip={"x": 0, "y": 170, "width": 400, "height": 320}, timeout=1e3 * SECONDS)
    return float(np.asarray(image.open(io.BytesIO(shot)).convert("L"), dtype=float).std())


def test_the_page_shows_the_arms_and_stops_them(page):
    """The canvas is drawn, the panel says how well the follower tracks, and one click trips both arms."""
    assert eventually(lambda: contrast(page) > 10.0)
    assert eventually(lambda: "tracking" in page.browser.inner_text("body"))
    page.browser.get_by_role("button", name="Stop").click()
    assert eventually(lambda: "the operator stopped the session" in page.browser.inner_text("body"))
    assert [str(entry.request) for entry in page.rig.session.commands.log] == ["engage", "stop"]
    assert {record.where for record in page.rig.session.trips} == {"leader", "follower"}
