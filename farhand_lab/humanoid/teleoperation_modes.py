"""Ways to lead a limb with a pen besides position: velocity, a rate sphere, buttons, torque."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from farhand.errors import BadValue
from farhand.mapping.limbs import SINGULAR, ArmChain
from farhand.parameters import parameter

Array = np.ndarray

MODELS = ("right-arm", "left-arm", "both-arms", "left-leg", "right-leg")
"""Kinematic models in the order of the second button; published code of the author."""


class MeanVelocity:
    """Velocity from positions, as the mean of the last differences; it lags by half the window.

    Args:
        window: how many differences.
    """

    def __init__(self, window: int = 20) -> None:
        if window < 1:
            raise BadValue(f"a mean needs a window of 1 or more, not {window}")
        self.window = window
        self._past: deque[Array] = deque(maxlen=window)
        self._last: Array | None = None

    def step(self, position: Array, dt: float) -> Array:
        """Mean velocity [m/s] after a new position [m], ``dt`` [s] after the one before."""
        if self._last is not None:
            self._past.append((position - self._last) / dt)
        self._last = np.array(position, dtype=float)
        return np.sum(self._past, axis=0) / self.window if self._past else np.zeros_like(self._last)


class JointSpeeds(NamedTuple):
    """Commands to the servos in velocity mode."""

    targets: Array  #: where each joint is sent: a limit, or where it was read to be, [rad]
    speeds: Array  #: how fast each goes there, [rad/s]
    unlimited: Array  #: joint velocities before the guard, [rad/s]
    singular: bool  #: whether the guard acted


@dataclass
class VelocityMode:
    r"""Joint speeds for a speed of the wrist, sent as position commands.

    .. math:: \dot q = J(q)^{-1}\,k\,v, \quad
              \text{target}_i = \text{the limit that } \dot q_i \text{ leads to}

    The published system tried this and dropped it. Each joint is sent to its far limit at the speed
    :math:`|\dot q_i|`; a joint at rest is sent where it was read. Its faults: joints never come to
    rest by themselves, so forces belong to postures already left; near a straight elbow speeds grow
    without bound; places are never compared, so errors add up. The guard shrinks all speeds alike
    where one would exceed its servo, and uses damped least squares near a singularity.
    """

    chain: ArmChain = field(default_factory=ArmChain)
    top: Array = parameter(
        (5.943, 4.592, 4.592), "rad/s", "largest speed of each joint", 0.0, 100.0
    )
    scale: float = parameter(2.0, "-", "robot speed per hand speed", 0.01, 100.0)
    guarded: bool = parameter(True, "-", "whether the singular guard acts")
    # assumed
    damping: float = parameter(0.02, "m", "of the least squares near a singularity", 0.0, 1.0)

    def step(self, velocity: Array, q: Array) -> JointSpeeds:
        """Commands for a hand's velocity [m/s] at joints as read [rad]."""
        J, v = self.chain.jacobian(q), self.scale * np.asarray(velocity, dtype=float)
        near = bool(self.chain.singular(q, SINGULAR))
        if near and self.guarded:
            unlimited = J.T @ np.linalg.solve(J @ J.T + self.damping**2 * np.eye(3), v)
        else:
            unlimited = np.linalg.lstsq(J, v, rcond=1e-12)[0]
        over = float((np.abs(unlimited) / self.top).max())
        speeds = unlimited / over if self.guarded and over > 1.0 else unlimited
        low, high = np.array(self.chain.lowest), np.array(self.chain.highest)
        targets = np.where(speeds > 0.0, high, np.where(speeds < 0.0, low, q))
        acted = self.guarded and (near or over > 1.0)
        return JointSpeeds(targets, np.abs(speeds), unlimited, acted)


@dataclass
class RateSphere:
    r"""Velocity and pull proportional to the pen's offset from an anchor, up to a sphere's surface.

    .. math::
        v = v_{max}\,\frac{\min(r, R)}{R}\,\hat r, \qquad
        f = -\bigl(k\,\min(r, R) + k_2 \max(r - R, 0)\bigr)\,\hat r

    Named as future work (sources/humanoid §5). It stays in the pen's workspace, and letting
    go stops the limb.
    """

    # assumed: fits the Omni's depth
    radius: float = parameter(0.025, "m", "radius of the sphere", 1e-3, 1.0)
    speed: float = parameter(0.1, "m/s", "speed at the surface", 0.0, 10.0)  # assumed
    # assumed: 1.5 N at the surface
    stiffness: float = parameter(60.0, "N/m", "pull to the anchor", 0.0, 1e4)
    wall: float = parameter(1000.0, "N/m", "stiffness of the surface", 0.0, 1e5)  # assumed
    anchor: Array = parameter((0.0, 0.0, 0.0), "m", "centre of the sphere", -10.0, 10.0)

    def velocity(self, pen: Array) -> Array:
        """Velocity of the limb's end for a place of the pen [m], [m/s]."""
        offset, r = self._offset(pen)
        return offset * (self.speed / max(self.radius, r))

    def force(self, pen: Array) -> Array:
        """Pull on the pen at its place [m], [N]."""
        offset, r = self._offset(pen)
        if r == 0.0:
            return np.zeros(3)
        size = self.stiffness * min(r, self.radius) + self.wall * max(r - self.radius, 0.0)
        return offset * (-size / r)

    def _offset(self, pen: Array) -> tuple[Array, float]:
        offset = np.asarray(pen, dtype=float) - self.anchor
        return offset, math.sqrt(float(offset @ offset))


class PenButtons:
    """The first button toggles the control loop, the second goes to the next kinematic model.

    Args:
        toggle: name of the first button.
        cycle: name of the second.
        models: what the second goes through.
    """

    def __init__(
        self, toggle: str = "toggle", cycle: str = "model", models: Sequence[str] = MODELS
    ) -> None:
        self._toggle = toggle
        self._cycle = cycle
        self._models = tuple(models)
        self.running = False  #: whether the loop runs
        self.model = self._models[0]  #: which model is chosen
        self._down: dict[str, bool] = {}

    def step(self, buttons: Mapping[str, bool]) -> list[str]:
        """Look at the buttons; names of those that have just gone down."""
        pressed = [name for name, down in buttons.items() if down and not self._down.get(name)]
        self._down = dict(buttons)
        if self._toggle in pressed:
            self.running = not self.running
        # changing the limb under way would make it jump
        if self._cycle in pressed and not self.running:
            self.model = self._models[(self._models.index(self.model) + 1) % len(self._models)]
        return pressed


@dataclass
class TorqueIllusion:
    r"""A force across the pen with the torque about the fingers that is commanded.

    .. math:: f = \frac{\tau \times r}{|r|^2}\,(1 + a\,\mathrm{sgn}\sin 2\pi\nu t), \qquad
              r \times f = \tau_\perp

    For a device that drives only its translations. r leads from the fingers to the wrist point,
    where the device pushes. The torque along the pen cannot be shown. A force at one point has the
    mean torque :math:`r \times \bar f`, so one with zero mean turns nothing on average: ``shake``
    changes how it feels, never the mean.
    """

    # assumed
    lever: Array = parameter(
        (-0.060, 0.0, 0.0), "m", "from the fingers to the wrist point", -1.0, 1.0
    )
    shake: float = parameter(0.0, "-", "share by which the force alternates", 0.0, 1.0)
    frequency: float = parameter(200.0, "Hz", "of the alternation", 1.0, 1000.0)

    def force(self, torque: Array, t: float, rotation: Array | None = None) -> Array:
        """Force [N] for a torque [N·m] at time t [s], world axes; ``rotation`` is the pen's."""
        r = self.lever if rotation is None else rotation @ self.lever
        steady = np.cross(torque, r) / float(r @ r)
        return steady * (1.0 + self.shake * (1.0 if (t * self.frequency) % 1.0 < 0.5 else -1.0))
