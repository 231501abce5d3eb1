"""Escape stops from anywhere on the page, on every rig, and a lost connection says so."""

from __future__ import annotations

import time

import numpy as np
import pytest

from farhand.console.serve import Tokens
from farhand.rigs import rig_names
from tests.browser.visiting import Run, Visitor, Wire, eventually

pytestmark = pytest.mark.browser

NOTE_TIMES = (
    """() => window.addEventListener("keydown", () => { window.pressed = Date.now() }, true)"""
)

FOCUS = {
    "the picture": "document.querySelector('canvas').focus()",
    "nothing": "document.activeElement && document.activeElement.blur()",
    "a field": "[...document.querySelectorAll('input')].find(i => i.type === 'text').focus()",
    "an open menu": "(() => { const m = document.querySelector('[aria-haspopup=listbox]');"
    " if (m) { m.focus(); m.click(); } })()",
    "a button": "document.querySelector('.mantine-Button-root').focus()",
    "the page's own button": "document.getElementById('fh-sound').focus()",
}
"""What has the focus when Escape is pressed."""

STATES = ("as it is", "stopped")


class Stops:
    """The stops that a session carries out, by the wall clock."""

    def __init__(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times: list[float] = []
        session = run.rig.session
        carry_out = session._carry_out

        def timed(request, now_ns):
            outcome = carry_out(request, now_ns)
            if request.name == "stop":
                self.times.append(time.time())
            return outcome

        monkeypatch.setattr(session, "_carry_out", timed)


@pytest.mark.parametrize("rig", rig_names())
def test_escape_stops_whatever_has_the_focus(browser, monkeypatch, rig):
    """Twelve presses on each rig: every one arrives.

    How soon is shown by ``pytest -s``: 2 to 25 ms alone on a machine. It is not judged here, where
    two test processes and a browser share two cores.
    """
    run = Run(None, rig=rig)
    stops = Stops(run, monkeypatch)
    visitor = Visitor(browser, run.served.address)
    try:
        assert eventually(lambda: visitor.page.evaluate("!!document.getElementById('fh-stop')"))
        assert eventually(lambda: visitor.page.locator("#fh-stop:visible").count() == 1)
        visitor.page.evaluate(NOTE_TIMES)
        waits = {}
        for state in STATES:
            for focus, script in FOCUS.items():
                if state == "as it is":
                    run.rig.session.commands.post("reset")
                visitor.page.evaluate(script)
                count = len(stops.times)
                visitor.page.keyboard.press("Escape")
                assert eventually(lambda count=count: len(stops.times) > count), (state, focus)
                pressed = 1e-3 * visitor.page.evaluate("window.pressed")
                waits[state, focus] = stops.times[count] - pressed
        print(f"{rig}: {np.round(1e3 * np.array(list(waits.values())))} ms")
        assert eventually(lambda: "Stopped" in visitor.page.inner_text("#fh-state"))
    finally:
        visitor.page.close()
        run.close()


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
