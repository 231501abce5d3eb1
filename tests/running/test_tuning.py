"""Gains found by ``farhand tune``: what is felt is the rig's, the margin is the prediction's."""

from __future__ import annotations

import math
import re
import tomllib

import pytest

from farhand.analysis.stability.loop import HANDS, Contact
from farhand.cli.main import main
from farhand.errors import BadValue, FileError, Mismatch
from farhand.running import tuning
from farhand.running.arguments import read_gains
from farhand.running.tuning import (
    LADDER,
    Candidate,
    Range,
    TuningBench,
    Wish,
    best_of,
    felt_impedance,
    sampled_trials,
    search,
)
from farhand.tasks import ARMS

WALLS = Range(Contact(500.0), Contact(6000.0))


def wish(law: str = "position-force", delay: float = 0.0, margin: float = 1.4) -> Wish:
    return Wish("pair", law, delay, Range(HANDS["soft"], HANDS["firm"]), WALLS, margin, ARMS)


@pytest.fixture
def bench():
    made = TuningBench(wish())
    yield made
    made.close()


def test_what_is_felt_of_a_wall_is_the_springs_in_series(bench):
    """Position–force at rest: the law's spring and the wall, times the force scale."""
    one = bench.judge([0.3, 0.0, 0.0, -0.7])
    spring = one.values["law.spring.stiffness"]
    series = 1.0 / (1.0 / spring + 1.0 / 6000.0)
    assert one.felt_stiffness * 6000.0 == pytest.approx(math.exp(-0.7) * series, rel=1e-6)


def test_free_motion_adds_only_the_laws_damping(bench):
    """Nothing is reflected in the air, so what is added is the damper on the leader."""
    one = bench.judge([0.0, 0.0, 0.4, 0.0])
    omega = 4.0 * math.pi
    damper = one.values["law.leader_damping"] * omega
    assert one.felt_inertia * omega**2 == pytest.approx(damper, rel=1e-6)


def test_less_force_at_the_hand_has_more_margin():
    """Over a delay, where there is little."""
    bench = TuningBench(wish(delay=60.0))
    strong, weak = bench.judge([0.0] * 4), bench.judge([0.0, 0.0, 0.0, -1.5])
    bench.close()
    assert strong.margin < weak.margin and weak.margin in LADDER
    assert strong.cost < weak.cost


def test_a_search_is_no_worse_than_where_it_begins():
    """The rig's own gains are among its first candidates."""
    bench = TuningBench(wish("position-position"))
    tried = search(bench, 1.4, 10, 0)
    own = bench.judge([0.0] * 3)
    bench.close()
    assert own in tried and best_of(tried, 1.4).cost <= own.cost


def test_no_gains_with_the_margin_is_said_with_the_best_there_is():
    """And what would help."""
    with pytest.raises(BadValue, match="the best: 1.2"):
        best_of([Candidate({}, 1.2, 0.0, 0.0, 0.0)], 1.4)


def test_runs_have_the_force_at_the_hand_times_the_margin():
    """At the corners first, then anywhere inside the ranges."""
    trials = sampled_trials(wish(), Candidate({"law.mapping.force_scale": 0.5}, 2, 0, 0, 0), 6, 0)
    assert all(dict(trial.settings)["law.mapping.force_scale"] == 0.7 for trial in trials)
    assert [(t.hand[0], t.stiffness) for t in trials[:4]] == [
        (200.0, 500.0),
        (1500.0, 500.0),
        (200.0, 6000.0),
        (1500.0, 6000.0),
    ]
    assert all(200.0 < t.hand[0] < 1500.0 and 500.0 < t.stiffness < 6000.0 for t in trials[4:])


def test_a_law_with_a_state_of_its_own_is_refused():
    """The felt impedance would leave it out."""
    with pytest.raises(Mismatch, match="laws that it tunes"):
        TuningBench(wish("admittance"))


@pytest.mark.parametrize("law", ["none", "unilateral"])
def test_a_law_without_feedback_is_refused(law):
    """Whatever its gains, nothing is felt."""
    with pytest.raises(Mismatch, match="nothing to tune"):
        tuning.tune(wish(law), 10, 0)


def test_gains_that_shake_in_a_run_are_given_if_none_have_more_margin(monkeypatch, capsys):
    """The message is about the margin that was asked for, not about more; the exit code is 2."""
    monkeypatch.setattr(tuning, "attempt", lambda trial: {"shakes": True})
    few = ["--evaluations", "10", "--checks", "1", "--margin", "6"]
    arms = ["--leader", "vx300s", "--follower", "vx300s", "--space", "tool"]
    assert main(["tune", "pair", "--law", "position-force", *arms, *few]) == 2
    said = capsys.readouterr()
    assert "it still shakes in a run" in said.out and not said.err


def test_the_search_says_how_far_it_is():
    """Over long delays it takes minutes."""
    seen = []
    tuning.tune(wish("position-position"), 10, 0, progress=lambda *step: seen.append(step))
    assert {(k, 10, "searching") for k in range(11)} <= {*seen}


def test_the_file_of_gains_is_what_run_takes(tmp_path, capsys):
    """Law and values; a wrong file is one line."""
    out = tmp_path / "gains.toml"
    few = ["--evaluations", "10", "--checks", "0", "--out", str(out), "--report", str(tmp_path)]
    arms = ["--leader", "vx300s", "--follower", "vx300s", "--space", "tool"]
    assert main(["tune", "pair", "--law", "position-position", *arms, *few]) == 0
    assert re.search(r"law.spring.damping +[\d.,]+ N·s/m *\n", capsys.readouterr().out)
    values = tomllib.loads(out.read_text())["set"]
    law, settings = read_gains(out)
    assert law == "position-position" and dict(settings) == values
    assert "What margin costs" in (tmp_path / "index.html").read_text()
    out.write_text("law = 3")
    with pytest.raises(FileError, match="farhand tune --out"):
        read_gains(out)
    capsys.readouterr()
    assert main(["tune", "pair", "--hands", "soft"]) == 2
    assert "two names" in capsys.readouterr().err


def test_the_delay_turns_what_is_felt():
    """A reflected force that is late by a quarter period is felt as damping, not as stiffness."""
    bench = TuningBench(wish(delay=100.0))
    loop = bench._point(HANDS["none"], Contact(6000.0)).loop
    bench.close()
    slow = felt_impedance(loop, Contact(6000.0), 1e-3)
    quick = felt_impedance(loop, Contact(6000.0), 2.0 * math.pi * 2.5)
    assert slow.real > 1000.0 > quick.real
