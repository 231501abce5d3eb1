"""The youBot rig: every scenario and law runs, the pen feels a tenth, its wrist nothing, and at
rest all is still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from farhand.console.scene import model_of, scene_of
from farhand.errors import Mismatch
from farhand.rigs import Options, build_rig, scenarios_of
from tests.conftest import Run

if TYPE_CHECKING:
    from farhand.rigs import Rig

LAWS = ("none", "unilateral", "position-position")


@pytest.fixture
def youbot() -> Iterator[Callable[..., Run]]:
    """Build the rig: ``youbot(scenario=…, settings=[…], …)``."""
    rigs: list[Rig] = []

    def build(settings: list[tuple[str, object]] | None = None, **options: Any) -> Run:
        rigs.append(build_rig("youbot", Options(settings=settings or [], **options)))
        return Run(rigs[-1])

    yield build
    for rig in rigs:
        rig.close()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scenario", list(scenarios_of("youbot")))
def test_every_law_without_needs_runs_in_every_scenario(youbot, law, scenario):
    """0.6 s each: nothing trips, everything is finite."""
    run = youbot(law=law, scenario=scenario).on(0.6)
    assert run.trips == []
    assert np.isfinite(run.world.data.qpos).all()


@pytest.mark.parametrize("law", ["position-force", "virtual-constraints"])
def test_a_law_that_needs_what_neither_side_has_is_refused_by_name(law):
    """No force sensor anywhere, and no model across the pen's map."""
    with pytest.raises(Mismatch, match=law):
        build_rig("youbot", Options(law=law))


@pytest.mark.parametrize("base", [False, True])
def test_at_rest_nothing_moves(youbot, base):
    """Two seconds, coupled: pen and tool stay to a micrometre, with the base standing and
    driving.
    """
    run = youbot(scenario="rest", settings=[("rig.base", base)]).on(2.0)
    for name in ("leader", "follower"):
        track = run.signal(name, "position_tool_in_world")
        assert np.ptp(track, axis=0).max() < 1e-6
    assert run.trips == []


def test_the_engagement_says_which_efforts_are_dropped_and_none_reaches_the_wrist(youbot):
    """The law pulls with moments; the pen's wrist is passive, so they neither act nor count as
    energy.
    """
    run = youbot(scenario="free", law="position-position").on(3.0)
    assert (
        str(run.session.commands.log[0].outcome)
        == "done; the leader has no motor about x, y, z: the law cannot act there"
    )
    assert np.abs(run.signal("leader", "wrench_commanded_in_world")[:, 3:]).max() == 0.0
    assert np.abs(run.signal("leader", "torque_commanded")[:, 3:]).max() == 0.0
    assert np.abs(run.signal("follower", "wrench_commanded_in_world")[:, 3:]).max() > 0.05


def test_the_pen_feels_a_tenth_of_the_spring_in_its_own_axes(youbot):
    """F_m = (f_x, f_y, −f_z)/10 at every tick once engaged."""
    run = youbot(scenario="free").on(4.0)
    pull = run.signal("follower", "wrench_commanded_in_world", 1.0)[:, :3]
    felt = run.signal("leader", "wrench_commanded_in_world", 1.0)[:, :3]
    assert np.abs(felt).max() > 0.05
    np.testing.assert_allclose(felt, pull * [0.1, 0.1, -0.1], atol=1e-12)


def test_the_tool_follows_the_pen_one_to_one_in_robot_axes(youbot):
    """Away from the operator is forward for the robot: 18 mm, at rest within half a millimetre."""
    run = youbot(scenario="wall-steps", settings=[("wall.present", False)]).on(2.4)
    pen, tool = (run.signal(name, "position_tool_in_world") for name in ("leader", "follower"))
    np.testing.assert_allclose(pen[-1] - pen[0], [-0.018, 0.0, 0.0], atol=5e-4)
    np.testing.assert_allclose(tool[-1] - tool[0], (pen[-1] - pen[0]) * [-1, -1, 1], atol=5e-4)


def test_the_wall_stands_two_centimetres_before_the_tool(youbot):
    """Its setpoint goes beyond it, so the tool presses; what the wall gives it is what its spring
    asks for.
    """
    run = youbot(scenario="wall-steps")
    wall, tool = run.rig.parts.wall, run.rig.world.ports["follower"].tool
    assert wall.point[0] == pytest.approx(tool.position[0] + 0.02, abs=1e-3)
    run.on(4.0)
    assert wall.force > 1.0 and tool.position[0] == pytest.approx(wall.point[0], abs=2e-3)


def test_sideways_the_arm_cannot_keep_its_orientation_and_the_pen_feels_it(youbot):
    """Five joints: a tool that moves sideways turns, and the spring that turns it back is felt as a
    side force.
    """
    run = youbot(scenario="free").on(2.4)
    error = run.signal("coupling", "error", 2.3)
    assert np.abs(error[:, 5]).max() > 0.02
    assert np.abs(run.signal("leader", "wrench_commanded_in_world", 2.3)[:, 1]).min() > 0.5


def test_outside_its_middle_the_pen_drives_the_base_on(youbot):
    """Rate control: after 4 s the robot has driven, by its wheels, and its odometry knows where it
    is.
    """
    run = youbot(scenario="drive").on(5.0)
    base = run.world.ports["follower"].q[:3]
    assert base[0] > 0.1
    np.testing.assert_allclose(run.follower.arm.q[:3], base, atol=1e-4)
    assert np.abs(run.follower.plant.wheel_torque).max() > 0.0
    assert run.trips == []


def test_with_the_base_switched_off_its_wheels_get_nothing(youbot):
    """The same scenario on the same robot: the arm alone reaches as far as it can."""
    run = youbot(scenario="drive", settings=[("follower.base.enabled", False)]).on(2.0)
    assert np.abs(run.follower.plant.wheel_torque).max() == 0.0
    assert np.abs(run.signal("follower", "torque_commanded", 0.0)[:, :3]).max() == 0.0


def test_a_pen_that_is_let_go_comes_to_rest(youbot):
    """The hand opens in the middle of a motion."""
    run = youbot(scenario="free").on(1.2)
    run.rig.parts.hand.open = True
    run.on(6.0)
    assert np.ptp(run.signal("leader", "position_tool_in_world", 6.7), axis=0).max() < 5e-4
    assert run.trips == []


@pytest.mark.parametrize("why", ["1.2:stop", "1.2:release"])
def test_stop_and_release_bring_the_robot_to_rest(youbot, why):
    """In motion, within half a second."""
    run = youbot(scenario="free").post(why).on(2.2)
    assert run.tool_speed("follower", 1.9) < 1e-3


@pytest.mark.parametrize("fault", ["nan-position", "frozen"])
def test_a_robot_whose_samples_go_wrong_in_motion_stops(youbot, fault):
    """It brakes; the pen is let go softly."""
    run = youbot(
        scenario="free",
        settings=[("follower.plant.fault", fault), ("follower.plant.fault_start", 1.2)],
    )
    run.on(2.2)
    assert run.trips[0] == ("follower", "stale" if fault == "frozen" else "invalid")
    assert np.isfinite(run.signal("follower", "torque_commanded")).all()
    assert np.abs(run.world.ports["follower"].v).max() < 0.05


def test_the_same_seed_gives_the_same_run_to_the_bit():
    """Over a jittery link that loses packets."""
    ends = []
    for _ in range(2):
        rig = build_rig(
            "youbot", Options(scenario="wall", delay=20.0, jitter=5.0, loss=0.05, seed=7)
        )
        rig.session.run(1.5)
        ends.append(rig.world.data.qpos.copy())
        rig.close()
    assert (ends[0] == ends[1]).all()


def test_over_a_link_the_robot_starts_where_it_is(youbot):
    """The setpoint of the follower's end begins at its own tool, so nothing jumps at engagement."""
    run = youbot(scenario="free", delay=20.0).on(1.0)
    assert run.metrics["tracking_error_max"] < 0.02
    assert run.largest_step("follower", "v", 0.0, 0.4) < 0.01
    assert run.trips == []


def test_the_energy_account_closes_with_wheels_and_a_device_that_carries_itself(youbot):
    """Friction of the wheels is what pushes on the base's joints."""
    run = youbot(scenario="drive").on(4.0)
    assert run.metrics["energy_balance_error"] < 1e-3
    assert run.metrics["energy_push_on_follower"] < 0.0


def test_what_is_not_measured_is_not_reported_as_zero(youbot):
    """There is no force sensor, so there is no contact force to report."""
    run = youbot(scenario="wall").on(1.0)
    assert run.metrics["contact_force_max"] is None and run.metrics["hand_force_max"] is None


def test_the_console_can_draw_it(youbot):
    """Both robots, the hand, the wall, the tie between the tools and the pen's region."""
    scene = scene_of(youbot(scenario="wall").rig)
    assert [robot["role"] for robot in scene["robots"]] == ["leader", "follower"]
    assert {thing["kind"] for thing in scene["things"]} == {"hand", "tie", "wall", "region"}
    assert model_of(scene).nq == 11


def test_the_start_up_leads_from_a_folded_arm_to_full_force_feedback(youbot):
    """All states in order; the ramp takes 6 s; the pen feels nothing but its homing spring before;
    then a wall.
    """
    run = youbot(scenario="startup").on(31.0)
    machine = run.bridge.startup.machine
    reached = [(happened.target, happened.time_ns * 1e-9) for happened in machine.history]
    assert [name for name, _ in reached][1:] == [
        "homing",
        "unfold",
        "approach",
        "engage",
        "ramp",
        "operate",
    ]
    when = dict(reached)
    assert when["operate"] - when["ramp"] == pytest.approx(6.0, abs=0.01)
    assert (
        np.abs(run.signal("leader", "wrench_commanded_in_world", 0.0, when["engage"])).max() < 0.1
    )
    assert run.world.ports["follower"].wrench[0] < -5.0
    assert run.signal("leader", "wrench_commanded_in_world", 30.5)[:, 0].min() > 0.5
    assert run.follower.plant.gripper.position == pytest.approx(0.02)
    assert run.trips == []


def test_a_release_during_the_start_up_holds_the_arm_and_frees_the_pen(youbot):
    """And a second engagement begins anew."""
    run = youbot(scenario="startup").post("3.0:release", "4.0:engage").on(3.9)
    assert run.bridge.startup.machine.state == "off"
    assert run.tool_speed("follower", 3.5) < 1e-3
    run.on(0.5)
    assert run.bridge.startup.machine.state == "unfold"


def test_the_start_up_over_a_link_is_refused():
    """Its messages stay in one process."""
    with pytest.raises(Mismatch, match="start-up"):
        build_rig("youbot", Options(scenario="startup", delay=20.0))
