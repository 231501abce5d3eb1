"""Watches: a handle that is let go parts the coupling, heat trips, and news are told once."""

from __future__ import annotations

import numpy as np

from farhand.control.haptic.impedance import CartesianImpedance
from farhand.loop.commands import DONE, Outcome
from farhand.safety import Guard
from farhand.safety.handle import DeadMan
from farhand.safety.watches import Announcer, GripWatch, OverheatStop, OverheatWatch

MS = 1_000_000


class Bridge:
    """Notes what it is told."""

    def __init__(self, outcome: Outcome = DONE) -> None:
        self.coupled, self.outcome = True, outcome

    def engage(self) -> Outcome:
        """Couple."""
        self.coupled = self.outcome.done
        return self.outcome

    def release(self) -> None:
        """Part."""
        self.coupled = False


class Sensor:
    """As hot as told."""

    reading, hot = 25.0, False


def grip(deadman: DeadMan, force: float) -> None:
    """One step of the dead-man with this grip."""
    deadman.step(CartesianImpedance(), force, np.zeros(3), np.eye(3), np.zeros(6), 1e-3)


def watched(bridge: Bridge, said: list[str]) -> tuple[DeadMan, GripWatch]:
    """A watch over a handle that is gripped."""
    deadman = DeadMan()
    watch = GripWatch(
        deadman, bridge, lambda: bridge.coupled, lambda now_ns, text: said.append(text)
    )
    grip(deadman, 10.0)
    watch.step(0)
    return deadman, watch


def test_letting_go_parts_and_a_new_grip_couples_again_a_hundred_times():
    """Nothing has to be restarted; each is told once."""
    bridge, said = Bridge(), []
    deadman, watch = watched(bridge, said)
    assert said == [] and bridge.coupled
    for k in range(100):
        for force, coupled in ((0.0, False), (0.0, False), (10.0, True)):
            grip(deadman, force)
            watch.step(k * MS)
            assert bridge.coupled is coupled
    assert len(said) == 200
    assert said[0].startswith("handle let go") and said[1] == "handle gripped again: coupled"


def test_an_engagement_without_a_grip_does_not_last():
    """A coupling made meanwhile is parted at once; a later grip couples only what was coupled."""
    bridge, said = Bridge(), []
    deadman, watch = watched(bridge, said)
    bridge.release()
    grip(deadman, 0.0)
    watch.step(MS)
    bridge.engage()
    watch.step(2 * MS)
    assert not bridge.coupled
    grip(deadman, 10.0)
    watch.step(3 * MS)
    assert not bridge.coupled
    assert said[-1].endswith("not coupled before")


def test_a_refused_engagement_is_told_with_its_reason():
    """A station that tripped meanwhile."""
    bridge, said = Bridge(Outcome.refused("follower is tripped")), []
    deadman, watch = watched(bridge, said)
    for force in (0.0, 10.0):
        grip(deadman, force)
        watch.step(MS)
    assert "refused: follower is tripped" in said[-1]


def test_heat_trips_and_a_reset_holds_only_when_it_has_cooled_down():
    """By the thermometer, and by the sensor's own flag."""
    guard, sensor, stop = Guard(), Sensor(), OverheatStop()
    watch = OverheatWatch(stop, sensor, guard)
    watch.step(0)
    assert guard.trip is None
    sensor.reading = 121.0
    watch.step(MS)
    assert (
        guard.trip is not None and guard.trip.kind == "overheat" and "121.0 °C" in guard.trip.reason
    )
    sensor.reading = 115.0
    guard.reset()
    watch.step(2 * MS)
    assert guard.trip is not None and "cannot reset" in guard.trip.reason
    sensor.reading = 100.0
    watch.step(3 * MS)
    watch.step(4 * MS)
    # cool again, and latched until the guard is reset
    assert stop.trip is not None and guard.trip is not None
    guard.reset()
    watch.step(5 * MS)
    assert guard.trip is None


def test_news_are_told_once_and_not_too_often():
    """The same sentence is no news; neither is silence."""
    said: list[tuple[int, str]] = []
    now = {"text": ""}
    announcer = Announcer(
        lambda now_ns, text: said.append((now_ns, text)), lambda: now["text"], pause=0.01
    )
    for k, text in enumerate(["", "a", "a", "b", "", *["a"] * 20]):
        now["text"] = text
        announcer.step(k * MS)
    assert said == [(1 * MS, "a")]
    now["text"] = "c"
    announcer.step(60 * MS)
    now["text"] = "d"
    announcer.step(70 * MS - 1)
    assert said[-1] == (60 * MS, "c")
    announcer.step(70 * MS)
    assert said[-1] == (70 * MS, "d")
