"""Velocity plant: drives that do as they are told, late, stand still otherwise, and switch off when
misused.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.plants import Imperfections, JointVelocity
from farhand.plants.simulated.velocity import Drives, VelocityPlant
from farhand.robots import load_robot
from farhand.world import ForceHand, ForcePulse, Placed, Wall, World

LWA4P = load_robot("lwa4p")
SPEED = LWA4P.limits.velocity[0]
MS = 1_000_000


def plant_of(**drives) -> VelocityPlant:
    """A Powerball alone in the world, with these settings of its drives."""
    world = World({"arm": Placed(LWA4P)})
    return VelocityPlant(world, "arm", Drives(**drives))


def tell(plant: VelocityPlant, share, seconds: float) -> None:
    """Ask for a share of the largest speed for a while."""
    command = JointVelocity(6)
    command.value[:] = np.asarray(share) * SPEED
    for _ in range(round(seconds * 1000)):
        plant.write(command, plant.world.now_ns)
        plant.advance(plant.world.now_ns + MS)


def test_an_arm_that_is_told_nothing_stands_still_under_its_weight():
    """The servo knows the arm's weight: 1 s without a command moves nothing."""
    plant = plant_of()
    plant.advance(1000 * MS)
    assert np.abs(plant.port.q - LWA4P.home).max() < 1e-9


def test_the_arm_moves_by_velocity_times_time_once_the_delay_is_over():
    """q̇ = v_max u(t − θ_d): after 1 s of 0.2 on joint 1, 0.2 · v_max · (1 − θ_d) less half the
    ramp's time.
    """
    plant = plant_of(delay=0.05, step_limit=np.full(6, 0.2))
    tell(plant, [0.2, 0, 0, 0, 0, 0], 1.0)
    ramp = 1.0 / 120.0
    assert plant.port.v[0] == pytest.approx(0.2 * SPEED, rel=1e-3)
    expected = 0.2 * SPEED * (1.0 - 0.05 - 0.5 * ramp)
    assert plant.port.q[0] - LWA4P.home[0] == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.2])
def test_nothing_moves_before_the_delay_is_over(delay):
    """A command that was just taken is felt the delay later, not earlier."""
    plant = plant_of(delay=delay)
    command = JointVelocity(6)
    command.value[0] = 0.1 * SPEED
    plant.write(command, 0)
    while abs(plant.port.v[0]) < 1e-3 and plant.world.now_ns < 500 * MS:
        plant.advance(plant.world.now_ns + MS)
    assert plant.world.now_ns * 1e-9 == pytest.approx(delay, abs=0.004)


def test_the_arm_is_stiff_against_a_push():
    """40 N at the tool for half a second give less than 2 mm, and the arm comes back."""
    plant = plant_of()
    plant.world.touch(
        "arm", "hand", ForceHand(pulses=[ForcePulse(0.1, 0.5, (0.0, 0.0, -40.0, 0.0, 0.0, 0.0))])
    )
    start = plant.port.tool.position.copy()
    plant.advance(350 * MS)
    away = np.linalg.norm(plant.port.tool.position - start)
    plant.advance(2000 * MS)
    assert 1e-5 < away < 0.01
    assert np.linalg.norm(plant.port.tool.position - start) < 1e-5


def test_a_command_beyond_the_velocity_limit_switches_the_arm_off_for_good():
    """Brakes close, the reason names joint, value and limit, and later commands do nothing until a
    restart.
    """
    plant = plant_of(velocity_limit=np.full(6, 0.5))
    tell(plant, [0.0, 0.6, 0, 0, 0, 0], 0.1)
    assert plant.fault is not None
    assert all(word in plant.fault for word in ("joint 2", "0.600", "limit 0.5"))
    assert plant.port.braking
    q = plant.port.q.copy()
    tell(plant, [0.1, 0, 0, 0, 0, 0], 1.0)
    np.testing.assert_allclose(plant.port.q, q, atol=1e-3)
    plant.restart()
    tell(plant, [0.1, 0, 0, 0, 0, 0], 1.0)
    assert plant.fault is None
    assert plant.port.q[0] - q[0] == pytest.approx(0.1 * SPEED * 0.95, rel=0.05)


def test_a_command_too_far_from_the_one_before_switches_the_arm_off():
    """0.04 at a time is taken, 0.05 is not; what was under way when it happened is forgotten."""
    plant = plant_of(step_limit=np.full(6, 0.04))
    tell(plant, [0.04, 0, 0, 0, 0, 0], 0.02)
    assert plant.fault is None
    tell(plant, [0.09, 0, 0, 0, 0, 0], 0.02)
    assert plant.fault is not None and "change of velocity" in plant.fault


def test_a_velocity_that_is_not_a_number_switches_the_arm_off():
    """NaN is beyond any limit."""
    plant = plant_of()
    tell(plant, [np.nan, 0, 0, 0, 0, 0], 0.02)
    assert plant.fault is not None
    assert np.isfinite(plant.port.torque).all()


def test_without_the_latch_the_drives_take_what_comes_within_their_acceleration():
    """The same command as before only ramps."""
    plant = plant_of(step_limit=np.full(6, 0.04), latch=False)
    tell(plant, [0.2, 0, 0, 0, 0, 0], 0.5)
    assert plant.fault is None
    assert plant.port.v[0] == pytest.approx(0.2 * SPEED, rel=1e-3)


def test_a_joint_that_is_held_up_does_not_wind_its_servo_up():
    """Driven into a wall for 2 s and back for 0.5 s, the arm leaves it at once."""
    plant = plant_of()
    x = plant.port.tool.position[0]
    plant.world.touch("arm", "wall", Wall(point=np.array([x + 0.01, 0.0, 0.0]), stiffness=2e5))
    tell(plant, [0.0, 0.15, 0, 0, 0, 0], 2.0)
    assert plant.port.wrench[0] < -20.0
    tell(plant, [0.0, -0.15, 0, 0, 0, 0], 0.5)
    assert plant.port.wrench[0] == 0.0


def test_the_servo_runs_in_every_step_of_the_world_however_rarely_it_is_read():
    """Read once a second or every millisecond: the same motion, to the bit."""
    tracks = []
    for stride in (1, 50, 1000):
        plant = plant_of()
        command = JointVelocity(6)
        command.value[0] = 0.1 * SPEED
        plant.write(command, 0)
        for now in range(0, 1001, stride):
            sample = plant.read(now * MS)
        tracks.append(sample.q.copy())
    assert (tracks[0] == tracks[1]).all() and (tracks[0] == tracks[2]).all()


def test_imperfect_actuators_are_felt_by_the_servo_too():
    """A weak arm saturates and sags instead of holding."""
    world = World({"arm": Placed(LWA4P)})
    plant = VelocityPlant(world, "arm", None, Imperfections(actuator_limit=0.1))
    plant.advance(500 * MS)
    assert np.abs(plant.port.q - LWA4P.home).max() > 0.01


def test_a_restart_forgets_the_speed_at_which_the_arm_was_switched_off():
    """To stand still afterwards is no change of velocity."""
    plant = plant_of(step_limit=np.full(6, 0.04))
    for share in (0.04, 0.08, 0.12, 0.5):
        tell(plant, [share, 0, 0, 0, 0, 0], 0.02)
    assert plant.fault is not None and "change of velocity" in plant.fault
    plant.restart()
    tell(plant, np.zeros(6), 0.1)
    assert plant.fault is None
