"""Computed torque: an exact model follows exactly, loads cancel, no change of a setting jumps."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.computed_torque import ComputedTorque
from farhand.control.tool.task import PoseLoop
from farhand.control.trajectory.paths import Reference
from farhand.loop.station import Station
from farhand.mapping.ik import Solver
from farhand.parameters import assign
from farhand.plants import SimulatedPlant
from farhand.plants.wrappers.filtered import Filters
from farhand.robots import Placement, load_robot
from farhand.safety import Guard
from farhand.world.world import Placed, World
from farhand_lab.cooperative.bench import ArmBench, BenchSetup, ideal, path

ROBOT = load_robot("rx160")


def standing(**gains) -> tuple[ComputedTorque, ControlRequest]:
    """A controller of an arm at home, and what is asked of it."""
    controller = ComputedTorque(Arm.of(ROBOT, gravity=9.804), PoseLoop(**gains))
    controller.arm.update(ROBOT.home, np.zeros(6))
    asked = ControlRequest()
    asked.valid, asked.gain = True, 1.0
    return controller, asked


def test_an_exact_model_on_an_ideal_plant_follows_exactly():
    """One second of TA.1: nanometres."""
    controller, _ = standing(kp=100.0, kd=20.0, kpo=100.0, kdo=20.0)
    controller.follow(path("TA.1"), 0)
    log = ideal(controller, ROBOT.home, 1.0)
    assert np.abs(log.error).max() < 1e-8
    assert np.linalg.norm(log.position[-1] - log.position[0]) > 0.02


def test_a_path_begins_when_it_was_told_to():
    """Half a second after its beginning, at 1.5 s, the tool is sent where the path is at 0.5 s."""
    (controller, asked), expected = standing(), Reference()
    controller.step(asked, 0)
    controller.follow(path("TA.1"), 1_000_000_000)
    controller.step(asked, 1_500_000_000)
    path("TA.1").at(0.5, expected)
    for name in ("position", "rotation", "twist", "acceleration"):
        found = getattr(controller.reference, name)
        np.testing.assert_allclose(found, getattr(expected, name), atol=1e-12)


def test_without_a_path_the_tool_is_sent_to_the_couplings_target():
    """Its pose and its twist; the acceleration is that of the loop."""
    controller, asked = standing(kp=100.0, kd=20.0, kpo=0.0, kdo=20.0)
    controller.step(asked, 0)
    arm, way = controller.arm, np.array([0.01, -0.02, 0.03])
    twist = np.array([0.1, 0.2, -0.1, 0.3, 0.0, -0.2])
    asked.target = SimpleNamespace(position=arm.position + way, rotation=arm.rotation, twist=twist)
    found = arm.J @ controller.acceleration(asked, 4_000_000)
    np.testing.assert_allclose(found[:3], 100.0 * way + 20.0 * twist[:3], atol=1e-6)
    np.testing.assert_allclose(found[3:], 20.0 * twist[3:], atol=1e-6)


def test_at_rest_it_carries_the_weight_and_cancels_what_pushes():
    """τ = g − Jᵀ h; the dead zone weakens small readings; no measurement cancels nothing."""
    controller, asked = standing()
    weight = controller.step(asked, 0).value.copy()
    np.testing.assert_allclose(weight, controller.arm.gravity, atol=1e-9)
    asked.wrench = np.array([30.0, -20.0, 10.0, 1.0, 2.0, -3.0])
    pushed = controller.step(asked, 4_000_000).value
    np.testing.assert_allclose(pushed - weight, -asked.wrench @ controller.arm.J, atol=1e-9)
    controller.options.cancel_load = False
    np.testing.assert_allclose(controller.step(asked, 8_000_000).value, weight, atol=1e-9)


def test_the_model_fed_by_inverse_kinematics_gives_the_same_torque():
    """The joints that meet the measured pose are the measured joints."""
    arms = [standing(), standing()]
    arms[1][0].options.model = "ik"
    arms[1][0]._solver = Solver(ROBOT)
    torques = []
    for controller, asked in arms:
        controller.step(asked, 0)
        controller.arm.update(ROBOT.home + 0.02, np.full(6, 0.1))
        torques.append(controller.step(asked, 4_000_000).value.copy())
    np.testing.assert_allclose(torques[1], torques[0], atol=1e-3)


# fmt: skip
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loop.kp", 5.0),
        ("loop.error", "quaternion"),
        ("loop.law", "sliding"),
        ("options.cancel_load", False),
        ("compensation.friction", False),
        ("zone.force", 40.0),
    ],
)
def test_a_change_of_a_setting_fades_in(name: str, value: object):
    """The torque starts from the tick before and reaches the new setting half a second later."""
    controller, asked = standing()
    asked.wrench = np.array([30.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    controller.step(asked, 0)
    controller.arm.update(ROBOT.home + 0.03, np.full(6, 0.02))
    before = controller.step(asked, 4_000_000).value.copy()
    assign(controller.parts, name, value)
    if name.startswith("zone"):
        controller.change()
    after = controller.step(asked, 8_000_000).value.copy()
    np.testing.assert_allclose(after, before, atol=0.05 * 29.0)
    for tick in range(200):
        controller.step(asked, (3 + tick) * 4_000_000)
    assert controller._fading == 0.0


def test_a_trip_stops_the_arm_and_gives_the_path_up():
    """Tripped: held. Reset: it stands where it is, without a jump, and the old path is gone."""
    controller, asked = standing()
    controller.follow(path("TA.1"), 0)
    for tick in range(5):
        controller.step(asked, tick * 4_000_000)
    asked.tripped, asked.gain = True, 0.0
    controller.step(asked, 20_000_000)
    assert controller.holding
    asked.tripped = False
    controller.step(asked, 24_000_000)
    assert not controller.holding and controller._guide is None
    np.testing.assert_allclose(controller.reference.position, controller.arm.position)


def test_a_station_drives_it():
    """On a simulated arm, with guard: it holds its pose to a tenth of a millimetre."""
    placement = Placement((0.2, 0.0, 0.1))
    world = World({"arm": Placed(ROBOT, placement)}, 500_000, 9.804)
    arm = Arm.of(ROBOT, placement, 9.804)
    guard = Guard(torque_trips=True)
    guard.watch(ROBOT.limits)
    controller = ComputedTorque(arm)
    station = Station(
        "arm",
        "leader",
        SimulatedPlant(world, "arm"),
        arm,
        guard,
        period_ns=4_000_000,
        controller=controller,
    )
    for tick in range(50):
        world.advance(tick * 4_000_000)
        station.sense(tick * 4_000_000)
        station.act(tick * 4_000_000)
    assert guard.trip is None
    assert np.abs(world.ports["arm"].q - ROBOT.home).max() < 1e-4


def test_a_heavier_plant_than_the_model_still_arrives_with_integral_action():
    """With friction and filter, a second with the wrong weight ends within two millimetres."""
    from farhand.robots.edits import add_payload

    setup = BenchSetup(ROBOT.edited(add_payload(5.0, (0.0, 0.0, 0.05))), ROBOT, filters=Filters())
    controller = ComputedTorque(
        setup.controllers_model(), PoseLoop(ki=1000.0), setup.controllers_gears()
    )
    log = ArmBench(setup, controller).run(1.5)
    assert log.trip is None
    assert np.linalg.norm(log.error[-1]) < 2e-3 < np.linalg.norm(log.error, axis=1).max()


def test_after_a_stop_nothing_is_left_of_what_was_integrated():
    """Held a centimetre from its target for a second, then stopped: it starts again at rest."""
    controller, asked = standing(ki=1000.0, kio=100.0)
    arm = controller.arm
    asked.target = SimpleNamespace(
        position=arm.position + 0.01, rotation=arm.rotation.copy(), twist=np.zeros(6)
    )
    for tick in range(250):
        controller.step(asked, tick * 4_000_000)
    asked.target, asked.tripped = None, True
    controller.step(asked, 1_000_000_000)
    asked.tripped = False
    controller.step(asked, 1_004_000_000)
    np.testing.assert_allclose(controller.acceleration(asked, 1_008_000_000), 0.0, atol=1e-9)
