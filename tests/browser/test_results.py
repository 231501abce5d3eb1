"""The page of reproduced results in a browser: finding a claim among hundreds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from farhand_lab.harness import Entry
from farhand_lab.report import report

pytestmark = pytest.mark.browser

CLAIMS = (
    ("D-01", "dual-arm", "pass", "Kinematics of the arm"),
    ("D-51", "dual-arm", "differs", "Dry friction of the leader"),
    ("Y-47", "youbot", "differs", "Friction of a wheel"),
)


@pytest.fixture(params=[(1440, 900), (390, 844)], ids=["wide", "phone"])
def page(browser, tmp_path, request) -> Iterator[Any]:
    """Opened from a file."""
    entries = [
        Entry(id, title, 0.25, "mm", "< 1 mm", verdict, "thesis §1", "a note", group=rig)
        for id, rig, verdict, title in CLAIMS
    ]
    width, height = request.param
    made = browser.new_page(viewport={"width": width, "height": height})
    made.goto(report(entries, tmp_path).as_uri())
    yield made
    made.close()


def shown(page: Any) -> list[str]:
    return page.eval_on_selector_all(
        ".claim", "rows => rows.filter(row => row.checkVisibility()).map(row => row.id)"
    )


def test_claims_are_found_by_words_rig_and_verdict(page):
    """All three together, and the page says how many are left."""
    assert shown(page) == ["D-01", "D-51", "Y-47"]
    page.fill("#words", "friction")
    assert shown(page) == ["D-51", "Y-47"]
    page.select_option("#rig", "youbot")
    assert shown(page) == ["Y-47"] and page.text_content("#shown") == "1 of 3"
    page.select_option("#verdict", "pass")
    assert shown(page) == []


def test_a_score_shows_the_claims_that_it_counts(page):
    """From the card to the lines."""
    page.click("button:has-text('1 differ') >> nth=0")
    assert shown(page) == ["D-51"]


def test_a_link_to_a_claim_opens_it_whatever_the_filter_hides(page):
    """From what differs on the card to the note."""
    page.select_option("#verdict", "pass")
    page.click(".card a[href='#Y-47']")
    page.wait_for_function("document.getElementById('Y-47').open")
    assert page.is_visible("text=farhand reproduce Y-47")


def test_nothing_is_wider_than_the_window(page):
    """Also with a claim unfolded."""
    page.click("#D-51 summary .title")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
