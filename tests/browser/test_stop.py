"""Escape stops from anywhere on the page, on every rig, and a lost connection says so."""

from __future__ import annotations

import time

import pytest

from farhand.console.serve import Tokens
from farhand.rigs import rig_names
from tests.browser.escape import FOCUS, STATES, waits
from tests.browser.visiting import Run, Visitor, Wire, eventually

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("rig", rig_names())
def test_escape_stops_whatever_has_the_focus(browser, rig):
    """Twelve presses on each rig: every one arrives.

    How soon is not judged here, where two test processes and a browser share two cores;
    ``python -m tests.browser.escape`` prints it.
    """
    assert len(waits(browser, rig)) == len(STATES) * len(FOCUS)


def test_keys_of_the_hand_do_not_turn_the_camera(run, visitor):
    """The hand moves by a centimetre, also after a click on a tab; the camera stays."""
    assert eventually(lambda: "engaged" in visitor.text())
    visitor.page.get_by_role("tab", name="State").click()
    turns = "window.turned = 0; document.addEventListener('keydown', () => { window.turned++ })"
    visitor.page.evaluate(turns)
    session = run.rig.session
    for key in ("ArrowUp", "ArrowLeft", "PageUp"):
        visitor.page.keyboard.press(key)
    moved = lambda: [e for e in session.commands.log if e.request.path == "hand.drag"]  # noqa: E731
    assert eventually(lambda: bool(moved()))
    # viser listens on the document, behind the page's own listener on the window
    assert visitor.page.evaluate("window.turned") == 0


def test_a_second_visitor_watches_until_he_takes_the_wheel(browser, run, visitor):
    """Who drives is shown; keys of the other do nothing, but stop does."""
    assert eventually(lambda: "engaged" in visitor.text())
    other = Visitor(browser, run.served.address)
    try:
        assert eventually(lambda: "drives, you watch" in other.page.inner_text("#fh-bar"))
        assert eventually(lambda: "1 watching" in visitor.page.inner_text("#fh-bar"))
        other.page.keyboard.press("r")
        time.sleep(0.5)
        assert not any(e.request.name == "release" for e in run.rig.session.commands.log)
        other.page.evaluate("document.getElementById('fh-take').click()")
        assert eventually(lambda: "drives, you watch" in visitor.page.inner_text("#fh-bar"))
        other.page.keyboard.press("r")
        assert eventually(
            lambda: any(e.request.name == "release" for e in run.rig.session.commands.log)
        )
        visitor.page.keyboard.press("Escape")
        assert eventually(lambda: len(run.rig.session.trips) == 2)
    finally:
        other.page.close()


def test_the_token_to_watch_does_not_show_the_wheel(browser):
    """Neither taking it nor driving is offered."""
    run = Run("rest", "127.0.0.1", tokens=Tokens("secret", "look"))
    try:
        plain = run.served.address.partition("/?")[0]
        visitor = Visitor(browser, f"{plain}/?token=look")
        assert eventually(lambda: "you watch" in visitor.page.inner_text("#fh-bar"))
        assert visitor.page.locator("#fh-take:visible").count() == 0
        assert visitor.page.locator("#fh-stop:visible").count() == 1
        visitor.page.close()
    finally:
        run.close()


def test_a_lost_connection_covers_the_picture_and_comes_back(browser):
    """The server is killed and started again at the same place."""
    run = Run("rest")
    address = run.served.address
    visitor = Visitor(browser, address)
    port = int(address.rpartition(":")[2])
    try:
        assert eventually(lambda: "engaged" in visitor.text())
    finally:
        run.close()
    assert eventually(
        lambda: "STOP does not reach the arms" in visitor.page.inner_text("#fh-cover")
    )
    again = Run("rest", port=port)
    try:
        assert eventually(lambda: visitor.page.locator("#fh-cover:visible").count() == 0)
        assert eventually(lambda: "engaged" in visitor.text())
        visitor.page.keyboard.press("Escape")
        assert eventually(lambda: len(again.rig.session.trips) == 2)
    finally:
        visitor.page.close()
        again.close()


def test_a_picture_that_does_not_come_is_said(browser, run):
    """The connection that viser draws over is refused: the state says so until it is there."""
    wire = Wire(run.served.address, refused=b"viser-v")
    visitor = Visitor(browser, wire.address)
    try:
        state = visitor.page.locator("#fh-state")
        said = lambda: "The picture is not connected" in state.inner_text()  # noqa: E731
        assert eventually(lambda: "engaged" in state.inner_text())
        assert said()
        wire.refused = None
        assert eventually(lambda: not said())
        assert eventually(lambda: visitor.page.locator("#farhand-page").count() == 1)
    finally:
        visitor.page.close()
        wire.close()


@pytest.mark.parametrize("silent", [True, False], ids=["before it is noticed", "while it is down"])
def test_a_stop_pressed_while_the_line_is_down_is_the_first_thing_sent(browser, run, silent):
    """The page says that it has not arrived, keeps it over its reload, and says it was late."""
    wire = Wire(run.served.address)
    visitor = Visitor(browser, wire.address)
    try:
        assert eventually(lambda: "engaged" in visitor.text())
        (wire.silence if silent else wire.cut)()
        if not silent:
            visitor.page.locator("#fh-cover").wait_for(state="visible")
        visitor.page.keyboard.press("Escape")
        if silent:
            wire.cut()  # what was on its way is lost
        kept = visitor.page.locator("#fh-kept", has_text="It has not reached the arms")
        kept.wait_for(state="visible")
        assert run.rig.session.trips == []
        wire.mend()
        assert eventually(lambda: len(run.rig.session.trips) == 2)
        late = visitor.page.locator("#fh-late", has_text="s late: the connection was down")
        late.wait_for(state="visible")
        run.rig.session.commands.post("reset")
        visitor.page.reload()
        assert eventually(lambda: "apart" in visitor.text())
        assert [e.request.name for e in run.rig.session.commands.log].count("stop") == 1
    finally:
        visitor.page.close()
        wire.close()


def test_a_stop_leaves_one_button_and_the_panel_where_it_was(run, visitor):
    """Nothing jumps under the mouse when a guard trips."""
    assert eventually(lambda: "engaged" in visitor.text())
    tab, stop = visitor.page.get_by_role("tab", name="Drive"), "button:visible:has-text('STOP')"

    # The panel slides to its place when the page has loaded
    def rests() -> bool:
        box = tab.bounding_box()
        time.sleep(0.5)
        return tab.bounding_box() == box

    assert eventually(rests)
    before = tab.bounding_box()
    visitor.page.keyboard.press("Escape")
    assert eventually(lambda: "the operator stopped the session" in visitor.text())
    assert tab.bounding_box() == before
    assert visitor.page.locator(stop).count() == 1
