"""Ramp: a number that follows its target at a bounded rate and stops there exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from farhand.parameters import parameter

NEAR = 1e-6
"""Share of one step from which the target counts as reached: 4000 steps of 0.005 must make 20, not
4001."""


@dataclass
class Ramp:
    """A value that moves to its target by at most ``rate`` per second.

    Attributes:
        value: now.
        target: where it goes.
        rate: largest change per second.
    """

    value: float
    target: float
    rate: float

    def step(self, dt: float) -> float:
        """Move on by ``dt`` [s] and return the value."""
        left, step = self.target - self.value, self.rate * dt
        if abs(left) <= step * (1.0 + NEAR):
            self.value = self.target
        else:
            self.value += step if left > 0.0 else -step
        return self.value

    def jump(self, value: float) -> None:
        """Be there at once, and stay."""
        self.value = self.target = value


# Tunables: gains that an operator changes while the rig runs; each slides to its new value, so
# nothing jerks.

Stage = Literal["slack", "soft", "full"]


@dataclass
class Tunables:
    """Stiffness of the spring that pulls the tool, speed of rate control and force divisor, with their slews.

    The stiffness has three stages: ``slack`` (none), ``soft`` (to approach the first setpoint) and
    ``full``; it rises from soft to full at its slew, which is the published ramp: 6 s for
    translation, 4 s for rotation.

    Attributes:
        stage: of the stiffness.
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
    speed_slew: float = parameter(0.5, "m/s²", "how fast v may change", 1e-3, 1e3)  # assumed
    divisor_slew: float = parameter(10.0, "1/s", "how fast kf may change", 1e-3, 1e6)  # assumed

    def __post_init__(self) -> None:
        """Slack."""
        self.kt, self.kr = Ramp(0.0, 0.0, self.stiffness_slew), Ramp(0.0, 0.0, self.rotational_slew)
        self.v = Ramp(self.speed, self.speed, self.speed_slew)
        self.kf = Ramp(self.force_divisor, self.force_divisor, self.divisor_slew)
        self.stage: Stage = "slack"

    def refresh(self) -> None:
        """Aim the ramps at the parameters; the values themselves move with :meth:`step`."""
        soft = (self.soft_stiffness, self.soft_rotational_stiffness)
        stages = {
            "slack": (0.0, 0.0),
            "soft": soft,
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
        """Let every value move on by ``dt`` [s]."""
        for ramp in (self.kt, self.kr, self.v, self.kf):
            ramp.step(dt)

    @property
    def settled(self) -> bool:
        """Whether the stiffness is where its stage wants it."""
        return self.kt.value == self.kt.target and self.kr.value == self.kr.target
