"""Overrun policy: catch up a little, skip the rest, stop everything in a storm. All on a clock of
the test's own.
"""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from farhand.loop.clock import VirtualClock, WallClock
from farhand.loop.session import Session
from farhand.loop.station import Station
from farhand.robots import Placement, load_robot
from farhand.world import Placed, World

MS = 1_000_000


class Stalling:
    """A wall clock whose time the test decides: it stands at the deadline, or beyond where a stall
    ended.
    """

    name = "wall"

    def __init__(self, stalls: dict[int, int] | None = None, always_ns: int = 0) -> None:
        self.stalls, self.always_ns = dict(stalls or {}), always_ns
        self.late_ns, self.now_ns = 0, 0
        self.waited: list[int] = []

    def start(self) -> None:
        self.now_ns = 0

    def wait_until(self, t_ns: int) -> None:
        self.waited.append(t_ns)
        self.now_ns = max(self.now_ns, t_ns) + self.always_ns
        for at_ns in [at_ns for at_ns in self.stalls if at_ns <= t_ns]:
            self.now_ns += self.stalls.pop(at_ns)
        self.late_ns = self.now_ns - t_ns

    def slip(self, ns: int) -> None:
        self.now_ns -= ns


@pytest.fixture
def loop():
    """A session of one point device on a clock that stalls: ``loop(clock, **deadlines)``."""
    sessions = []

    def build(clock, period_ns=MS, **deadlines) -> Session:
        world = World({"one": Placed(load_robot("point3"), Placement())}, gravity=0.0)
        station = Station.of(world, "one", "leader", gravity=0.0)
        station.period_ns = period_ns
        session = Session([station], worlds=[world], clock=clock)
        for name, value in deadlines.items():
            setattr(session.deadlines, name, value)
        session.deadlines.refresh()
        session.made = []
        part = session.parts[0]
        inner = part.step
        part.step = lambda now_ns: (session.made.append(now_ns), inner(now_ns))
        sessions.append(session)
        return session

    yield build
    for session in sessions:
        session.close()


def test_a_short_stall_is_made_up_for_tick_by_tick(loop):
    """50 ms behind, with 100 ms allowed: every tick is made, none skipped, and all but the last
    that are late count.
    """
    session = loop(Stalling({200 * MS: 50 * MS}))
    session.run(1.0)
    assert session.made == list(range(0, 1000 * MS, MS))
    assert (session.ticks, session.skipped) == (1000, 0)
    assert session.overruns == 49  # lateness 50 ms, 49 ms, ... 2 ms; one period late is no overrun
    assert session.trips == []


def test_a_long_stall_is_skipped_and_counted_and_the_newest_tick_is_made(loop):
    """300 ms behind: no burst. The loop goes on at the newest tick whose time has come."""
    session = loop(Stalling({200 * MS: 300 * MS}))
    session.run(1.0)
    assert session.made == [*range(0, 200 * MS, MS), *range(500 * MS, 1000 * MS, MS)]
    assert (session.ticks, session.skipped, session.overruns) == (700, 300, 301)
    assert session.now_ns == 1000 * MS


def test_made_and_skipped_ticks_are_all_the_ticks_there_were_to_make(loop):
    """However the stalls come, also one that goes beyond the end of the run."""
    session = loop(Stalling({100 * MS: 150 * MS, 500 * MS: 30 * MS, 990 * MS: 700 * MS}))
    session.run(1.0)
    assert session.ticks + session.skipped == 1000


def test_a_loop_on_hardware_never_makes_two_ticks_in_a_row_to_catch_up(loop):
    """Without catching up a stall of 50 ms is 50 skipped ticks."""
    session = loop(Stalling({200 * MS: 50 * MS}), catch_up=0.0)
    session.run(1.0)
    assert session.made == [*range(0, 200 * MS, MS), *range(250 * MS, 1000 * MS, MS)]
    assert session.skipped == 50


def test_a_session_without_simulated_physics_does_not_catch_up():
    """It has real plants, which gain nothing by commands that come late, and less patience with
    storms.
    """
    world = World({"one": Placed(load_robot("point3"), Placement())}, gravity=0.0)
    simulated = Session([Station.of(world, "one", "leader", gravity=0.0)], worlds=[world])
    shown = World({"one": Placed(load_robot("point3"), Placement())}, gravity=0.0)
    shown.mirrored.add("one")
    sessions = [Session([]), Session([], worlds=[shown])]
    for real in sessions:
        assert (real.deadlines.catch_up, real.deadlines.storm) == (0.0, 500)
    assert (simulated.deadlines.catch_up, simulated.deadlines.storm) == (0.1, 900)
    for session in (*sessions, simulated):
        session.close()


def test_parts_of_other_rates_stay_on_their_own_grid_when_ticks_are_skipped(loop):
    """A part at 250 Hz beside one at 1 kHz: both come back at multiples of their period, neither
    twice.
    """
    session, slow = loop(Stalling({200 * MS: 301 * MS})), []
    session.add(slow.append, 4 * MS, after="law")
    session.run(1.0)
    assert slow == [*range(0, 200 * MS, 4 * MS), 500 * MS, *range(504 * MS, 1000 * MS, 4 * MS)]
    assert session.made[200:202] == [501 * MS, 502 * MS]


def test_a_storm_of_overruns_trips_every_station_with_the_rate_in_its_reason(loop):
    """A machine that needs 1.5 ms for each tick of 1 ms: half a second later the arm stands, and
    says why.
    """
    session = loop(Stalling(always_ns=MS // 2 + MS), storm=500)
    session.run(1.0)
    [record] = session.trips
    assert (record.where, record.trip.kind) == ("one", "overrun")
    assert "500 of 1000 ticks began more than 1 ms late" in record.trip.reason
    assert "does not hold 1000 Hz" in record.trip.reason
    assert record.trip.time_ns < 900 * MS


def test_a_storm_blames_the_section_that_takes_more_than_half_of_a_period(loop):
    """A law of 3 ms is too slow on any computer; one of 0.4 ms is not what keeps a tick of 1 ms
    late.
    """
    reasons = []
    for took_ns in (3 * MS, 4 * MS // 10):
        session = loop(Stalling(always_ns=MS // 2 + MS), storm=500)
        for _ in range(10_000):
            session.cycle.meters["law"].histogram.add(took_ns)
        session.run(1.0)
        reasons.append(session.trips[0].trip.reason)
    assert reasons[0].endswith("(limit 500): the law takes 3 ms of a period of 1 ms")
    assert reasons[1].endswith("this computer does not hold 1000 Hz")


def test_one_stall_that_can_be_caught_up_with_is_no_storm_but_a_process_that_was_stopped_is(loop):
    """100 ms are a hiccup. A second without a tick is a loop that was not there: the arms must stay
    where they are.
    """
    hiccup, stopped = loop(Stalling({200 * MS: 100 * MS})), loop(Stalling({200 * MS: 1000 * MS}))
    hiccup.run(1.0)
    stopped.run(2.0)
    assert hiccup.trips == []
    assert [record.trip.kind for record in stopped.trips] == ["overrun"]


def test_after_a_storm_and_a_reset_counting_starts_anew(loop):
    """A reset that trips again at once would be none."""
    session = loop(Stalling({200 * MS: 1000 * MS}))
    session.run(1.5)
    session.commands.post("reset")
    session.run(0.5)
    assert session.stations[0].guard.trip is None


def test_a_storm_larger_than_the_window_never_trips(loop):
    """Whoever wants slow motion gets it."""
    session = loop(Stalling(always_ns=3 * MS), storm=1001)
    session.run(1.5)
    assert session.overruns > 1000
    assert session.trips == []


def test_physics_that_is_slower_than_time_goes_on_in_slow_motion(loop):
    """Every tick is made. If ticks were skipped, the physics of all of them would fall into one,
    and a stop would wait for ever longer ticks.
    """
    session = loop(WallClock(), storm=1001)
    inner = session.worlds[0]

    def advance(to_ns: int) -> None:
        time.sleep(3e-9 * (to_ns - inner.now_ns))
        inner.advance(to_ns)

    session.worlds = [SimpleNamespace(unstable="", advance=advance)]
    session.run(0.4)
    assert (session.ticks, session.skipped) == (400, 0)


def test_virtual_time_has_no_overruns(dual_arm):
    """Nothing is late that waits for nothing, and nothing is timed."""
    run = dual_arm(scenario="free").on(0.1)
    assert (run.session.overruns, run.session.skipped, run.session.cycle) == (0, 0, None)


def test_the_ticks_are_timed_and_their_lateness_is_kept(loop):
    """Each tick at its own place: how late it began, and that it took some time."""
    session = loop(Stalling({3 * MS: 7 * MS}))
    session.run(0.02)
    late = [0, 0, 0, 7, 6, 5, 4, 3, 2, 1, *([0] * 10)]
    assert session.late_ns[:21].tolist() == [*(ms * MS for ms in late), 0]
    assert (session.tick_ns[:20] > 0).all() and not session.tick_ns[20:].any()
    assert session.cycle.late.largest == 7 * MS


def test_every_run_waits_for_times_from_its_own_start(loop):
    """A session that was paused does not hurry after the time that passed meanwhile."""
    clock = Stalling()
    session = loop(clock)
    session.run(0.004)
    session.run(0.003)
    assert clock.waited == [0, MS, 2 * MS, 3 * MS, 0, MS, 2 * MS]
    assert session.made == list(range(0, 7 * MS, MS))


@pytest.mark.parametrize("clock", [Stalling(), VirtualClock()], ids=["wall", "virtual"])
def test_the_time_of_a_tick_goes_to_the_sections_that_took_it(loop, monkeypatch, clock):
    """Physics 100 µs and the rest 10 µs for commands, 20 µs to sense, 50 µs to act, 30 µs beside;
    a tick is all of it but the physics.
    """
    session, now = loop(clock), [0]
    timer = SimpleNamespace(perf_counter_ns=lambda: now[0])
    for module in ("farhand.loop.session", "farhand.realtime.timing"):
        monkeypatch.setattr(f"{module}.time", timer)

    def taking(microseconds: int, step):
        def timed(now_ns: int):
            now[0] += 1000 * microseconds
            return step(now_ns)

        return timed

    session.worlds = [SimpleNamespace(unstable="", advance=taking(100, session.worlds[0].advance))]
    session.commands.due = taking(10, session.commands.due)
    for part, microseconds in zip(session.parts, (20, 50), strict=True):
        part.step = taking(microseconds, part.step)
    session.add(taking(30, lambda now_ns: None))
    session.run(0.005)
    assert session.tick_ns[:6].tolist() == [110_000] * 5 + [0]
    assert [part.calls for part in session.parts] == [5, 5, 5]
    if session.cycle is None:
        return
    took = {name: meter.histogram.largest for name, meter in session.cycle.meters.items()}
    expected = {"physics": 100, "commands": 10, "read": 20, "law": 0, "write": 50, "other": 30}
    assert took == {name: 1000 * microseconds for name, microseconds in expected.items()}
    assert session.cycle.tick.largest == 110_000
