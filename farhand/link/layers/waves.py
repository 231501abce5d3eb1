"""Wave variables: power waves cross the link, to which a delay cannot add energy."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from farhand.coupling import Side, SpringCoupling
from farhand.coupling.port import TOOL, Port
from farhand.link.layers.layer import Layer, LayerPort
from farhand.parameters import parameter
from farhand.spatial import Array, total

DEFAULT_IMPEDANCE = (50.0, 0.5)
"""Wave impedance for a law without a spring, [N·s/m] and [N·m·s/rad]."""

ROUND_TRIP_SAMPLES = 1000
"""Samples over which the round trip is averaged, so that both ends arrive at one impedance."""


@dataclass
class WaveVariables(Layer):
    r"""Encode each end's velocity v and force F as waves (Anderson, Spong; Niemeyer, Slotine).

    .. math:: u = \frac{b\,v + F}{\sqrt{2b}}, \qquad w = \frac{b\,v - F}{\sqrt{2b}}, \qquad
              F\cdot v = \tfrac12 |u|^2 - \tfrac12 |w|^2

    u goes to the follower and moves a reference there, to which the law ties the follower; w comes
    back. Only half the squares carry power, so the link can change their timing and no energy is
    created. For laws with a velocity–force port: nothing of the leader but its motion may reach the
    follower. Waves are computed from the twist and the commanded wrench that packets carry anyway.
    A wave used twice, because a packet is late or lost, would create energy. Each end knows from
    the packets how much was sent in all, and weakens a wave beyond that.

    The reference ends in a damper b beside the law, which reflects nothing: what comes back is the
    law's force alone. With T one way and :math:`F_c` the law's force on the follower,

    .. math:: F_a(t) = b\,v_a(t) + F_c(t - T), \qquad
              v_r(t) = v_a(t - T) - \frac{F_c(t) - F_c(t - 2T)}{2b}

    so under a steady force the reference stays F T/b behind the leader, as if a spring b/T lay in
    between. Two measures reduce that. b is matched to the law's damper, but no less than K T: the
    link is never softer than the law's own spring. And what the damper at the reference would waste
    pays, up to ``reserve``, for moving the reference to the leader's position by the packets, which
    also removes drift. The weakness is free motion over a long link: the hand feels the damper b
    all the time.
    """

    name: ClassVar[str] = "waves"
    needs: ClassVar[frozenset[str]] = frozenset({"velocity-force-port"})

    impedance: float = parameter(
        0.0, "N·s/m", "wave impedance, 0 to fit it to the law and the link", 0.0, 1e4
    )
    recovery: float = parameter(
        5.0, "1/s", "how quickly the reference is brought to the leader", 0.0, 5.0
    )
    reserve: float = parameter(1.5, "J", "most that is kept to pay for that", 0.0, 100.0)

    def scale(self, stiffness: float, damping: float) -> None:
        """The reserve grows with the stiffness; the impedance fits the law by itself."""
        self.reserve *= stiffness

    def ports(self) -> tuple[WaveLeader, WaveFollower]:
        """The two ends."""
        return WaveLeader(self), WaveFollower(self)


class WavePort(LayerPort, ABC):
    """One end: the waves that arrive and leave, and their energy.

    ``given`` is the energy of the waves sent, ``taken`` that of the waves used.

    Args:
        settings: of the layer; live.

    Attributes:
        heard: energy of the waves that the other end has sent, per axis, [J].
        impedance: b per axis of the leader's port, [N·s/m] and [N·m·s/rad].
        damping: the law's damper there, in the same units.
    """

    def __init__(self, settings: WaveVariables) -> None:
        super().__init__()
        self.settings, self._samples = settings, 0

    def suit(self, port: Port, own: int) -> None:
        """Prepare the arrays for a port."""
        super().suit(port, own)
        n = port.leader_size
        self.heard, self._wave = np.zeros(n), np.zeros(n)
        self._default = port.spread(*DEFAULT_IMPEDANCE, leader=True)
        self.impedance, self.damping = self._default.copy(), self._default.copy()

    def fit(self) -> None:
        """Set b to max(D, K T) of the law's spring as the leader feels it, unless b is chosen."""
        b, d, chosen, law = self.impedance, self.damping, self.settings.impedance, self.law
        spring = law.spring if isinstance(law, SpringCoupling) else None
        if law is not None and spring and min(spring.damping, spring.rotational_damping) > 0.0:
            felt, mapping = self.port.felt, law.mapping
            felt(mapping, spring.damping, spring.rotational_damping, d)
            felt(mapping, spring.stiffness, spring.rotational_stiffness, b)
            b *= 0.5 * self.round_trip
            np.maximum(b, d, out=b)
        else:
            b[:] = d[:] = self._default
        if chosen > 0.0:
            np.multiply(d, chosen / d[0], b)

    @property
    def budget(self) -> float:
        """Energy of the waves that have arrived and not been used, [J]."""
        return total(np.maximum(self.heard - self.taken, 0.0))

    def measure(self, round_trip: float) -> None:
        """Average the round trip of the link, [s], so that jitter has no effect."""
        self._samples = min(self._samples + 1, ROUND_TRIP_SAMPLES)
        # The first sample counts as it is: adding the difference would round it.
        change = (round_trip - self.round_trip) / self._samples
        self.round_trip = round_trip if self._samples == 1 else self.round_trip + change

    def forget(self) -> None:
        """Clear the account, because the other end was restarted."""
        super().forget()
        self.heard[:] = self._wave[:] = 0.0
        self.impedance[:] = self.damping[:] = self._default
        self._samples = 0

    def hear(self, given: Array, taken: Array) -> None:
        """Take over the energy that the other end has sent; older sums add nothing."""
        np.maximum(self.heard, given, out=self.heard)
        self.heard_taken = total(taken)

    @abstractmethod
    def arrive(self, twist: Array, wrench: Array) -> None:
        """Compute the wave that the other end has sent."""

    def wave(self, dt: float) -> Array:
        """√(2b) times the wave to use now, weakened to the energy that there is."""
        energy = self.energy(self._wave, dt)
        there = np.maximum(self.heard - self.taken, 0.0)
        return self._wave * np.sqrt(np.minimum(1.0, there / np.maximum(energy, 1e-300)))

    def energy(self, wave: Array, dt: float) -> Array:
        """What √(2b) times a wave carries in a step, per axis, [J]."""
        return 0.25 * dt * wave**2 / self.impedance


class WaveLeader(WavePort):
    """The leader's end: the hand feels the law's force at the follower, and a damper b."""

    def arrive(self, twist: Array, wrench: Array) -> None:
        """√(2b) w = −F: the reference reflects nothing of its motion."""
        if self.law is not None:
            self.law.mapping.back(wrench, self._wrench)
            wrench = self._wrench
        np.negative(wrench, self._wave)

    def push(self, wrench: Array, twist: Array, dt: float, gain: float = 1.0) -> Array:
        r"""The wave's wrench, in place of the law's; the wave that leaves is made from it.

        While the engagement fades, the share g of the force is exerted and g of either wave's
        energy is booked: :math:`g\,(\tfrac12|u|^2 - \tfrac12|w|^2) = g\,F\cdot v` is still the work
        of the hand, and nothing is booked once the sides are apart.
        """
        self.fit()
        # A pen's passive wrist turns the reference all the same; joints that nothing resists do not
        # send waves, whose energy nobody has put in.
        if self.port is not TOOL:
            twist = self.driven(twist)
        moving = self.impedance * twist
        self.added = gain * float(self.impedance[0])
        force = moving - self.wave(dt)
        if self.drives is not None:
            force *= self.drives
        self.taken += gain * self.energy(moving - force, dt)
        self.given += gain * self.energy(moving + force, dt)
        return -gain * force


class WaveFollower(WavePort):
    r"""The follower's end: the wave moves a reference, to which the law ties the follower.

    Of a wave's energy the law takes :math:`F_c \cdot v_r` and the wave that leaves
    :math:`F_c^2/4b`. The rest would heat the damper; it is kept as ``spare`` instead and pays for
    the work of bringing the reference to the leader.

    Attributes:
        twist: of the reference, [m/s] and [rad/s].
        spare: energy of waves that was not needed, up to the layer's reserve, [J].
    """

    def __init__(self, settings: WaveVariables) -> None:
        super().__init__(settings)
        self.spare = 0.0
        self._started, self._used = False, 0.0

    def suit(self, port: Port, own: int) -> None:
        """Prepare the arrays for a port."""
        super().suit(port, own)
        self._reference: Any = port.handle()
        self.twist: Array = self._reference.rate

    def begin(self) -> None:
        """Start a new engagement: the reference starts at the leader, with nothing spared."""
        self._started, self._used = False, 0.0
        self.twist[:], self.spare = 0.0, 0.0

    def arrive(self, twist: Array, wrench: Array) -> None:
        """√(2b) u = b v + F."""
        np.multiply(self.impedance, twist, self._wave)
        self._wave -= wrench

    def lead(self, remote: Side, heard: Any, force: Array, dt: float) -> None:
        """Move the leader that the law sees with the wave."""
        reference = self._reference
        if not self._started:
            reference.take(heard)
            self.twist[:], self._started = 0.0, True
        self._book(force, dt)
        self.fit()
        before = self.twist.copy()
        self.twist[:] = self._moved(self.wave(dt), force, dt)
        self.behind[:] = heard.error(reference)
        back = self.settings.recovery * self.behind
        self.twist += self._paid(back, force + self.damping * (before - self.twist), dt) * back
        reference.shift(self.twist * dt)
        reference.show(remote)

    def part(self, force: Array, dt: float) -> None:
        """Keep the reference still; waves that arrive pay for the force that still goes back."""
        there = max(0.0, self.spare + self._used + float(force.dot(self.twist)) * dt)
        self._book(force, dt, there)
        self.twist[:] = 0.0
        self._use(self.wave(dt), dt)

    def _book(self, force: Array, dt: float, most: float = math.inf) -> None:
        """Book the last step, whose force is known now; at most ``most`` [J] is sent."""
        sent = self.energy(force, dt)
        if total(sent) > most:
            sent *= most / total(sent)
        self.given += sent
        left = self._used - total(sent) + float(force.dot(self.twist)) * dt
        self.spare = min(self.spare + left, self.settings.reserve)

    def _moved(self, wave: Array, force: Array, dt: float) -> Array:
        """The twist with which a wave moves the reference; the law's damper is in the force."""
        self._use(wave, dt)
        return (wave + force + self.damping * self.twist) / (2.0 * self.impedance + self.damping)

    def _paid(self, back: Array, force: Array, dt: float) -> float:
        """The share s ≤ 1 of a twist to the leader that the spare pays for: s c + s² d = spare.

        c is the cost against the law's force as it will be without that twist, d what the law's
        damper adds: the cost of the last force alone would swing from tick to tick.
        """
        spare, c = max(self.spare, 0.0), total(np.maximum(-force * back, 0.0)) * dt
        d = float(self.damping.dot(back * back)) * dt
        if c == 0.0 or c + d <= spare:
            return 1.0
        return 2.0 * spare / (c + math.sqrt(c * c + 4.0 * d * spare))

    def _use(self, wave: Array, dt: float) -> None:
        """Book a wave as used."""
        used = self.energy(wave, dt)
        self.taken += used
        self._used = total(used)
