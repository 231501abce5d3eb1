"""Soak: trips have causes, NaN and leaks are found, and a random operator is the same twice."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest

from farhand.cli.main import main
from farhand.loop.session import TripRecord
from farhand.rigs import Options, build_rig, rig_names
from farhand.safety import Trip
from farhand_lab.soak import command, hour
from farhand_lab.soak.acts import Act, Repertoire
from farhand_lab.soak.command import as_markdown
from farhand_lab.soak.hour import LONG, growth_across, growth_within, plans, result
from farhand_lab.soak.shift import Plan, ShiftLog, ShiftWatch, cause_of, work

PLAN = Plan("dual-arm", Options(scenario="free"), 3.0, 0.05, 0.2)


def tripped(where: str, kind: str, reason: str = "", time: float = 10.0) -> TripRecord:
    return TripRecord(where, Trip(round(time * 1e9), kind, reason))


@pytest.mark.parametrize(
    ("record", "cause"),
    [
        (tripped("leader", "invalid"), "fault nan-position"),
        (tripped("leader", "invalid", time=9.4), None),  # before the fault
        (tripped("leader", "invalid", time=13.0), None),  # long after it
        (tripped("follower", "invalid"), None),  # elsewhere
        (tripped("leader", "stale"), None),  # of another kind
        (
            tripped("follower", "speed", "joint 2 at 3.20 rad/s (limit 3.14 rad/s)"),
            "limit of speed",
        ),
        (tripped("follower", "speed", "too fast"), None),  # names no limit
        (tripped("follower", "invalid", "a commanded torque is not a number (limit 3)"), None),
        (tripped("link", "link"), None),  # silence without an outage
    ],
)
def test_a_trip_is_explained_by_a_fault_of_its_kind_place_and_time_or_by_the_limit_it_names(
    record, cause
):
    """Anything else is what the soak is looking for."""
    acts = [
        Act("fault nan-position", "leader", 9.5, 10.2, ("invalid",)),
        Act("drag", "", 8.0, 11.0),
    ]
    assert cause_of(record, acts) == cause


def test_a_shift_does_the_same_things_with_the_same_seed():
    """Acts, trips and commands; another seed gives another shift."""

    def shift(seed: int) -> tuple[object, ...]:
        log = ShiftLog()
        work(PLAN, seed, log)
        assert log.invalid == log.unexplained == []
        assert log.ticks == 3000
        return dict(log.acts), dict(log.trips), log.commands, log.refused

    assert shift(5) == shift(5) != shift(6)


def test_a_nan_in_any_signal_is_found(monkeypatch):
    """But not where it means that there is no measurement."""
    rig, log = build_rig("dual-arm", PLAN.options), ShiftLog()
    try:
        watch = ShiftWatch(rig, PLAN, np.random.default_rng(0), log)
        rig.session.stations[0]._measured[:] = np.nan
        rig.session.run(0.2, watch, 0.25)
        assert log.invalid == []
        rig.session.bridges[0]._publish = lambda: rig.session.bridges[0]._error.fill(np.nan)
        rig.session.run(0.2, watch, 0.25)
        assert any("coupling/error is not a number" in words for words in log.invalid)
    finally:
        rig.close()


@pytest.mark.parametrize("rig", rig_names())
def test_every_rig_has_an_hour_and_every_act_of_it_is_posted(rig):
    """The plan fills the time, and the session knows the path of every act."""
    sessions = plans(rig, 100.0)
    plan, total = next(sessions), 0.0
    built = build_rig(rig, plan.options)
    try:
        repertoire = Repertoire(built, plan.reach, plan.speed, False, np.random.default_rng(3))
        known = set(repertoire._built)
        for act in repertoire.choices:
            assert act(1.0).end >= 1.0
        asked = [
            request for _, _, request in built.session.commands._later if request.name == "set"
        ]
        strange = {request.path for request in asked} - known
        assert strange <= {"law.no_such_gain", "hand.drag", "wall.stiffness", "leader.guard.force"}
    finally:
        built.close()
    while plan is not None:
        total += plan.seconds
        try:
            plan = sessions.send(plan.seconds)
        except StopIteration:
            plan = None
    assert 100.0 <= total <= 140.0
    assert set(LONG) == set(rig_names())


def test_memory_that_grows_is_a_failure_within_a_session_and_from_one_to_the_next():
    """6 % in the long session or between short ones of one kind; 4 % is flat."""
    steady = [100.0] * 600

    def log(long: list[float], last: float) -> ShiftLog:
        found = ShiftLog(
            seconds=300.0,
            memory=[long, [90.0], [70.0], [last]],
            built=["long", "a", "b", "a"],
            period=1e-3,
        )
        return found

    assert result(log(steady, 93.0), 1, 1.0)["ok"]
    grown = log([100.0] * 300 + [106.0] * 300, 95.5)
    assert (growth_within(grown), growth_across(grown)) == (0.06, 0.0611)
    assert len(result(grown, 1, 1.0)["failures"]) == 2
    assert growth_within(log([100.0] * 100, 90.0)) is None  # too short to tell
    longer = ShiftLog(
        memory=[[100.0], [90.0] * 4, [90.0] * 4 + [99.0] * 4], built=["long", "short", "short"]
    )
    assert growth_across(longer) == 0.0  # what a session holds when it runs for longer is no growth


def test_results_are_kept_and_an_interrupted_soak_goes_on_where_it_was(
    tmp_path, monkeypatch, capsys
):
    """Unless the code, the time or the seed is another, or it is not asked to go on."""
    calls = []

    def soaked(
        names: list[str], seconds: float, seed: int, jobs: int
    ) -> Iterator[tuple[str, dict[str, object]]]:
        for name in names:
            calls.append(name)
            yield (
                name,
                result(
                    ShiftLog(seconds=seconds, memory=[[1.0]], built=["x"], period=1e-3), seed, 1.0
                ),
            )

    monkeypatch.setattr(command, "run_in_parallel", soaked)

    def soak(*words: object) -> int:
        chosen = ("--out", tmp_path, "--seconds", 20, "--rig", "youbot", "--rig", "dual-arm")
        return main([str(word) for word in ("soak", *chosen, *words)])

    assert soak() == soak("--go-on") == 0
    assert calls == ["youbot", "dual-arm"]
    assert soak() == soak("--go-on", "--seed", 2) == 0
    assert len(calls) == 6
    monkeypatch.setattr(command, "fingerprint", lambda: "another")
    assert soak("--go-on", "--seed", 2) == 0
    assert len(calls) == 8
    kept = json.loads((tmp_path / "soak.json").read_text())
    assert set(kept) == {"youbot", "dual-arm"}
    assert "| youbot | 20 s |" in (tmp_path / "soak.md").read_text()
    assert "Code: another" in (tmp_path / "soak.md").read_text()
    assert soak("--seconds", "1") == 2
    assert "outside [10, 1e+06] s" in capsys.readouterr().err
    assert soak("--jobs", "0") == soak("--rig", "moon") == 2


def test_each_rig_has_a_process_and_one_that_dies_is_a_failure(tmp_path, capfd):
    """Ten seconds of the humanoid beside a process that cannot even begin."""
    found = dict(command.run_in_parallel(["humanoid", "nothing"], 10.0, 1, 2))
    assert found["humanoid"]["ok"]
    assert found["humanoid"]["seconds"] == 10.0
    assert (found["nothing"]["ok"], found["nothing"]["failures"]) == (
        False,
        ["the process ended with code 1"],
    )
    assert "KeyError: 'nothing'" in capfd.readouterr().err


def test_the_table_names_failures_and_friction():
    """What went wrong stands below the table in full."""
    failed = result(
        ShiftLog(seconds=20.0, memory=[[1.0]], built=["x"], unexplained=["9 s: link"]), 1, 1.0
    )
    friction = {"seed": 1, "seconds": 1000.0, "models": 14, "failures": [], "ok": True}
    page = as_markdown({"youbot": failed, "friction": friction})
    assert "**failed**" in page
    assert "- youbot: unexplained: 9 s: link" in page
    assert "14 models, 1000 s of random motion each: no NaN, no energy created" in page
    assert hour.MAX_MEMORY_GROWTH == 0.05
