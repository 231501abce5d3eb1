"""The prediction follows every live change, and shaking is reported while it lasts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from farhand.console import shaking
from farhand.console.prediction import Prediction
from farhand.console.shaking import Shaking
from farhand.loop.telemetry import Reader, Stream, Telemetry
from farhand.rigs import Options, build_rig
from farhand.rigs.margin import margin
from farhand.running.page import scene_for

WAIT_S = 120.0
ABOUT = {"contact": "follower", "driven": "leader", "open_loop": False, "joints": False}


@pytest.fixture
def force():
    """The prediction for two arms that reflect the measured force, over a perfect link."""
    made = Prediction("dual-arm", Options(law="position-force", scenario="press", linked=True))
    assert made.settle(WAIT_S)
    yield made
    made.close()


def test_a_longer_delay_brings_it_nearer_to_its_limit_and_beyond(force):
    """Text and level follow each change, both ways."""
    levels = [force.level]
    assert force.text.startswith("predicted to be calm: a wall of 6000 N/m")
    assert force.text.endswith("; leader held")
    for delay in (50.0, 150.0, 300.0):
        force.change("link.delay", delay)
        assert force.settle(WAIT_S)
        levels.append(force.level)
    assert levels == sorted(levels) and levels[0] < 0.3 and levels[-1] == 1.0
    assert force.text.startswith("predicted to shake: a wall of 6000 N/m at 300 ms")
    force.change("link.delay", "0")
    assert force.settle(WAIT_S)
    assert force.level == levels[0]


def test_letting_go_of_the_leader_shakes_at_a_delay_that_a_hand_calms(force):
    """The same wall and delay: what is predicted depends on the hand, and says so."""
    force.change("wall.stiffness", 1500.0)
    force.change("link.delay", 200.0)
    assert force.settle(WAIT_S)
    assert force.text.startswith("predicted to be calm: a wall of 1500 N/m at 200 ms")
    force.change("hand.open", True)
    force.change("link.delay", 100.0)
    assert force.settle(WAIT_S)
    assert force.text.startswith("predicted to shake: a wall of 1500 N/m at 100 ms")
    assert force.text.endswith("; leader not held")


def test_a_change_that_the_twin_cannot_take_and_a_drag_leave_it_as_it_was(force):
    """The session knows better what it accepts; a hand that is dragged changes no loop."""
    before = force.text, force.level
    force.change("hand.drag", [0.0, 0.0, 0.1])
    force.change("follower.wings.span", 3.0)
    assert force.settle(WAIT_S)
    assert (force.text, force.level) == before


def test_a_scene_has_what_its_viewer_predicts_from():
    """With what was set since the rig was built; without clock or ring of its own."""
    rig = build_rig("dual-arm", Options(law="position-force", scenario="press", linked=True))
    scene = scene_for(rig, {"link.delay": 300.0})
    words = margin(rig, brief=True)
    rig.close()
    assert scene["margin"] == words and scene["shaking"] == ABOUT
    prediction = Prediction.of(scene)
    assert prediction.text == words
    assert prediction.settle(WAIT_S) and prediction.level == 1.0
    assert prediction.text.startswith("predicted to shake")
    assert prediction.motion is not None
    prediction.close()


def test_nothing_is_predicted_where_nothing_is_known():
    """For drives that take positions there is no prediction; the level is not a number."""
    rig = build_rig("cooperative")
    scene = scene_for(rig)
    rig.close()
    prediction = Prediction.of(scene)
    prediction.change("link.delay", 100.0)
    assert scene["twin"] is None and scene["shaking"] is None
    assert prediction.text == "" and math.isnan(prediction.level) and prediction.settle(0.0)


class Ring:
    """A telemetry ring with the streams of a coupled run, written by hand at 1 kHz."""

    def __init__(self) -> None:
        self.telemetry, self.now_ns = Telemetry(), 0
        self.streams = []
        self.error = self._channel("coupling", "error", 6)
        for name in ("leader", "follower"):
            stream = Stream(name, 1000.0)
            position = stream.channel("position_tool_in_world", 3, "m")
            wrench = stream.channel("wrench_measured_in_world", 6, "N, N·m")
            self.streams.append(self.telemetry.add(stream))
            setattr(self, name, (position, wrench))
        self.telemetry.freeze()

    def _channel(self, stream: str, channel: str, size: int):
        made = self.telemetry.add(Stream(stream, 1000.0))
        self.streams.append(made)
        return made.channel(channel, size, "m, rad")

    def run(self, seconds: float, newtons: float, hertz: float, look: Shaking) -> list[str]:
        """Let the contact force swing for so long; what is said at the end of each half second."""
        said = []
        for tick in range(round(1e3 * seconds)):
            self.now_ns += 1_000_000
            wave = math.sin(2e-9 * math.pi * hertz * self.now_ns)
            self.follower[1][0] = 10.0 + newtons * wave
            self.follower[0][0] = self.leader[0][0] = 1e-3 * newtons * wave
            for stream in self.streams:
                stream.commit(self.now_ns)
            if tick % 500 == 499:
                look.look()
                said.append(look.settle())
        return said


@pytest.fixture
def ring(monkeypatch):
    """An empty ring whose readers judge at every look."""
    monkeypatch.setattr(shaking, "PERIOD_S", 0.0)
    made = Ring()
    yield made
    made.telemetry.close()


def test_shaking_is_texts_while_it_lasts_and_not_after(ring):
    """Within three seconds; two seconds later, calm is calm again."""
    watch = Shaking(Reader(ring.telemetry.path), ABOUT)
    assert set(ring.run(2.0, 0.0, 4.0, watch)) == {""}
    texts = ring.run(3.0, 12.0, 4.0, watch)
    assert texts[-1].startswith("it shakes: the contact force oscillates by ±12 N at 4 Hz")
    assert " from " not in texts[-1]
    assert ring.run(2.0, 0.0, 4.0, watch)[-1] == ""


def test_slow_shaking_is_texts_unless_the_hand_means_it(ring):
    """A scenario that stands still means no swing; a visitor who drags to and fro does."""
    still = Prediction("")
    still.motion = lambda times: np.zeros((len(times), 3))
    watch = Shaking(Reader(ring.telemetry.path), ABOUT, still)
    assert ring.run(8.0, 40.0, 1.0, watch)[-1].endswith("at 1 Hz")
    swung = Shaking(Reader(ring.telemetry.path), ABOUT, still)
    for step in range(400):
        t_ns = ring.now_ns + step * 20_000_000
        place = [0.05 * math.sin(2e-9 * math.pi * t_ns), 0.0, 0.0]
        data = {"kind": "command", "name": "set", "path": "hand.drag", "value": place, "done": True}
        ring.telemetry.event(t_ns, "set hand.drag", data)
    assert ring.run(7.5, 40.0, 1.0, swung)[-1] == ""


def test_it_judges_at_most_once_a_second(ring, monkeypatch):
    """A judgement costs some milliseconds of the picture's time."""
    monkeypatch.setattr(shaking, "PERIOD_S", 1.0)
    judged = []
    monkeypatch.setattr(Shaking, "_judge", lambda self, *_: judged.append(1))
    watch = Shaking(Reader(ring.telemetry.path), ABOUT)
    ring.run(3.0, 12.0, 4.0, watch)
    assert len(judged) <= 1


def test_the_lag_of_drives_and_a_ring_without_coupling_say_nothing(ring):
    """An open loop's error is no shaking; a rig that couples nothing has none."""
    assert Shaking(Reader(ring.telemetry.path), None).look() == ""
    watch = Shaking(Reader(ring.telemetry.path), {**ABOUT, "open_loop": True})
    assert watch.look() == ""
