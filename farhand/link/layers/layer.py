"""Energy across a link: what each side has put in and taken out, and how much it may still take."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from farhand.coupling import Side
from farhand.spatial import rotation_from_vector, rotation_vector, total

Array = np.ndarray


class Settings(Protocol):
    """What a layer lets its user choose.

    Attributes:
        lent: what each end may take out before anything was put in, [J].
        damping_limit: largest damping added at either end, [N·s/m]; a hundredth of it for rotation,
            [N·m·s/rad].
        recovery: how quickly what was held back at the follower is given back, [1/s].
        level: energy that the follower's end is to have in reserve however short the link, [J].
        blind: energy to have there beside it, per second of round trip, [J/s].
        fill: damping at the leader per missing joule of both, [N·s/m/J].
    """

    lent: float
    damping_limit: float
    recovery: float
    level: float
    blind: float
    fill: float


WEIGHTS = np.repeat([1.0, 0.01], 3)
"""How a damper is spread over the axes: [N·s/m] for translation, a hundredth of it in [N·m·s/rad]
for rotation."""

ELASTIC = 0.1
"""Round trip after which only 1/e of what the follower gives back reaches the leader, [s]: energy
that is felt later
than the contact it belongs to only keeps both sides bouncing."""


class EnergyPort(ABC):
    r"""One end's account of the energy that crosses its port.

    The two directions are kept apart (Ryu, Artigas): with :math:`E_{in}` put in and :math:`E_{out}`
    taken out,

    .. math:: E^{out}_b(t) \le E^{in}_a(t - T_1) \quad\text{and}\quad E^{out}_a(t) \le E^{in}_b(t - T_2)

    at all times makes the whole passive, whatever the delays, and each end can check its own half
    from what it has heard. What is sent only grows, so a lost or late packet makes an end more
    careful, never less.

    Args:
        settings: of the layer; live.

    Attributes:
        given: put in by this end for the other to take out, per axis, [J] ×6.
        taken: taken out by this end beyond what it put in for itself, per axis, [J] ×6.
        heard: what the other end says it has put in, all axes, [J].
        heard_taken: what the other end says it has taken out, [J].
        round_trip: of the link, as last measured, [s].
        added: damping at the last step, faded with the engagement, [N·s/m].
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.given, self.taken = np.zeros(6), np.zeros(6)
        self.heard, self.heard_taken = 0.0, 0.0
        self.round_trip, self.added = 0.0, 0.0
        self._wrench = np.zeros(6)

    def hear(self, given: Array, taken: Array) -> None:
        """Take note of the other end's sums; an older sum of what was given says nothing new."""
        self.heard = max(self.heard, total(given))
        self.heard_taken = total(taken)

    def measure(self, round_trip: float) -> None:
        """Take note of the link's round trip, [s]."""
        self.round_trip = round_trip

    def forget(self) -> None:
        """The other end has started anew: it knows nothing of what was given and taken, nor shall this one."""
        self.given[:] = self.taken[:] = 0.0
        self.heard = self.heard_taken = 0.0

    @property
    def budget(self) -> float:
        """What may still be taken out here, [J]."""
        return self.settings.lent + self.heard - total(self.taken)

    @property
    def wanted(self) -> float:
        """Energy that either end is to have in reserve, [J]."""
        return self.settings.level + self.settings.blind * self.round_trip

    @property
    def missing(self) -> float:
        """What is missing from that at this end, [J]."""
        return max(0.0, self.wanted - self.budget)

    def account(self, energy_out: Array) -> None:
        """Book a step's energy per axis, positive when it came out here, [J] ×6."""
        positive = np.maximum(energy_out, 0.0)
        self.taken += positive
        came = positive - energy_out
        energy = total(came)
        if energy > 0.0:
            kept, sent = self._divide(energy)
            self.taken -= kept * came
            self.given += sent * came

    @abstractmethod
    def _divide(self, energy: float) -> tuple[float, float]:
        """Of energy that comes in here [J], the share kept for this end and that sent to the other."""


class LeaderPort(EnergyPort):
    """The leader's end: a force is exerted on the arm; where it would bring out more than is there, damping is added.

    A damper at a crawl takes too little, so the force itself fades while the account is overdrawn,
    to nothing at ``lent``: what cannot be paid for is not felt. Beside that the hand is charged, by
    damping, for what is missing from both reserves: over a link it presses on for a whole round
    trip before it feels anything; what the follower does meanwhile, and the push that later brings
    the hand back out, must have been paid for. What is known of the other end is a round trip old
    by the time an answer arrives there, so what it takes in that time is sent ahead.

    Attributes:
        pace: how fast the other end takes energy out, averaged over a round trip, [W].
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.pace, self._known_taken = 0.0, 0.0

    def forget(self) -> None:
        """The other end has started anew."""
        super().forget()
        self.pace, self._known_taken = 0.0, 0.0

    @property
    def reserve(self) -> float:
        """What this end has put in and the other not yet taken out, as far as is known, [J]."""
        return total(self.given) - self.heard_taken

    @property
    def owed(self) -> float:
        """What is missing from the other end's reserve, with what it will have taken until an answer arrives, [J]."""
        return max(0.0, self.wanted + max(0.0, self.pace) * self.round_trip - self.reserve)

    def push(self, wrench: Array, twist: Array, dt: float, gain: float = 1.0) -> Array:
        """The wrench that may be exerted on the arm: as asked, with damping where energy would be made.

        Args:
            wrench: asked for at full engagement, [N] and [N·m].
            twist: of the arm where it can be pushed, [m/s] and [rad/s].
            dt: time since the last call, [s].
            gain: engagement; of all that would be exerted this share is, and no more than that is
                booked, [-].
        """
        self._watch(dt)
        resisting, settings, pushed = WEIGHTS * twist, self.settings, self._wrench
        speed, budget = float(resisting.dot(twist)), self.budget
        added = settings.fill * (self.missing + self.owed)
        np.multiply(wrench, _share(budget, settings.lent), pushed)
        out = total(np.maximum(pushed * twist, 0.0)) * dt
        if out > budget and speed > 0.0:
            added += (out - budget) / (speed * dt)
        added = min(added, settings.damping_limit)
        pushed -= added * resisting
        pushed *= gain
        self.added = gain * added
        self.account(pushed * twist * dt)
        return pushed

    def _watch(self, dt: float) -> None:
        """See how fast the other end takes energy out."""
        if dt > 0.0:
            share = min(1.0, dt / max(self.round_trip, dt))
            self.pace += share * ((self.heard_taken - self._known_taken) / dt - self.pace)
        self._known_taken = self.heard_taken

    def _divide(self, energy: float) -> tuple[float, float]:
        """As both ends need it; of what neither needs a second reserve stays here, to push the hand back out with.

        The rest is lost, so that no end has more to spend than it should.
        """
        here, there = self.missing, self.owed
        share = 1.0 / max(here + there, energy)
        spare = max(0.0, 2.0 * self.wanted - self.budget - here * share * energy)
        more = min(1.0 - (here + there) * share, spare / energy)
        return here * share + more, there * share


def _share(budget: float, lent: float) -> float:
    """Share of a wrench that an account allows: all of it until it is overdrawn, nothing once it is so by ``lent``."""
    if budget >= 0.0:
        return 1.0
    return max(0.0, 1.0 + budget / lent) if lent > 0.0 else 0.0


class FollowerPort(EnergyPort):
    r"""The follower's end: where the leader is said to be drives the law here; it moves on only as energy allows.

    The law at this end is evaluated on the follower as it is and on the leader as it was. Its
    wrench on the follower in the leader's workspace, w, times the leader's displacement since the
    last tick is the energy that goes through the port: a step :math:`\Delta x` that would take out
    more than the budget is shortened. What is held back is kept as ``behind`` and given back at the
    rate of ``recovery`` as soon as there is energy for it, so nothing is left of it after a
    contact. Energy that comes back from the follower fills its own reserve first; what is beyond
    that goes to the leader, or is lost if the link is slow.

    A spring between that reference and the follower is passive by itself. Other laws may not be: a
    second account compares what went in at the reference with what came out at the follower, and
    damps the follower for the rest; what a damper cannot take, because there is hardly any motion,
    is not exerted.

    Attributes:
        behind: by how much the reference is held back, [m] ×3 and [rad] ×3.
        inside: energy that the law at this end has taken in and not given out, [J].
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.behind, self.inside = np.zeros(6), 0.0
        self._position, self._rotation = np.zeros(3), np.eye(3)
        self._started = False

    def begin(self) -> None:
        """A new engagement: nothing is held back, and displacements count from here."""
        self.behind[:] = 0.0
        self._started = False

    def lead(
        self, remote: Side, position: Array, rotation: Array, twist: Array, force: Array, dt: float
    ) -> None:
        """Move the law's idea of the leader on towards what was heard of it, as far as there is energy.

        Args:
            remote: the leader as the law sees it; written.
            position: of the leader as last heard, [m].
            rotation: its rotation matrix.
            twist: its twist, [m/s] and [rad/s].
            force: opposite of the law's wrench on the follower, in the leader's workspace, [N] and
                [N·m].
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

    def push(
        self, wrench: Array, twist: Array, scale: float, dt: float, gain: float = 1.0
    ) -> Array:
        """The wrench that may be exerted on the follower: as asked, with damping if the law here has made energy.

        Args:
            wrench: asked for at full engagement, [N] and [N·m].
            twist: of the follower where it can be pushed, [m/s] and [rad/s].
            scale: joules at the leader per joule here, the force scale, [-].
            dt: time since the last call, [s].
            gain: engagement; of all that would be exerted this share is, and no more than that is
                booked, [-].
        """
        resisting, pushed = WEIGHTS * twist, self._wrench
        speed, out = scale * float(resisting.dot(twist)) * dt, scale * float(wrench.dot(twist)) * dt
        owed = out - self.inside - self.settings.lent
        added = (
            min(owed / speed, self.settings.damping_limit) if owed > 0.0 and speed > 0.0 else 0.0
        )
        unpaid = owed - added * speed
        share = _share(-unpaid, self.settings.lent) if unpaid > 0.0 and out > 0.0 else 1.0
        self.inside += gain * (added * speed - share * out)
        np.multiply(resisting, -added, pushed)
        pushed += share * wrench
        pushed *= gain
        self.added = gain * added
        return pushed

    def _step(self, position: Array, rotation: Array) -> Array:
        """How far the leader has come since the last call, [m] and [rad]."""
        if not self._started:
            self._position[:], self._rotation[:], self._started = position, rotation, True
        step = np.concatenate(
            [position - self._position, rotation_vector(rotation @ self._rotation.T)]
        )
        self._position[:], self._rotation[:] = position, rotation
        return step

    def _allow(self, energy_out: Array) -> float:
        """The share of a displacement that there is energy for; that share is booked."""
        out = total(np.maximum(energy_out, 0.0))
        budget = max(self.budget, 0.0)
        share = 1.0 if out <= budget else budget / out
        self.inside += share * total(energy_out)
        self.account(share * energy_out)
        return share

    def _divide(self, energy: float) -> tuple[float, float]:
        """Its own reserve first; of the rest the leader gets what is not too late to be felt as part of the contact."""
        kept = min(1.0, self.missing / energy)
        return kept, (1.0 - kept) * math.exp(-self.round_trip / ELASTIC)
