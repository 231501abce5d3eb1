"""The delay's slider: it acts while it is moved, step by step, and shows what is true."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import viser

from farhand.console.scene import scene_of
from farhand.console.tuning import GLIDE_PERIOD_S, Glide, Tuning
from farhand.rigs import Options, build_rig
from tests.console.test_controls import Heard


class Session:
    """What a slider has sent, by the time [s] of a clock that the test moves."""

    def __init__(self) -> None:
        self.sent: list[float] = []
        self.slide = Glide(self.sent.append, 0.0)
        self.now = 0.0

    def wait(self, seconds: float) -> list[float]:
        """Frames at 30 Hz for a while; what was sent meanwhile."""
        before = len(self.sent)
        for _ in range(round(30.0 * seconds)):
            self.slide.step(self.now)
            self.now += 1.0 / 30.0
        return self.sent[before:]


def test_a_jump_of_the_slider_reaches_the_session_in_steps():
    """At most ten a second, and never so large that the watchdog would part the arms."""
    session = Session()
    session.slide.move(250.0)
    assert not session.slide.settle(0.0)
    assert session.wait(0.1) == [100.0] and session.wait(0.1) == [200.0]
    assert session.wait(1.0) == [250.0]
    assert session.slide.settle(250.0)


def test_moves_between_two_steps_count_as_one():
    """A hand on the slider makes sixty a second."""
    session = Session()
    for value in range(1, 51):
        session.slide.move(float(value))
    assert session.wait(1.0) == [50.0]


def test_a_refusal_stops_it_where_the_session_is():
    """The next move starts from the true value."""
    session = Session()
    session.slide.move(500.0)
    assert session.wait(0.1) == [100.0]
    session.slide.stop(40.0)
    assert session.wait(1.0) == [] and session.slide.settle(40.0)
    session.slide.move(60.0)
    assert session.wait(1.0) == [60.0]


@pytest.fixture
def made() -> Iterator:
    """The forms of a rig on its page, and what they send."""
    server = viser.ViserServer("127.0.0.1", 0, verbose=False)

    def make(name: str) -> tuple[Tuning, Heard]:
        rig = build_rig(name, Options(linked=True))
        heard = Heard()
        tuning = Tuning(server.gui, scene_of(rig), heard)
        rig.close()
        return tuning, heard

    yield make
    server.stop()


def test_the_slider_sets_the_delay_and_never_restarts(made):
    """A visitor's move is sent; what the session answers is shown and not sent again."""
    tuning, heard = made("dual-arm")
    tuning.add_choices()
    slider = tuning._slider
    assert (slider.min, slider.max, slider.step, slider.value) == (0.0, 500.0, 1.0, 0.0)
    slider.value = 80.0
    for callback in slider._impl.update_cb:
        callback(SimpleNamespace(client_id=1, client=None, target=slider))
    tuning.follow()
    assert heard == [("set", "link.delay", 80.0)]
    tuning.known("link.delay", 30.0)
    assert slider.value == 30.0
    tuning.known("link.delay", "2000")
    assert slider.value == 500.0
    tuning.known("link.delay", 30.0)
    slider.value = 90.0
    tuning.restore("link.delay")
    assert slider.value == 30.0
    time.sleep(2.0 * GLIDE_PERIOD_S)
    tuning.follow()
    assert heard == [("set", "link.delay", 80.0)]


def test_a_rig_without_a_link_has_no_slider(made):
    """One line says why."""
    tuning, _ = made("cooperative")
    tuning.add_choices()
    tuning.add_live()
    assert tuning._slider is None and "link.delay" not in tuning._inputs
