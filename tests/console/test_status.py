"""The status says what a person wants to know, and never shows a missing measurement as zero."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.console.scene import SUCCESSOR, Kinematics, scene_of
from farhand.console.status import (
    ERROR,
    JOINT_ERROR,
    Health,
    Reading,
    about,
    derived,
    in_words,
    log,
    newtons,
    panel,
    state,
    summary,
)
from farhand.loop.station import MODES
from farhand.loop.telemetry import Reader
from farhand.rigs import Options, build_rig, rig_names
from farhand.rigs.rig import scenarios_of


def status_of(rig) -> str:
    """The panel for a rig's ring as it is now."""
    reading, scene = Reading(), scene_of(rig)
    reading.refresh(Reader(rig.session.telemetry.path), scene)
    return panel(reading, scene)


def test_the_panel_of_a_coupled_run_has_time_error_and_forces(rig):
    """After the ramp the coupling is engaged and its error is shown in millimetres."""
    rig.session.run(0.5)
    text = status_of(rig)
    for expected in (
        "tracking error",
        " mm",
        "hand force",
        "contact force",
        " N<",
        "engaged",
        "0.5 s",
    ):
        assert expected in text


def test_a_coupling_that_fades_in_says_how_far_it_is(rig):
    """Fifty milliseconds into a ramp of two hundred it is neither apart nor engaged."""
    assert "fading, " in status_of(rig)


def test_a_session_that_another_one_replaces_has_not_ended_the_run(rig):
    """Neither its end nor its trips are news while the next one is built."""
    reading, scene = Reading(), scene_of(rig)
    reader, telemetry = Reader(rig.session.telemetry.path), rig.session.telemetry
    rig.session.commands.post("stop")
    rig.session.run(0.01)
    telemetry.event(rig.session.now_ns, "a new session takes its place", {"kind": SUCCESSOR})
    rig.close()
    reading.refresh(reader, scene)
    shown = summary(reading, scene, Health())
    assert (shown["ended"], shown["trip"]) == (False, "")
    assert shown["words"] == "starting a new session …"
    assert "the run has ended" not in panel(reading, scene)


def test_the_page_knows_when_a_scenario_is_over(rig):
    """When all of it has happened; one in which nothing happens is never over."""
    scene = scene_of(rig)
    reading = Reading()
    for seconds, over in ((scene["seconds"] - 0.1, False), (scene["seconds"] + 0.1, True)):
        reading.time_ns = round(1e9 * seconds)
        assert summary(reading, scene, Health())["over"] is over
    assert not summary(reading, {**scene, "seconds": None}, Health())["over"]
    assert not scenarios_of("dual-arm")["rest"].eventful


def test_a_stop_shows_as_tripped_with_its_reason(rig):
    """The modes and the events both tell."""
    rig.session.commands.post("stop")
    rig.session.run(0.01)
    text = status_of(rig)
    assert "stopped</b>" in text
    reading = Reading()
    reading.refresh(Reader(rig.session.telemetry.path), scene_of(rig))
    shown = summary(reading, scene_of(rig), Health())
    assert (shown["mode"], shown["trip"]) == ("stopped", "the operator stopped the session")


def test_the_first_trip_is_shown_until_the_reset(rig):
    """Others follow from it; an operator's stop afterwards does not hide it."""
    guards = [station.guard for station in rig.session.stations]
    guards[1].stop(rig.session.now_ns, "force", "too much force")
    rig.session.run(0.01)
    rig.session.commands.post("stop")
    rig.session.run(0.01)
    reading = Reading()
    reading.refresh(Reader(rig.session.telemetry.path), scene_of(rig))
    assert reading.trip == "too much force (follower)"


def test_a_refusal_is_told_with_its_reason():
    """The words of the session, without the colons of a log."""
    assert in_words("engage: refused: leader is tripped (x); reset first") == (
        "engage refused: leader is tripped (x); reset first"
    )
    assert in_words("reset: done") == "trips cleared"


def test_a_force_that_is_not_measured_is_not_zero():
    """NaN is a value of its own."""
    assert newtons(np.full(3, np.nan)) == "not measured"
    assert newtons(np.array([3.0, 0.0, 4.0])) == "5.0 N"
    assert newtons(np.array([30.0, 0.0, 40.0])) == "50 N"


def test_words_from_outside_cannot_become_markup(rig):
    """A parameter value typed by a user is shown, not run."""
    rig.session.commands.post("set", "wall.stiffness", "<img src=x>")
    rig.session.run(0.01)
    text = status_of(rig)
    assert "<img" not in text
    assert "&lt;img" in text


def test_before_the_first_record_the_panel_says_so(rig):
    """An empty ring is no error."""
    assert "waiting" in panel(Reading(), scene_of(rig))


def test_the_panel_says_when_the_run_has_ended(rig):
    """The last state stays, with a word about it."""
    reading, scene, reader = Reading(), scene_of(rig), Reader(rig.session.telemetry.path)
    rig.close()
    reading.refresh(reader, scene)
    assert "the run has ended" in panel(reading, scene)


def test_a_trip_stays_on_the_panel_until_it_is_reset(rig):
    """The banner names the reason, and goes away with the trip."""
    reading, scene, reader = Reading(), scene_of(rig), Reader(rig.session.telemetry.path)
    for name, shown in (("stop", True), ("engage", True), ("reset", False)):
        rig.session.commands.post(name)
        rig.session.run(0.01)
        reading.refresh(reader, scene)
        assert bool(summary(reading, scene, Health())["trip"]) is shown


def test_a_drag_is_followed_but_not_logged(rig):
    """Thirty a second would push everything else out of sight; a refused one is told."""
    reading, scene, reader = Reading(), scene_of(rig), Reader(rig.session.telemetry.path)
    for value in ([0.01, 0.0, 0.0], [5.0, 0.0, 0.0]):
        rig.session.commands.post("set", "hand.drag", value)
    rig.session.run(0.01)
    reading.refresh(reader, scene)
    assert reading.changes["hand.drag"] == [0.01, 0.0, 0.0]
    assert log(reading).count("hand.drag") == 2  # the refusal names it twice
    assert [path for path, why in reading.refusals] == ["hand.drag"]
    assert "outside" in reading.refusals[0][1]


def test_the_loop_is_told_with_rate_tick_and_overruns(rig):
    """Where the session times its ticks; a recording has none of it."""
    rig.session.run(0.01)
    reading, scene = Reading(), scene_of(rig)
    reading.refresh(Reader(rig.session.telemetry.path), scene)
    text = panel(reading, scene, Health(42.0, 999.6, 3, "predicted to be calm"))
    assert "1000 Hz · tick 42 µs" in text and ">3<" in text and "predicted to be calm" in text
    assert "tick" not in panel(reading, scene, Health())


def test_without_a_sensor_the_panel_tells_what_the_law_pulls_with():
    """And says that it is not a measurement."""
    made = build_rig("youbot")
    try:
        made.session.run(2.0)
        text = status_of(made)
    finally:
        made.close()
    assert "leader, requested force" in text and "hand force" not in text


def test_arms_with_a_job_say_where_it_stands_and_nothing_of_a_coupling():
    """Carriers are tied to nobody."""
    rig = build_rig("cooperative", Options(scenario="pair"))
    try:
        rig.session.run(1.0)
        text = status_of(rig)
    finally:
        rig.close()
    assert "coupling" not in text and "tracking error" not in text
    assert "follows the force it feels · " in text and not any(
        f"{mode} · " in text for mode in MODES
    )


@pytest.mark.parametrize("name", rig_names())
def test_a_stopped_rig_can_still_be_read(name):
    """A robot that is stopped has no inverse kinematics and perhaps no sample: a dash, no fault."""
    rig = build_rig(name)
    try:
        source, reading = Reader(rig.session.telemetry.path), Reading()
        rig.session.run(0.3)
        rig.session.commands.post("stop")
        rig.session.run(0.3)
        reading.refresh(source, scene_of(rig))
        assert reading.trip
        assert "stopped" in panel(reading, scene_of(rig))
    finally:
        rig.close()


def test_rate_mode_is_said_on_the_page_while_it_is_on():
    """The pen is pushed out of its region; the page says how to end it."""
    rig = build_rig("youbot", Options(scenario="drive", linked=True))
    try:
        scene, reader, reading = scene_of(rig), Reader(rig.session.telemetry.path), Reading()
        said = []
        for seconds in (0.9, 2.0):
            rig.session.run(seconds)
            reading.refresh(reader, scene)
            said.append("rate mode" in summary(reading, scene, Health())["words"])
        assert said == [False, True]
    finally:
        rig.close()


def test_a_large_error_is_warned_of_before_the_guard_would_trip():
    """Large is what makes the law pull with half of the force that the guard allows: 100 N."""
    rig = build_rig("youbot")
    scene = scene_of(rig)
    rig.close()
    (tie,) = [thing for thing in scene["things"] if thing["kind"] == "tie"]
    channels = {"error": np.array([0.15, 0.0, 0.0]), "engagement": np.ones(1)}
    channels |= {"port_energy": np.zeros(2), "age": np.zeros(2)}
    reading = Reading()
    for pull, warned in ((99.0, False), (101.0, True), (85.0, True), (79.0, False)):
        reading.commanded["follower"] = np.array([0.0, pull, 0.0])
        reading._take_coupling(tie, channels)
        assert bool(summary(reading, scene, Health())["warning"]) is warned
    reading.commanded["follower"] = np.array([0.0, 321.0, 0.0])
    reading._take_coupling(tie, channels)
    warning = summary(reading, scene, Health())["warning"]
    assert "150 mm" in warning and "321 N" in warning and "200 N" in warning


def test_curves_have_the_colours_of_the_picture(rig):
    """By role; several robots of one role have several colours, so theirs are left open."""
    scene, reader = scene_of(rig), Reader(rig.session.telemetry.path)
    both = {"force leader [N]": "leader", "force follower [N]": "follower"}
    assert about(scene, reader)["roles"] == both
    third = {**scene["robots"][1], "name": "other"}
    team = {**scene, "robots": [*scene["robots"], third]}
    assert about(team, reader)["roles"] == {"force leader [N]": "leader"}


def test_coupled_joints_are_shown_in_degrees_by_name_with_the_gripper():
    """Their errors are angles, not a place of the tool; the page draws no goal from them."""
    rig = build_rig("pair", Options(scenario="squeeze"))
    try:
        rig.session.run(3.0)
        reading, scene = Reading(), scene_of(rig)
        reader = Reader(rig.session.telemetry.path)
        reading.refresh(reader, scene)
        errors = reader.latest("coupling")[1]["error"]
        names = [name.replace("_", " ") for name in rig.session.bridges[0].laws[0].mapping.names]
        worst = int(np.argmax(np.abs(errors)))
        text = panel(reading, scene)
        assert f"{np.degrees(abs(errors[worst])):.1f}° ({names[worst]})" in text
        assert "follower, gripper" in text and "tracking error" not in text
        assert reading.errors == {} and about(scene, reader)["usual"][1] == [JOINT_ERROR]
        shown = derived(reading, scene, Health())
        assert shown[JOINT_ERROR] == pytest.approx(np.degrees(abs(errors[worst])))
        efforts = reader.latest("leader")[1]["torque_coupled"]
        assert abs(efforts[-1]) > 0.05  # the fingers feel what the follower squeezes
        table = state(reading, scene, Kinematics(scene))
        assert f"{efforts[-1]:.2f} N·m" in table
        reading.joint_efforts = dict.fromkeys(reading.joint_efforts, np.full(len(errors), -1e-4))
        assert "-0.00 N·m" not in panel(reading, scene) + state(reading, scene, Kinematics(scene))
    finally:
        rig.close()


def test_a_small_arm_is_pulled_with_no_more_than_it_can_push_back():
    """And its arrows are as long as those of a strong one."""
    rig = build_rig("pair")
    scene = scene_of(rig)
    limits = rig.world.placed["leader"].robot.limits.torque
    rig.close()
    (hand,) = [thing for thing in scene["things"] if thing["kind"] == "hand"]
    assert 1.0 < hand["most"] < max(limits) / 0.1 and scene["arrow"] < 10.0


def test_a_pen_is_pulled_with_no_more_than_its_motors_give():
    """The youBot's shows 12 N; a hand of 100 N would hide all that it says."""
    rig = build_rig("youbot")
    (hand,) = [thing for thing in scene_of(rig)["things"] if thing["kind"] == "hand"]
    rig.close()
    assert 1.0 < hand["most"] <= rig.session.stations[0].plant.force_peak


def test_arms_that_are_apart_have_no_tracking_error():
    """A gap in the plot, not a line at zero."""
    scene = {"things": [], "robots": [], "rig": "dual-arm", "streams": {}}
    reading = Reading(errors={"coupling": np.zeros(3)})
    for engagement, shown in ((0.0, False), (1.0, True)):
        reading.engagement = engagement
        assert np.isfinite(derived(reading, scene, Health())[ERROR]) == shown


def test_a_limb_that_is_led_out_of_its_reach_warns():
    """The panel's log says it once; the top of the page says it as long as it lasts."""
    rig = build_rig("humanoid")
    try:
        rig.session.run(1.0)
        reading, scene = Reading(), scene_of(rig)
        reading.refresh(Reader(rig.session.telemetry.path), scene)
        assert not summary(reading, scene, Health())["warning"]
        reading.driver["follower"]["inverse kinematics"] = "unreachable"
        assert "Out of reach: the follower" in summary(reading, scene, Health())["warning"]
        reading.engagement = 0.0
        assert not summary(reading, scene, Health())["warning"]
    finally:
        rig.close()


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            "follower_1: away (release ignored)",
            "follower_1 has let go: nothing to do for the order “release”",
        ),
        ("leader: gripped → carry (go)", "leader carries its share"),
        ("follower_2: carry → fault (55 N)", "follower_2: fault (55 N)"),
        ("follower_2.job.orders.order is now grasp", "order to follower_2: grasp"),
        ("hand.open is now false", "the hand takes hold"),
    ],
)
def test_a_step_of_a_job_is_told_in_plain_words(event, words):
    """And what a reader cannot know, such as an ignored event of a state, is explained."""
    assert in_words(event) == words
