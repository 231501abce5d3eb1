"""A law across a link: each end evaluates it on its own side and the last packet."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.coupling import Coupling, Effort, Side
from farhand.coupling.engagement import Engagement
from farhand.coupling.trial import UNANSWERED, admit, failure
from farhand.errors import describe_error
from farhand.link.endpoint import Endpoint
from farhand.link.layers import LayerPort, Playout
from farhand.link.packet import Packet
from farhand.loop.bridges.bridge import Bridge
from farhand.loop.bridges.end import AXES, NOT_A_NUMBER, End
from farhand.loop.station import Station
from farhand.safety import Trip, Watchdog
from farhand.safety.watches import Switch
from farhand.spatial import quaternion_from_rotation, rotation_from_quaternion, total

Array = np.ndarray


class PortEnergy:
    """Energy that one side has put into a coupling, per axis, as packets carry it.

    Attributes:
        given: put in, [J] ×6.
        net: put in minus taken out, [J] ×6.
    """

    def __init__(self) -> None:
        self.given, self.net = np.zeros(6), np.zeros(6)
        self._step, self._positive = np.zeros(6), np.zeros(6)

    def add(self, wrench_on_arm: Array, twist: Array, dt: float) -> None:
        """Account for ``dt`` [s] of the coupling pushing with a wrench on an arm that moves."""
        step = self._step
        np.multiply(wrench_on_arm, twist, out=step)
        step *= -dt
        self.net += step
        np.maximum(step, 0.0, out=self._positive)
        self.given += self._positive


class LinkEnd(End):
    """One station's end of a bridge across a link, with an instance of the law of its own.

    The leader's end decides: it captures the offsets at engagement and sends them with the
    engagement's number; the follower's end takes over a number it has not seen. An end that hears
    nothing for too long parts, says so, and stays apart until a new number comes; silence after a
    farewell is none to speak of.

    Args:
        station: the local station.
        law: this end's own instance.
        endpoint: this end of the link.
        remote_arm: model of the other side, for laws that need one.
        watchdog: how long the other side may be silent.
        port: this end of a passivity layer, or None.

    Attributes:
        switch: that the operator holds, at the leader's end.
        trip: why this end of the link parted, or None.
        pending: whether to couple as soon as the other end is heard.
    """

    def __init__(
        self,
        station: Station,
        law: Coupling,
        endpoint: Endpoint,
        remote_arm: Arm | None = None,
        watchdog: Watchdog | None = None,
        port: LayerPort | None = None,
    ) -> None:
        self.leads = station.role == "leader"
        a, b = (station.arm, remote_arm) if self.leads else (remote_arm, station.arm)
        admit(law, a, b, station.observer is not None)
        super().__init__(station, Side("follower" if self.leads else "leader", remote_arm))
        self.law, self.endpoint, self.watchdog = law, endpoint, watchdog or Watchdog()
        self.engagement = Engagement()
        self.energies, self.port = PortEnergy(), port
        packet = endpoint.incoming
        self.playout = None if port is None else Playout(len(packet.q), len(packet.v))
        if port is not None:
            port.attach(law, station.drives)
        self._heard_position, self._heard_rotation, self._heard_twist = (
            np.zeros(3),
            np.eye(3),
            np.zeros(6),
        )
        self._reflected = np.zeros(6)
        self.trip: Trip | None = None
        self.pending, self.switch = False, Switch()
        self._engaged_ns, self._generation, self._met = 0, endpoint.generation, False
        self._leader_offset = np.zeros(3)

    def receive(self, now_ns: int) -> None:
        """Take in what has arrived, and notice silence."""
        endpoint = self.endpoint
        heard_ns = endpoint.local_ns(now_ns)
        news = endpoint.receive(heard_ns)
        if endpoint.generation != self._generation:
            self._renew(now_ns)
        if news:
            self._read_packet(heard_ns)
        silent_ns = endpoint.silence_ns(heard_ns)
        if silent_ns is None:
            return
        self.remote.age = (endpoint.age_ns(heard_ns) or 0) * 1e-9
        unheard = self._unheard(silent_ns)
        if self.playout is not None:
            self._play(self.playout, heard_ns)
        if unheard is not None and self.trip is None and not endpoint.incoming.leaving:
            self.trip = Trip(now_ns, "link", unheard)
        if self.trip is not None or self.station.guard.trip is not None:
            self.engagement.release()
        if self.leads:
            self._lead(unheard is not None, now_ns)
        else:
            self._follow(now_ns)

    def _unheard(self, silent_ns: int) -> str | None:
        """Why the other side counts as not heard, in words; None while it is."""
        watchdog, role = self.watchdog, self.remote.role
        if watchdog.has_expired(silent_ns):
            silence = f"{silent_ns * 1e-9:.3f} s (limit {watchdog.silence:g} s)"
            return f"nothing heard from the {role} for {silence}"
        if self.endpoint.offset is not None and self.remote.age > watchdog.age:
            age = f"{self.remote.age:.3f} s old (limit {watchdog.age:g} s)"
            return f"what is heard from the {role} is {age}"
        return None

    def _renew(self, now_ns: int) -> None:
        """The other side has started, or started again: part, and begin all accounts anew."""
        self._generation = self.endpoint.generation
        if self._met:
            self.pending = False
            if self.engagement.wanted:
                self.trip = Trip(now_ns, "link", f"the {self.remote.role} was started anew")
            self.engagement.release()
        self._met = False
        if self.port is not None and self.playout is not None:
            self.port.forget()
            self.playout.begin()

    def step(self, now_ns: int, dt: float) -> None:
        """Evaluate this end's law, apply its own half, and send this side's state."""
        if self.engagement.wanted:
            self._ask(now_ns, dt)
        if not self.engagement.wanted:
            self.part()
        self.apply(self.engagement.step(dt), dt)
        self.energies.add(self.contribution.wrench, self.station.arm.twist, dt)
        self.tell(now_ns)

    def tell(self, now_ns: int) -> None:
        """Send this side's state; ``now_ns`` [ns]."""
        self._write_packet()
        self.endpoint.send(self.endpoint.local_ns(now_ns))

    def apply(self, gain: float, dt: float) -> None:
        """Hand the faded wrench to the station as the layer allows, and account for its energy."""
        if self.port is None:
            super().apply(gain, dt)
            return
        twist, contribution = self.station.arm.twist, self.contribution
        contribution.gain = gain
        contribution.wrench = self.port.push(self.asked, twist, dt, gain)
        self.energy -= float(contribution.wrench.dot(twist)) * dt
        if not self.engagement.wanted and self._reflected.any():
            # The force that fades here still goes back, booked a tick later as while engaged.
            self.port.part(self._reflected, dt)
            self.law.mapping.back(contribution.wrench, self._reflected)
            np.negative(self._reflected, self._reflected)

    def _ask(self, now_ns: int, dt: float) -> None:
        """Evaluate the law; at the follower the layer decides where the leader seems to be."""
        a, b, port, answer = self.station.side, self.remote, self.port, UNANSWERED
        if not self.leads:
            a, b = b, a
            if port is not None:
                heard = self._heard_position, self._heard_rotation, self._heard_twist
                port.lead(a, *heard, self._reflected, dt)
        try:
            answer = on_a, on_b = self.law.step(a, b, dt)
            if not (
                self.take(on_a if self.leads else on_b)
                and (self.leads or self._reflect(on_a, on_b))
            ):
                self._fail(now_ns, NOT_A_NUMBER)
        except Exception as error:  # a user's law may raise anything
            self._fail(now_ns, failure(answer, error))

    def _couple(self, number: int, now_ns: int) -> bool:
        """Engage the law with the sides as they stand; False if it fails."""
        local, remote = self.station.side, self.remote
        try:
            self.law.engage(*((local, remote) if self.leads else (remote, local)))
        except Exception as error:  # a user's law may raise anything
            self._fail(now_ns, f"raised {describe_error(error)}")
            return False
        self.engagement.engage(number)
        return True

    def _fail(self, now_ns: int, why: str) -> None:
        """Stop this station, whose effort is unknown; the other side hears of it and parts."""
        self.stop(now_ns, self.law, why)
        self.engagement.release()

    def _reflect(self, on_a: Effort, on_b: Effort) -> bool:
        """The force at the follower's port: from the law, or felt where it follows targets."""
        if self.port is None:
            return True
        if self._pulls:
            self.law.mapping.back(on_b.wrench, self._reflected)
            self._reflected *= -self.engagement.gain
            return True
        if not np.isfinite(on_a.wrench).all():
            return False
        np.subtract(on_a.wrench, on_a.local, self._reflected)
        self._reflected *= self.engagement.gain
        return True

    def _lead(self, silent: bool, now_ns: int) -> None:
        """Couple when asked; part when the follower trips, leaves or does not take it up."""
        incoming, engagement = self.endpoint.incoming, self.engagement
        taken_up = incoming.engagement_id == engagement.number
        self._met = True
        if incoming.tripped or (taken_up and not incoming.engaged):
            engagement.release()
        if not self.switch.held:
            self.pending = False
            engagement.release()
        if engagement.wanted and not taken_up and self._overdue(now_ns):
            self.trip = Trip(now_ns, "link", "the follower did not take up the engagement")
            engagement.release()
        if self.pending and silent:
            self.pending = False  # an old wish must not come true when the link returns
        # only then is it known how long an answer takes
        answered = self.endpoint.round_trip_ns is not None
        ready = (
            answered
            and engagement.gain == 0.0
            and self.station.guard.trip is None
            and not incoming.tripped
        )
        if self.pending and ready:
            self.pending, self.trip = False, None
            # new to one that ran before
            self._couple(max(engagement.number, incoming.engagement_id) + 1, now_ns)
            self._engaged_ns = now_ns

    def _overdue(self, now_ns: int) -> bool:
        """Whether the follower has had time to answer the engagement."""
        return self.watchdog.has_expired(
            now_ns - self._engaged_ns - (self.endpoint.round_trip_ns or 0)
        )

    def _follow(self, now_ns: int) -> None:
        """Do as the leader's packet says; an engagement number seen before does not count again."""
        incoming, engagement, mapping = self.endpoint.incoming, self.engagement, self.law.mapping
        # what a leader asked for before this side heard it was not asked of this side
        if not self._met:
            self._met, engagement.number = True, incoming.engagement_id
        if not (incoming.engaged and incoming.deadman_held):
            engagement.release()
            return
        new = incoming.engagement_id != engagement.number
        able = new and self.station.guard.trip is None and engagement.gain == 0.0
        # a mapping with a state starts where this tool is
        if able and self._couple(incoming.engagement_id, now_ns):
            self.trip = None
            self._reflected[:] = 0.0
            if self.port is not None:
                self.port.begin()
        if engagement.wanted and (
            new or not np.array_equal(self._leader_offset, incoming.offset_position)
        ):
            # live changes of the leader's come too
            self._leader_offset[:] = incoming.offset_position
            mapping.offset_position = incoming.offset_position.copy()
            mapping.offset_rotation = rotation_from_quaternion(incoming.offset_quaternion)

    def _read_packet(self, now_ns: int) -> None:
        packet = self.endpoint.incoming
        self.remote.external_torque = packet.external_torque
        if self.port is None or self.playout is None:
            self._see(packet)
            return
        self.playout.take(packet, now_ns)
        self.port.hear(packet.port_energy_in, packet.port_energy_out)

    def _play(self, playout: Playout, now_ns: int) -> None:
        """Act on what the packets tell, at an even age."""
        playout.play(now_ns)
        remote = self.remote
        remote.age += playout.behind_ns * 1e-9
        trip_ns = self.endpoint.round_trip_ns
        # what waits here waits at the other end too
        if self.port is not None and trip_ns is not None:
            self.port.measure((trip_ns + 2 * playout.waits_ns) * 1e-9)
        self._see(playout)
        # to act on it at once takes a layer that bounds the energy
        remote.commanded = playout.commanded_wrench
        heard = self._heard_position, self._heard_rotation, self._heard_twist
        for kept, new in zip(heard, (remote.position, remote.rotation, remote.twist), strict=True):
            kept[:] = new
        if self.port is not None and playout.commanded_wrench is not None:
            self.port.arrive(playout.tool_twist, playout.commanded_wrench)

    def _see(self, seen: Packet | Playout) -> None:
        """The other side as a packet or what is between packets tells of it."""
        remote = self.remote
        if remote.arm is not None:
            remote.arm.update(seen.q, seen.v)
        else:
            remote.position[:] = seen.tool_position
            remote.rotation[:] = rotation_from_quaternion(seen.tool_quaternion)
            remote.twist[:] = seen.tool_twist
        remote.wrench = seen.measured_wrench

    def _write_packet(self) -> None:
        packet, arm, mapping = self.endpoint.outgoing, self.station.arm, self.law.mapping
        packet.q, packet.v = arm.q, arm.v
        packet.tool_position = arm.position
        packet.tool_twist = arm.twist
        packet.tool_quaternion = quaternion_from_rotation(arm.rotation)
        packet.measured_wrench = self.station.side.wrench
        packet.commanded_wrench = self.contribution.wrench
        packet.engaged, packet.engagement_id = self.engagement.wanted, self.engagement.number
        packet.tripped, packet.deadman_held = self.station.guard.trip is not None, self.switch.held
        packet.external_torque = self.station.side.external_torque
        packet.offset_position = mapping.offset_position
        packet.offset_quaternion = quaternion_from_rotation(mapping.offset_rotation)
        if self.port is None:
            packet.port_energy_in = self.energies.given
            packet.port_energy_out = self.energies.given - self.energies.net
        else:
            packet.port_energy_in, packet.port_energy_out = self.port.given, self.port.taken


class LinkedBridge(Bridge):
    """A law across a link with both ends in one process: two machines in virtual time.

    Args:
        a: the leader's end.
        b: the follower's end.
        period_ns: time between evaluations and packets, [ns].
    """

    a: LinkEnd
    b: LinkEnd

    def __init__(self, a: LinkEnd, b: LinkEnd, *, period_ns: int = 1_000_000) -> None:
        super().__init__(a, b, [a.law, b.law], period_ns)
        self._ports: tuple[LayerPort, LayerPort] | None = None
        if a.port is not None and b.port is not None:
            self._ports = a.port, b.port
        if self._ports is not None:
            sums = ("given_by_leader", "taken_by_leader", "given_by_follower", "taken_by_follower")
            self._layer_energy = self.stream.channel("layer_energy", 4, "J", sums)
            self._layer_damping = self.stream.channel(
                "layer_damping", 2, "N·s/m", ("leader", "follower")
            )
            self._held_back = self.stream.channel("layer_held_back", 6, "m, rad", AXES)

    def _publish(self) -> None:
        if self._ports is None:
            return
        a, b = self._ports
        self._layer_energy[:] = total(a.given), total(a.taken), total(b.given), total(b.taken)
        self._layer_damping[:] = a.added, b.added
        self._held_back[:] = b.behind

    @property
    def trips(self) -> list[Trip]:
        """Trips of the link, of either end."""
        return [end.trip for end in (self.a, self.b) if end.trip is not None]

    def _engage(self) -> None:
        # until the leader's end has heard from the follower's
        self.a.pending = not self.a.engagement.wanted

    def release(self) -> None:
        """Ask the leader's end to part; the follower's end does so when it hears of it."""
        self.a.pending = False
        self.a.engagement.release()

    def _evaluate(self, now_ns: int, dt: float) -> None:
        self.a.receive(now_ns)
        self.b.receive(now_ns)
        self.a.step(now_ns, dt)
        self.b.step(now_ns, dt)
