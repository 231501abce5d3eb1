"""One joint on a bench, or a thousand: inertia, friction, encoder and a drive with faults."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.errors import OutOfRange
from farhand.friction.models.implicit import advance
from farhand.friction.models.model import Friction
from farhand.friction.velocity import quantised
from farhand.parameters import parameter
from farhand.spatial import Array

WHEEL_TICK = 2.0 * np.pi / 4000 / (9405 / 364)
"""One tick of the youBot's motor-side encoder at the wheel: 4000 per turn, gear 25.838, [rad]."""
WHEEL_INERTIA = 1.06e-2
"""Wheel and rotor at the wheel, 1.6e-3 + 25.838² × 1.35e-5 by data sheets, [kg·m²]."""


@dataclass
class DriveFaults:
    """Faults of a joint's drive and encoder, each its own switch; zero (or off) is perfect."""

    offset: float = parameter(0.0, "N·m", "smallest torque the drive puts out", 0.0, 100.0)
    shortfall: float = parameter(
        0.0, "N·m", "constant amount by which torque stays behind", 0.0, 100.0
    )
    lag: float = parameter(0.0, "s", "time constant of the torque", 0.0, 10.0)
    unsigned_current: bool = parameter(False, "-", "whether measured torque has no sign")
    torque_noise: float = parameter(0.0, "N·m", "standard deviation of measured torque", 0.0, 100.0)
    velocity_noise: float = parameter(
        0.0, "rad/s", "standard deviation of the drive's velocity", 0.0, 100.0
    )
    encoder_step: float = parameter(0.0, "rad", "encoder step", 0.0, 1.0)


class OneJoint:
    r"""Independent joints: :math:`J \ddot q = \tau - F`.

    Torques and J are those at the joint (rotor times gear ratio squared included). Arrays have one
    entry per joint, so a sweep of a thousand cases is one run.

    Args:
        friction: F, with as many joints as there are.
        inertia: J, one for all or one per joint, [kg·m²].
        faults: of the drive.
        dt: time between commands, [s].
        substeps: solver steps in that time.
        rng: source of the noise.

    Attributes:
        position: true position, [rad].
        velocity: true velocity, [rad/s].
        torque: true torque of the drive in the last step, [N·m].
        resistance: friction in the last step, [N·m].
        work: energy that friction has taken so far, [J].
    """

    def __init__(
        self,
        friction: Friction,
        inertia: float | Array = WHEEL_INERTIA,
        faults: DriveFaults | None = None,
        dt: float = 1e-3,
        substeps: int = 1,
        rng: np.random.Generator | None = None,
    ) -> None:
        if not np.all(np.asarray(inertia) > 0.0):
            raise OutOfRange("inertia", inertia, 0.0, np.inf, "kg·m²")
        n = friction.joints
        self.friction, self.faults = friction, faults or DriveFaults()
        self.dt, self.substeps = dt, substeps
        self.inertia = np.array(np.broadcast_to(np.asarray(inertia, dtype=float), (n,)))
        self.position, self.velocity, self.torque = np.zeros(n), np.zeros(n), np.zeros(n)
        self.resistance, self.work, self._lagged = np.zeros(n), np.zeros(n), np.zeros(n)
        self._rng = rng or np.random.default_rng(0)
        self._seen = self.measured_position

    @property
    def measured_position(self) -> Array:
        """Position in whole encoder steps, [rad]."""
        return quantised(self.position, self.faults.encoder_step)

    @property
    def measured_velocity(self) -> Array:
        """The drive's estimate: the last difference of measured positions, with noise, [rad/s]."""
        noise = self._noise(self.faults.velocity_noise)
        slope: Array = (self.measured_position - self._seen) / self.dt
        return slope + noise

    @property
    def measured_torque(self) -> Array:
        """Torque from the motor current, without its sign if the drive loses it, [N·m]."""
        measured = self.torque + self._noise(self.faults.torque_noise)
        return np.abs(measured) if self.faults.unsigned_current else measured

    def step(self, command: float | Array, external: float | Array = 0.0) -> None:
        """Advance by one period under a commanded torque and one by hand or load, [N·m]."""
        self._seen = self.measured_position
        commands = np.broadcast_to(np.asarray(command, dtype=float), self.position.shape)
        self.torque = self._driven(commands)
        pushed, dt = self.torque + external, self.dt / self.substeps
        for _ in range(self.substeps):
            after, self.resistance = advance(self.friction, self.velocity, dt, pushed, self.inertia)
            self.position = self.position + 0.5 * dt * (self.velocity + after)
            self.work += dt * self.resistance * after
            self.velocity = after

    def _driven(self, command: Array) -> Array:
        """The torque of the drive for a command."""
        faults, torque = self.faults, command
        if faults.shortfall:
            torque = np.sign(torque) * np.maximum(np.abs(torque) - faults.shortfall, 0.0)
        if faults.lag:
            self._lagged = torque + (self._lagged - torque) * np.exp(-self.dt / faults.lag)
            torque = self._lagged
        if faults.offset:
            torque = np.where(torque < 0.0, -1.0, 1.0) * np.maximum(np.abs(torque), faults.offset)
        return torque

    def _noise(self, sigma: float) -> Array | float:
        return sigma * self._rng.standard_normal(self.position.shape) if sigma else 0.0
