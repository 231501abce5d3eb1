"""Engaging a haptic device: a homing spring, a gate that waits for a small force, gain ramps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from farhand.parameters import parameter
from farhand.spatial import Array

ARRIVAL_SHARE = 1e-6
"""Share of one step that counts as rounding: 4000 steps of 0.005 must make 20, not 4001."""


@dataclass
class HomingSpring:
    """Force that leads a pen to its origin before it is engaged.

    The damping is ours: with the device's own 0.5 N·s/m the pen swings for almost five seconds.
    """

    stiffness: float = parameter(40.0, "N/m", "stiffness of the homing spring", 0.0, 1000.0)
    # assumed
    damping: float = parameter(4.0, "N·s/m", "damping of the homing spring", 0.0, 100.0)

    def force(self, position: Array, velocity: Array | float = 0.0) -> Array:
        """On the pen, device axes, [N]."""
        return -self.stiffness * position - self.damping * velocity


@dataclass
class EngageGate:
    """Opens once, when the force that the operator is about to feel is small.

    ``norm`` waits until the whole force stays small for a while. ``axis`` is the published gate:
    one sample of one axis, which a passing swing opens too (erratum ER-14). A force of exactly
    zero, or none, means that the controller has not begun, and opens nothing.
    """

    kind: str = parameter("norm", "-", "what must be small", choices=("norm", "axis"))
    force: float = parameter(0.1, "N", "force that counts as small", 0.0, 100.0)
    hold: float = parameter(0.2, "s", "how long it must stay small", 0.0, 10.0)

    def __post_init__(self) -> None:
        self.close()

    def close(self) -> None:
        """Wait again."""
        self.open, self._lasted = False, 0.0

    def step(self, force: Array | None, dt: float) -> bool:
        """Check a force [N], ``dt`` [s] after the last; whether the gate is open."""
        if self.open:
            return True
        if self.kind == "axis":
            self.open = force is not None and 0.0 < abs(float(force[2])) < self.force
            return self.open
        size = 0.0 if force is None else math.sqrt(float(force.dot(force)))
        self._lasted = self._lasted + dt if 0.0 < size < self.force else 0.0
        self.open = self._lasted > 0.0 and self._lasted >= self.hold - 0.5 * dt
        return self.open


@dataclass
class Ramp:
    """A value that moves to its target by at most ``rate`` per second and stops there exactly."""

    value: float
    target: float
    rate: float

    def step(self, dt: float) -> float:
        """Move on by ``dt`` [s] and return the value."""
        left, step = self.target - self.value, self.rate * dt
        if abs(left) <= step * (1.0 + ARRIVAL_SHARE):
            self.value = self.target
        else:
            self.value += step if left > 0.0 else -step
        return self.value

    def jump(self, value: float) -> None:
        """Go there at once, and stay."""
        self.value = self.target = value


Stage = Literal["slack", "soft", "full"]


@dataclass
class Tunables:
    """Gains that an operator changes during a run; each ramps to its new value.

    They are the stiffness of the spring that pulls the tool, the speed of rate control and the
    force divisor. The stiffness has three stages: ``slack`` (none), ``soft`` (to approach the first
    setpoint) and ``full``; it rises from soft to full at its slew, which is the published ramp: 6 s
    for translation, 4 s for rotation.
    """

    stiffness: float = parameter(700.0, "N/m", "stiffness kt", 0.0, 5000.0)
    rotational_stiffness: float = parameter(30.0, "N·m/rad", "rotational stiffness kr", 0.0, 500.0)
    speed: float = parameter(0.1, "m/s", "speed v of rate control", 0.0, 0.25)
    force_divisor: float = parameter(10.0, "-", "force divisor kf", 1.0, 1000.0)
    soft_stiffness: float = parameter(100.0, "N/m", "stiffness while approaching", 0.0, 5000.0)
    soft_rotational_stiffness: float = parameter(
        10.0, "N·m/rad", "rotational stiffness while approaching", 0.0, 500.0
    )
    stiffness_slew: float = parameter(100.0, "N/(m·s)", "how fast kt may change", 1e-3, 1e6)
    rotational_slew: float = parameter(5.0, "N·m/(rad·s)", "how fast kr may change", 1e-3, 1e6)
    # the next two are assumed
    speed_slew: float = parameter(0.5, "m/s²", "how fast v may change", 1e-3, 1e3)
    divisor_slew: float = parameter(10.0, "1/s", "how fast kf may change", 1e-3, 1e6)

    def __post_init__(self) -> None:
        self.kt = Ramp(0.0, 0.0, self.stiffness_slew)
        self.kr = Ramp(0.0, 0.0, self.rotational_slew)
        self.v = Ramp(self.speed, self.speed, self.speed_slew)
        self.kf = Ramp(self.force_divisor, self.force_divisor, self.divisor_slew)
        self.stage: Stage = "slack"

    def refresh(self) -> None:
        """Aim the ramps at the parameters; the values themselves move with :meth:`step`."""
        stages = {
            "slack": (0.0, 0.0),
            "soft": (self.soft_stiffness, self.soft_rotational_stiffness),
            "full": (self.stiffness, self.rotational_stiffness),
        }
        self.kt.target, self.kr.target = stages[self.stage]
        self.v.target, self.kf.target = self.speed, self.force_divisor
        self.kt.rate, self.kr.rate = self.stiffness_slew, self.rotational_slew
        self.v.rate, self.kf.rate = self.speed_slew, self.divisor_slew

    def enter(self, stage: Stage) -> None:
        """Change the stage: at once to slack or soft, at the slew to full."""
        self.stage = stage
        self.refresh()
        if stage != "full":
            self.kt.jump(self.kt.target)
            self.kr.jump(self.kr.target)

    def step(self, dt: float) -> None:
        """Move every value on by ``dt`` [s]."""
        for ramp in (self.kt, self.kr, self.v, self.kf):
            ramp.step(dt)

    @property
    def settled(self) -> bool:
        """Whether the stiffness has reached its stage."""
        return self.kt.value == self.kt.target and self.kr.value == self.kr.target
