"""Acts of a random operator and random faults, each with the trips it may cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from farhand.parameters import describe
from farhand.rigs import Rig

Array = np.ndarray

DRAG_STEP_S = 0.02  # between two positions of a dragging hand
TRIP_DELAY_S = 2.0  # longest time from a cause to its trip

FAULTS = {
    "nan-position": ("invalid",),
    "nan-velocity": ("invalid",),
    "nan-wrench": ("invalid",),
    "frozen": ("stale",),
    "no-wrench": (),
}
"""Faults of a plant's samples and the trips they may cause at their station."""

TUNED_PARAMETERS = (
    "hand.stiffness",
    "wall.stiffness",
    "law.spring.stiffness",
    "law.proportional",
    "law.mapping.motion_scale",
)
"""Parameters an operator changes, to between 0.5 and 1.5 times their first value."""

REFUSED_SETTINGS = (
    ("hand.drag", "nan"),
    ("wall.stiffness", -1.0),
    ("law.no_such_gain", 3.0),
    ("leader.guard.force", "much"),
)
"""Settings that every session must refuse."""


@dataclass(frozen=True)
class Act:
    """Something that was done to a session, between two times [s]."""

    name: str  #: what, such as ``"fault frozen"``
    where: str  #: at which station; empty for all of them and the link
    start: float
    end: float
    causes: tuple[str, ...] = ()  #: kinds of trip it may cause

    def explains(self, where: str, kind: str, time: float) -> bool:
        """Whether a trip of that kind at that station and time [s] may come from this."""
        in_time = self.start <= time <= self.end + TRIP_DELAY_S
        return in_time and kind in self.causes and self.where in ("", where)


class Repertoire:
    """All that can be done to one rig, through its commands alone.

    Args:
        rig: the rig.
        reach: how far a hand drags along each axis, [m].
        speed: largest speed of the hand, [m/s].
        calm: leave out what stops an arm.
        rng: makes all choices.
    """

    def __init__(
        self, rig: Rig, reach: float, speed: float, calm: bool, rng: np.random.Generator
    ) -> None:
        self._commands = rig.session.commands
        self._reach = reach
        self._speed = speed
        self._rng = rng
        self._built = {path: value for path, value, _, _ in describe(rig.session.parameters)}
        self._stations = [station.name for station in rig.session.stations]
        self._coupled = bool(rig.session.bridges)
        self._linked = "link.jitter" in self._built and rig.options.delay > 0.0
        self._drag = np.zeros(3)
        stopping = (self.fault, self.stop, self.dead_drive)
        self.choices = [act for act in self._possible() if not (calm and act in stopping)]

    def _possible(self) -> Iterable[Callable[[float], Act]]:
        """Acts that this rig has parts for; frequent ones are listed more than once."""
        if "hand.drag" in self._built:
            yield from (self.drag, self.drag, self.drag, self.let_go)
        if self._coupled:
            yield from (self.clutch, self.part)
        if self._linked:
            yield from (self.outage, self.jitter, self.loss)
        if "leader.handle.grip" in self._built:
            yield self.dead_man
        if "follower.bus.faults.drop" in self._built:
            yield from (self.dropped_replies, self.dead_servo)
        if any(f"{name}.drive.dead" in self._built for name in self._stations):
            yield self.dead_drive
        yield from (self.fault, self.noise, self.tune, self.nonsense, self.stop)

    def drag(self, now: float) -> Act:
        """Move the hand to a random place within reach, at a random speed."""
        goal = self._rng.uniform(-self._reach, self._reach, 3)
        speed = self._speed * self._rng.uniform(0.1, 1.0)
        seconds = max(float(np.linalg.norm(goal - self._drag)) / speed, DRAG_STEP_S)
        steps = int(np.ceil(seconds / DRAG_STEP_S))
        for number in range(1, steps + 1):
            place = self._drag + (goal - self._drag) * (number / steps)
            self._set("hand.drag", place.round(6).tolist(), now + number * DRAG_STEP_S)
        self._drag = goal
        return Act("drag", "", now, now + seconds)

    def let_go(self, now: float) -> Act:
        """Open the hand and take hold again."""
        end = now + self._rng.uniform(0.1, 2.0)
        self._set("hand.open", True, now)
        self._set("hand.open", False, end)
        return Act("let go", "", now, end)

    def clutch(self, now: float) -> Act:
        """Part to re-position, and couple again."""
        end = now + self._rng.uniform(0.3, 1.5)
        self._post("clutch", now)
        self._post("declutch", end)
        return Act("clutch", "", now, end)

    def part(self, now: float) -> Act:
        """Release, and engage again."""
        end = now + self._rng.uniform(0.3, 1.5)
        self._post("release", now)
        self._post("engage", end)
        return Act("release", "", now, end)

    def stop(self, now: float) -> Act:
        """The operator's stop."""
        self._post("stop", now)
        return Act("stop", "", now, now, ("stop",))

    def outage(self, now: float) -> Act:
        """The link is dead for a while."""
        length = self._rng.uniform(0.05, 1.0)
        self._set("link.outage_start", now, now)
        self._set("link.outage_length", length, now)
        return Act("outage", "", now, now + length, ("link",))

    def jitter(self, now: float) -> Act:
        """Packets take a while longer or shorter, and overtake each other."""
        end = now + self._rng.uniform(0.5, 5.0)
        delay = float(np.asarray(self._built["link.delay"], dtype=float))
        self._for_a_while("link.jitter", 0.4 * self._rng.uniform() * delay, now, end)
        self._for_a_while("link.reorder", True, now, end)
        return Act("jitter", "", now, end)

    def loss(self, now: float) -> Act:
        """Packets get lost, one by one or in bursts."""
        end = now + self._rng.uniform(0.5, 5.0)
        self._for_a_while("link.loss", self._rng.uniform(0.0, 0.5), now, end)
        self._for_a_while("link.burst_chance", self._rng.uniform(0.0, 0.02), now, end)
        return Act("loss", "", now, end, ("link",))

    def fault(self, now: float) -> Act:
        """Something is wrong with one station's samples for a while."""
        where, fault = self._a_station("plant.fault"), str(self._rng.choice(list(FAULTS)))
        length = self._rng.uniform(0.005, 0.5)
        self._set(f"{where}.plant.fault_start", now, now)
        self._set(f"{where}.plant.fault_length", length, now)
        self._set(f"{where}.plant.fault", fault, now)
        return Act(f"fault {fault}", where, now, now + length, FAULTS[fault])

    def noise(self, now: float) -> Act:
        """A force sensor is noisy for a while."""
        where, end = self._a_station("plant.force_noise"), now + self._rng.uniform(0.1, 1.0)
        self._for_a_while(f"{where}.plant.force_noise", self._rng.uniform(1.0, 20.0), now, end)
        return Act("noise", where, now, end)

    def dead_man(self, now: float) -> Act:
        """The handle is let go and gripped again."""
        end = now + self._rng.uniform(0.1, 2.0)
        self._for_a_while("leader.handle.grip", 0.0, now, end)
        return Act("dead-man", "", now, end)

    def dropped_replies(self, now: float) -> Act:
        """Servos do not answer, or answer with wrong data."""
        end = now + self._rng.uniform(0.2, 2.0)
        for name in ("drop", "corrupt"):
            self._for_a_while(f"follower.bus.faults.{name}", self._rng.uniform(0.0, 0.3), now, end)
        return Act("dropped replies", "follower", now, end, ("plant", "stale"))

    def dead_servo(self, now: float) -> Act:
        """One servo does not answer for some time."""
        end = now + self._rng.uniform(0.2, 2.0)
        self._for_a_while("follower.bus.faults.dead", int(self._rng.integers(1, 4)), now, end)
        return Act("dead servo", "follower", now, end, ("plant", "stale"))

    def dead_drive(self, now: float) -> Act:
        """The controller of one arm does not answer for some time; its brakes close."""
        where, end = self._a_station("drive.dead"), now + self._rng.uniform(0.1, 1.0)
        self._for_a_while(f"{where}.drive.dead", True, now, end)
        return Act("dead drive", "", now, end, ("plant",))

    def tune(self, now: float) -> Act:
        """Change a parameter to between 0.5 and 1.5 times its first value."""
        paths = [path for path in TUNED_PARAMETERS if path in self._built]
        if not paths:
            return Act("nothing to tune", "", now, now)
        path = str(self._rng.choice(paths))
        value = np.asarray(self._built[path], dtype=float) * self._rng.uniform(0.5, 1.5)
        self._set(path, value.tolist(), now)
        return Act("tune", "", now, now)

    def nonsense(self, now: float) -> Act:
        """Send a setting that must be refused."""
        path, value = REFUSED_SETTINGS[self._rng.integers(len(REFUSED_SETTINGS))]
        self._set(path, value, now)
        return Act("nonsense", "", now, now)

    def _a_station(self, needed: str) -> str:
        able = [name for name in self._stations if f"{name}.{needed}" in self._built]
        return str(self._rng.choice(able))

    def _for_a_while(self, path: str, value: object, start: float, end: float) -> None:
        self._set(path, value, start)
        self._set(path, self._built[path], end)

    def _set(self, path: str, value: object, at: float) -> None:
        value = value.tolist() if isinstance(value, np.ndarray) else value
        self._commands.post("set", path, value, round(at * 1e9))

    def _post(self, name: str, at: float) -> None:
        self._commands.post(name, at_ns=round(at * 1e9))
