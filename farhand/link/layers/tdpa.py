"""Time-domain passivity: each end adds up the energy of its port and intervenes as needed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from farhand.coupling import Side
from farhand.coupling.port import Port
from farhand.link.layers.layer import Layer, LayerPort
from farhand.parameters import parameter
from farhand.spatial import Array, total

SHOWN_TIME_S = 0.02
"""Time constant with which the velocity of a reference that is held back changes, [s]."""

RETURN_DECAY_S = 0.1
"""Round trip after which only 1/e of what the follower gives back reaches the leader, [s].

Energy that is felt later than the contact it belongs to only keeps both sides bouncing.
"""


@dataclass
class TimeDomainPassivity(Layer):
    """Watch the energy at both ends and intervene only where more would come out than was put in.

    At the leader the intervention is damping. At the follower the reference is held back, and
    returns later (drift compensation). The hand must put in the energy that the follower spends,
    its own motion included. So over a long link a moving hand feels a drag: it presses on for a
    whole round trip before it feels a contact, and pays in advance for what it does meanwhile.
    Where the hand has not paid enough, the follower presses with less than it should, and the hand
    feels less than there is.
    """

    name: ClassVar[str] = "tdpa"

    lent: float = parameter(0.02, "J", "energy lent to each end", 0.0, 10.0)
    damping_limit: float = parameter(
        300.0, "N·s/m", "largest damping added at either end", 0.0, 1e4
    )
    recovery: float = parameter(
        10.0, "1/s", "how quickly the follower's reference comes back", 0.0, 1e3
    )
    level: float = parameter(0.05, "J", "energy in reserve at either end", 0.01, 100.0)
    blind: float = parameter(
        2.0, "J/s", "energy in reserve beside it, per second of round trip", 0.0, 100.0
    )
    fill: float = parameter(40.0, "N·s/m/J", "damping at the leader per missing joule", 0.0, 1e4)

    def scale(self, stiffness: float, damping: float) -> None:
        """Energies grow with the stiffness, dampers with the damping."""
        self.lent *= stiffness
        self.level *= stiffness
        self.blind *= stiffness
        self.damping_limit *= damping
        self.fill *= damping / stiffness

    def ports(self) -> tuple[LeaderPort, FollowerPort]:
        """The two ends."""
        return LeaderPort(self), FollowerPort(self)


@dataclass
class EnergyTank(TimeDomainPassivity):
    """Two layers (Franken): above, any law; below, a tank at each end that may not run dry.

    The ends account as in time-domain passivity, but the level of the tanks does not depend on the
    length of the link. The hand pays for it with a light drag when it begins to move. In return the
    follower can press at once with what is in the tank, even if the link becomes slow.
    """

    name: ClassVar[str] = "tank"

    level: float = parameter(1.5, "J", "energy in reserve at either end", 0.01, 100.0)
    blind: float = parameter(
        0.0, "J/s", "energy in reserve beside it, per second of round trip", 0.0, 100.0
    )


class EnergyPort(LayerPort, ABC):
    r"""One end's account of the energy that crosses its port.

    The two directions are kept apart (Ryu, Artigas): with :math:`E_{in}` put in and :math:`E_{out}`
    taken out,

    .. math:: E^{out}_b(t) \le E^{in}_a(t - T_1) \quad\text{and}\quad
              E^{out}_a(t) \le E^{in}_b(t - T_2)

    at all times makes the whole passive, whatever the delays. Each end can check its own half from
    the packets. The sums only grow, so a lost or late packet makes an end more careful, never less.

    Args:
        settings: of the layer; live.

    Attributes:
        heard: what the other end says it has put in, all axes, [J].
    """

    def __init__(self, settings: TimeDomainPassivity) -> None:
        super().__init__()
        self.settings, self.heard = settings, 0.0

    def hear(self, given: Array, taken: Array) -> None:
        """Take over the other end's sums; an older sum of what was put in adds nothing."""
        self.heard = max(self.heard, total(given))
        self.heard_taken = total(taken)

    def forget(self) -> None:
        """Clear the account, because the other end was restarted."""
        super().forget()
        self.heard = 0.0

    @property
    def budget(self) -> float:
        """What may still be taken out here, [J]."""
        return self.settings.lent + self.heard - total(self.taken)

    @property
    def reserve_target(self) -> float:
        """Energy that either end should have in reserve, [J]."""
        return self.settings.level + self.settings.blind * self.round_trip

    @property
    def missing(self) -> float:
        """What is missing from that at this end, [J]."""
        return max(0.0, self.reserve_target - self.budget)

    def account(self, energy_out: Array) -> None:
        """Book a step's energy per axis, positive when it came out here, [J]."""
        positive = np.maximum(energy_out, 0.0)
        self.taken += positive
        energy_in = positive - energy_out
        energy = total(energy_in)
        if energy > 0.0:
            kept, sent = self._divide(energy)
            self.taken -= kept * energy_in
            self.given += sent * energy_in

    @abstractmethod
    def _divide(self, energy: float) -> tuple[float, float]:
        """Of energy put in here [J], the shares kept for this end and sent to the other."""


class LeaderPort(EnergyPort):
    """The leader's end: damping where the force on the arm would take out more than is there.

    A damper at a crawl takes too little, so the force itself fades while the account is overdrawn,
    to nothing at ``lent``, and no single step overdraws it by more. The hand is also charged, by
    damping, for what is missing from both reserves: over a link it presses on for a whole round
    trip before it feels anything. What the follower does meanwhile, and the push that later brings
    the hand back out, must have been paid for. What is known of the other end is a round trip old
    by the time an answer arrives there, so what it takes in that time is sent ahead.

    Attributes:
        pace: how fast the other end takes energy out, averaged over a round trip, [W].
    """

    def __init__(self, settings: TimeDomainPassivity) -> None:
        super().__init__(settings)
        self.pace, self._known_taken = 0.0, 0.0

    def suit(self, port: Port, own: int) -> None:
        """Prepare the arrays for a port."""
        super().suit(port, own)
        self._weights = port.spread(*port.damper, leader=True)
        #: out of this end in the last step, [J] per axis
        self._booked = np.zeros(own)

    def forget(self) -> None:
        """Clear the account, because the other end was restarted."""
        super().forget()
        self.pace, self._known_taken = 0.0, 0.0

    @property
    def reserve(self) -> float:
        """What this end has put in and the other has not taken out, by the last packet, [J]."""
        return total(self.given) - self.heard_taken

    @property
    def owed(self) -> float:
        """What the other end's reserve will lack by the time that an answer arrives, [J]."""
        return max(0.0, self.reserve_target + max(0.0, self.pace) * self.round_trip - self.reserve)

    def push(self, wrench: Array, twist: Array, dt: float, gain: float = 1.0) -> Array:
        """The law's wrench, with damping where energy would be created."""
        self._watch(dt)
        twist = self.driven(twist)
        resisting, settings, pushed = self._weights * twist, self.settings, self._wrench
        speed, budget = float(resisting.dot(twist)), self.budget
        added = settings.fill * (self.missing + self.owed)
        np.multiply(wrench, _share(budget, settings.lent), pushed)
        out = total(np.maximum(pushed * twist, 0.0)) * dt
        if out > budget and speed > 0.0:
            added += (out - budget) / (speed * dt)
        added = min(added, settings.damping_limit)
        pushed -= added * resisting
        # What the damper cannot take in this step is not exerted.
        giving = pushed * twist > 0.0
        out = float(pushed[giving].dot(twist[giving])) * dt
        most = max(0.0, budget + settings.lent)
        if out > most:
            pushed[giving] *= most / out
        pushed *= gain
        self.added = gain * added
        self._booked[:] = pushed * twist * dt
        self.account(self._booked)
        return pushed

    def correct(self, energy_out: Array) -> None:
        """Book what the motors did; what was not taken out after all is there again."""
        undone = np.clip(-energy_out, 0.0, np.maximum(self._booked, 0.0))
        self.taken -= undone
        self.account(energy_out + undone)

    def _watch(self, dt: float) -> None:
        """Estimate how fast the other end takes energy out."""
        if dt > 0.0:
            share = dt / max(self.round_trip, dt)
            self.pace += share * ((self.heard_taken - self._known_taken) / dt - self.pace)
        self._known_taken = self.heard_taken

    def _divide(self, energy: float) -> tuple[float, float]:
        """As both ends need it, then a second reserve here, to push the hand back out with.

        The rest is lost, so that no end has more to spend than it should.
        """
        here, there = self.missing, self.owed
        share = 1.0 / max(here + there, energy)
        spare = max(0.0, 2.0 * self.reserve_target - self.budget - here * share * energy)
        more = min(1.0 - (here + there) * share, spare / energy)
        return here * share + more, there * share


def _share(budget: float, lent: float) -> float:
    """Share of a wrench that an account allows: all until it is overdrawn, none at ``-lent``."""
    if budget >= 0.0:
        return 1.0
    return max(0.0, 1.0 + budget / lent) if lent > 0.0 else 0.0


class FollowerPort(EnergyPort):
    r"""The follower's end: the leader's motion drives the law here, as far as there is energy.

    The law at this end is evaluated on the follower as it is and on the leader as it was. Its
    wrench on the follower in the leader's workspace, w, times the leader's displacement since the
    last tick is the energy that goes through the port: a step :math:`\Delta x` that would take out
    more than the budget is shortened. What is held back is kept as ``behind`` and given back at the
    rate of ``recovery`` as soon as there is energy for it, so nothing is left of it after a
    contact. Energy that comes back from the follower fills its own reserve first. The rest goes to
    the leader, or is lost if the link is slow.

    A spring between that reference and the follower is passive by itself. Other laws may not be: a
    second account compares what went in at the reference with what came out at the follower, and
    damps the follower for the rest. What a damper cannot take, because there is hardly any motion,
    is not exerted.
    """

    def __init__(self, settings: TimeDomainPassivity) -> None:
        super().__init__(settings)
        self.inside = 0.0  #: energy that the law at this end has taken in and not given out, [J]
        self._started, self._shown = False, 1.0

    def suit(self, port: Port, own: int) -> None:
        """Prepare the arrays for a port."""
        super().suit(port, own)
        self._weights = port.spread(*port.damper)
        self._last: Any = port.handle()
        self._reference: Any = port.handle()

    def begin(self) -> None:
        """Start a new engagement: nothing is held back, and displacements count from here."""
        self.behind[:] = 0.0
        self._started, self._shown = False, 1.0

    def lead(self, remote: Side, heard: Any, force: Array, dt: float) -> None:
        """Move the leader that the law sees, as far as there is energy."""
        if not self._started:
            self._last.take(heard)
            self._started = True
        step = heard.error(self._last)
        share = self._allow(-force * step)
        self.behind += (1.0 - share) * step
        back = self.behind * min(1.0, self.settings.recovery * dt)
        allowed = self._allow(-force * back)
        self.behind -= allowed * back
        self._last.take(heard)
        reference = self._reference
        reference.take(heard)
        reference.shift(-self.behind)
        # A reference that stops and goes from tick to tick would make the law's damper rattle.
        self._shown += (share - self._shown) * min(1.0, dt / SHOWN_TIME_S)
        reference.rate *= self._shown
        reference.show(remote)

    def push(self, wrench: Array, twist: Array, dt: float, gain: float = 1.0) -> Array:
        """The law's wrench, with damping if the law at this end has created energy."""
        twist = self.driven(twist)
        scale = self._scale
        resisting, pushed = self._weights * twist, self._wrench
        speed, out = scale * float(resisting.dot(twist)) * dt, scale * float(wrench.dot(twist)) * dt
        owed = out - self.inside - self.settings.lent
        added = 0.0
        if owed > 0.0 and speed > 0.0:
            added = min(owed / speed, self.settings.damping_limit)
        unpaid = owed - added * speed
        share = _share(-unpaid, self.settings.lent) if unpaid > 0.0 and out > 0.0 else 1.0
        self.inside += gain * (added * speed - share * out)
        np.multiply(resisting, -added, pushed)
        pushed += share * wrench
        pushed *= gain
        self.added = gain * added
        return pushed

    def correct(self, energy_out: Array) -> None:
        """Let the law at this end have given out what the motors did."""
        self.inside -= self._scale * total(energy_out)

    @property
    def _scale(self) -> float:
        """Joules at the leader per joule here."""
        return 1.0 if self.law is None else self.law.mapping.force_scale

    def _allow(self, energy_out: Array) -> float:
        """The share of a displacement that there is energy for; that share is booked."""
        out = total(np.maximum(energy_out, 0.0))
        budget = max(self.budget, 0.0)
        share = 1.0 if out <= budget else budget / out
        self.inside += share * total(energy_out)
        self.account(share * energy_out)
        return share

    def _divide(self, energy: float) -> tuple[float, float]:
        """Its own reserve first; the leader gets what is not too late for the contact."""
        kept = min(1.0, self.missing / energy)
        return kept, (1.0 - kept) * math.exp(-self.round_trip / RETURN_DECAY_S)
