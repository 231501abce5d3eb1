"""Interlocks: conditions of the hardware that stop the arm and keep it stopped until they are gone and acknowledged."""

from __future__ import annotations

import math
from dataclasses import dataclass

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.safety.guard import Trip


@dataclass
class OverheatStop:
    """Stop when the force sensor is too hot to be trusted or to survive.

    Either its own flag or a temperature above ``limit`` trips; the trip stays after it has cooled
    down. A temperature that is not a number trips as well: a broken thermometer must not look like
    a cool sensor.

    Attributes:
        trip: why it stopped, or None.
    """

    limit: float = parameter(120.0, "°C", "temperature that stops the arm", 0.0, 500.0)
    margin: float = parameter(10.0, "°C", "how much cooler it must be for a reset", 0.0, 100.0)

    def __post_init__(self) -> None:
        """Cool."""
        self.trip: Trip | None = None
        self._last = -math.inf

    def check(self, temperature: float | None, flag: bool, now_ns: int) -> bool:
        """Whether the arm may move.

        Args:
            temperature: of the sensor, [°C]; None where it is not measured.
            flag: the sensor's own overheat flag.
            now_ns: [ns].
        """
        if flag:
            self._last = math.inf
            self._stop(now_ns, "overheat", "the force sensor reports that it is too hot")
        elif temperature is not None:
            self._last = temperature
            if math.isnan(temperature):
                self._stop(now_ns, "invalid", "the force sensor's temperature is not a number")
            elif temperature > self.limit:
                reason = f"the force sensor is at {temperature:.1f} °C (limit {self.limit:g} °C)"
                self._stop(now_ns, "overheat", reason)
        else:
            self._last = -math.inf
        return self.trip is None

    def reset(self) -> None:
        """Allow motion again.

        Raises:
            BadValue: the sensor is still hot, or its temperature is not known.
        """
        if self.trip is not None and not self._last <= self.limit - self.margin:
            said = (
                "its own flag is up"
                if self._last == math.inf
                else f"last reading {self._last:g} °C"
            )
            raise BadValue(
                f"cannot reset: the force sensor is too hot, {said}; below {self.limit - self.margin:g} °C needed"
            )
        self.trip = None

    def _stop(self, now_ns: int, kind: str, reason: str) -> None:
        if self.trip is None:
            self.trip = Trip(now_ns, kind, reason)
