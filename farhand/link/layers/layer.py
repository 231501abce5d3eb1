"""Energy across a link: what each side has put in and taken out, and how much it may still take."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from farhand.coupling import Side
from farhand.spatial import rotation_from_vector, rotation_vector

Array = np.ndarray


class Settings(Protocol):
    """What a layer lets its user choose.

    Attributes:
        lent: what each end may take out before anything was put in, [J].
        damping_limit: largest damping added at the leader, [N·s/m]; a hundredth of it for rotation, [N·m·s/rad].
        recovery: how quickly what was held back at the follower is given back, [1/s].
        level: energy that the follower's end is to have in reserve, [J]; 0 for none.
        fill: damping at the leader per missing joule of it, [N·s/m/J].
    """

    lent: float
    damping_limit: float
    recovery: float
    level: float
    fill: float


class EnergyPort:
    r"""One end's account of the energy that crosses its port.

    The two directions are kept apart (Ryu, Artigas): with :math:`E_{in}` put in and :math:`E_{out}` taken out,

    .. math:: E^{out}_b(t) \le E^{in}_a(t - T_1) \quad\text{and}\quad E^{out}_a(t) \le E^{in}_b(t - T_2)

    at all times makes the whole passive, whatever the delays, and each end can check its own half from what it has
    heard. The sums only grow, so a lost or late packet makes an end more careful, never less.

    Args:
        settings: of the layer; live.

    Attributes:
        given: put in by this end, per axis, [J] ×6.
        taken: taken out by this end, per axis, [J] ×6.
        heard: what the other end says it has put in, all axes, [J].
        heard_taken: what the other end says it has taken out, [J].
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.given, self.taken = np.zeros(6), np.zeros(6)
        self.heard, self.heard_taken = 0.0, 0.0

    def hear(self, given: Array, taken: Array) -> None:
        """Take note of the other end's sums; older ones than known already say nothing new."""
        self.heard = max(self.heard, float(given.sum()))
        self.heard_taken = max(self.heard_taken, float(taken.sum()))

    @property
    def budget(self) -> float:
        """What may still be taken out here, [J]."""
        return self.settings.lent + self.heard - float(self.taken.sum())

    def account(self, energy_out: Array) -> None:
        """Book a step's energy per axis, positive when it came out here, [J] ×6."""
        positive = np.maximum(energy_out, 0.0)
        self.taken += positive
        self.given += positive - energy_out


class LeaderPort(EnergyPort):
    """The leader's end: a force is exerted on the arm; where it would bring out more than is there, damping is added.

    Attributes:
        added: damping at the last step, [N·s/m].
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.added = 0.0
        self._weights = np.repeat([1.0, 0.01], 3)
        self._wrench = np.zeros(6)

    @property
    def reserve(self) -> float:
        """What this end has put in and the other not yet taken out, as far as is known, [J]."""
        return float(self.given.sum()) - self.heard_taken

    def push(self, wrench: Array, twist: Array, dt: float) -> Array:
        """The wrench that may be exerted on the arm: as asked, with damping where energy would be made."""
        resisting, settings = self._weights * twist, self.settings
        speed = float(resisting.dot(twist))
        added = settings.fill * max(0.0, settings.level - self.reserve)
        out = np.maximum(wrench * twist, 0.0).sum() * dt
        if out > self.budget and speed > 0.0:
            added += (out - self.budget) / (speed * dt)
        self.added = min(added, settings.damping_limit)
        np.subtract(wrench, self.added * resisting, self._wrench)
        self.account(self._wrench * twist * dt)
        return self._wrench


class FollowerPort(EnergyPort):
    r"""The follower's end: where the leader is said to be drives the law here; it moves on only as energy allows.

    The law at this end is evaluated on the follower as it is and on the leader as it was. What it would exert on the
    leader, F, times the leader's displacement since the last tick is the energy that goes through the port: a step
    :math:`\Delta x` that would take out more than the budget is shortened. What is held back is kept as ``behind`` and
    given back at the rate of ``recovery`` as soon as there is energy for it, so nothing is left of it after a contact.

    Attributes:
        behind: by how much the reference is held back, [m] ×3 and [rad] ×3.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.behind = np.zeros(6)
        self._position, self._rotation = np.zeros(3), np.eye(3)
        self._started = False

    def begin(self) -> None:
        """A new engagement: nothing is held back, and displacements count from here."""
        self.behind[:] = 0.0
        self._started = False

    def lead(self, remote: Side, position: Array, rotation: Array, twist: Array, force: Array, dt: float) -> None:
        """Move the law's idea of the leader on towards what was heard of it, as far as there is energy.

        Args:
            remote: the leader as the law sees it; written.
            position: of the leader as last heard, [m].
            rotation: its rotation matrix.
            twist: its twist, [m/s] and [rad/s].
            force: what the law would exert on the leader, without the leader's own damping, [N] and [N·m].
            dt: time since the last call, [s].
        """
        step = self._step(position, rotation)
        share = self._allow(-force * step)
        self.behind += (1.0 - share) * step
        back = self.behind * min(1.0, self.settings.recovery * dt)
        allowed = self._allow(-force * back)
        self.behind -= allowed * back
        remote.position[:] = position - self.behind[:3]
        remote.rotation[:] = rotation_from_vector(-self.behind[3:]) @ rotation
        remote.twist[:] = share * twist

    def _step(self, position: Array, rotation: Array) -> Array:
        """How far the leader has come since the last call, [m] and [rad]."""
        if not self._started:
            self._position[:], self._rotation[:], self._started = position, rotation, True
        step = np.concatenate([position - self._position, rotation_vector(rotation @ self._rotation.T)])
        self._position[:], self._rotation[:] = position, rotation
        return step

    def _allow(self, energy_out: Array) -> float:
        """The share of a displacement that there is energy for; that share is booked."""
        out = float(np.maximum(energy_out, 0.0).sum())
        share = 1.0 if out <= max(self.budget, 0.0) else max(self.budget, 0.0) / out
        self.account(share * energy_out)
        return share
