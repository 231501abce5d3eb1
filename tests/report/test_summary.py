"""Numbers for people are short, and the headline says what matters most."""

from __future__ import annotations

import re

import pytest

from farhand.report.hints import hints
from farhand.report.summary import headline, lines, result_of, show
from farhand.rigs import Options, build_rig
from farhand.running.run import RunOutcome


def result(trips=(), **metrics):
    known = {name: {"value": value, "unit": "-"} for name, value in metrics.items()}
    return {"trips": list(trips), "never_coupled": None, "metrics": known}


def test_the_headline_names_the_first_trip_if_there_was_one():
    """A run that stopped is about what stopped it."""
    trip = {
        "where": "follower",
        "time": 7.312,
        "kind": "force",
        "reason": "contact force 420 N (limit 400 N)",
    }
    assert (
        headline(result([trip])) == "Follower stopped at 7.31 s: contact force 420 N (limit 400 N)"
    )


def test_the_headline_of_a_good_run_is_tracking_and_touch():
    """How far off, and how much of the contact is felt."""
    pressed = headline(
        result(tracking_error_max=0.0305, reflection_in_contact=0.98, contact_force_max=60.0)
    )
    assert (
        pressed
        == "The follower is at most 30.5 mm off, and the hand feels 98 % of the contact force"
    )
    assert headline(result(tracking_error_max=0.001, contact_force_max=0.2)).endswith(
        "and touches nothing"
    )
    assert headline(result(tracking_error_max=0.001)).endswith("no sensor tells what it touches")
    assert headline(result(tracking_error_max=0.001, contact_force_max=20.0)).endswith(
        "touches with up to 20 N"
    )


@pytest.mark.parametrize(
    ("hand", "contact", "words"),
    [
        (87.9, 88.8, "up to 87.9 N at the hand, 88.8 N at the contact"),
        (None, 88.8, "up to 88.8 N at the contact"),
        (None, None, "measured nowhere: this rig has no force sensor"),
    ],
)
def test_a_force_that_nobody_measured_is_not_given_a_number(hand, contact, words):
    """A dash would look like a result."""
    shown = result(hand_force_max=hand, contact_force_max=contact)
    assert dict(lines(shown))["force"] == words


def test_the_energy_of_a_coupling_whose_torques_were_cut_is_what_it_asked_for():
    """Its books are of efforts that no arm exerted: the number alone would be taken for physics."""
    cut, whole = (
        result(energy_into_coupling=9.26e9, torque_cut_ticks=ticks) for ticks in (812.0, 0.0)
    )
    words = "9.26·10⁹ J into the coupling"
    assert dict(lines(cut))["energy"] == f"{words} as asked for, torques were cut in 812 ticks"
    assert dict(lines(whole))["energy"] == words


def test_a_run_interrupted_before_its_first_tick_has_a_summary():
    """Nothing ran, so nothing is claimed; it is no reason for a traceback."""
    rig = build_rig("dual-arm")
    rig.metrics.pull()
    found = result_of(rig, RunOutcome(0.0, 1e-3, interrupted=True))
    assert set(found["rates"].values()) == {0.0} and found["seconds"] == 0.0
    show(rig, found, RunOutcome(0.0, 1e-3, interrupted=True))
    rig.close()


@pytest.mark.parametrize(
    ("settings", "commands", "words"),
    [
        (
            [("follower.guard.high", (-4.0, -4.0, -4.0))],
            None,
            "never coupled: follower stopped at 0.000 s: tool at (",
        ),
        ([], (), "never coupled: no engage was carried out"),
        ([], ("engage",), None),
    ],
    ids=["stopped at once", "not engaged", "coupled"],
)
def test_the_tracking_of_sides_that_were_never_coupled_is_not_nought(settings, commands, words):
    """Where there was nothing to track, the summary and the numbers say so instead of an error of 0
    mm.
    """
    rig = build_rig("dual-arm", Options(scenario="free", settings=settings))
    if commands is not None:
        rig.session.commands.clear()
        for command in commands:
            rig.session.commands.post(command)
    rig.session.run(0.05, rig.metrics.pull)
    found = result_of(rig, RunOutcome(0.05, 1e-3, interrupted=False))
    rig.close()
    told = dict(lines(found))["tracking"]
    if words is None:
        assert found["never_coupled"] is None and told.startswith("up to ")
    else:
        assert told.startswith(words) and found["never_coupled"] == told
        assert found["metrics"]["tracking_error_max"]["value"] is None
        assert headline(found).startswith("Never coupled") or found["trips"]


def test_the_tracking_of_a_run_that_was_stopped_is_said_to_be_of_the_time_before():
    """Both arms stop after half a second of one; without a trip nothing is said."""
    rig = build_rig("dual-arm", Options("position-position", scenario="free"))
    rig.session.commands.post_text("0.5:stop")
    rig.session.run(1.0, rig.metrics.pull)
    found = result_of(rig, RunOutcome(1.0, 1.0, interrupted=False))
    rig.close()
    told = dict(lines(found))["tracking"]
    coupled = re.fullmatch(r"up to .* mm rms; coupled for (\S+) of 1 s", told)
    assert coupled and float(coupled[1]) == pytest.approx(0.5, abs=0.01)
    assert "coupled" not in dict(lines({**found, "trips": []}))["tracking"]


@pytest.mark.parametrize(("armature", "lost"), [(0.0, True), (0.1, False)])
def test_a_simulation_that_was_lost_is_said_to_be_so_with_what_helps(armature, lost):
    """A wrist without rotors in a stiff hand: all numbers are finite, and none means anything."""
    settings = [("rig.leader_robot", "iiwa14"), ("rig.armature", armature)]
    rig = build_rig("dual-arm", Options("position-position", scenario="free", settings=settings))
    rig.session.run(0.7, rig.metrics.pull)
    found = hints(rig, result_of(rig, RunOutcome(0.7, 1.0, interrupted=False)))
    rig.close()
    told = [hint for hint in found if hint.startswith("the simulation was lost")]
    assert len(told) == lost
    for hint in told:
        assert hint.endswith("for an arm so light; rig.armature=0.1 adds rotor inertia")


@pytest.mark.parametrize(("coulomb", "named"), [(6.0, True), (0.0, False)])
def test_dry_friction_that_keeps_virtual_constraints_apart_is_named(coulomb, named):
    """The law has exact models, so nobody would look for what is in none of them."""
    settings = [("rig.coulomb", coulomb)]
    rig = build_rig("dual-arm", Options("virtual-constraints", scenario="free", settings=settings))
    rig.session.run(1.2, rig.metrics.pull)
    found = hints(rig, result_of(rig, RunOutcome(1.2, 1.0, interrupted=False)))
    rig.close()
    assert len(found) == named
    for hint in found:
        assert hint.startswith("dry friction (up to 6 N·m at the leader) is not in the models")
