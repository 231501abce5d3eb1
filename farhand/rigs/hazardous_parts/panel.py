"""The operator's panel: what the handle, the gripper and the sensor's thermometer say, recorded beside the arms.

With both sides in one process it is one stream, ``operator``; apart, the leader records the handle with what it has
heard in ``operator``, and the follower the wrist in ``wrist``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from farhand.control.force_map import VibrationCue
from farhand.plants.wrist import WristPlant
from farhand.safety.handle import HandleParts
from farhand.telemetry import Stream, Telemetry


class Readings(Protocol):
    """Some channels of the panel."""

    def declare(self, stream: Stream) -> None:
        """Declare them."""

    def fill(self) -> None:
        """Write them."""


class HandleReadings:
    """How the handle is held."""

    def __init__(self, parts: HandleParts) -> None:
        self._parts = parts

    def declare(self, stream: Stream) -> None:
        """Grip force, and whether it counts as gripped."""
        self._grip = stream.channel("grip", 1, "N")
        self._gripped = stream.channel("gripped", 1, "-")

    def fill(self) -> None:
        """Look at the handle."""
        self._grip[0], self._gripped[0] = self._parts.handle.grip, self._parts.deadman.enabled


class GripperReadings:
    """The cue in the handle and the jaws, as this process knows them.

    Args:
        buzz: whether the handle buzzes, [-].
        jaws: opening [m] and grip force [N].
    """

    def __init__(self, buzz: Callable[[], float], jaws: Callable[[], tuple[float, float]]) -> None:
        self._known_buzz, self._known_jaws = buzz, jaws

    def declare(self, stream: Stream) -> None:
        """Cue, opening and grip force."""
        self._buzz = stream.channel("cue", 1, "-")
        self._jaws = stream.channel("gripper", 2, "m, N", ("opening", "force"))

    def fill(self) -> None:
        """Write what is known."""
        self._buzz[0] = self._known_buzz()
        self._jaws[0], self._jaws[1] = self._known_jaws()


class WristReadings:
    """The follower's wrist, and the decision on the cue.

    Args:
        wrist: with the force sensor.
        cue: when the handle buzzes.
        period_ns: time between steps, [ns].
    """

    def __init__(self, wrist: WristPlant, cue: VibrationCue, period_ns: int) -> None:
        self._wrist, self._cue, self._dt, self._buzz = wrist, cue, period_ns * 1e-9, 0.0

    def buzz(self) -> float:
        """Whether the handle is to buzz, as last decided, [-]."""
        return self._buzz

    def declare(self, stream: Stream) -> None:
        """Temperature, and the contact wrench before its filter."""
        self._temperature = stream.channel("temperature_of_sensor", 1, "°C")
        self._contact = stream.channel("wrench_contact_raw_in_world", 6, "N, N·m", ("fx", "fy", "fz", "tx", "ty", "tz"))

    def fill(self) -> None:
        """Look at the sensor; without a measurement the cue stays as it is."""
        wrist, contact = self._wrist, self._wrist.contact
        if contact is None:
            self._contact[:] = float("nan")
        else:
            self._contact[:] = contact
            self._buzz = float(self._cue.step(contact[:3], wrist.gauges.acceleration, self._dt))
        self._temperature[0] = wrist.gauges.reading


class Panel:
    """Records the readings that this process has.

    Args:
        telemetry: where they are recorded, before it is frozen.
        name: of the stream.
        readings: in the order of their channels; written from the last to the first, for the wrist decides on the cue.
        period_ns: time between steps, [ns].
    """

    def __init__(self, telemetry: Telemetry, name: str, readings: list[Readings], period_ns: int) -> None:
        self._stream = telemetry.stream(name, 1e9 / period_ns)
        for some in readings:
            some.declare(self._stream)
        self._readings = readings[::-1]

    def step(self, now_ns: int) -> None:
        """Publish this tick."""
        for some in self._readings:
            some.fill()
        self._stream.commit(now_ns)
