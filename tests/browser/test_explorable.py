"""The explorable in a real browser, opened from a file: no server, no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from farhand_lab.explorable.__main__ import main
from farhand_lab.explorable.runs import Grid
from tests.browser.visiting import SECONDS

pytestmark = pytest.mark.browser

GRID = Grid(
    ("position-force",), ("none", "tdpa", "waves"), (6000.0,), (0.0, 40.0, 80.0), seconds=5.0
)
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """The page, of a few runs."""
    path = tmp_path_factory.mktemp("site") / "explorable.html"
    return main(["--out", str(path), "--workers", "1"], GRID)


@pytest.fixture(params=[WIDE, PHONE], ids=["wide", "phone"])
def page(browser, file, request) -> Iterator[Any]:
    """The page as a reader has it open; it must not complain."""
    complaints: list[str] = []
    opened = browser.new_page(viewport=request.param)
    opened.set_default_timeout(1e3 * SECONDS)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda asked: _note_network(asked.url, complaints))
    opened.goto(file.as_uri())
    opened.locator("#verdict b").wait_for()
    yield opened
    opened.close()
    assert complaints == []


def _note_network(url: str, complaints: list[str]) -> None:
    if not url.startswith(("file:", "data:", "blob:")):
        complaints.append(f"asked for {url}")


def test_more_delay_makes_it_shake_and_a_layer_calms_it(page):
    """By the keyboard alone: the slider, then a choice."""
    assert "Calm" in page.inner_text("#verdict")
    page.focus("#delay")
    page.keyboard.press("ArrowRight")
    page.locator("#verdict", has_text="It shakes").wait_for()
    assert "40 ms each way (80 ms round trip)" in page.inner_text("#controls")
    assert "it should shake" in page.inner_text("#margin-said")
    page.keyboard.press("ArrowRight")
    page.locator("#verdict", has_text="Stopped at").wait_for()
    page.focus("input[name=layer][value=none]")
    page.keyboard.press("ArrowRight")
    page.locator("#verdict", has_text="Calm").wait_for()
    page.keyboard.press("ArrowRight")
    page.locator("#verdict", has_text="Not possible").wait_for()


def test_the_guide_leads_through_five_steps(page):
    """Each button sets the controls and says what to look at."""
    seen = []
    for _ in range(5):
        seen.append(page.inner_text("#guide-title"))
        page.click("#next")
    assert [title[:2] for title in seen] == ["1.", "2.", "3.", "4.", "5."]
    assert page.inner_text("#guide-title") == seen[0]


def test_the_run_plays_and_the_curves_can_be_pointed_at(page):
    """The picture changes with time; a press on the curves goes to that time."""
    page.evaluate("setPlaying(false)")
    before = page.locator("#arms").screenshot()
    page.locator("#time").fill("4")
    assert page.inner_text("#time-said") == "4.0 s"
    assert page.locator("#arms").screenshot() != before
    box = page.locator("#curves").bounding_box()
    page.locator("#curves").click(position={"x": 0.6 * box["width"], "y": 0.4 * box["height"]})
    assert page.inner_text("#time-said") not in ("0.0 s", "4.0 s", "5.0 s")


def test_everything_fits_and_can_be_hit_with_a_finger(page):
    """No scrolling sideways; targets of 44 px; one screen on a laptop."""
    wide, high = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    )
    size = page.viewport_size
    assert wide <= size["width"]
    if size["width"] == WIDE["width"]:
        assert high <= size["height"]
    for target in page.locator("button, select, input[type=range], .choice").all():
        assert target.bounding_box()["height"] >= 44.0
