"""One end of a link against a peer that the test plays: who couples when, and what is sent."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.coupling import PositionPosition
from farhand.link.channel import Channel
from farhand.link.endpoint import connect
from farhand.link.layers import LayerPort
from farhand.link.packet import Packet
from farhand.loop.bridges.linked import LinkedBridge, LinkEnd, PortEnergy
from farhand.loop.bridges.remote import RemoteBridge
from farhand.loop.station import Station
from farhand.loop.telemetry import Reader, Telemetry
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot
from farhand.safety import Watchdog
from farhand.world import Placed, World

MS = 1_000_000
POINT3 = load_robot("point3")


class Slow(Channel):
    """A channel that takes its time."""

    def __init__(self, delay_ns: int) -> None:
        self.delay_ns, self.under_way, self.uneven_ns = delay_ns, [], 0

    def send(self, now_ns: int, data: bytes) -> None:
        extra_ns = self.uneven_ns if now_ns // MS % 7 == 0 else 0
        self.under_way.append((now_ns + self.delay_ns + extra_ns, data))

    def receive(self, now_ns: int) -> list[bytes]:
        arrived = [data for at_ns, data in self.under_way if at_ns <= now_ns]
        self.under_way = [sent for sent in self.under_way if sent[0] > now_ns]
        return arrived


class Listening(LayerPort):
    """A layer that lets everything through and keeps what it hears."""

    def hear(self, given, taken) -> None:
        self.heard = given.tolist(), taken.tolist()

    def arrive(self, twist, wrench) -> None:
        self.arrived = twist.tolist(), wrench.tolist()

    def lead(self, remote, heard, force, dt) -> None:
        self.force = force.copy()

    def part(self, force, dt) -> None:
        self.parted = force.copy()


class Played:
    """An end of a link in ticks of 1 ms; ``says`` is what its peer sends in each."""

    def __init__(self, role: str, delay_ns: int = 5 * MS, port=None, **says) -> None:
        world = World({role: Placed(POINT3)}, gravity=0.0)
        self.station = Station.of(world, role, role, gravity=0.0)
        self.there, self.back = Slow(delay_ns), Slow(delay_ns)
        ours, self.peer = connect(Packet(3, 3, 1), Packet(3, 3, 1), self.there, self.back)
        watchdog = Watchdog(silence=0.05)
        self.end = LinkEnd(self.station, PositionPosition(), ours, watchdog=watchdog, port=port)
        self.says = {"engaged": False, "engagement_id": 0, "deadman_held": True, **says}
        self.shape, self.talks, self.now_ns = (1.0, 1.0, 0.0, 0.0, 0.0), True, 0
        self.offset = np.zeros(3)

    def run(self, ticks: int) -> Played:
        """Go on for this number of milliseconds."""
        for _ in range(ticks):
            self.now_ns += MS
            self.station.sense(self.now_ns)
            self.tick(self.now_ns)
            self.peer.receive(self.now_ns)
            if self.talks:
                self._say()
        return self

    def tick(self, now_ns: int) -> None:
        """What a bridge does."""
        self.end.receive(now_ns)
        self.end.step(now_ns, 1e-3, 1e-3)

    def _say(self) -> None:
        packet = self.peer.outgoing
        for name, value in self.says.items():
            setattr(packet, name, value)
        packet.tool_quaternion = packet.offset_quaternion = np.array([0.0, 0.0, 0.0, 1.0])
        packet.map_shape[:], packet.offset_position = self.shape, self.offset
        self.peer.send(self.now_ns)

    @property
    def wanted(self) -> bool:
        return self.end.engagement.wanted


def leading(number: int = 7, **says) -> Played:
    """A leader's end that has heard its follower, whose last engagement was this one."""
    return Played("leader", engagement_id=number, **says).run(30)


def coupled() -> Played:
    """A leader's end whose follower has taken up the engagement."""
    played = leading()
    played.end.pending = True
    played.run(2).says |= {"engaged": True, "engagement_id": 8}
    return played.run(300)


def test_a_leader_couples_once_answered_with_a_number_new_to_the_follower():
    """One above the larger of both, so that the follower sees a new one, whoever restarted."""
    played = Played("leader", engagement_id=7)
    played.end.pending = True
    played.run(10)
    assert not played.wanted  # 5 ms there, 5 ms back: no answer to a packet of its own yet
    played.run(1)
    assert played.wanted and not played.end.pending
    assert played.end.engagement.number == 8
    played.says |= {"engaged": True, "engagement_id": 8}
    played.run(300)
    assert played.end.engagement.gain == 1.0
    said = played.peer.incoming
    assert (said.engaged, said.engagement_id, said.deadman_held) == (True, 8, True)
    played.end.engagement.release()
    played.end.pending, played.says["engagement_id"] = True, 3
    played.run(300)
    assert played.end.engagement.number == 9


def test_a_leader_waits_for_its_last_effort_to_fade_before_it_couples_again():
    """A request during the fade is kept until then."""
    played = coupled()
    played.end.engagement.release()
    played.end.pending = True
    played.run(100)
    assert played.end.pending and not played.wanted and 0.0 < played.end.engagement.gain < 1.0
    played.run(102)
    assert played.wanted and played.end.engagement.number == 9


@pytest.mark.parametrize("delay_ms", [5, 40])
def test_a_follower_that_does_not_take_up_an_engagement_has_a_round_trip_and_the_limit_for_it(
    delay_ms,
):
    """Then the leader parts, and says why; not earlier, however long the line is."""
    played = Played("leader", delay_ms * MS, engagement_id=7).run(3 * delay_ms)
    played.end.pending = True
    played.run(1)
    assert played.wanted
    # an answer takes both ways and a tick at each end; the limit is 50 ms
    round_trip_ms = round(played.end.endpoint.round_trip_ns / MS)
    assert 2 * delay_ms <= round_trip_ms <= 2 * delay_ms + 2
    played.run(50 + round_trip_ms)
    assert played.wanted and played.end.trip is None
    played.run(1)
    assert not played.wanted
    assert played.end.trip.reason == "the follower did not take up the engagement"
    # an order to couple clears the trip
    played.end.pending = True
    played.run(1)
    assert not played.wanted
    played.run(200)
    assert played.end.engagement.number == 9


def test_a_leader_parts_when_its_follower_parts_or_trips():
    """A follower that is coupled and says otherwise has decoupled; one that tripped too."""
    for says in ({"engaged": False}, {"tripped": True}):
        played = coupled()
        assert played.wanted and played.end.trip is None
        played.says |= says
        played.run(6)
        assert not played.wanted and played.end.trip is None
    played.end.pending = True
    played.run(300)
    assert not played.wanted and played.end.pending  # still tripped
    played.says["tripped"] = False
    played.run(6)
    assert played.wanted


def test_a_leader_parts_when_its_own_station_trips_or_the_switch_is_let_go():
    """Nothing is kept to be done when it is held again."""
    played = coupled()
    played.station.guard.stop(played.now_ns, "stop", "a test")
    played.run(1)
    assert not played.wanted
    played.run(6)
    assert played.peer.incoming.tripped
    played.station.reset()
    assert coupled().run(1).wanted
    played = coupled()
    played.end.switch.held = False
    played.end.pending = True
    played.run(1)
    assert not played.wanted and not played.end.pending
    played.run(6)
    assert not played.peer.incoming.deadman_held
    played.end.switch.held = True
    played.run(300)
    assert not played.wanted


def test_silence_parts_and_an_old_request_is_not_carried_out_when_the_link_returns():
    """After 50 ms without a packet, with the reason; the last was under way for 5."""
    played = coupled()
    played.talks = False
    # the last packet, said in this tick, arrives 5 ms later
    played.run(5 + 50)
    assert played.wanted and played.end.trip is None
    played.run(1)
    assert not played.wanted
    assert played.end.trip.reason.startswith(
        "nothing heard from the follower for 0.051 s (limit 0.05"
    )
    played.end.pending = True
    played.run(1)
    assert not played.end.pending
    played.talks = True
    played.run(300)
    assert not played.wanted
    played.end.pending = True
    played.run(1)
    assert played.wanted and played.end.engagement.number == 9 and played.end.trip is None


@pytest.mark.parametrize("shared", [True, False])
def test_a_state_that_is_too_old_parts_where_the_clocks_are_not_shared(shared):
    """Packets that come regularly but late, as from a full buffer. By clocks that are compared, a
    packet counts as half a round trip older than it seems: 95 ms and 5 ms are the limit of 100.
    """
    played = Played("leader", engagement_id=7)
    played.end.endpoint.connect(played.there, played.back, shared_clock=shared)
    played.end.watchdog.silence, played.end.watchdog.age = 10.0, 0.1
    played.run(30).end.pending = True
    played.run(2).says |= {"engaged": True, "engagement_id": 8}
    played.run(20).back.delay_ns = 97 * MS
    # one packet is from this very tick: it is 95 ms old after as many more
    played.run(95)
    assert played.wanted and played.end.trip is None
    played.run(10)
    assert played.wanted is shared
    if not shared:
        said = "the newest packet of the follower is 0.101 s old (limit 0.1 s)"
        assert played.end.trip.reason == said


def test_silence_after_a_farewell_is_no_fault():
    """The other side has ended."""
    played = coupled()
    played.says |= {"leaving": True, "engaged": False}
    played.run(10).talks = False
    played.run(200)
    assert not played.wanted and played.end.trip is None


def test_a_peer_that_was_restarted_is_parted_from():
    """With the reason if both were coupled; a request from before is dropped."""
    for was_coupled in (True, False):
        played = coupled() if was_coupled else leading()
        played.end.pending = not was_coupled
        played.back.generation += 1
        played.back.under_way.clear()
        played.run(1)
        assert not played.wanted and not played.end.pending
        reason = "the follower was restarted"
        assert (played.end.trip.reason if played.end.trip else "") == reason * was_coupled


def following(**says) -> Played:
    """A follower's end that has heard its leader, with the leader's number 4 from before."""
    return Played("follower", engagement_id=4, **says).run(20)


def test_a_follower_takes_up_each_new_engagement_once():
    """Not one from before it ran, nor the same again after it parted."""
    played = following(engaged=True)
    assert not played.wanted
    played.says["engagement_id"] = 5
    played.run(6)
    assert played.wanted and played.end.engagement.number == 5
    played.run(300)
    assert played.end.engagement.gain == 1.0
    played.end.engagement.release()
    played.run(300)
    assert not played.wanted
    played.says["engagement_id"] = 6
    played.run(300)
    assert played.wanted and played.end.engagement.number == 6
    said = played.peer.incoming
    assert (said.engaged, said.engagement_id) == (True, 6)


@pytest.mark.parametrize("flag", ["engaged", "deadman_held"])
def test_a_follower_parts_when_its_leader_does_or_lets_go_of_the_switch(flag):
    """Either alone is enough; and neither alone couples."""
    played = following(engaged=True)
    played.says["engagement_id"] = 5
    assert played.run(10).wanted
    played.says[flag] = False
    assert not played.run(6).wanted
    played.says["engagement_id"] = 6
    assert not played.run(300).wanted


def test_a_tripped_follower_takes_nothing_up():
    """It says so, and after a reset only a new number counts."""
    played = following(engaged=True)
    played.station.guard.stop(played.now_ns, "stop", "a test")
    played.says["engagement_id"] = 5
    assert not played.run(6).wanted
    assert played.run(6).peer.incoming.tripped


def test_a_follower_uses_the_map_of_its_leader_also_when_it_changes():
    """Scale and offset; what is set at the follower does not last; a leap is refused."""
    played = following(engaged=True)
    played.says["engagement_id"], played.shape = 5, (2.0, 1.0, 0.0, 0.0, 0.0)
    mapping = played.end.law.mapping
    played.run(20)
    assert mapping.shape[0] == 2.0
    played.offset = np.array([0.01, 0.0, 0.0])
    assert played.run(6).wanted
    np.testing.assert_allclose(mapping.offset_position, [0.01, 0.0, 0.0])
    mapping.adopt(np.array([0, 0, 0, 1, 0, 0, 0, 3, 1, 0, 0, 0], dtype=float))
    played.run(1)
    assert mapping.shape[0] == 2.0 and played.wanted
    played.offset = np.array([0.04, 0.0, 0.0])
    played.run(6)
    assert not played.wanted
    assert "would move the target by 30 mm" in played.end.trip.reason


def test_what_is_heard_of_the_other_side_is_as_old_as_the_line_is_long():
    """Position, twist and age, for a line of 5 ms."""
    played = following(tool_position=np.array([0.1, 0.2, 0.3]), tool_twist=np.arange(6.0))
    assert played.end.remote.age == pytest.approx(5e-3)
    np.testing.assert_allclose(played.end.remote.position, [0.1, 0.2, 0.3])
    np.testing.assert_allclose(played.end.remote.twist, np.arange(6.0))


def test_energies_of_a_port_are_those_given_and_those_taken_back():
    """−∫ w·v along each axis; what was given is its positive part."""
    energy = PortEnergy()
    wrench = np.array([1.0, -2.0, 3.0, 0.0, 1.0, 1.0])
    energy.add(wrench, np.full(6, 2.0), 0.1)
    energy.add(wrench, np.full(6, -1.0), 0.1)
    np.testing.assert_allclose(energy.net, -0.1 * wrench)
    np.testing.assert_allclose(energy.given, [0.1, 0.4, 0.3, 0.0, 0.1, 0.1])


def test_the_energies_that_are_sent_are_those_of_the_port():
    """What went in, and what came out: given less net."""
    played = leading()
    played.end.energies.given[:], played.end.energies.net[:] = np.arange(6.0), np.ones(6)
    played.end.send(played.now_ns)
    packet = played.end.endpoint.outgoing
    np.testing.assert_allclose(packet.port_energy_in, np.arange(6.0))
    np.testing.assert_allclose(packet.port_energy_out, np.arange(6.0) - 1.0)


def test_after_a_pause_the_efforts_of_an_end_fade_no_faster_than_otherwise():
    """A second without a step is one step of the fade."""
    played = leading()
    played.end.pending = True
    played.run(1)
    played.end.step(played.now_ns + 1000 * MS, 1.0, 1e-3)
    share = 2.0 * 1e-3 / played.end.engagement.ramp
    assert played.end.engagement.gain == pytest.approx(3.0 * share**2 - 2.0 * share**3)


def test_a_layer_is_told_how_long_content_takes_there_and_back():
    """Over an uneven line packets wait to be played at an even age, here and at the other end; what
    is known of the other side is that much older.
    """
    played = following(port=Listening())
    assert played.end.port.round_trip == pytest.approx(10e-3, abs=1e-12)
    played.back.uneven_ns = 3 * MS
    played.run(100)
    waited = []
    for _ in range(10):
        played.run(1)
        playout, endpoint = played.end.playout, played.end.endpoint
        waited.append(playout.waits_ns)
        expected_ns = endpoint.round_trip_ns + 2 * playout.waits_ns
        assert played.end.port.round_trip == pytest.approx(expected_ns * 1e-9)
        age_ns = endpoint.age_ns(played.now_ns) + playout.behind_ns
        assert played.end.remote.age == pytest.approx(age_ns * 1e-9)
    assert max(waited) >= MS


def test_a_layer_hears_the_energies_and_the_motion_of_the_other_end():
    """What the other end put in and took out, and how the coupling pushes on its arm."""
    given, taken, twist, wrench = np.arange(24.0).reshape(4, 6)
    energies = {"port_energy_in": given, "port_energy_out": taken}
    played = following(port=Listening(), **energies, tool_twist=twist, commanded_wrench=wrench).run(
        20
    )
    assert played.end.port.heard == (given.tolist(), taken.tolist())
    assert played.end.port.arrived == (twist.tolist(), wrench.tolist())
    played.end.port.given[:], played.end.port.taken[:] = 3.0, 4.0
    played.end.send(played.now_ns)
    packet = played.end.endpoint.outgoing
    assert (packet.port_energy_in[0], packet.port_energy_out[0]) == (3.0, 4.0)


def test_the_force_on_a_follower_goes_back_with_the_gain_of_the_engagement():
    """The layer books minus the effort with the gain it was asked with, a tick later; also while it
    fades after parting. What is cut here because this side tripped still fades for the other side.
    """
    played = following(engaged=True, port=Listening(), tool_position=np.array([0.01, 0.0, 0.0]))
    played.says["engagement_id"] = 5
    played.run(100)
    played.says["tool_position"] = np.array([0.02, 0.0, 0.0])
    played.run(20)
    end, port = played.end, played.end.port
    for _ in range(5):
        gain = end.engagement.gain
        played.run(1)
        pushed = gain * end.asked[0]
        played.run(1)
        assert 0.0 < end.engagement.gain < 1.0 < pushed
        assert port.force[0] == pytest.approx(-pushed)
    put_in = end.energy
    played.station.arm.twist[0] = 0.5
    end.apply(1.0, 1e-3)
    assert end.energy - put_in == pytest.approx(-0.5e-3 * end.asked[0])
    played.station.guard.stop(played.now_ns, "stop", "a test")
    played.run(1)
    assert not end.contribution.wrench.any()
    told = end.endpoint.outgoing.commanded_wrench
    np.testing.assert_allclose(told, end.engagement.gain * end.asked)
    played.run(1)
    assert port.parted[0] == pytest.approx(-told[0], rel=0.05)


@pytest.mark.parametrize("layer", [None, Listening])
@pytest.mark.parametrize("role", ["leader", "follower"])
def test_a_law_that_gives_no_number_stops_this_side_with_the_reason(role, layer):
    """At the time of the tick; the engagement ends."""
    played = Played(role, engagement_id=4, engaged=True, port=layer() if layer else None).run(20)
    played.end.pending, played.says["engagement_id"] = True, 5
    assert played.run(30).wanted
    step = played.end.law.step

    def broken(a, b, dt):
        efforts = step(a, b, dt)
        efforts[role == "follower"].wrench[3] = np.nan
        return efforts

    played.end.law.step = broken
    played.run(1)
    trip = played.station.guard.trip
    assert trip.reason == "law 'position-position' gave an effort that is not a number"
    assert (trip.time_ns, trip.kind, played.wanted) == (played.now_ns, "invalid", False)


@pytest.mark.parametrize("method", ["step", "engage"])
def test_a_law_that_raises_stops_this_side_with_the_reason(method):
    """While coupled, or when it is to begin."""
    played = leading()

    def broken(*arguments):
        raise ZeroDivisionError("nothing to divide by")

    setattr(played.end.law, method, broken)
    played.end.pending = True
    played.run(2)
    trip = played.station.guard.trip
    assert trip.reason.startswith("law 'position-position' raised ZeroDivisionError: nothing")
    assert trip.time_ns in (played.now_ns, played.now_ns - MS)
    assert not played.wanted


def bridged(role: str, **says) -> tuple[Played, RemoteBridge]:
    """A bridge with this side's end alone, which has heard the other side."""
    played = Played(role, engagement_id=4, **says)
    bridge = RemoteBridge(played.end, period_ns=MS)
    played.tick = bridge.step
    return played.run(30), bridge


def test_a_bridge_to_elsewhere_couples_at_the_leader_when_all_is_well():
    """Once: what is coupled is not asked to couple again."""
    played, bridge = bridged("leader")
    assert str(bridge.engage()) == "done"
    assert played.run(1).wanted
    assert str(bridge.engage()) == "done"
    assert not played.end.pending
    bridge.release()
    assert not played.run(1).wanted


def test_a_bridge_to_elsewhere_says_why_it_does_not_couple():
    """It is not the leader's; the follower is silent or has tripped; nobody holds the switch."""
    _, bridge = bridged("follower")
    assert str(bridge.engage()) == "refused: the leader couples the two sides; ask there"
    _, bridge = bridged("leader", tripped=True)
    assert str(bridge.engage()) == "refused: the follower has tripped; reset it there first"
    played, bridge = bridged("leader")
    played.end.switch.held = False
    assert str(bridge.engage()) == "refused: nobody holds the dead-man switch"
    played.end.switch.held, played.talks = True, False
    played.run(50)
    assert bridge.engage().done
    played.run(100)
    assert str(bridge.engage()) == "refused: nothing heard from the follower for 0.1 s"
    assert not played.wanted


def test_only_the_leader_sets_the_map():
    """Everything else may be set at either end."""
    for role, path, why in (
        ("follower", "law.mapping.motion_scale", "the leader decides on the mapping; set it there"),
        ("follower", "law.stiffness", ""),
        ("leader", "law.mapping.motion_scale", ""),
        ("leader", "law.stiffness", ""),
    ):
        assert bridged(role)[1].objection(path) == why


@pytest.mark.parametrize(("role", "near"), [("leader", 0), ("follower", 1)])
def test_a_bridge_to_elsewhere_tells_how_the_link_does_and_nothing_of_the_other_sides_arm(
    role, near
):
    """Energy and age of this side, one number for each of the link's; a line of 5 ms each way."""
    played, bridge = bridged(role)
    with Telemetry(capacity=4) as telemetry:
        telemetry.add(bridge.stream)
        telemetry.freeze()
        played.run(1)
        _, said = Reader(telemetry.path).latest("coupling")
    assert said["age"][near] == pytest.approx(5e-3)
    assert said["port_energy"][near] == 0.0
    assert np.isnan(said["age"][1 - near]) and np.isnan(said["port_energy"][1 - near])
    assert said["link_round_trip"].tolist() == pytest.approx([10e-3])
    assert said["link_age"].tolist() == pytest.approx([5e-3])


def test_who_leaves_parts_and_says_so_more_than_once():
    """One farewell may be lost."""
    played, bridge = bridged("leader")
    bridge.engage()
    assert played.run(1).wanted
    before = len(played.there.under_way)
    bridge.leave(played.now_ns)
    assert not played.wanted
    assert len(played.there.under_way) - before > 2
    played.now_ns += 10 * MS
    played.peer.receive(played.now_ns)
    assert played.peer.incoming.leaving and not played.peer.incoming.engaged


def test_a_linked_bridge_tells_what_its_layer_did():
    """The energies at both ends, summed over the axes, the damping and how far it holds back."""
    ends = [Played(role, port=Listening()).end for role in ("leader", "follower")]
    a, b = (end.port for end in ends)
    bridge = LinkedBridge(*ends, period_ns=MS)
    a.given[:], a.taken[:], b.given[:], b.taken[:] = 1.0, 2.0, 3.0, 4.0
    a.added, b.added, b.behind[:] = 5.0, 6.0, np.arange(6.0)
    with Telemetry(capacity=4) as telemetry:
        telemetry.add(bridge.stream)
        telemetry.freeze()
        bridge.step(MS)
        _, said = Reader(telemetry.path).latest("coupling")
    assert said["layer_energy"].tolist() == [6.0, 12.0, 18.0, 24.0]
    assert said["layer_damping"].tolist() == [5.0, 6.0]
    assert said["layer_held_back"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_linked_bridge_asks_its_leader_to_couple_unless_it_is_coupled():
    """And without a layer it tells of none."""
    ends = [Played(role).end for role in ("leader", "follower")]
    bridge = LinkedBridge(*ends, period_ns=MS)
    bridge.engage()
    assert ends[0].pending
    ends[0].engagement.engage()
    bridge.engage()
    assert not ends[0].pending
    bridge.release()
    assert not ends[0].engagement.wanted
    with Telemetry(capacity=4) as telemetry:
        telemetry.add(bridge.stream)
        telemetry.freeze()
        channels = Reader(telemetry.path).header["streams"]["coupling"]["channels"]
    assert not any(channel["name"].startswith("layer") for channel in channels)


def test_what_touches_the_other_arms_joints_arrives_once():
    """As measured, and not as known beside it too: a law would count it twice."""
    rig = build_rig("pair", Options("four-channel", delay=4.0, scenario="free"))
    rig.session.run(0.05)
    ends = rig.session.bridges[0].a, rig.session.bridges[0].b
    found = [(end.remote.torque is not None, end.remote.external_torque) for end in ends]
    rig.close()
    assert found == [(True, None)] * 2
