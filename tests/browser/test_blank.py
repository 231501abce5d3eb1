"""A picture that cannot be drawn says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from farhand.running.gallery import CHROMIUM
from tests.browser.visiting import SIZE, eventually

pytestmark = pytest.mark.browser

WITHOUT = ("--no-sandbox", "--disable-gpu", "--disable-software-rasterizer", "--disable-3d-apis")
LOSE = """() => [...document.querySelectorAll("#root canvas")].map((canvas) =>
    canvas.getContext("webgl2")?.getExtension("WEBGL_lose_context")?.loseContext()).length"""


def test_a_lost_picture_says_so(visitor):
    """Nothing is said while there is one; a browser may take it away at any time."""
    line = visitor.page.locator("#fh-blank")
    assert eventually(lambda: float(visitor.pixels().std()) > 10.0)
    assert not line.is_visible()
    assert visitor.page.evaluate(LOSE) > 0
    assert eventually(line.is_visible)
    assert "lost its WebGL" in line.inner_text()


def test_without_webgl_the_page_says_so_and_stops_the_arms(browser, run):
    """In a browser that has none, over the empty picture; Escape stops all the same."""
    program = next(path for path in CHROMIUM if Path(path).exists())
    bare = browser.browser_type.launch(executable_path=program, args=list(WITHOUT))
    try:
        page = bare.new_page(viewport=SIZE)
        page.goto(run.served.address)
        line = page.locator("#fh-blank")
        assert eventually(line.is_visible)
        assert "this browser has no WebGL" in line.inner_text()
        page.keyboard.press("Escape")
        assert eventually(lambda: len(run.rig.session.trips) == 2)
    finally:
        bare.close()
