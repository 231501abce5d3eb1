"""A law across a link: each end evaluates it on its own side and the last packet."""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.coupling import Coupling, Effort, Side
from farhand.coupling.engagement import Engagement
from farhand.coupling.port import TOOL
from farhand.coupling.trial import UNANSWERED, admit, failure, raised
from farhand.link.endpoint import Endpoint
from farhand.link.layers import LayerPort, Playout
from farhand.link.packet import Packet
from farhand.loop.bridges.bridge import Bridge
from farhand.loop.bridges.end import NOT_A_NUMBER, End
from farhand.loop.station import Station
from farhand.safety import Trip, Watchdog
from farhand.safety.watches import Switch
from farhand.spatial import Array, quaternion_from_rotation, rotation_from_quaternion, total


class PortEnergy:
    """Energy that one side has put into a coupling (``given``), and less what it took (``net``)."""

    def __init__(self, size: int = 6) -> None:
        self.given, self.net = np.zeros(size), np.zeros(size)
        self._step, self._positive = np.zeros(size), np.zeros(size)

    def add(self, effort_on_arm: Array, rate: Array, dt: float) -> None:
        """Account for ``dt`` [s] in which the coupling pushes a moving arm with an effort."""
        step = self._step
        np.multiply(effort_on_arm, rate, out=step)
        step *= -dt
        self.net += step
        np.maximum(step, 0.0, out=self._positive)
        self.given += self._positive


class LinkEnd(End):
    """One station's end of a bridge across a link, with its own instance of the law.

    The leader's end decides: it captures the offsets at engagement and sends them with the number
    of the engagement. The follower's end takes over every new number. An end that receives nothing
    for too long decouples, reports it, and stays decoupled until a new number arrives. Silence
    after a farewell is no fault.

    Args:
        station: the local station.
        law: this end's own instance.
        endpoint: this end of the link.
        remote_arm: model of the other side, for laws that need one.
        watchdog: how long the other side may be silent.
        port: this end of a passivity layer, or None.

    Attributes:
        switch: that the operator holds, at the leader's end.
        trip: why this end of the link decoupled, or None.
        pending: whether to couple as soon as the other end answers.
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
        packet = endpoint.incoming
        other = "follower" if self.leads else "leader"
        super().__init__(station, Side(other, remote_arm, len(packet.q)), law.port)
        self.law, self.endpoint, self.watchdog = law, endpoint, watchdog or Watchdog()
        self.engagement = Engagement()
        self.energies, self.port = PortEnergy(len(self._rate)), port
        self.playout: Playout | None = None
        if port is not None:
            self.playout = playout = Playout(len(packet.q), len(packet.v), packet.joints)
            self._played_rate = playout.tool_twist if law.port is TOOL else playout.v
            port.attach(law, self._drives & law.port.drives if self.leads else self._drives)
        sums = self.energies.net if port is None else port.given
        # The arm with more joints decides how many numbers there are.
        self._sent = [
            energy[: len(sums)]
            for energy in (endpoint.outgoing.port_energy_in, endpoint.outgoing.port_energy_out)
        ]
        # Where the leader is by the packets, before the layer acts.
        self._heard: Any = law.port.handle()
        self._reflected, self._told = np.zeros(law.port.leader_size), self.effort
        # energy into the arm that was booked in the last step, and its joints at the start of it
        self._booked, self._before = np.zeros(len(self._rate)), station.arm.q.copy()
        self.trip: Trip | None = None
        self.pending, self.switch = False, Switch()
        self._engaged_ns, self._generation, self._met = 0, endpoint.generation, False
        self._leader_map, self._map_revision = np.zeros(len(packet.map)), -1

    def receive(self, now_ns: int) -> None:
        """Read what has arrived, and notice silence."""
        endpoint = self.endpoint
        local_ns = endpoint.local_ns(now_ns)
        is_new = endpoint.receive(local_ns)
        if endpoint.generation != self._generation:
            self._restart(now_ns)
        if is_new:
            self._read_packet(local_ns)
        silent_ns = endpoint.silence_ns(local_ns)
        if silent_ns is None:
            return
        self.remote.age = (endpoint.age_ns(local_ns) or 0) * 1e-9
        unheard = self._unheard(silent_ns)
        if self.playout is not None:
            self._play(self.playout, local_ns)
        if unheard is not None and self.trip is None and not endpoint.incoming.leaving:
            self.trip = Trip(now_ns, "link", unheard)
        if self.trip is not None or self.station.guard.trip is not None:
            self.engagement.release()
        if self.leads:
            self._lead(unheard is not None, now_ns)
        else:
            self._follow(now_ns)

    def _unheard(self, silent_ns: int) -> str | None:
        """Why the other side counts as silent, in words; None while it does not."""
        watchdog, role = self.watchdog, self.remote.role
        if watchdog.has_expired(silent_ns):
            silence = f"{silent_ns * 1e-9:.3f} s (limit {watchdog.silence:g} s)"
            return f"nothing heard from the {role} for {silence}"
        if self.endpoint.offset is not None and self.remote.age > watchdog.age:
            age = f"{self.remote.age:.3f} s old (limit {watchdog.age:g} s)"
            return f"the newest packet of the {role} is {age}"
        return None

    def _restart(self, now_ns: int) -> None:
        """Decouple and clear all accounts, because the other side was started or restarted."""
        self._generation = self.endpoint.generation
        if self._met:
            self.pending = False
            if self.engagement.wanted:
                self.trip = Trip(now_ns, "link", f"the {self.remote.role} was restarted")
            self.engagement.release()
        self._met = False
        if self.port is not None and self.playout is not None:
            self.port.forget()
            self.playout.begin()

    def step(self, now_ns: int, dt: float, period: float) -> None:
        """Evaluate this end's law, apply its own half, and send this side's state.

        Args:
            now_ns: the time, [ns].
            dt: since the last step, [s].
            period: most that the efforts fade by in one step, also after a pause, [s].
        """
        if self.engagement.wanted:
            self._evaluate(now_ns, dt)
        if not self.engagement.wanted:
            self.part()
        self.apply(self.engagement.step(min(dt, period)), dt)
        self.energies.add(self.effort, self._rate, dt)
        self.send(now_ns)

    def send(self, now_ns: int) -> None:
        """Send this side's state; ``now_ns`` [ns]."""
        self._write_packet()
        self.endpoint.send(self.endpoint.local_ns(now_ns))

    def apply(self, gain: float, dt: float) -> None:
        """Give the station the faded wrench that the layer allows, and account for its energy."""
        if self.port is None:
            super().apply(gain, dt)
            self._told = self.effort
            return
        self._correct(self.port)
        self.contribution.gain = left = self.bounded(gain, dt)
        self.hand_over(self.port.push(self.asked, self._rate, dt, left))
        self.energy -= float(self.effort.dot(self._rate)) * dt
        np.multiply(self._rate, dt, self._booked)
        self._booked *= self.effort
        self._before[:] = self.station.arm.q
        # The other arm has not tripped: what is cut here still fades there.
        self._told = self.effort if left == gain else gain * self.asked
        if not self.engagement.wanted and self._reflected.any():
            # The force that fades here still goes back, booked a tick later as while engaged.
            self.port.part(self._reflected, dt)
            self.law.mapping.back(self._told, self._reflected)
            np.negative(self._reflected, self._reflected)

    def _correct(self, port: LayerPort) -> None:
        """Account for what the last step really did, where joints are coupled.

        It was booked for what the law asked and the velocity at its start. Motors may have been too
        weak, and joints that a torque throws to and fro go another way.
        """
        if self._port is TOOL or not self._booked.any():
            return
        done, cut = self.effort, self.station.side.cut
        if cut is not None:
            done = done + cut
        energy = done * (self.station.arm.q - self._before) - self._booked
        self.energy -= total(energy)
        port.correct(energy)

    def _evaluate(self, now_ns: int, dt: float) -> None:
        """Evaluate the law; at the follower the layer moves the leader that the law sees."""
        a, b, port, answer = self.station.side, self.remote, self.port, UNANSWERED
        if not self.leads:
            a, b = b, a
            if port is not None:
                port.lead(a, self._heard, self._reflected, dt)
        try:
            answer = on_a, on_b = self.law.step(a, b, dt)
            taken = self.take(on_a if self.leads else on_b)
            if not (taken and (self.leads or self._reflect(on_a, on_b))):
                self._fail(now_ns, NOT_A_NUMBER)
        # A user's law may raise anything.
        except Exception as error:
            self._fail(now_ns, failure(answer, error))

    def _couple(self, number: int, now_ns: int) -> bool:
        """Engage the law at the present poses of both sides; False if it fails."""
        local, remote = self.station.side, self.remote
        try:
            self.law.engage(*((local, remote) if self.leads else (remote, local)))
        except Exception as error:
            self._fail(now_ns, raised(error))
            return False
        self.engagement.engage(number)
        return True

    def _fail(self, now_ns: int, why: str) -> None:
        """Stop this station, whose effort is unknown; the other side then decouples."""
        self.stop(now_ns, self.law, why)
        self.engagement.release()

    def _reflect(self, on_a: Effort, on_b: Effort) -> bool:
        """Store the force at the follower's port; False if it is not a number."""
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
        """Couple on request; decouple when the follower trips, leaves or does not answer."""
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
        # An old request must not be executed when the link returns.
        self.pending = self.pending and not silent
        # Before the first answer it is unknown how long an answer takes.
        answered = self.endpoint.round_trip_ns is not None
        tripped = incoming.tripped or self.station.guard.trip is not None
        if self.pending and answered and engagement.gain == 0.0 and not tripped:
            self.pending, self.trip = False, None
            # A number that is new to the follower, even if this side was restarted.
            self._couple(max(engagement.number, incoming.engagement_id) + 1, now_ns)
            self._engaged_ns = now_ns

    def _overdue(self, now_ns: int) -> bool:
        """Whether the follower has had time to answer the engagement."""
        round_trip_ns = self.endpoint.round_trip_ns or 0
        return self.watchdog.has_expired(now_ns - self._engaged_ns - round_trip_ns)

    def _follow(self, now_ns: int) -> None:
        """Follow the leader's packet; an engagement number counts once."""
        incoming, engagement, mapping = self.endpoint.incoming, self.engagement, self.law.mapping
        # A request from before this side was running does not concern it.
        if not self._met:
            self._met, engagement.number = True, incoming.engagement_id
        if not (incoming.engaged and incoming.deadman_held):
            engagement.release()
            return
        # A layer plays packets out late: engagement, map and pose must belong together.
        seen = incoming if self.playout is None else self.playout
        new = seen.engagement_id != engagement.number
        able = new and self.station.guard.trip is None and engagement.gain == 0.0
        # A mapping with a state starts at this tool.
        if able and self._couple(seen.engagement_id, now_ns):
            self.trip = None
            self._reflected[:] = 0.0
            if self.port is not None:
                self.port.begin()
            self._adopt_map(seen.map)
        # The leader may also change its map while coupled; what is set here does not count.
        elif engagement.wanted and not (
            self._map_revision == mapping.revision and np.array_equal(self._leader_map, seen.map)
        ):
            why = self.watchdog.objection(*self._adopt_map(seen.map))
            if why:
                self.trip = Trip(now_ns, "link", why)
                engagement.release()

    def _adopt_map(self, numbers: Array) -> tuple[float, float]:
        """Take over the leader's map; by how much that moves the target, [m] and [rad]."""
        mapping = self.law.mapping
        self._leader_map[:] = numbers
        moved: tuple[float, float] = mapping.adopt(self._leader_map)
        self._map_revision = mapping.revision
        return moved

    def _read_packet(self, now_ns: int) -> None:
        packet = self.endpoint.incoming
        # Where joints are coupled it is all that touches the arm, which the law gets as measured.
        if self._port is TOOL:
            self.remote.external_torque = packet.external_torque
        if self.port is None or self.playout is None:
            self._see(packet)
            return
        self.playout.take(packet, now_ns)
        n = self.law.port.leader_size
        self.port.hear(packet.port_energy_in[:n], packet.port_energy_out[:n])

    def _play(self, playout: Playout, now_ns: int) -> None:
        """Use the content of the packets at an even age."""
        playout.play(now_ns)
        remote = self.remote
        remote.age += playout.behind_ns * 1e-9
        trip_ns = self.endpoint.round_trip_ns
        # A packet that waits here waits at the other end too.
        if self.port is not None and trip_ns is not None:
            self.port.measure((trip_ns + 2 * playout.waits_ns) * 1e-9)
        self._see(playout)
        # Only with a layer, which bounds the energy, may the law use this at once.
        remote.commanded = playout.commanded_wrench
        if not self.leads:
            self._heard.take(remote)
        if self.port is not None and playout.commanded_wrench is not None:
            self.port.arrive(self._played_rate, playout.commanded_wrench)

    def _see(self, seen: Packet | Playout) -> None:
        """Set the other side from a packet, or from the state between packets."""
        remote = self.remote
        if remote.arm is not None:
            remote.arm.update(seen.q, seen.v)
        else:
            remote.position[:] = seen.tool_position
            remote.rotation[:] = rotation_from_quaternion(seen.tool_quaternion)
            remote.twist[:] = seen.tool_twist
            remote.q[:], remote.v[:] = seen.q, seen.v
        remote.wrench, remote.torque = seen.measured_wrench, seen.external_torque

    def _write_packet(self) -> None:
        packet, arm, mapping = self.endpoint.outgoing, self.station.arm, self.law.mapping
        packet.q, packet.v = arm.q, arm.v
        packet.tool_position = arm.position
        packet.tool_twist = arm.twist
        packet.tool_quaternion = quaternion_from_rotation(arm.rotation)
        packet.measured_wrench = self.station.side.wrench
        packet.commanded_wrench = self._told
        packet.engaged, packet.engagement_id = self.engagement.wanted, self.engagement.number
        packet.tripped, packet.deadman_held = self.station.guard.trip is not None, self.switch.held
        side = self.station.side
        packet.external_torque = side.external_torque if self._port is TOOL else side.torque
        packet.map[:] = mapping.numbers
        given, taken = self._sent
        if self.port is None:
            given[:] = self.energies.given
            np.subtract(self.energies.given, self.energies.net, taken)
        else:
            given[:], taken[:] = self.port.given, self.port.taken


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
            ends, port = ("leader", "follower"), b.law.port
            axes = TOOL.axes if port is TOOL else list(a.station.arm.model.names)[1:]
            self._layer_damping = self.stream.channel("layer_damping", 2, port.damper_unit, ends)
            self._held_back = self.stream.channel(
                "layer_held_back", port.leader_size, port.unit, axes
            )

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
        # Until the leader's end has an answer from the follower's.
        self.a.pending = not self.a.engagement.wanted

    def release(self) -> None:
        """Decouple the leader's end; the follower's end follows with the next packet."""
        self.a.pending = False
        self.a.engagement.release()

    def _evaluate(self, now_ns: int, dt: float) -> None:
        self.a.receive(now_ns)
        self.b.receive(now_ns)
        self.a.step(now_ns, dt, self.period)
        self.b.step(now_ns, dt, self.period)
