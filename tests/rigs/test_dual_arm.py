"""The dual-arm rig: every law and scenario runs, and the expected physics holds."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.coupling import LAWS
from farhand.errors import BadValue, FarhandError, OutOfRange, UnknownName
from farhand.rigs import Options, build_rig, rig_names, rig_title, scenarios_of

BUILT_IN = list(LAWS)
SCENARIOS = list(scenarios_of("dual-arm"))


@pytest.mark.parametrize("law", BUILT_IN)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_law_runs_in_every_scenario(dual_arm, law, scenario):
    """0.2 s each: nothing trips, everything is finite, and the metrics are there."""
    run = dual_arm(law=law, scenario=scenario, quiet=False).on(0.2)
    assert run.trips == []
    assert np.isfinite(run.world.data.qpos).all()
    assert run.metrics["tracking_error_max"] < 0.01
    assert run.session.ticks == 200


@pytest.mark.parametrize("law", BUILT_IN)
def test_every_law_works_over_a_bad_link_and_reports_age_loss_and_energy(dual_arm, law):
    """40 ms, 10 ms of jitter and one packet in twenty lost, for 3 s."""
    run = dual_arm(
        quiet=False, law=law, scenario="virtual-forces", delay=40.0, jitter=10.0, loss=0.05
    ).on(3.0)
    metrics = run.metrics
    assert run.trips == []
    assert 0.020 <= metrics["link_age_mean"] < 0.032
    assert metrics["link_age_max"] < 0.050
    assert metrics["link_loss"] == pytest.approx(0.05, abs=0.015)
    assert metrics["link_round_trip"] == pytest.approx(0.05, abs=0.015)
    assert np.isfinite(metrics["energy_into_coupling"])
    assert metrics["energy_balance_error"] < 1e-3
    assert law == "none" or metrics["tracking_error_max"] < 0.05


def test_in_static_contact_the_hand_feels_the_wall(dual_arm):
    """Position–force, sensor noise on: the mean hand force is the mean wall force within 1 %."""
    run = dual_arm(quiet=False, law="position-force", scenario="press").on(8.0)
    hand = run.signal("leader", "wrench_measured_in_world", 6.0)[:, :3].mean(axis=0)
    wall = run.signal("follower", "wrench_measured_in_world", 6.0)[:, :3].mean(axis=0)
    assert np.linalg.norm(wall) > 30.0
    assert np.linalg.norm(hand) == pytest.approx(np.linalg.norm(wall), rel=0.01)
    np.testing.assert_allclose(hand, -wall, atol=0.02 * np.linalg.norm(wall))
    assert run.metrics["reflection_in_contact"] == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("law", BUILT_IN)
def test_two_arms_at_rest_stay_at_rest(dual_arm, law):
    """10 s coupled and untouched: no joint moves by more than 1e-6 rad."""
    run = dual_arm(law=law, scenario="rest").on(10.0)
    for name in ("leader", "follower"):
        q = run.signal(name, "q")
        assert np.abs(q - q[0]).max() < 1e-6


@pytest.mark.parametrize("law", ["position-force", "virtual-constraints"])
@pytest.mark.parametrize("delay", [0.0, 40.0])
def test_two_arms_at_rest_do_not_drift(dual_arm, law, delay):
    """Less than 1e-6 rad a minute, also across a link and from unlike postures."""
    run = dual_arm(
        law=law, scenario="rest", delay=delay, settings=[("rig.follower_posture", "q_B")]
    ).on(15.0)
    for name in ("leader", "follower"):
        q = run.signal(name, "q")
        assert np.abs(q - q[0]).max() < 1e-6 * 15.0 / 60.0


@pytest.mark.parametrize("delay", [0.0, 20.0])
def test_the_energy_account_of_a_whole_run_closes(dual_arm, delay):
    """Hand, links, friction and wall over the whole wall scenario, to 0.1 %."""
    run = dual_arm(quiet=False, law="position-force", scenario="wall", delay=delay).on(20.0)
    metrics = run.metrics
    assert run.trips == []
    assert metrics["energy_balance_error"] < 1e-3
    assert metrics["energy_hand_on_leader"] > 0.5
    assert metrics["contact_force_max"] > 20.0
    assert abs(metrics["energy_wall_on_follower"]) < 0.05  # elastic: what went in came out


@pytest.mark.parametrize(
    "law", ["position-position", "position-force", "unilateral", "virtual-constraints"]
)
@pytest.mark.parametrize(
    "settings",
    [
        [("rig.follower_posture", "q_B"), ("wall.present", False)],
        [("rig.model_mass", 1.2)],
        [("rig.kinematics", "manufacturer"), ("rig.mass_scale", 1.0)],
        [("rig.coulomb", "3,3,3,1,1,1")],
        [("follower.plant.encoder_step", 1e-4), ("follower.plant.actuator_lag", 0.003)],
        [("rig.gravity", 0.0), ("rig.rate", 500)],
    ],
    ids=[
        "unlike postures",
        "wrong model",
        "other arm",
        "dry friction",
        "imperfect plant",
        "weightless at 500 Hz",
    ],
)
def test_the_follower_follows_where_arms_and_models_differ(dual_arm, law, settings):
    """Identical arms cancel every model error; these do not. The follower still does as the leader
    does.
    """
    run = dual_arm(law=law, scenario="free", settings=settings).on(3.0)
    assert run.trips == []
    leader, follower = (
        run.signal(name, "position_tool_in_world") for name in ("leader", "follower")
    )
    assert leader[-1, 2] - leader[0, 2] > 0.15
    np.testing.assert_allclose(follower[-1] - follower[0], leader[-1] - leader[0], atol=0.03)


def test_a_scaled_workspace_moves_the_follower_by_the_scale(dual_arm):
    """Half the motion, half the way."""
    run = dual_arm(
        law="position-position", scenario="free", settings=[("law.mapping.motion_scale", 0.5)]
    ).on(3.0)
    leader, follower = (
        run.signal(name, "position_tool_in_world")[[0, -1], 2] for name in ("leader", "follower")
    )
    assert np.ptp(follower) == pytest.approx(0.5 * np.ptp(leader), rel=0.03)


def test_every_parameter_can_be_set_to_what_it_is(dual_arm):
    """Each path that is listed is taken, and setting it to its own value builds the same rig."""
    first = dual_arm(delay=40.0)
    listed = first.rig.parameters()
    assert len(listed) > 40
    values = [
        (path, ",".join(map(str, value)) if np.ndim(value) else value) for path, value, *_ in listed
    ]
    again = dual_arm(delay=40.0, settings=values)
    for before, after in zip(listed, again.rig.parameters(), strict=True):
        assert before[0] == after[0]
        np.testing.assert_array_equal(before[1], after[1])
    assert all(unit and meaning for _, _, unit, meaning in listed)


@pytest.mark.parametrize(
    ("path", "value", "check"),
    [
        ("hand.stiffness", 500, lambda run: run.rig.parts.hand.stiffness == 500.0),
        (
            "law.spring.stiffness",
            700,
            lambda run: {law.spring.stiffness for law in run.bridge.laws} == {700.0},
        ),
        ("follower.guard.force", 50, lambda run: run.follower.guard.force == 50.0),
        ("leader.still.bandwidth", 10, lambda run: run.leader.controller.still.bandwidth == 10.0),
        ("rig.mass_scale", 1.0, lambda run: np.allclose(run.leader.arm.M, run.follower.arm.M)),
        ("rig.rate", 500, lambda run: run.world.step_ns == 2_000_000),
    ],
)
def test_settings_reach_their_part(dual_arm, path, value, check):
    """By path, at both ends of a link where there are two."""
    assert check(dual_arm(law="position-position", delay=40.0, settings=[(path, value)]))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"law": "telepathy"}, UnknownName, "position-force"),
        ({"scenario": "dance"}, UnknownName, "press"),
        ({"layer": "onion"}, UnknownName, "none"),
        ({"settings": [("wall.stifness", 5)]}, UnknownName, "did you mean 'wall.stiffness'"),
        ({"settings": [("rig.gravty", 5)]}, UnknownName, "rig.gravity"),
        ({"settings": [("wall.stiffness", -5)]}, OutOfRange, "outside [0, 1e+06] N/m"),
        ({"settings": [("rig.rate", 5)]}, OutOfRange, "rig.rate"),
        ({"settings": [("rig.kinematics", "kuka")]}, UnknownName, "manufacturer, published"),
        ({"settings": [("wall.stiffness", "hard")]}, BadValue, "is not a number"),
        ({"jitter": 10.0}, BadValue, "raise link.delay to 20"),
        ({"delay": -1.0}, FarhandError, "delay"),
        ({"loss": 2.0}, FarhandError, "loss"),
        ({"delay": float("nan")}, FarhandError, "delay"),
    ],
)
def test_bad_choices_are_refused_before_anything_starts(options, error, words):
    """One line that names the value and what would be right."""
    with pytest.raises(error) as refusal:
        build_rig("dual-arm", Options(**options))
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "path",
    [
        "wall.stiffness",
        "link.delay",
        "rig.gravity",
        "law.mapping.motion_scale",
        "leader.guard.force",
    ],
)
def test_a_misspelt_path_is_answered_with_the_right_one(path):
    """Wherever in the rig it belongs, and whichever word of it is wrong."""
    for wrong in (f"{path}s", f"x{path}"):
        with pytest.raises(UnknownName, match=f"did you mean '{path}'"):
            build_rig("dual-arm", Options(settings=[(wrong, 1)]))


def test_an_unknown_rig_is_answered_with_those_there_are():
    """By name."""
    with pytest.raises(UnknownName, match="dual-arm"):
        build_rig("triple-arm")


def test_every_rig_has_a_line_about_it():
    """For `farhand list`."""
    assert all(rig_title(name) for name in rig_names())


def test_settings_of_the_link_may_come_in_any_order(dual_arm):
    """Jitter before delay is no worse than delay before jitter."""
    run = dual_arm(settings=[("link.jitter", 10.0), ("link.delay", 40.0)])
    assert run.rig.parts.link.jitter == 10.0


def test_a_link_setting_that_cannot_act_is_not_taken_in_silence(dual_arm):
    """In a rig built without a link a live delay changes nothing, so it must not be answered with
    "now 40".
    """
    run = dual_arm(scenario="free").post("0.01:set link.delay=40").on(0.2)
    assert (
        not run.session.commands.log[-1].outcome.done
        or run.signal("coupling", "age")[-1].max() > 0.01
    )


def test_the_demo_makes_the_nine_moves_meets_the_wall_and_is_thrown_back(dual_arm):
    """Virtual constraints by default: within a millimetre all the way, and the hand feels the
    wall.
    """
    run = dual_arm(quiet=False)
    run.on(run.rig.scenario.seconds)
    assert (run.rig.law, run.rig.scenario.name) == ("virtual-constraints", "demo")
    assert run.rig.scenario.seconds <= 40.0
    assert run.trips == []
    assert run.metrics["tracking_error_max"] < 1e-3
    assert run.metrics["reflection_in_contact"] == pytest.approx(1.0, abs=0.02)
    opened = next(
        entry.time_ns * 1e-9
        for entry in run.session.commands.log
        if "hand.open=true" in str(entry.request)
    )
    for name in ("leader", "follower"):
        assert run.signal(name, "twist_tool_in_world", opened)[:, 0].min() < -0.2


def test_a_hand_that_closes_again_takes_hold_where_the_tool_is(dual_arm):
    """It lets go in mid-move and closes a second later: no jump in the force on the tool."""
    run = dual_arm(law="virtual-constraints", scenario="free").post(
        "1.2:set hand.open=true", "3:set hand.open=false"
    )
    run.on(4.0)
    force = run.signal("leader", "wrench_measured_in_world")[:, :3]
    assert np.abs(force[1300:2990]).max() == 0.0
    assert np.abs(force[3000:]).max() < 5.0
    assert run.trips == []


@pytest.mark.parametrize("driven", ["leader", "follower"])
@pytest.mark.parametrize("hand", ["impedance", "force"])
def test_either_arm_may_be_driven_by_either_hand(dual_arm, driven, hand):
    """The other arm comes along."""
    settings = [("rig.driven", driven), ("rig.hand", hand), ("rig.follower_posture", "q_B")]
    run = dual_arm(law="virtual-constraints", scenario="free", settings=settings).on(2.0)
    for name in ("leader", "follower"):
        assert np.ptp(run.signal(name, "position_tool_in_world")[:, 2]) > 0.05
    assert run.metrics["tracking_error_max"] < 1e-3
    assert run.metrics[f"energy_hand_on_{driven}"] > 0.0


def test_the_law_ties_two_arms_of_different_make(dual_arm):
    """A UR5e leads, an arm with other lengths, masses and wrist follows; and the other way
    round.
    """
    for role in ("leader", "follower"):
        settings = [(f"rig.{role}_robot", "elbow6")]
        run = dual_arm(law="virtual-constraints", scenario="free", settings=settings).on(3.0)
        assert run.trips == []
        assert run.metrics["tracking_error_max"] < 1e-3
        assert np.ptp(run.signal("follower", "position_tool_in_world")[:, 2]) > 0.15


def test_a_push_on_a_link_is_felt_less_by_a_law_that_is_told(dual_arm):
    """5 N·m on the leader's joint 2."""
    errors = []
    for known in (True, False):
        settings = [
            ("rig.push_torque", "0,5,0,0,0,0"),
            ("rig.push_start", 0.5),
            ("rig.push_known", known),
        ]
        run = dual_arm(law="virtual-constraints", scenario="rest", settings=settings).on(1.5)
        errors.append(run.metrics["tracking_error_max"])
        assert run.metrics["energy_push_on_leader"] > 0.0
        assert run.metrics["energy_balance_error"] < 1e-3
    assert errors[0] < 1e-3 < errors[1]


def test_dry_friction_holds_a_joint_until_it_is_overcome(dual_arm):
    """A pull below the friction moves the tool by less than 0.01 mm in two seconds."""
    settings = [("rig.hand", "force"), ("rig.coulomb", 10.0), ("hand.scale", 0.3)]
    run = dual_arm(law="none", scenario="free", settings=settings).on(2.0)
    assert np.abs(run.signal("leader", "wrench_measured_in_world")[:, 2]).max() > 2.0
    moved = run.signal("leader", "position_tool_in_world")
    assert np.abs(moved - moved[0]).max() < 1e-5


def test_the_friction_offset_eases_the_start(dual_arm):
    """The same slow pull takes less than half the force while the tool begins to move."""
    forces = []
    for helped in (False, True):
        settings = [("rig.friction_offset", helped)]
        run = dual_arm(law="virtual-constraints", scenario="friction", settings=settings).on(2.5)
        x = run.signal("leader", "position_tool_in_world")[:, 0]
        forces.append(
            run.signal("leader", "wrench_measured_in_world")[np.argmax(x - x[0] > 1e-3), 0]
        )
    assert forces[1] < 0.6 * forces[0]
    assert "leader.assist.share" in [path for path, *_ in run.rig.parameters()]


def test_an_unknown_posture_is_answered_with_those_of_the_robot():
    """By robot."""
    with pytest.raises(UnknownName, match="posture of elbow6 'q_A'.*home, ready, zero"):
        build_rig(
            "dual-arm",
            Options(settings=[("rig.follower_robot", "elbow6"), ("rig.follower_posture", "q_A")]),
        )
