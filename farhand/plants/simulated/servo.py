"""Servos: position servos as their bus sees them, with their ramp, their PD loop and their potentiometer's error.

Positions are counts of the servo, 0.1° of the shaft, 600 to 2400 with the centre at 1500.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.plants.servo_bus.frames import CENTRE, HIGHEST, LOWEST
from farhand.plants.servo_bus.joints import BusJoint

Array = np.ndarray

COUNT = math.radians(0.1)
"""Angle of the shaft per count, [rad]."""

FULL_SPEED = 255
RATED_VOLTAGE = 6.0
"""At which torques and speeds are rated, [V]."""


@dataclass
class ServoLoop:
    r"""The loop in a servo, at its shaft, and what feeds it.

    .. math:: \tau = \mathrm{sat}\bigl(K_p\,\mathrm{dead}(\theta_r - \theta) - K_d\,\dot\theta\bigr)
    """

    # assumed: gains are not stated
    kp: float = parameter(30.0, "N·m/rad", "proportional gain at the shaft", 0.0, 1e4)
    kd: float = parameter(0.6, "N·m·s/rad", "derivative gain at the shaft", 0.0, 1e3)  # assumed
    # assumed: "lowest"
    dead_zone: float = parameter(1.0, "counts", "error that moves nothing", 0.0, 100.0)
    # assumed: 1–3°
    pot_error: float = parameter(20.0, "counts", "largest error of the potentiometers", 0.0, 100.0)
    voltage: float = parameter(RATED_VOLTAGE, "V", "supply", 0.0, 12.0)
    brown_out: float = parameter(4.8, "V", "voltage below which servos fail", 0.0, 12.0)  # assumed

    @property
    def share(self) -> float:
        """Torque and speed over their ratings at this voltage, [-]."""
        return 0.0 if self.voltage < self.brown_out else self.voltage / RATED_VOLTAGE


class Servos:
    r"""Several servos. Each keeps a plan apart from its execution, so a target may be replaced at any time.

    The reference goes to the target in a straight line at the commanded share of the top speed,
    from wherever it is:

    .. math:: \dot r = \pm v_{top}\,s/255, \qquad r \to p_1

    The potentiometer reads :math:`\theta + A \sin\pi x + B \sin 2\pi x` with :math:`x = (\theta -
    1500)/900`: no error at the centre and at both ends, another shape for every unit.

    Args:
        joints: what they move; their ratings count.
        start: where they begin, [counts].
        loop: gains, errors and supply.
        rng: which units these are.

    Attributes:
        reference: r, [counts].
        target: p_1, [counts].
        speed: s, 0 to 255.
        powered: whether they hold.
    """

    def __init__(
        self,
        joints: Sequence[BusJoint],
        start: Array,
        loop: ServoLoop | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        if len(joints) != len(start):
            raise BadValue(f"{len(joints)} servos need as many starts, not {len(start)}")
        rng = rng or np.random.default_rng(0)
        self.joints, self.loop = list(joints), loop or ServoLoop()
        self.reference, self.target = np.array(start, dtype=float), np.array(start, dtype=float)
        self.speed = np.full(len(joints), FULL_SPEED, dtype=float)
        self.top = np.array([joint.speed for joint in joints])
        self.torque_limit = np.array([joint.torque for joint in joints])
        self.powered = True
        self._shape = np.array([_unit(rng) for _ in joints]).T

    def __len__(self) -> int:
        return len(self.joints)

    def move(self, index: int, position: float) -> None:
        """Replace a servo's target, [counts]; it holds again if it was released."""
        self.target[index] = min(max(position, LOWEST), HIGHEST)
        self.powered = True

    def advance(self, dt: float) -> None:
        """Move every reference on by ``dt`` [s]."""
        if not self.powered or not self.loop.share:
            return
        step = self.top * self.speed * (self.loop.share * dt / FULL_SPEED)
        np.clip(self.target, self.reference - step, self.reference + step, out=self.reference)

    def torque(self, shaft: Array, rate: Array) -> Array:
        """Torque at the shafts, [N·m], for their positions [counts] and velocities [rad/s]."""
        loop = self.loop
        if not self.powered:
            return np.zeros(len(self))
        error = self.reference - shaft
        beyond = error - np.clip(error, -loop.dead_zone, loop.dead_zone)
        limit = self.torque_limit * loop.share
        return np.clip(loop.kp * COUNT * beyond - loop.kd * rate, -limit, limit)

    def error(self, shaft: Array) -> Array:
        """What the potentiometers read too much at true positions, [counts]."""
        x = (np.asarray(shaft, dtype=float) - CENTRE) / (HIGHEST - CENTRE)
        first, second = self._shape
        return self.loop.pot_error * (first * np.sin(np.pi * x) + second * np.sin(2.0 * np.pi * x))

    def read(self, shaft: Array) -> Array:
        """What the potentiometers read at true positions, whole [counts]."""
        return np.rint(shaft + self.error(shaft))


def _unit(rng: np.random.Generator) -> tuple[float, float]:
    """Shape of one unit's error: its largest value is between half of the loop's ``pot_error`` and all of it."""
    share = rng.uniform(0.2, 0.8)
    size, signs = rng.uniform(0.5, 1.0), rng.choice([-1.0, 1.0], 2)
    x = np.linspace(-1.0, 1.0, 201)
    first, second = signs[0] * (1.0 - share), signs[1] * share
    peak = np.abs(first * np.sin(np.pi * x) + second * np.sin(2.0 * np.pi * x)).max()
    return size * first / peak, size * second / peak
