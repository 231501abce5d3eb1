"""Still: a moving arm comes to rest along a bounded ramp, without a jump, and stays."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.control.joint.loops import Still
from farhand.plants import JointTorque
from farhand.plants.simulated.rigid import RigidPlant
from farhand.robots import load_robot
from farhand.robots.edits import set_damping
from farhand.world import ForceHand, ForcePulse

Q = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.2])
DT_NS = 1_000_000


def plant_and_model() -> tuple[RigidPlant, Arm]:
    """A UR5e integrated finely, and the controller's own model of it."""
    return RigidPlant("arm", Arm.of(load_robot("ur5e")), Q, DT_NS, "rk4"), Arm.of(
        load_robot("ur5e")
    )


def hold(
    plant: RigidPlant, arm: Arm, still: Still, seconds: float, begin: bool = True
) -> dict[str, np.ndarray]:
    """Stop and hold; every tick's velocity, torque without gravity and configuration."""
    command, log = JointTorque(6), {"v": [], "torque": [], "q": []}
    start_ns = plant.now_ns
    for tick in range(round(seconds * 1e9 / DT_NS)):
        sample = plant.read(start_ns + tick * DT_NS)
        arm.update(sample.q, sample.v)
        if begin and tick == 0:
            still.begin(arm)
        torque = still.step(arm, DT_NS * 1e-9)
        command.value[:] = torque + arm.gravity
        plant.write(command, plant.now_ns)
        for name, value in (("v", sample.v), ("torque", torque), ("q", sample.q)):
            log[name].append(value.copy())
    return {name: np.array(values) for name, values in log.items()}


def test_a_moving_arm_slows_down_no_faster_than_asked_and_stops():
    """Every joint's deceleration stays at its bound; the arm rests after the slowest ramp."""
    plant, arm = plant_and_model()
    plant.v = np.array([1.5, -1.0, 0.8, -2.0, 1.0, 0.5])
    log = hold(plant, arm, Still(), 1.5)
    deceleration = np.abs(np.diff(log["v"], axis=0)).max(axis=0) / (DT_NS * 1e-9)
    assert (deceleration < 1.15 * Still().deceleration).all()
    assert np.abs(log["v"][-1]).max() < 1e-4
    # halfway down the ramp
    np.testing.assert_allclose(log["v"][int(1000 * 2.0 / 8.0 / 2)][3], -1.0, atol=0.05)


def test_the_reference_stops_after_half_the_square_of_the_speed_over_the_deceleration():
    """1.6 rad/s at 8 rad/s²: 0.16 rad in 200 ticks, to rounding."""
    _, arm = plant_and_model()
    arm.update(Q, np.array([1.6, -0.8, 0.0, 0.0, 0.0, 0.0]))
    still = Still()
    still.begin(arm)
    for _ in range(201):
        still.step(arm, 1e-3)
    np.testing.assert_allclose(still.q - Q, [0.16, -0.04, 0.0, 0.0, 0.0, 0.0], atol=1e-12)


def test_friction_that_the_model_knows_does_not_change_the_ramp():
    """On the reference the joints slow down at the bound, whatever they rub."""
    arm = Arm.of(load_robot("ur5e").edited(set_damping([20.0, 20.0, 20.0, 5.0, 5.0, 5.0])))
    arm.update(Q, np.array([1.5, -1.0, 0.8, -2.0, 1.0, 0.5]))
    still = Still()
    still.begin(arm)
    torque = still.step(arm, 1e-6)
    found = np.linalg.solve(arm.M, torque - arm.coriolis - arm.viscous * arm.v)
    np.testing.assert_allclose(found, -8.0 * np.sign(arm.v), rtol=1e-3)


def test_an_arm_at_rest_gets_no_torque_beside_gravity():
    """Beginning to hold is not felt."""
    plant, arm = plant_and_model()
    log = hold(plant, arm, Still(), 0.5)
    assert np.abs(log["torque"]).max() < 1e-9
    assert np.abs(log["q"] - Q).max() < 1e-9


def test_the_first_torque_of_a_moving_arm_is_that_of_the_bounded_deceleration():
    """No more than M a + c, up to what one tick of reference motion adds."""
    plant, arm = plant_and_model()
    plant.v = v = np.array([1.0, -0.5, 0.4, -1.0, 0.5, 0.2])
    first = hold(plant, arm, Still(), 0.001)["torque"][0]
    arm.update(Q, v)
    brake = -8.0 * np.sign(arm.v)
    np.testing.assert_allclose(
        first, arm.M @ brake + arm.coriolis, atol=0.15 * np.abs(arm.M @ brake).max()
    )


def test_under_a_steady_push_the_arm_gives_way_as_its_stiffness_says_and_comes_back():
    """Computed torque is a spring M ω²: 20 N at the tool move the joints by M⁻¹ Jᵀ f / ω²."""
    plant, arm = plant_and_model()
    still = Still()
    hold(plant, arm, still, 0.05)
    wrench = np.array([0.0, 0.0, -20.0, 0.0, 0.0, 0.0])

    class Push:
        stored = 0.0
        size = 1.0

        def push(self, tool, t, out):
            out[:] = self.size * wrench

    push = Push()
    plant.touch(push)
    pushed = hold(plant, arm, still, 1.5, begin=False)
    arm.update(Q, np.zeros(6))
    sag = np.linalg.solve(arm.M, arm.J.T @ wrench) / still.bandwidth**2
    np.testing.assert_allclose(pushed["q"][-1] - Q, sag, atol=0.05 * np.abs(sag).max())
    assert 1e-4 < np.abs(sag).max() < 0.05
    push.size = 0.0
    assert np.abs(hold(plant, arm, still, 1.5, begin=False)["q"][-1] - Q).max() < 1e-6


def test_a_stiffer_hold_gives_way_less():
    """Twice the bandwidth, a quarter of the sag."""
    sags = []
    for bandwidth in (15.0, 30.0):
        plant, arm = plant_and_model()
        plant.touch(ForceHand(pulses=[ForcePulse(-1e5, 2e5, (0.0, 0.0, -10.0, 0.0, 0.0, 0.0))]))
        log = hold(plant, arm, Still(bandwidth=bandwidth), 1.2)
        sags.append(np.linalg.norm(log["q"][-1] - Q))
    assert sags[0] / sags[1] == pytest.approx(4.0, rel=0.05)


def test_a_faster_arm_takes_longer_to_stop():
    """Stopping time is speed over deceleration."""
    for speed, seconds in ((1.0, 0.125), (2.0, 0.25)):
        plant, arm = plant_and_model()
        plant.v = np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0])
        still = Still()
        hold(plant, arm, still, seconds - 0.02)
        assert still.v[0] > 0.1
        hold(plant, arm, still, 0.03, begin=False)
        np.testing.assert_allclose(still.v, 0.0, atol=1e-12)
