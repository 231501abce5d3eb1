"""The hazardous rig: every scenario and law runs, the mapping is the published one, and faults
leave it standing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from farhand.console.scene import model_of, scene_of
from farhand.errors import Mismatch
from farhand.loop.telemetry import Reader
from farhand.plants.simulated.velocity import POWERBALL_STEP, POWERBALL_VELOCITY
from farhand.rigs import Options, build_rig, scenarios_of
from farhand.rigs.hazardous import MOTION_SCALE
from tests.conftest import QUIET, Run

if TYPE_CHECKING:
    from farhand.rigs import Rig

LAWS = ("none", "unilateral", "position-position", "position-force")
SCENARIOS = list(scenarios_of("hazardous"))


@pytest.fixture
def hazardous() -> Iterator[Callable[..., Run]]:
    """Build the rig: ``hazardous(scenario=…, settings=[…], …)``; sensors are silent."""
    rigs: list[Rig] = []

    def build(settings: list[tuple[str, object]] | None = None, **options: Any) -> Run:
        rigs.append(
            build_rig("hazardous", Options(settings=[*QUIET, *(settings or [])], **options))
        )
        return Run(rigs[-1])

    yield build
    for rig in rigs:
        rig.close()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_law_that_names_a_target_runs_in_every_scenario(hazardous, law, scenario):
    """0.6 s each: nothing trips, everything is finite, and the metrics are there."""
    run = hazardous(law=law, scenario=scenario).on(0.6)
    assert run.trips == []
    assert np.isfinite(run.world.data.qpos).all()
    assert run.metrics["tracking_error_max"] < 0.02


def test_a_law_that_needs_models_is_refused_by_name():
    """The follower's drives hide its dynamics."""
    with pytest.raises(Mismatch, match="virtual-constraints"):
        build_rig("hazardous", Options(law="virtual-constraints"))


def test_the_offsets_captured_at_engagement_are_those_about_the_shoulders(hazardous):
    """p_s = c_s + s (p_m − c_m), with both bases where they stand in the world."""
    run = hazardous(scenario="free").on(0.1)
    mapping = run.bridge.laws[0].mapping
    base = np.array([0.0, 1.2, 0.0])
    expected = base + np.array([0.0, 0.0, 0.205]) - MOTION_SCALE * np.array([0.0, 0.0, 0.350])
    np.testing.assert_allclose(mapping.offset_position, expected, atol=2e-4)
    np.testing.assert_allclose(mapping.offset_rotation, np.eye(3), atol=2e-3)


def test_100_mm_of_the_leader_are_74_mm_of_the_follower(hazardous):
    """At rest after the move, within half a millimetre, and with the leader's turn not scaled."""
    run = hazardous(scenario="free").on(9.0)
    leader, follower = (
        run.signal(name, "position_tool_in_world", 4.2, 4.5)[-1] for name in ("leader", "follower")
    )
    start_leader, start_follower = (
        run.signal(name, "position_tool_in_world")[0] for name in ("leader", "follower")
    )
    assert np.linalg.norm(leader - start_leader) > 0.2
    np.testing.assert_allclose(
        follower - start_follower, MOTION_SCALE * (leader - start_leader), atol=4e-3
    )
    final = run.leader.arm.rotation.T @ run.follower.arm.rotation
    np.testing.assert_allclose(final, np.eye(3), atol=0.01)
    assert run.trips == []


def test_the_loop_never_breaks_the_drives_limits(hazardous):
    """Wall, hard and fast: published velocity and step limits hold at every command."""
    run = hazardous(
        scenario="wall", settings=[("hand.stiffness", 2000.0), ("hand.damping", 150.0)]
    ).on(4.0)
    speed = run.world.placed["follower"].robot.limits.velocity
    sent = run.signal("follower", "velocity_commanded") / speed
    assert (np.abs(sent) <= np.array(POWERBALL_VELOCITY) + 1e-9).all()
    assert (np.abs(np.diff(sent, axis=0)) <= np.array(POWERBALL_STEP) + 1e-9).all()
    assert run.follower.plant.fault is None


def test_a_loop_without_limits_makes_the_drives_switch_off_and_the_station_says_so(hazardous):
    """The trip names the joint; both arms are then still."""
    run = hazardous(
        scenario="free",
        settings=[("follower.pd.step_limit", 1.0), ("follower.pd.proportional", 100.0)],
    )
    run.on(3.0)
    assert run.trips[0] == ("follower", "plant")
    assert "switched the arm off" in run.session.trips[0].trip.reason
    assert run.tool_speed("follower", 2.5) < 1e-4
    run.post("3.1:reset").on(0.5)  # switches the drives on again; they stand still until engaged
    assert run.follower.plant.fault is None and run.follower.guard.trip is None
    assert run.tool_speed("follower", 3.1) < 1e-4


@pytest.mark.parametrize(("scenario", "felt"), [("wall", (0.5, 0.8)), ("sponge", (0.95, 1.1))])
def test_the_hand_feels_what_the_operators_map_makes_of_the_contact(hazardous, scenario, felt):
    """Below 8 N nearly one to one, above it 0.4 N per N."""
    run = hazardous(scenario=scenario).on(5.5)
    contact, hand = (
        -run.signal(name, "wrench_measured_in_world", 5.0)[:, 0].mean()
        for name in ("follower", "leader")
    )
    assert felt[0] < -hand / contact < felt[1]


def test_without_the_map_the_contact_is_felt_one_to_one(hazardous):
    """The motion is scaled, the force is not."""
    run = hazardous(scenario="sponge", settings=[("rig.force_map", False)]).on(5.5)
    contact, hand = (
        run.signal(name, "wrench_measured_in_world", 5.0)[:, 0].mean()
        for name in ("follower", "leader")
    )
    assert -hand == pytest.approx(contact, rel=0.02)


@pytest.mark.parametrize("why", ["0.9:stop", "0.9:release"])
def test_stop_and_release_bring_the_follower_to_rest(hazardous, why):
    """In motion, within 0.4 s; and a reset with a new engagement goes on from there without a jump
    of the drives.
    """
    run = hazardous(scenario="free").post(why, "2.0:reset", "2.1:engage").on(2.0)
    assert run.tool_speed("follower", 1.3, 2.0) < 1e-4
    run.on(0.5)
    # a leader that was stopped swings back to the hand
    assert run.metrics["tracking_error_max"] < 0.04
    assert run.largest_step("follower", "v", 1.9) < 0.05


@pytest.mark.parametrize("fault", ["nan-position", "nan-velocity", "frozen", "nan-wrench"])
def test_a_follower_whose_samples_go_wrong_in_motion_stops(hazardous, fault):
    """Its drives are told zero, within the limits; only numbers reach them."""
    settings = [("follower.plant.fault", fault), ("follower.plant.fault_start", 1.2)]
    run = hazardous(scenario="free", settings=settings).on(2.5)
    assert ("follower", "stale" if fault == "frozen" else "invalid") in run.trips
    assert np.isfinite(run.signal("follower", "velocity_commanded")).all()
    assert np.abs(run.world.ports["follower"].v).max() < 1e-5
    assert run.follower.plant.fault is None


def test_the_same_seed_gives_the_same_run_to_the_bit():
    """Noise on, over a jittery link."""
    ends = []
    for _ in range(2):
        rig = build_rig(
            "hazardous", Options(scenario="wall", delay=40.0, jitter=10.0, loss=0.05, seed=7)
        )
        rig.session.run(1.5)
        ends.append(rig.world.data.qpos.copy())
        rig.close()
    assert (ends[0] == ends[1]).all()


def test_the_energy_account_closes_with_drives_in_the_world(hazardous):
    """The servo's work is the actuators', to 0.1 %."""
    assert hazardous(scenario="wall").on(9.0).metrics["energy_balance_error"] < 1e-3


def test_the_console_can_draw_it(hazardous):
    """Both robots, the hand, the wall and the tie between the tools, from the compiled model."""
    run = hazardous(scenario="wall")
    scene = scene_of(run.rig)
    assert [robot["role"] for robot in scene["robots"]] == ["leader", "follower"]
    assert {thing["kind"] for thing in scene["things"]} == {"hand", "tie", "wall"}
    assert model_of(scene).nq == 13


def test_what_the_joints_go_for_is_recorded(hazardous):
    """While engaged the reference is there and solved; after release it is not a number."""
    run = hazardous(scenario="free").post("1.0:release").on(0.9)
    latest = Reader(run.session.telemetry.path).latest("follower")[1]
    assert np.abs(latest["q_reference"] - latest["q"]).max() < 0.1
    assert latest["ik_status"][0] == 0.0
    run.on(0.3)
    assert np.isnan(Reader(run.session.telemetry.path).latest("follower")[1]["q_reference"]).all()
