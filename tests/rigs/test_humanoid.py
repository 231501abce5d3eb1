"""The humanoid rig: rests, follows, pushes back at its limits, survives its bus, and calls its
forces synthetic.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.errors import Mismatch
from farhand.mapping.limbs import ArmChain
from farhand.plants.servo_bus.joints import LIMBS
from farhand.plants.servo_bus.plant import Gear
from farhand.rigs import Options, build_rig
from farhand.rigs.humanoid.parts import PLACES, Humanoid, Limb, make_world
from farhand.robots import Placement, load_robot
from farhand_lab.trial import Run, run

SHOULDER = np.array([-0.1, 0.55 + 0.085, -0.45 + 0.547])


def ran(scenario: str, seconds: float, *settings: tuple[str, object], **options: object) -> Run:
    return run(
        build_rig("humanoid", Options(scenario=scenario, settings=list(settings), **options)),
        seconds,
    )  # type: ignore[arg-type]


def test_at_rest_nothing_moves_and_nothing_trips() -> None:
    """Neither the pen nor what the limb is sent."""
    result = ran("rest", 2.0)
    assert not np.ptp(result.signal("leader", "position_tool_in_world"), axis=0).any()
    assert not np.ptp(result.signal("follower", "q_sent"), axis=0).any()
    assert result.rig.session.trips == []
    np.testing.assert_allclose(
        result.signal("leader", "force_synthetic_in_world")[-1], [0.0, 0.0, 0.44145]
    )


def test_two_runs_are_the_same_to_the_bit() -> None:
    """Same seed, losses on the bus included."""
    signals = []
    for _ in range(2):
        result = ran("dropped-replies", 1.5, seed=3)
        signals.append(
            (result.signal("follower", "q"), result.signal("leader", "position_tool_in_world"))
        )
    for first, second in zip(*signals, strict=True):
        np.testing.assert_array_equal(first, second)


def test_the_wrist_goes_twice_as_far_as_the_pen() -> None:
    """Up to the dead band, the counts and the servos' sag: 2 mm."""
    result = ran("free", 2.4)
    arm = ArmChain()
    sent = arm.forward(result.signal("follower", "q_sent"))
    pen = result.signal("leader", "position_tool_in_world")
    np.testing.assert_allclose(sent[-1] - sent[0], 2.0 * (pen[-1] - pen[0]), atol=2e-3)
    true = result.rig.world.ports["follower"].tool.position - SHOULDER
    assert np.linalg.norm(true - sent[-1]) < 8e-3


def test_the_edge_of_the_reach_pushes_back_and_lets_go() -> None:
    """Inward, within the device's peak; afterwards the lift alone."""
    result = ran("limit", 6.0)
    force = result.signal("leader", "force_synthetic_in_world")
    wrist = ArmChain().forward(result.signal("follower", "q_sent")[3500])
    assert (force[3500] - [0.0, 0.0, 0.44145]) @ wrist / np.linalg.norm(wrist) < -1.0
    assert np.linalg.norm(force, axis=1).max() <= 3.3 + 1e-12
    assert result.rig.session.trips == []


@pytest.mark.parametrize(
    ("scenario", "seconds", "said"),
    [("dead-servo", 3.0, "servo 41"), ("low-battery", 7.0, "battery")],
)
def test_a_fault_of_the_limb_stops_it_and_not_the_pen(
    scenario: str, seconds: float, said: str
) -> None:
    """The leader's guard stays untripped."""
    result = ran(scenario, seconds)
    trips = {record.where: record.trip.reason for record in result.rig.session.trips}
    assert set(trips) == {"follower"} and said in trips["follower"]
    assert not np.ptp(result.signal("follower", "q_sent")[-300:], axis=0).any()


@pytest.mark.parametrize("limb", LIMBS)
def test_every_limb_can_be_led(limb: str) -> None:
    """A small move."""
    result = ran("rest", 0.8, ("rig.limb", limb), ("hand.drag", (0.0, 0.006, -0.004)))
    assert np.ptp(result.signal("follower", "q_sent"), axis=0).max() > 0.0
    assert result.rig.session.trips == []


def test_a_geared_motor_weighs_with_the_square_of_its_gear() -> None:
    """½ I (shaft speed)²: what a joint of the leg has beside the inertia of its links."""
    limb, places = Limb.named("left-leg"), {n: Placement(place) for n, place in PLACES.items()}
    world = make_world(limb, load_robot("omni"), places, Humanoid(rotor=0.02), ("follower",))
    turns = Gear(limb.joints).shaft(np.full(3, 0.1))[1]
    added = Arm.of(world.placed["follower"].robot).M - Arm.of(limb.robot).M
    np.testing.assert_allclose(np.diag(added), 0.02 * turns**2)
    assert np.abs(turns).max() > 1.5


def test_a_link_that_dies_stops_both_sides() -> None:
    """By the watchdog."""
    result = ran("link-loss", 2.0)
    assert len(result.rig.session.trips) == 2


def test_the_published_spheres_are_there_for_the_arm_and_refused_for_the_leg() -> None:
    """In one line."""
    build_rig("humanoid", Options(settings=[("rig.exact", False)])).close()
    with pytest.raises(Mismatch, match="exact"):
        build_rig("humanoid", Options(settings=[("rig.exact", False), ("rig.limb", "left-leg")]))


def test_the_recording_says_that_forces_are_synthetic_and_none_is_measured() -> None:
    """In the description and in the name of the channel; the measured wrench is not a number."""
    result = ran("rest", 0.2)
    text = json.dumps(result.rig.metrics.history.reader.header["description"])
    assert "synthetic" in text
    for side in ("leader", "follower"):
        assert np.isnan(result.signal(side, "wrench_measured_in_world")).all()


def test_the_recorded_force_is_what_is_asked_of_a_pen_whose_warm_motors_give_less() -> None:
    """Two newtons are asked for, the 0.88 N that the device gives for ever come."""
    heavy, warm = ("leader.force.tip_mass", 0.2), ("leader.device.heat_time", 0.01)
    result = ran("rest", 0.3, heavy, warm)
    asked = result.signal("leader", "force_synthetic_in_world")[-1]
    np.testing.assert_allclose(asked, [0.0, 0.0, 0.2 * 9.81])
    given = result.rig.world.ports["leader"].torque[:3]
    assert np.linalg.norm(given) == pytest.approx(0.88, rel=1e-3)


def test_a_low_battery_is_said_before_the_limb_stops() -> None:
    """As an event, once, ahead of the trip."""
    result = ran("low-battery", 7.0)
    said = [
        (time_ns, text)
        for time_ns, text, *_ in result.rig.metrics.history.events
        if "battery" in text
    ]
    assert "below" in said[0][1] and "tripped" in said[-1][1] and said[0][0] < said[-1][0]


def test_a_board_is_made_by_three_touches_and_felt_on_the_way_back_to_it() -> None:
    """Square to the way there; the hand, which wants 4 mm beyond it, is held in front of it."""
    result = ran("board", 7.5)
    surface = result.rig.session.parameters["leader"]["force"].board.surface
    np.testing.assert_allclose(surface.normal, [1.0, 0.0, 0.0], atol=0.05)
    force = result.signal("leader", "force_synthetic_in_world")[:, 0]
    assert abs(force[4000]) < 1e-9 and force[5500] < 0.3 and force[-1] > 0.8
    assert surface.locate(ArmChain().forward(result.signal("follower", "q_sent")[-1]))[0] > 0.0
