"""Options of the hazardous rig: the wrist sensor, mappings, the operator's force, the gripper and
the mobile base.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from farhand.control.trajectory.paths import HandPath, Move
from farhand.errors import Mismatch, UnknownName
from farhand.rigs import Options, Rig, build_rig
from farhand.rigs.hazardous.gripper import CODES, AtFollower
from tests.conftest import Run

CALM = [("follower.sensor.noisy", False), ("follower.sensor.shaken", False)]
"""Settings that silence the follower's sensor and leave its other faults."""


@pytest.fixture
def hazardous() -> Iterator[Callable[..., Run]]:
    """Build the rig: ``hazardous(scenario=…, settings=[…], …)``."""
    rigs: list[Rig] = []

    def build(settings: list[tuple[str, object]] | None = None, **options: Any) -> Run:
        rigs.append(build_rig("hazardous", Options(settings=settings or [], **options)))
        return Run(rigs[-1])

    yield build
    for rig in rigs:
        rig.close()


def raw(run: Run, since: float = 0.0) -> np.ndarray:
    """Contact force as conditioned, before smoothing, [N]."""
    return run.signal("operator", "wrench_contact_raw_in_world", since)[:, :3]


def test_what_the_coupling_gets_in_free_motion_is_nothing_though_the_sensor_reads_20_newtons(
    hazardous,
):
    """Bias and tool weigh more than 20 N; after compensation and filter 0.6 N are left while the
    wrist turns.
    """
    run = hazardous(scenario="free").on(4.0)
    sensor = run.follower.plant._plant
    assert np.linalg.norm(sensor.counts[:3] * sensor.sensor.profile.resolution[:3]) > 10.0
    felt = np.linalg.norm(run.signal("follower", "wrench_measured_in_world", 0.5)[:, :3], axis=1)
    assert felt.max() < 0.6


@pytest.mark.parametrize(
    ("switch", "least"),
    [("follower.compensation.bias", 15.0), ("follower.compensation.weight", 10.0)],
)
def test_without_a_compensation_its_fault_reaches_the_coupling(hazardous, switch, least):
    """Each by its own switch, from the command line's paths."""
    run = hazardous(scenario="free", settings=[*CALM, (switch, False)]).on(0.4)
    assert np.linalg.norm(raw(run, 0.2).mean(axis=0)) > least


@pytest.mark.parametrize(
    ("fault", "compensation"),
    [("biased", "bias"), ("loaded", "weight")],
    ids=["bias", "tool weight"],
)
def test_without_the_fault_the_compensation_is_not_needed(hazardous, fault, compensation):
    """What is left without the tool is the weight of the sensor's own internals, 1.5 N."""
    settings = [
        *CALM,
        (f"follower.sensor.{fault}", False),
        (f"follower.compensation.{compensation}", False),
    ]
    run = hazardous(scenario="free", settings=settings).on(0.4)
    assert np.linalg.norm(raw(run, 0.2).mean(axis=0)) < 1.6


def test_acceleration_shakes_the_sensor(hazardous):
    """Noisier in motion than at rest; switched off it is not."""
    spread = []
    for shaken in (True, False):
        run = hazardous(scenario="free", settings=[("follower.sensor.shaken", shaken)]).on(2.0)
        spread.append((raw(run)[:400].std(), raw(run)[700:1800].std()))
    assert spread[0][1] > 1.5 * spread[0][0]
    assert spread[1][1] < 1.2 * spread[1][0]


def test_a_warming_sensor_drifts_unless_its_thermometer_is_followed(hazardous):
    """From 21 to 45 °C within seconds: 30 N against 2 N."""
    left = []
    for heat in (False, True):
        settings = [*CALM, ("follower.sensor.heating", 0.5), ("follower.compensation.heat", heat)]
        run = hazardous(law="unilateral", settings=settings, scenario="grasp").on(4.0)
        left.append(np.linalg.norm(raw(run, 3.9).mean(axis=0)))
    assert left[0] > 25.0
    assert left[1] < 3.0


def test_position_only_keeps_the_tools_orientation(hazardous):
    """The leader turns by 0.4 rad and more; the follower's position still follows."""
    run = hazardous(scenario="free", settings=[("rig.mapping", "position-only")]).on(0.1)
    before = run.follower.arm.rotation.copy()
    run.on(4.3)
    assert np.arccos((np.trace(before.T @ run.follower.arm.rotation) - 1.0) / 2.0) < 0.01
    moved = [
        np.ptp(run.signal(name, "position_tool_in_world"), axis=0)[1]
        for name in ("leader", "follower")
    ]
    assert moved[1] / moved[0] == pytest.approx(705.0 / 955.0, rel=0.03)
    assert run.trips == []


@pytest.mark.parametrize("delay", [0.0, 40.0], ids=["one process", "over a link"])
def test_joint_to_joint_gives_equal_orientations_with_joint_3_locked(hazardous, delay):
    """Every joint is its image, the tools point the same way, and joint 3 hardly moves."""
    run = hazardous(scenario="free", delay=delay, settings=[("rig.mapping", "joint")]).on(4.4)
    leader, follower = (run.signal(name, "q")[-1] for name in ("leader", "follower"))
    np.testing.assert_allclose(
        follower, leader[[0, 1, 3, 4, 5, 6]] * [1, 1, 1, 1, -1, 1], atol=0.02
    )
    np.testing.assert_allclose(run.follower.arm.rotation, run.leader.arm.rotation, atol=0.03)
    assert np.abs(run.signal("leader", "q")[:, 2]).max() < 0.02
    assert run.trips == []


def test_joint_to_joint_feels_a_sponge(hazardous):
    """What comes back pushes the hand out of the contact."""
    run = hazardous(scenario="sponge", settings=[("rig.mapping", "joint")]).on(5.0)
    assert run.trips == []
    assert raw(run, 4.5)[:, 0].mean() < -3.0
    assert run.signal("leader", "wrench_measured_in_world", 4.5)[:, 0].mean() > 2.0


def test_a_mapping_that_does_not_go_with_a_base_is_refused_by_name():
    """Before anything is built."""
    with pytest.raises(Mismatch, match="mobile base; there are: cartesian"):
        build_rig("hazardous", Options(settings=[("rig.base", "mobile"), ("rig.mapping", "joint")]))


@pytest.mark.parametrize("mode", ["direct", "springs"])
def test_both_ways_of_making_a_force_press_the_hand_alike(hazardous, mode):
    """Into the sponge, at rest: the map's image of the contact."""
    run = hazardous(scenario="sponge", settings=[("leader.rendering.mode", mode)]).on(5.4)
    contact, hand = (
        -raw(run, 5.0)[:, 0].mean(),
        run.signal("leader", "wrench_measured_in_world", 5.0)[:, 0].mean(),
    )
    assert hand == pytest.approx(8.25 / 8.0 * contact, rel=0.05)


def test_another_operator_in_contact_ramps_the_hands_force(hazardous):
    """From the mean to the first of the published seven while pressing on the sponge: never a
    step.
    """
    run = hazardous(scenario="sponge", settings=CALM).post("4:set law.force_map.operator=1").on(5.4)
    assert run.trips == []
    felt = run.signal("leader", "wrench_commanded_in_world", 3.5)[:, 0]
    assert np.abs(np.diff(felt)).max() < 0.15
    assert abs(felt[-300:].mean()) < 0.9 * abs(felt[:300].mean())


def test_an_operator_can_be_chosen_at_the_start_and_a_stranger_is_refused():
    """By the names of the published table."""
    rig = build_rig("hazardous", Options(settings=[("rig.operator", "4")]))
    assert rig.session.bridges[0].laws[0].force_map.least[0] == pytest.approx(9.3)
    rig.close()
    with pytest.raises(UnknownName, match="operator"):
        build_rig("hazardous", Options(settings=[("rig.operator", "nobody")]))


@pytest.mark.parametrize("delay", [0.0, 200.0], ids=["one process", "over a link"])
def test_a_touch_too_light_to_be_felt_buzzes_in_the_handle_and_free_motion_does_not(
    hazardous, delay
):
    """A soft thing comes to the resting tool with 4 N: cued 50 ms after it is known, as long as it
    lasts.
    """
    settings = [("wall.stiffness", 100.0), ("wall.damping", 5.0)]
    run = hazardous(scenario="grasp", law="unilateral", delay=delay, settings=settings)
    x = float(run.world.ports["follower"].tool.position[0]) - 0.04
    run.post(f"1:set wall.point={x},0,0", "1:set wall.present=true").on(2.0)
    cue, way = run.signal("operator", "cue")[:, 0], round(delay / 2)  # [ticks]
    assert not cue[: 1000 + way].any()
    assert cue[1050 + way :].all()
    assert np.linalg.norm(raw(run, 1.5).mean(axis=0)) == pytest.approx(4.0, rel=0.1)
    free = hazardous(scenario="free", delay=delay).on(3.0)
    assert not free.signal("operator", "cue").any()


@pytest.mark.parametrize("delay", [0.0, 60.0], ids=["one process", "over a link"])
def test_the_ring_closes_the_gripper_on_a_fragile_object_and_opens_it_again(hazardous, delay):
    """Held at its limit of 2 N, the leader is told the force, and the ring the other way lets
    go.
    """
    run = hazardous(scenario="grasp", delay=delay).on(5.9)
    jaws = run.signal("operator", "gripper")
    assert jaws[-1, 1] == pytest.approx(2.0, abs=0.05)
    assert jaws[:, 1].max() < 2.2
    run.on(2.0)
    assert run.signal("operator", "gripper")[-1, 1] == 0.0


def test_a_tripped_follower_moves_its_jaws_no_more(hazardous):
    """Whatever the ring says."""
    run = hazardous(scenario="grasp").post("1:stop").on(2.0)
    openings = run.signal("operator", "gripper", 1.01)[:, 0]
    assert np.ptp(openings) == 0.0


@pytest.mark.parametrize("delay", [0.0, 40.0], ids=["one process", "over a link"])
def test_the_leader_drives_the_base_beyond_the_dead_band_and_stops_it_on_its_return(
    hazardous, delay
):
    """Half a metre and more along x, nothing sideways; at the end base and arm stand where the
    leader is.
    """
    run = hazardous(scenario="drive", delay=delay).on(1.2)
    assert np.abs(run.signal("follower", "q")[-1, :4]).max() < 1e-6
    run.on(7.5)
    base = run.signal("follower", "q")[-1, :4]
    assert base[0] > 0.5
    assert np.abs(base[1:]).max() < 0.01
    assert np.abs(run.signal("follower", "v", 7.5)[:, :4]).max() < 1e-6
    assert np.linalg.norm(run.signal("coupling", "error")[-1, :3]) < 5e-3
    assert run.trips == []


def test_the_base_stops_when_the_handle_is_let_go(hazardous):
    """Rate mode needs a hand: half a second of rise time and the drives' delay later it stands."""
    run = (
        hazardous(scenario="drive")
        .post("3:set leader.handle.grip=0", "3:set hand.open=true")
        .on(4.0)
    )
    assert np.abs(run.signal("follower", "v", 2.5, 3.0)[:, 0]).max() > 0.1
    assert np.abs(run.signal("follower", "v", 3.7)[:, :4]).max() < 1e-3


def test_a_turned_vehicle_is_driven_and_felt_in_its_own_axes(hazardous):
    """The hand turns the base, then goes ahead: it drives where it points."""
    run = hazardous(
        scenario="drive",
        settings=[("hand.rotational_stiffness", 60.0), ("hand.rotational_damping", 6.0)],
    )
    turn = (
        Move(0.3, 1.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.6)),
        Move(3.0, 1.0, (0.0, 0.0, 0.0), (0.0, 0.0, -0.6)),
    )
    run.rig.parts.hand.path = HandPath((*turn, Move(4.5, 1.0, (0.18, 0.0, 0.0))))
    run.on(8.0)
    x, y, yaw, _ = run.signal("follower", "q")[-1, :4]
    assert yaw > 0.2
    start = run.signal("follower", "q", 4.4)[0, :2]
    assert np.arctan2(y - start[1], x - start[0]) == pytest.approx(yaw, abs=0.1)
    assert run.trips == []


@pytest.mark.parametrize("ring", [-1, 1])
def test_the_jaws_stand_still_once_the_link_is_lost(ring):
    """Whatever the ring said in the last packet; they go on when the link is back."""
    incoming = SimpleNamespace(buttons=CODES[ring])
    end = SimpleNamespace(trip=None, endpoint=SimpleNamespace(incoming=incoming))
    assert AtFollower(end).ring() == ring
    end.trip = object()
    assert AtFollower(end).ring() == 0
    end.trip = None
    assert AtFollower(end).ring() == ring
