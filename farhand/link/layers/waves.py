"""Wave variables: power waves cross the link in place of motion and force, and a delay cannot add energy to a wave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from farhand.coupling import Coupling, Side
from farhand.parameters import parameter
from farhand.spatial import rotation_from_vector, rotation_vector

Array = np.ndarray

UNMATCHED = np.repeat([50.0, 0.5], 3)
"""Wave impedance for a law without a spring, [N·s/m] and [N·m·s/rad]."""


@dataclass
class WaveVariables:
    r"""Encode each end's velocity v and force F as waves (Anderson, Spong; Niemeyer, Slotine).

    .. math:: u = \frac{b\,v + F}{\sqrt{2b}}, \qquad w = \frac{b\,v - F}{\sqrt{2b}}, \qquad
              F\cdot v = \tfrac12 |u|^2 - \tfrac12 |w|^2

    u goes to the follower, w comes back. Only half the squares carry power, so whatever the link does to their timing,
    no energy is made: the hand feels the other end's force late, and a damper b to its late velocity. For laws with a
    velocity–force port: the law spans its spring from the reference that the wave moves to the follower, and nothing
    of the leader but its motion may reach the follower. Waves are made from the twist and the commanded wrench that
    packets carry anyway; the follower's packets carry the twist of its reference.

    A wave used twice, because a packet is late or lost, would make energy: each end knows from the packets how much
    was sent in all, and weakens a wave beyond that. What losses leave over pays for moving the reference back to where
    the leader is said to be: drift compensation. With b matched to the law's damper waves are not reflected at the
    follower. It does badly in free motion, where the hand feels 2 b v at first and half of it under way, and in contact
    over a long link: under a force F the reference stays F T/b behind for T one way, as if a spring b/T lay in between.
    To move it all the way would take F² T/2b that nobody has paid, so ``recovery`` is kept slow: its work is booked
    against the force alone, and a quick one would send back waves with more than that.

    Attributes:
        impedance: b for translation, [N·s/m]; 0 to match the law's damping. Rotation goes along in proportion.
        recovery: how quickly drift is taken out, [1/s].
    """

    name: ClassVar[str] = "waves"
    needs: ClassVar[frozenset[str]] = frozenset({"velocity-force-port"})

    impedance: float = parameter(0.0, "N·s/m", "wave impedance, 0 to match the law's damping", 0.0, 1e4)
    recovery: float = parameter(5.0, "1/s", "how quickly drift is taken out", 0.0, 5.0)

    def ports(self) -> tuple[WaveLeader, WaveFollower]:
        """The two ends."""
        return WaveLeader(self), WaveFollower(self)


class WavePort:
    """One end: the waves that arrive and leave, and their energy.

    Attributes:
        given: energy of the waves sent, per axis, [J] ×6.
        taken: energy of the waves used, per axis, [J] ×6.
        heard: energy of the waves that the other end has sent, per axis, [J] ×6.
        heard_taken: energy of those it has used, [J].
        round_trip: of the link, as last measured, [s].
        added: damping felt at this end, [N·s/m].
        law: whose damping is matched.
    """

    def __init__(self, settings: WaveVariables) -> None:
        self.settings = settings
        self.given, self.taken, self.heard = np.zeros(6), np.zeros(6), np.zeros(6)
        self.heard_taken, self.round_trip, self.added = 0.0, 0.0, 0.0
        self.law: Coupling | None = None
        self._wave = np.zeros(6)

    @property
    def impedance(self) -> Array:
        """B per axis, [N·s/m] ×3 and [N·m·s/rad] ×3."""
        spring = getattr(self.law, "spring", None)
        matched = UNMATCHED
        if spring is not None and spring.damping > 0.0 and spring.rotational_damping > 0.0:
            matched = np.repeat([spring.damping, spring.rotational_damping], 3)
        b = self.settings.impedance
        return matched if b == 0.0 else matched * (b / matched[0])

    @property
    def budget(self) -> float:
        """Energy of the waves that have arrived and not been used, [J]."""
        return float(np.maximum(self.heard - self.taken, 0.0).sum())

    def forget(self) -> None:
        """The other end has started anew: it knows nothing of the waves so far, nor shall this one."""
        self.given[:] = self.taken[:] = self.heard[:] = self._wave[:] = 0.0
        self.heard_taken = 0.0

    def hear(self, given: Array, taken: Array) -> None:
        """Take note of the energy that the other end has sent; older sums say nothing new."""
        np.maximum(self.heard, given, out=self.heard)
        self.heard_taken = float(taken.sum())

    def arrive(self, twist: Array, force: Array, sign: float) -> None:
        """Make the wave √(2b) u = b v ± F out of what a packet says of the other end."""
        np.multiply(self.impedance, twist, self._wave)
        self._wave += sign * force

    def wave(self, dt: float) -> Array:
        """√(2b) times the wave to use now: as it arrived, or as much of it as there is energy for."""
        energy = 0.25 * self._wave**2 / self.impedance * dt
        there = np.maximum(self.heard - self.taken, 0.0)
        return self._wave * np.sqrt(np.minimum(1.0, there / np.maximum(energy, 1e-300)))

    def account(self, twist: Array, force: Array, sign: float, dt: float) -> None:
        """Book the wave used and the one sent by an end that moves with a twist under a force on the link."""
        moving = self.impedance * twist
        scale = 0.25 * dt / self.impedance
        self.taken += scale * (moving - sign * force) ** 2
        self.given += scale * (moving + sign * force) ** 2


class WaveLeader(WavePort):
    """The leader's end: the hand feels the other end's force and a damper b to its velocity, both as they arrive."""

    def push(self, twist: Array, gain: float, drives: Array, dt: float) -> Array:
        """The wrench on the leader's arm, with which the wave that leaves is made, [N] and [N·m]."""
        self.added = float(self.impedance[0])
        force = (self.impedance * twist - self.wave(dt)) * (gain * drives)
        self.account(twist, force, 1.0, dt)
        return -force


class WaveFollower(WavePort):
    """The follower's end: the wave moves a reference, to which the law ties the follower.

    Attributes:
        twist: of the reference, [m/s] and [rad/s].
        behind: how far the reference is from where the leader is said to be, [m] and [rad].
    """

    def __init__(self, settings: WaveVariables) -> None:
        super().__init__(settings)
        self.twist, self.behind = np.zeros(6), np.zeros(6)
        self._position, self._rotation = np.zeros(3), np.eye(3)
        self._started = False

    def begin(self) -> None:
        """A new engagement: the reference starts where the leader is said to be."""
        self._started = False
        self.twist[:] = 0.0

    def lead(self, remote: Side, position: Array, rotation: Array, twist: Array, force: Array, dt: float) -> None:
        """Move the law's idea of the leader with the wave; see :meth:`farhand.link.layers.FollowerPort.lead`."""
        if not self._started:
            self._position[:], self._rotation[:], self._started = position, rotation, True
        self.account(self.twist, -force, -1.0, dt)  # the last step, now that its force is known
        wanted = (self.wave(dt) + force) / self.impedance
        self.twist += 0.5 * (wanted - self.twist)  # half: exact in one step with a matched damper, which is in force
        self.behind[:3] = position - self._position
        self.behind[3:] = rotation_vector(rotation @ self._rotation.T)
        back = self.settings.recovery * self.behind
        cost = float(np.maximum(-force * back, 0.0).sum()) * dt
        self.twist += back * (1.0 if cost == 0.0 else min(1.0, self.budget / cost))
        self._position += self.twist[:3] * dt
        self._rotation[:] = rotation_from_vector(self.twist[3:] * dt) @ self._rotation
        remote.position[:], remote.rotation[:], remote.twist[:] = self._position, self._rotation, self.twist
