"""Laws side by side: what the hand feels, against what the law promises."""

from __future__ import annotations

import math

import numpy as np
import pytest

from farhand.errors import UnknownName
from farhand.running import comparison
from farhand.running.comparison import SOFT_STIFFNESS, UNITS, Case, compare, impedance, own_inertia


def test_four_channels_hide_the_followers_inertia_and_a_spring_between_the_tools_does_not():
    """Felt beyond the leader's own 4 kg or so: next to nothing, against most of a kilogram."""
    own = own_inertia("dual-arm")
    felt = {
        law: comparison.inertia(impedance(Case("dual-arm", law))[0]) - own
        for law in ("four-channel", "position-position")
    }
    assert 2.0 < own < 10.0
    assert abs(felt["four-channel"]) < 0.1
    assert felt["position-position"] > 0.3


def test_a_row_holds_every_metric_with_its_unit_and_the_series_spring_is_felt():
    """Position–position against 500 N/m: two springs in series, K and the wall."""
    (row,) = compare([Case("dual-arm", "position-position")], workers=1)
    metrics = row["metrics"]
    assert {name: metric["unit"] for name, metric in metrics.items()} == UNITS
    assert all(
        metric["value"] is None or math.isfinite(metric["value"]) for metric in metrics.values()
    )
    assert metrics["soft_felt_stiffness"]["value"] == pytest.approx(
        1.0 / (1.0 / SOFT_STIFFNESS + 1.0 / 1000.0), rel=0.1
    )
    assert metrics["trips"]["value"] == 0.0
    assert len(row["impedance"]["free"]) == len(row["impedance"]["frequency"])


def test_a_law_that_a_rig_cannot_run_is_listed_with_the_reason():
    """Not an error of the whole comparison."""
    row = comparison.measure(Case("youbot", "virtual-constraints"))
    assert "models" in row["refused"] or "model" in row["refused"]
    assert "metrics" not in row


def test_a_force_settles_when_it_stays_within_a_tenth():
    """A decaying oscillation about 10 N; one that goes on never settles."""
    t = np.arange(4000) * 1e-3
    decaying = 10.0 + 5.0 * np.exp(-2.0 * t) * np.cos(20.0 * t)
    seen = comparison.PortSignals(t, t, t, decaying, 1e-3)
    settled = comparison._settling(seen, 0, 10.0)
    assert (np.abs(decaying[round(settled / 1e-3) + 1 :] - 10.0) <= 1.0).all()
    assert 0.5 < settled < 1.0
    assert math.isnan(
        comparison._settling(
            comparison.PortSignals(t, t, t, 10.0 + 2.0 * np.cos(20.0 * t), 1e-3), 0, 10.0
        )
    )


def test_settings_change_the_rig_and_leave_the_tasks_alone():
    """The hard wall is the user's, the soft one as soft as in every comparison."""
    case = Case(
        "dual-arm",
        "position-position",
        settings=(("wall.stiffness", 3000.0), ("wall.present", True)),
    )
    hard, soft = case.build("press"), case.build("press", ("wall.stiffness", SOFT_STIFFNESS))
    stiffnesses = [rig.parts.wall.stiffness for rig in (hard, soft)]
    hard.close()
    soft.close()
    assert stiffnesses == [3000.0, SOFT_STIFFNESS]


def test_a_setting_is_refused_if_no_law_has_it_and_is_a_laws_own_affair_otherwise():
    """One spring more or less is no reason not to compare the others."""
    spring = (("law.spring.stiffness", 800.0),)
    with_and_without = [
        Case("dual-arm", law, settings=spring)
        for law in ("virtual-constraints", "position-position")
    ]
    comparison.check(with_and_without)
    with pytest.raises(UnknownName, match="law.spring.stiffness"):
        comparison.check(with_and_without[:1])
    assert "law.spring.stiffness" in comparison.measure(with_and_without[0])["refused"]


def test_the_leader_by_itself_has_the_users_settings_but_for_those_of_the_coupling(monkeypatch):
    """Another robot weighs something else; a law's spring is none of its parts."""
    seen = []
    monkeypatch.setattr(
        comparison, "impedance", lambda case: (seen.append(case) or -np.ones(6), None)
    )
    own_inertia("dual-arm", (("law.spring.stiffness", 800.0), ("rig.leader_robot", "ur10e")))
    assert [case.settings for case in seen] == [(("rig.leader_robot", "ur10e"),)]


def test_a_law_that_trips_while_it_is_shaken_has_no_inertia():
    """What a stopped arm does is not what the law feels like."""
    stopping = Case("dual-arm", "position-position", settings=(("leader.guard.speed", 0.01),))
    response, stop = impedance(stopping)
    assert stop["where"] == "leader" and "rad/s" in stop["reason"] and 0.0 < stop["time"] < 6.0
    assert np.isnan(response).all() and np.isnan(comparison.inertia(response))


def test_a_contact_that_a_guard_stops_has_no_force_but_place_time_and_reason():
    """An arm that was stopped presses with 0 N, which is not what the law does."""
    stopping = Case("dual-arm", "position-position", settings=(("leader.guard.speed", 0.01),))
    values, stop = comparison.contact(stopping, {})
    unknown = ("contact_force", "felt_stiffness", "settling", "force_error")
    assert all(math.isnan(values[name]) for name in unknown)
    assert stop["where"] == "leader" and "rad/s (limit" in stop["reason"]
    assert values["trips"] >= 1.0 and values["wall_stiffness"] > 0.0


def short_row(case: Case) -> dict[str, object]:
    """Where both arms are after a twentieth of a second, in place of all tasks."""
    rig = case.build("free")
    rig.session.run(0.05)
    states = [station.arm.state.tolist() for station in rig.session.stations]
    rig.close()
    return {"refused": "", "states": states}


def no_inertia(rig: str, settings: tuple[tuple[str, object], ...]) -> float:
    """In place of the leader's own."""
    return 0.0


def test_all_cores_give_the_rows_of_one_to_the_bit(monkeypatch):
    """In the order of the cases, whichever is finished first."""
    monkeypatch.setattr(comparison, "measure", short_row)
    monkeypatch.setattr(comparison, "own_inertia", no_inertia)
    laws = ("virtual-constraints", "position-position")
    cases = [Case("dual-arm", law, delay=delay) for law in laws for delay in (0.0, 20.0)]
    monkeypatch.setattr(comparison.os, "cpu_count", lambda: 2)
    rows = compare(cases)
    assert rows == [short_row(case) for case in cases]
    assert len({str(row) for row in rows}) == 4
