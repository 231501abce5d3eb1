"""Simulated plant: perfect when asked, and each imperfection alone does what it says."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.plants import Imperfections, JointTorque, SimulatedPlant
from farhand.robots import load_robot
from farhand.world import ForceHand, ForcePulse, Placed, World

TICK = 1_000_000
UR5E = load_robot("ur5e")
FLOATING = """<mujoco><worldbody><body name="b" pos="0 0 5"><freejoint/><inertial pos="0 0 0" mass="2"
    diaginertia="0.1 0.2 0.3"/><body name="arm"><joint axis="0 1 0"/><inertial pos="0 0 0.2" mass="1"
    diaginertia="0.1 0.1 0.1"/><site name="tool" pos="0 0 0.4"/></body></body></worldbody></mujoco>"""


def plant_with(
    robot=UR5E, step_ns: int = TICK, seed: int = 0, push=(0.0,) * 6, **imperfections
) -> SimulatedPlant:
    """A robot without gravity, with these imperfections."""
    world = World({"arm": Placed(robot)}, step_ns, gravity=0.0)
    if any(push):
        world.touch("arm", "hand", ForceHand(pulses=[ForcePulse(-1e6, 2e6, push)]))
    return SimulatedPlant(world, "arm", Imperfections(**imperfections), np.random.default_rng(seed))


def torque(values) -> JointTorque:
    """A command."""
    command = JointTorque(np.size(values))
    command.value[:] = values
    return command


def swing(plant: SimulatedPlant, ticks: int, every: int = 1, level: float = 20.0):
    """Drive all joints with constant torque; samples of every ``every``-th step, and the true state
    beside them.
    """
    plant.write(torque(np.full(plant.port.nv, level)), 0)
    for tick in range(0, ticks, every):
        sample = plant.read(tick * TICK).copy()
        yield sample, plant.port.q.copy(), plant.port.v.copy()


def test_a_perfect_plant_tells_the_truth():
    """State, time and wrench are those of the world."""
    plant = plant_with(push=(1.0, 2.0, 3.0, 0.1, 0.2, 0.3))
    for tick, (sample, q, v) in enumerate(swing(plant, 50)):
        assert sample.time_ns == tick * TICK
        np.testing.assert_array_equal(sample.q, q)
        np.testing.assert_array_equal(sample.v, v)
        np.testing.assert_allclose(sample.wrench, (1.0, 2.0, 3.0, 0.1, 0.2, 0.3), rtol=1e-9)


def test_an_encoder_knows_positions_in_steps():
    """Every reading is a whole number of steps, within half a step of the truth; velocity is still
    true.
    """
    step = 0.003
    for sample, q, v in swing(plant_with(encoder_step=step), 200):
        np.testing.assert_allclose(sample.q / step, np.round(sample.q / step), atol=1e-9)
        assert np.abs(sample.q - q).max() <= step / 2 + 1e-12
        np.testing.assert_array_equal(sample.v, v)


def test_a_velocity_made_from_positions_follows_the_true_one_with_the_lag_of_its_filter():
    """At constant acceleration the low-pass lags by its time constant, plus half a tick of the
    difference.
    """
    cut_off = 30.0
    rows = list(
        swing(plant_with(load_robot("point3"), velocity_from_position=cut_off), 150, level=0.05)
    )
    sample, _, v = rows[-1]
    acceleration = 0.05 / 0.15
    tau = 1.0 / (2 * np.pi * cut_off)
    np.testing.assert_allclose(v - sample.v, acceleration * tau, rtol=0.15)


def test_a_velocity_made_from_coarse_positions_is_noisy_and_less_so_with_a_lower_cut_off():
    """The price of smoothness is lag."""
    ripple = []
    for cut_off in (200.0, 20.0):
        rows = list(
            swing(plant_with(encoder_step=2e-3, velocity_from_position=cut_off), 400, level=5.0)
        )
        ripple.append(np.std(np.diff([sample.v[0] for sample, *_ in rows])))
    assert ripple[0] > 3 * ripple[1]


def test_a_velocity_made_from_positions_is_right_at_any_reading_rate():
    """A bus read every fifth step still knows how fast the joint moves."""
    rows = list(swing(plant_with(velocity_from_position=200.0), 300, every=5, level=1.0))
    sample, _, v = rows[-1]
    np.testing.assert_allclose(sample.v, v, atol=0.05 * np.abs(v).max())


def test_a_velocity_made_from_positions_works_for_a_floating_base(tmp_path):
    """Differences on a quaternion are rotations, not zeros."""
    path = tmp_path / "floating.xml"
    path.write_text(FLOATING)
    plant = plant_with(
        load_robot(path), velocity_from_position=200.0, push=(4.0, 1.0, 2.0, 0.2, 0.3, 0.1)
    )
    truth = plant_with(load_robot(path), push=(4.0, 1.0, 2.0, 0.2, 0.3, 0.1))
    for tick in range(300):
        sample, true = plant.read(tick * TICK), truth.read(tick * TICK)
    assert np.abs(true.v).min() > 1e-3
    np.testing.assert_allclose(sample.v, true.v, atol=0.05 * np.abs(true.v).max())


def test_an_actuator_with_lag_reaches_63_percent_after_its_time_constant():
    """A first-order lag, whatever the rate of writing."""
    for every in (1, 5):
        plant = plant_with(actuator_lag=0.02)
        for tick in range(0, 21, every):
            plant.write(torque(np.full(6, 10.0)), tick * TICK)
        np.testing.assert_allclose(plant.port.torque, 10.0 * (1 - np.exp(-1.0)), rtol=1e-9)


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
def test_actuators_give_no_more_than_their_share_of_the_limits(share):
    """Each joint on its own, both ways."""
    plant = plant_with(actuator_limit=share)
    plant.write(torque([1e3, -1e3, 2.0, 1e3, -2.0, -1e3]), 0)
    limit = share * UR5E.limits.torque
    np.testing.assert_allclose(
        plant.port.torque, np.clip([1e3, -1e3, 2.0, 1e3, -2.0, -1e3], -limit, limit)
    )


def test_without_an_actuator_limit_any_torque_passes():
    """Zero is off."""
    plant = plant_with(actuator_limit=0.0)
    plant.write(torque(np.full(6, 1e4)), 0)
    np.testing.assert_array_equal(plant.port.torque, 1e4)


def test_a_torque_offset_is_added_to_every_joint():
    """Unknown to whoever commands."""
    plant = plant_with(torque_offset=0.7)
    plant.write(torque([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 0)
    np.testing.assert_allclose(plant.port.torque, [1.7, 2.7, 3.7, 4.7, 5.7, 6.7])


def test_a_joint_that_is_not_actuated_gets_no_torque(tmp_path):
    """Whatever is commanded, and whatever the offset."""
    path = tmp_path / "pen.xml"
    path.write_text(FLOATING)
    plant = plant_with(load_robot(path), torque_offset=0.5)
    plant.write(torque(np.ones(7)), 0)
    np.testing.assert_allclose(plant.port.torque, [0, 0, 0, 0, 0, 0, 1.5])


def test_wrench_noise_has_the_standard_deviation_asked_for_and_no_bias():
    """Force and torque apart, within four standard errors of 4000 samples; the true wrench stays in
    the world.
    """
    push = (5.0, 0.0, -3.0, 0.2, 0.0, 0.1)
    plant = plant_with(push=push, force_noise=0.5, torque_noise=0.02)
    wrenches = np.array([plant.read(tick * TICK).wrench.copy() for tick in range(4000)]) - push
    for part, sigma in ((wrenches[:, :3], 0.5), (wrenches[:, 3:], 0.02)):
        assert np.abs(part.std(axis=0) / sigma - 1.0).max() < 4.0 / np.sqrt(2 * 4000)
        assert np.abs(part.mean(axis=0)).max() < 4.0 * sigma / np.sqrt(4000)
    assert np.abs(np.corrcoef(wrenches[:-1, 0], wrenches[1:, 0])[0, 1]) < 4.0 / np.sqrt(4000)
    np.testing.assert_allclose(plant.port.wrench, push, rtol=1e-9)


def test_noise_depends_on_the_seed_alone():
    """The same seed gives the same readings to the bit, another seed others."""
    readings = [
        [plant.read(tick * TICK).wrench.tobytes() for tick in range(600)]
        for plant in (
            plant_with(seed=s, push=(1.0, 0, 0, 0, 0, 0), force_noise=0.1) for s in (1, 1, 2)
        )
    ]
    assert readings[0] == readings[1]
    assert readings[0] != readings[2]


def test_delayed_samples_are_as_many_reads_old_and_say_so():
    """State and device time both belong to the past."""
    delay = 7
    states = []
    for tick, (sample, q, _) in enumerate(swing(plant_with(sensor_delay=delay), 60)):
        states.append(q)
        assert sample.time_ns == max(0, tick - delay) * TICK
        np.testing.assert_array_equal(sample.q, states[max(0, tick - delay)])


def test_without_a_wrench_sensor_there_is_no_measurement():
    """None, which is not zero."""
    plant = plant_with(push=(5.0, 0, 0, 0, 0, 0), wrench_sensor=False, force_noise=0.1)
    assert plant.read(TICK).wrench is None


def test_reading_twice_at_the_same_time_gives_the_same_sample():
    """Reading is not sampling: no new noise, no further delay."""
    for imperfections in (
        {"force_noise": 1.0},
        {"sensor_delay": 3},
        {"velocity_from_position": 50.0},
    ):
        plant = plant_with(**imperfections)
        for tick in range(10):
            first = plant.read(tick * TICK).copy()
            second = plant.read(tick * TICK)
            np.testing.assert_array_equal(first.q, second.q)
            np.testing.assert_array_equal(first.v, second.v)
            np.testing.assert_array_equal(first.wrench, second.wrench)
            assert first.time_ns == second.time_ns


def test_a_free_floating_robot_is_read_in_pinocchios_convention(tmp_path):
    """Quaternion last in (x, y, z, w), velocity in body axes: what the world says, converted in one
    place.
    """
    path = tmp_path / "floating.xml"
    path.write_text(FLOATING)
    plant = plant_with(load_robot(path), push=(1.0, 2.0, 3.0, 0.4, 0.5, 0.6))
    sample = plant.read(200 * TICK)
    w, x, y, z = plant.port.q[3:7]
    np.testing.assert_allclose(sample.q[3:7], (x, y, z, w), atol=1e-12)
    arm = Arm.of(load_robot(path), gravity=0.0)
    arm.update(sample.q, sample.v)
    np.testing.assert_allclose(arm.twist, plant.port.tool.twist, atol=1e-9)
    np.testing.assert_allclose(arm.position, plant.port.tool.position, atol=1e-9)


@pytest.mark.parametrize(
    "fault", ["nan-position", "nan-velocity", "nan-wrench", "frozen", "no-wrench"]
)
def test_a_fault_asked_for_by_parameter_trips_or_degrades_like_one_that_happens(fault, dual_arm):
    """What a user sets on the command line is the fault the reactions were built for."""
    settings = [("follower.plant.fault", fault), ("follower.plant.fault_start", 0.3)]
    run = dual_arm(law="position-force", scenario="free", settings=settings).on(0.8)
    expected = {"frozen": ["stale"], "no-wrench": []}.get(fault, ["invalid"])
    assert [trip.trip.kind for trip in run.session.trips] == expected
