"""Session: exact rates, commands at tick boundaries with a log, and the same run to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.coupling import PositionPosition, VirtualConstraints
from farhand.errors import BadValue, Mismatch, UnknownName
from farhand.loop.bridges.direct import DirectBridge
from farhand.loop.commands import DONE
from farhand.loop.session import Session
from farhand.loop.station import Station
from farhand.loop.telemetry import Reader
from farhand.robots import Placement, load_robot
from farhand.world import Placed, World

MS = 1_000_000
POINT3 = load_robot("point3")


@pytest.fixture
def devices():
    """Two or three point devices in a world, each with a station: ``devices(count) -> world,
    stations``.
    """

    def build(count: int = 2):
        names = ["one", "two", "three"][:count]
        world = World(
            {n: Placed(POINT3, Placement((0.3 * k, 0.0, 0.0))) for k, n in enumerate(names)},
            gravity=0.0,
        )
        roles = ["leader", "follower", "follower"]
        return world, [
            Station.of(world, n, r, gravity=0.0) for n, r in zip(names, roles, strict=False)
        ]

    return build


@pytest.fixture
def session_of():
    """Make sessions that are closed afterwards."""
    sessions = []

    def build(*arguments, **options) -> Session:
        sessions.append(Session(*arguments, **options))
        return sessions[-1]

    yield build
    for session in sessions:
        session.close()


def test_every_part_is_called_exactly_as_often_as_its_rate_says(devices, session_of):
    """Stations at 1 kHz and 250 Hz with a bridge at 100 Hz for 1 s: 1000, 250 and 100 calls, each
    on its own grid.
    """
    world, (fast, slow) = devices()
    slow.period_ns = 4 * MS
    bridge = DirectBridge(PositionPosition(), fast, slow, period_ns=10 * MS)
    times = {"bridge": [], "slow": []}
    for name, part, method in (("bridge", bridge, "step"), ("slow", slow, "sense")):
        inner = getattr(part, method)
        setattr(
            part,
            method,
            lambda now_ns, inner=inner, name=name: (times[name].append(now_ns), inner(now_ns)),
        )
    session = session_of([fast, slow], bridges=[bridge], worlds=[world])
    session.run(0.4)
    session.run(0.6)
    assert [part.calls for part in session.parts] == [1000, 250, 100, 1000, 250]
    assert times["bridge"] == list(range(0, 1000 * MS, 10 * MS))
    assert times["slow"] == list(range(0, 1000 * MS, 4 * MS))
    assert session.ticks == 1000
    assert world.now_ns == 999 * MS


@pytest.mark.parametrize("slower", [0, 1])
def test_rates_that_share_no_factor_are_kept_exactly(devices, session_of, slower):
    """Periods of 0.7 ms and 1.1 ms: integer nanoseconds do not drift; each comes at its time."""
    world, stations = devices()
    stations[slower].period_ns, stations[1 - slower].period_ns = 1_100_000, 700_000
    session, times = session_of(stations, worlds=[world]), ([], [])
    for part, called in zip(session.parts[:2], times, strict=True):
        inner = part.step
        part.step = lambda now, inner=inner, called=called: (called.append(now), inner(now))
    session.run(0.154)
    assert times[slower] == list(range(0, 154 * MS, 1_100_000))
    assert times[1 - slower] == list(range(0, 154 * MS, 700_000))
    assert [part.calls for part in session.parts[:2]] == [len(called) for called in times]
    assert session.ticks == len({*times[0], *times[1]})


def test_what_is_added_is_called_in_its_stage_behind_what_is_there(devices, session_of):
    """Physics before the commands, then sense, law and act; as often as the fastest part, or as
    asked; taken out it is called no more.
    """
    world, (a, b) = devices()
    b.period_ns = 2 * MS
    bridge = DirectBridge(PositionPosition(), a, b)
    session, calls = session_of([a, b], bridges=[bridge], worlds=[world]), []
    for part in session.parts:
        stage, inner = part.stage, part.step
        part.step = lambda now, stage=stage, inner=inner: (calls.append(stage.upper()), inner(now))
    take = session.commands.due
    session.commands.due = lambda now: (calls.append("commands"), take(now))[1]
    added = [
        session.add(lambda now, name=name: calls.append(name), after=name.strip("+"))
        for name in ("act", "physics", "law", "sense", "act+", "law+", "physics+", "sense+")
    ]
    rare = session.add(lambda now: None, 5 * MS, after="law")
    session.run(0.001)
    assert calls == [
        *("physics", "physics+", "commands", "SENSE", "SENSE", "sense", "sense+"),
        *("LAW", "law", "law+", "ACT", "ACT", "act", "act+"),
    ]
    session.run(0.009)
    assert [part.calls for part in (*added, rare)] == [10] * 8 + [2]
    for part in added:
        session.remove(part)
    calls.clear()
    session.run(0.001)
    assert calls == ["commands", "SENSE", "SENSE", "LAW", "ACT", "ACT"]
    with pytest.raises(UnknownName, match="stage of a tick 'wait'"):
        session.add(lambda now: None, after="wait")


def test_the_physics_is_at_the_time_of_the_tick(devices, session_of):
    """A station reads what the world is now, not a step ago."""
    world, (a, b) = devices()
    session, seen = session_of([a, b], worlds=[world]), []
    session.add(lambda now_ns: seen.append(world.now_ns - now_ns), 5 * MS)
    session.run(0.05)
    assert set(seen) == {0}


def test_a_command_is_applied_at_the_boundary_of_its_tick_and_logged(dual_arm):
    """Tick number, time and outcome."""
    run = dual_arm(scenario="free").post("0.0105:set wall.stiffness=800").on(0.02)
    [engage, logged] = run.session.commands.log
    assert (engage.tick, engage.request.name, engage.outcome) == (0, "engage", DONE)
    assert (logged.tick, logged.time_ns, str(logged.outcome)) == (11, 11 * MS, "now 800")
    assert run.rig.parts.wall.stiffness == 800.0
    assert (11 * MS, "wall.stiffness is now 800") in run.history.events


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("0.01:set wall.stiffness=-5", "wall.stiffness = -5 is outside [0, 1e+06] N/m"),
        ("0.01:set wall.stifness=5", "did you mean 'wall.stiffness'"),
        ("0.01:set wall.stiffness=nan", "must be finite"),
        ("0.01:set wall.stiffness", "is not a number"),
        ("0.01:set link.jitter=10", "this run has no link to change"),
    ],
)
def test_a_refused_set_is_logged_with_the_reason_and_changes_nothing(dual_arm, command, words):
    """And the run goes on."""
    run = dual_arm(scenario="free")
    before = repr(run.rig.parameters())
    run.post(command).on(0.05)
    logged = run.session.commands.log[-1]
    assert not logged.outcome.done
    assert words in logged.outcome.text
    assert repr(run.rig.parameters()) == before
    assert run.session.ticks == 50


def test_engaging_a_tripped_station_is_refused_until_it_is_reset(dual_arm):
    """The log names the station and its reason; after reset and engage the sides are coupled
    again.
    """
    run = (
        dual_arm(scenario="free").post("0.1:stop", "0.5:engage", "0.6:reset", "0.7:engage").on(1.0)
    )
    outcomes = [str(logged.outcome) for logged in run.session.commands.log]
    assert outcomes[1] == "done"
    assert (
        outcomes[2] == "refused: leader is tripped (the operator stopped the session); reset first"
    )
    assert outcomes[3:] == ["done", "done"]
    assert run.signal("coupling", "engagement")[599, 0] == 0.0
    assert run.signal("coupling", "engagement")[-1, 0] == 1.0
    assert run.trips == [("leader", "stop"), ("follower", "stop")]


def test_a_trip_is_told_once(dual_arm):
    """In the list of trips and in the events, however long it lasts."""
    run = dual_arm(scenario="free").post("0.1:stop").on(0.5)
    assert len(run.session.trips) == 2
    assert sum("leader tripped" in text for _, text in run.history.events) == 1


def test_the_same_rig_and_seed_give_the_same_telemetry_to_the_bit(dual_arm):
    """Every stream, every channel, over a lossy link with noisy sensors; another seed gives another
    run.
    """

    def telemetry(seed: int) -> dict[str, bytes]:
        run = dual_arm(
            quiet=False, seed=seed, delay=40.0, jitter=10.0, loss=0.05, law="position-force"
        ).on(1.0)
        streams = run.history.reader.header["streams"]
        return {
            f"{stream}/{channel['name']}": run.history.signal(stream, channel["name"]).tobytes()
            for stream, content in streams.items()
            for channel in content["channels"]
        }

    first, again, other = telemetry(7), telemetry(7), telemetry(8)
    assert first == again
    assert first["leader/wrench_measured_in_world"] != other["leader/wrench_measured_in_world"]
    assert first["coupling/age"] != other["coupling/age"]


def test_running_in_pieces_is_running_in_one_go(dual_arm):
    """Where a run is cut does not matter."""
    whole, cut = (
        dual_arm(scenario="free").on(0.9),
        dual_arm(scenario="free").on(0.3).on(0.2).on(0.4),
    )
    np.testing.assert_array_equal(whole.signal("follower", "q"), cut.signal("follower", "q"))


def test_what_happens_between_ticks_is_called_now_and_then_and_at_the_end(devices, session_of):
    """Every 0.1 s, and once when the run is over."""
    world, (a, b) = devices()
    session, calls = session_of([a, b], worlds=[world]), []
    session.run(0.5, lambda: calls.append(session.now_ns), every=0.1)
    assert calls[:-1] == [100 * MS, 200 * MS, 300 * MS, 400 * MS]
    assert calls[-1] == 500 * MS
    calls.clear()
    session.run(1.2, lambda: calls.append(session.now_ns))
    assert calls == [1000 * MS, 1500 * MS, 1700 * MS]


def test_a_run_can_be_finished_early(devices, session_of):
    """After the present tick; as much time has passed as ticks were made."""
    world, (a, b) = devices()
    session = session_of([a, b], worlds=[world])
    session.run(10.0, session.finish, every=0.1)
    assert session.now_ns == 101 * MS
    assert session.ticks == 101


def test_a_session_without_couplings_runs(devices, session_of):
    """Zero bridges are a session too."""
    world, stations = devices(1)
    session = session_of(stations, worlds=[world])
    session.run(0.1)
    assert session.ticks == 100


def test_a_session_may_have_several_couplings(devices, session_of):
    """One leader and two followers: both follow."""
    world, (leader, one, two) = devices(3)
    bridges = [DirectBridge(PositionPosition(), leader, follower) for follower in (one, two)]
    session = session_of([leader, one, two], bridges=bridges, worlds=[world])
    session.commands.post("engage")
    session.run(0.3)
    assert all(bridge.engagement.gain == 1.0 for bridge in bridges)


def test_one_coupling_of_several_that_cannot_engage_is_told(devices, session_of):
    """The others engage; the answer is that of the one that did not."""
    world, (leader, one, two) = devices(3)
    bridges = [DirectBridge(PositionPosition(), leader, follower) for follower in (one, two)]
    session = session_of([leader, one, two], bridges=bridges, worlds=[world])
    two.guard.stop(0, "stop", "a test")
    session.commands.post("engage")
    session.run(0.3)
    assert [bridge.engagement.gain for bridge in bridges] == [1.0, 0.0]
    [logged] = session.commands.log
    assert str(logged.outcome) == "refused: three is tripped (a test); reset first"


def test_after_a_pause_efforts_fade_in_and_out_no_faster_than_otherwise(devices):
    """A second without a step is one step of the fade, 3 s² − 2 s³."""
    _, (one, two) = devices()
    bridge = DirectBridge(PositionPosition(), one, two)
    bridge.engage()
    gains = []
    for milliseconds in (1, 1001, 1002, 3002):
        if milliseconds == 3002:
            bridge.release()
        for station in (one, two):
            station.sense(milliseconds * MS)
        bridge.step(milliseconds * MS)
        gains.append(bridge.engagement.gain)
    shares = np.array([1, 2, 3, 2]) * 1e-3 / bridge.engagement.ramp
    np.testing.assert_allclose(gains, 3.0 * shares**2 - 2.0 * shares**3)


def test_the_list_of_trips_is_bounded_and_keeps_the_last(devices, session_of, monkeypatch):
    """A session may run for weeks; here it keeps at least four."""
    monkeypatch.setattr("farhand.loop.session.MOST_TRIPS", 4)
    world, [station] = devices(1)
    session = session_of([station], worlds=[world])
    for number in range(1, 31):
        station.guard.stop(session.now_ns, "stop", f"trip {number}")
        session.run(0.002)
        station.reset()
        reasons = [record.trip.reason for record in session.trips]
        assert min(number, 4) <= len(reasons) <= 8
        last = range(number - len(reasons) + 1, number + 1)
        assert reasons == [f"trip {k}" for k in last]


def test_the_streams_tell_their_rates_and_how_wide_their_signals_are(devices, session_of):
    """A reader scales its plots by them; a second bridge has a stream of its own."""
    world, (leader, one, two) = devices(3)
    bridges = [DirectBridge(PositionPosition(), leader, one, period_ns=4 * MS)]
    bridges.append(DirectBridge(PositionPosition(), leader, two))
    session = session_of([leader, one, two], bridges=bridges, worlds=[world])
    streams = Reader(session.telemetry.path).header["streams"]
    rates = {name: stream["rate"] for name, stream in streams.items()}
    assert rates == {**dict.fromkeys(("one", "two", "three", "coupling-2"), 1e3), "coupling": 250.0}
    sizes = {c["name"]: c["size"] for c in streams["coupling"]["channels"]}
    assert sizes | {"error": 6, "engagement": 1, "port_energy": 2, "age": 2} == sizes


def test_virtual_constraints_with_two_followers_are_refused(devices):
    """Each would compute as if nothing but itself pushed the leader."""
    world, (leader, one, two) = devices(3)
    bridges = [DirectBridge(VirtualConstraints(), leader, follower) for follower in (one, two)]
    with pytest.raises(Mismatch, match="2 bridges share station 'one'.* 'position-position'"):
        Session([leader, one, two], bridges=bridges, worlds=[world])
    Session([leader, one], bridges=bridges[:1], worlds=[world]).close()


@pytest.mark.parametrize("seconds", [-0.05, float("nan"), float("inf"), "1", None])
def test_a_time_to_run_that_is_none_is_refused_and_changes_nothing(devices, session_of, seconds):
    """A negative one used to turn the session's time back while its parts stayed where they
    were.
    """
    world, stations = devices()
    session = session_of(stations, worlds=[world])
    session.run(0.1)
    with pytest.raises(BadValue, match="seconds"):
        session.run(seconds)
    with pytest.raises(BadValue, match="every"):
        session.run(0.1, every=seconds)
    session.run(0.0)
    assert (session.now_ns, session.ticks) == (100 * MS, 100)


def test_a_session_of_nothing_says_so(session_of):
    """In one line, when it is to run."""
    with pytest.raises(BadValue, match="nothing to run"):
        session_of([]).run(0.1)


def test_a_forgotten_world_or_station_is_told(devices):
    """Such a session would run, and nothing would move."""
    world, (one, two) = devices()
    bridge = DirectBridge(PositionPosition(), one, two)
    with pytest.raises(Mismatch, match=r"world of station 'one' .* worlds=\[world\]"):
        Session([one, two], bridges=[bridge])
    with pytest.raises(Mismatch, match="a bridge couples station 'two'"):
        Session([one], bridges=[bridge], worlds=[world])
    with pytest.raises(BadValue, match="two stations are named 'one'"):
        Session([one, one], worlds=[world])


def test_a_part_that_is_added_in_a_tick_does_not_repeat_the_tick():
    """Nor does it lose one: every part goes on from the time of that tick."""
    world = World({"arm": Placed(load_robot("point3"))})
    session = Session([Station.of(world, "arm", "leader")], worlds=[world])
    times: list[int] = []

    def add_once(now_ns: int) -> None:
        times.append(now_ns)
        if now_ns == 3_000_000:
            session.add(lambda now_ns: None)

    session.add(add_once)
    session.run(0.008)
    session.close()
    assert times == list(range(0, 8_000_000, 1_000_000))
    assert [part.calls for part in session.parts[:3]] == [8, 8, 8]
