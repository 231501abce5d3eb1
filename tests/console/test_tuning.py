"""The delay's slider: it acts while it is moved, step by step, and shows what is true."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import viser

from farhand.console import glide
from farhand.console.glide import Glide
from farhand.console.scene import scene_of
from farhand.console.tuning import Tuning
from farhand.rigs import Options, build_rig
from tests.console.test_controls import Heard


def eventually(true, seconds: float = 5.0) -> bool:
    """Whether something comes true within some seconds."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(true())


def test_a_jump_of_the_slider_reaches_the_session_in_steps():
    """At most ten a second, and never so large that the watchdog would part the arms."""
    sent: list[tuple[float, float]] = []
    slide = Glide(lambda value: sent.append((time.monotonic(), value)), 0.0)
    slide.move(250.0)
    assert not slide.settle(0.0)
    assert eventually(lambda: slide.settle(250.0))
    assert [value for _, value in sent] == [100.0, 200.0, 250.0]
    times = [at for at, _ in sent]
    assert all(b - a >= 0.9 * glide.PERIOD_S for a, b in zip(times, times[1:], strict=False))


def test_moves_between_two_steps_count_as_one():
    """A hand on the slider makes sixty a second."""
    sent: list[float] = []
    slide = Glide(sent.append, 0.0)
    for value in range(1, 51):
        slide.move(float(value))
    assert eventually(lambda: slide.settle(50.0))
    assert len(sent) <= 3 and sent[-1] == 50.0


def test_a_refusal_stops_it_where_the_session_is():
    """The next move starts from the true value."""
    sent: list[float] = []
    slide = Glide(sent.append, 0.0)
    slide.move(500.0)
    assert eventually(lambda: sent)
    slide.stop(40.0)
    assert eventually(lambda: slide.settle(40.0))
    slide.move(60.0)
    assert eventually(lambda: sent[-1] == 60.0)


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
    assert eventually(lambda: heard == [("set", "link.delay", 80.0)])
    assert eventually(lambda: tuning._glide.settle(80.0))
    tuning.known("link.delay", 30.0)
    assert slider.value == 30.0
    tuning.known("link.delay", "2000")
    assert slider.value == 500.0
    tuning.known("link.delay", 30.0)
    slider.value = 90.0
    tuning.restore("link.delay")
    assert slider.value == 30.0
    time.sleep(2.0 * glide.PERIOD_S)
    assert heard == [("set", "link.delay", 80.0)]


def test_a_rig_without_a_link_has_no_slider(made):
    """One line says why."""
    tuning, _ = made("cooperative")
    tuning.add_choices()
    tuning.add_live()
    assert tuning._slider is None and "link.delay" not in tuning._inputs
