"""Rigid plant: each integrator has its order, and the physics is the arm's."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from farhand.arm import Arm
from farhand.errors import UnknownName
from farhand.plants import JointTorque
from farhand.plants.simulated.rigid import INTEGRATORS, RigidPlant
from farhand.robots import load_robot
from farhand.robots.edits import set_damping
from farhand.world import GroundSpring, Wall

Q = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.2])
V = np.array([0.5, -0.8, 1.0, 0.3, -0.6, 0.9])
END_NS = 192_000_000


def swing(
    integrator: str, step_ns: int, end_ns: int = END_NS, damping: float = 0.0, spring: bool = False
) -> RigidPlant:
    """A moving arm let go."""
    robot = load_robot("ur5e").edited(set_damping(damping))
    plant = RigidPlant("arm", Arm.of(robot), Q, step_ns, integrator)
    plant.v = V.copy()
    if spring:
        plant.touch(GroundSpring(anchor=np.array([0.3, 0.2, 0.4]), stiffness=200.0, damping=5.0))
    plant.advance(end_ns)
    return plant


def energy(plant: RigidPlant) -> float:
    """Kinetic and potential energy [J]."""
    arm = plant.arm
    arm.update(plant.q, plant.v)
    return arm.kinetic_energy() + pin.computePotentialEnergy(
        arm.model, arm.model.createData(), plant.q
    )


@pytest.mark.parametrize(
    ("integrator", "order", "steps_ns"),
    [
        ("zoh", 1, (1_000_000, 500_000)),
        ("semi-implicit", 1, (1_000_000, 500_000)),
        ("rk4", 4, (8_000_000, 4_000_000)),
    ],
)
@pytest.mark.parametrize("spring", [False, True])
def test_each_integrator_converges_with_its_order(integrator, order, steps_ns, spring):
    """Half the step, half the error for the first order and a sixteenth for the fourth, touches
    included.
    """
    truth = swing("rk4", 500_000, spring=spring)
    errors = []
    for step_ns in steps_ns:
        plant = swing(integrator, step_ns, spring=spring)
        errors.append(np.linalg.norm(np.concatenate([plant.q - truth.q, plant.v - truth.v])))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.35)


def test_a_free_swing_keeps_its_energy():
    """Fourth order to a millionth, first order to a percent."""
    start = energy(at_start())
    for integrator, tolerance in (("rk4", 1e-6), ("semi-implicit", 0.5), ("zoh", 0.5)):
        assert energy(swing(integrator, 1_000_000)) == pytest.approx(start, abs=tolerance)


def at_start() -> RigidPlant:
    """The plant before it swings."""
    return swing("rk4", 1_000_000, end_ns=0)


def test_viscous_friction_only_takes_energy():
    """And the plant has it, unlike the bare dynamics of Pinocchio."""
    energies = [
        energy(swing("rk4", 1_000_000, end_ns, damping=3.0))
        for end_ns in (0, 50_000_000, 100_000_000)
    ]
    assert energies[0] > energies[1] > energies[2]


def test_gravity_torque_holds_the_arm():
    """To the last digit but rounding, with every integrator."""
    for integrator in INTEGRATORS:
        plant = RigidPlant("arm", Arm.of(load_robot("ur5e")), Q, 1_000_000, integrator)
        arm, command = Arm.of(load_robot("ur5e")), JointTorque(6)
        arm.update(Q, np.zeros(6))
        command.value[:] = arm.gravity
        plant.write(command, 0)
        plant.advance(200_000_000)
        assert np.abs(plant.q - Q).max() < 1e-9


def test_a_sample_belongs_to_one_moment():
    """State, wrench and time of the last whole step."""
    plant = RigidPlant("arm", Arm.of(load_robot("ur5e")), Q, 2_000_000, "rk4")
    wall = Wall(
        point=plant.arm.position.copy() + [0.0, 0.0, 0.05], normal=np.array([0.0, 0.0, 1.0])
    )
    plant.touch(wall)
    sample = plant.read(5_000_000)
    assert sample.time_ns == 4_000_000
    plant.arm.update(sample.q, sample.v)
    depth = wall.point[2] - plant.arm.position[2]
    np.testing.assert_allclose(sample.wrench, [0, 0, 6000.0 * depth, 0, 0, 0], rtol=1e-9)


def test_a_floating_body_falls_as_galileo_says(tmp_path):
    """Height is ½ g t², and its spin stays."""
    path = tmp_path / "body.xml"
    path.write_text(
        '<mujoco><worldbody><body name="b" pos="0 0 5"><freejoint/><inertial pos="0 0 0" mass="2"'
        ' diaginertia="0.1 0.1 0.1"/><site name="tool"/></body></worldbody></mujoco>'
    )
    arm = Arm.of(load_robot(path))
    plant = RigidPlant("body", arm, arm.q, 1_000_000, "rk4")
    height = arm.position[2]
    plant.v[3:] = [1.0, 2.0, 3.0]
    plant.advance(400_000_000)
    assert arm.position[2] - height == pytest.approx(-0.5 * 9.81 * 0.4**2, abs=1e-6)
    assert np.linalg.norm(plant.v[3:]) == pytest.approx(np.sqrt(14.0), abs=1e-9)


def test_an_unknown_integrator_is_answered_with_those_there_are():
    """By name."""
    with pytest.raises(UnknownName, match="rk4, semi-implicit, zoh"):
        RigidPlant("arm", Arm.of(load_robot("ur5e")), Q, integrator="euler")
