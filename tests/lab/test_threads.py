"""Threads in virtual time: exact grids, latest values, honest time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.arm import Arm
from farhand.errors import BadValue, OutOfRange, UnknownName
from farhand.plants import JointTorque
from farhand.plants.simulated.rigid import RigidPlant
from farhand.robots import load_robot
from farhand.world import GroundSpring, Wall
from farhand_lab.dual_arm.threads import CommunicationThread, Outgoing, SimulationThread, Stepper

MS = 1_000_000
HERTZ_119, HERTZ_86, HERTZ_157 = round(1e9 / 119), round(1e9 / 86), round(1e9 / 157)


def point(step_ns: int = MS) -> RigidPlant:
    """A point mass on three slides and a spring: its state and wrench always change."""
    robot = load_robot("point3")
    plant = RigidPlant("point", Arm.of(robot, gravity=0.0), robot.home, step_ns)
    plant.touch(GroundSpring(anchor=np.array([1.0, 0.5, 0.2]), stiffness=50.0, damping=1.0))
    return plant


def push(value: float) -> JointTorque:
    """A torque that can be recognised."""
    command = JointTorque(3)
    command.value[:] = value
    return command


def moments(thread, plant: RigidPlant, end_ns: int, step_ns: int = MS) -> list[int]:
    """When the plant's torque changed, with a new one written at every step."""
    changed, before = [], 0.0
    for k in range(1, end_ns // step_ns):
        thread.read(k * step_ns)
        if plant.torque[0] != before:
            changed.append(k * step_ns)
            before = float(plant.torque[0])
        thread.write(push(float(k)), k * step_ns)
    return changed


@given(rate=st.floats(20.0, 1000.0), data=st.data())
def test_whole_steps_and_the_carried_remainder_make_up_the_time_that_passed(rate, data):
    """Simulated time is at most one step behind real time and never ahead, for uneven loops too."""
    lengths = data.draw(st.lists(st.integers(0, round(3e9 / rate)), min_size=1, max_size=50))
    stepper, steps = Stepper(MS), 0
    for k, length in enumerate(lengths):
        steps += stepper.due(length)
        assert 0 <= sum(lengths[: k + 1]) - steps * MS < MS


@pytest.mark.parametrize("rate", [20.0, 47.0, 157.0, 333.0, 1000.0])
def test_a_minute_of_loops_is_a_minute_of_simulated_time_at_any_rate(rate):
    """Within one step, at every loop: the time base of the simulated arm is the wall's."""
    period_ns, stepper, steps = round(1e9 / rate), Stepper(MS), 0
    for k in range(1, int(60 * rate) + 1):
        steps += stepper.due(period_ns)
        assert 0 <= k * period_ns - steps * MS < MS
    assert steps == pytest.approx(60_000, abs=1 + period_ns / MS)


def test_a_simulation_thread_keeps_the_time_of_its_plant():
    """The plant is stepped as often as the counter says."""
    thread = SimulationThread(point(), HERTZ_157)
    for to_ns in range(0, 2_000 * MS, 37 * MS):
        assert 0 <= thread.read(to_ns).time_ns - thread.simulated_ns < MS


def test_one_step_per_loop_makes_slow_motion():
    """157 loops a second of 1 ms are 0.157 of real time, while the samples claim to be new."""
    thread = SimulationThread(point(), HERTZ_157, "literal")
    sample = thread.read(10_000 * MS)
    assert thread.simulated_ns == thread.loops * MS == pytest.approx(1_570 * MS, abs=MS)
    assert 10_000 * MS - sample.time_ns < HERTZ_157


def test_elapsed_stepping_is_the_plain_plant_when_nobody_writes():
    """Loops change when the state is published, not the physics."""
    free, looped = point(), point()
    thread = SimulationThread(looped, HERTZ_157)
    sample = thread.read(1_000 * MS)
    free.advance(looped.now_ns)
    np.testing.assert_array_equal(sample.q, free.q)
    np.testing.assert_array_equal(sample.wrench, free.wrench)


def test_a_simulation_publishes_only_at_its_loops():
    """Between loops a reader sees the last one's state, however long ago."""
    thread = SimulationThread(point(), 50 * MS)
    before = thread.read(99 * MS).copy()
    np.testing.assert_array_equal(thread.read(99 * MS).values, before.values)
    assert before.time_ns == 50 * MS
    assert thread.read(100 * MS).time_ns == 100 * MS
    assert (thread.read(100 * MS).q != before.q).any()


def test_states_and_wrenches_are_those_of_their_own_grids():
    """Motion is of the last message, the wrench of the last sample, both with device times."""
    plant, truth = point(), {}
    for k in range(200):
        sample = plant.read(k * MS)
        truth[k * MS] = (sample.q.copy(), sample.wrench.copy())
    thread = CommunicationThread(point(), HERTZ_119, HERTZ_86)
    for now_ns in range(0, 200 * MS, 1_700_000):
        sample = thread.read(now_ns)
        message_ns = now_ns // HERTZ_119 * HERTZ_119 // MS * MS
        wrench_ns = now_ns // HERTZ_86 * HERTZ_86 // MS * MS
        assert (sample.time_ns, thread.wrench_time_ns) == (message_ns, wrench_ns)
        np.testing.assert_array_equal(sample.q, truth[message_ns][0])
        np.testing.assert_array_equal(sample.wrench, truth[wrench_ns][1])


@pytest.mark.parametrize("period_ms", [2, 8])
def test_torques_reach_the_arm_with_messages_only(period_ms):
    """An interface of 125 or 500 Hz changes the torque 125 or 500 times a second, on its grid."""
    plant = point()
    changed = moments(CommunicationThread(plant, period_ms * MS), plant, 400 * MS)
    assert changed == list(range(period_ms * MS, 400 * MS, period_ms * MS))


@pytest.mark.parametrize("latency_ms", [0, 1, 5, 21])
def test_a_torque_acts_from_the_first_message_after_the_latency(latency_ms):
    """It waits for the next message; out at the very instant of one, it waits for the next."""
    plant = point()
    thread = CommunicationThread(plant, 8 * MS, write_latency_ns=latency_ms * MS)
    thread.read(3 * MS)
    thread.write(push(1.0), 3 * MS)
    acts_ns = ((3 + latency_ms) // 8 + 1) * 8 * MS
    thread.read(acts_ns - MS)
    assert plant.torque[0] == 0.0
    thread.read(acts_ns)
    assert plant.torque[0] == 1.0


def test_a_skipped_reading_changes_nothing():
    """A reader that looks rarely finds the same arm as one that looks often."""
    often, rarely = point(), point()
    threads = CommunicationThread(often, HERTZ_119), CommunicationThread(rarely, HERTZ_119)
    for thread in threads:
        thread.write(push(2.0), 0)
    for now_ns in range(0, 300 * MS, MS):
        threads[0].read(now_ns)
    threads[1].read(299 * MS)
    np.testing.assert_array_equal(often.q, rarely.q)


def test_the_newest_command_wins_and_each_is_taken_once():
    """Two commands out before a look: the later one counts, the earlier never acts."""
    outgoing = Outgoing()
    outgoing.put(1, np.array([1.0]))
    outgoing.put(2, np.array([2.0]))
    outgoing.put(9, np.array([3.0]))
    assert outgoing.take(1) is None
    assert outgoing.take(5) == 2.0
    assert outgoing.take(5) is None
    assert outgoing.take(10) == 3.0


def test_a_simulation_takes_a_torque_at_its_next_loop():
    """A torque out between two loops acts over the whole next one."""
    plant = point()
    thread = SimulationThread(plant, 10 * MS, write_latency_ns=4 * MS)
    thread.write(push(5.0), 3 * MS)
    thread.read(9 * MS)
    assert plant.torque[0] == 0.0
    thread.read(10 * MS)
    assert plant.torque[0] == 5.0


def test_lost_messages_leave_the_last_ones_in_force():
    """States grow older and torques stay; as many of both are lost as set."""
    plant = point()
    thread = CommunicationThread(plant, 2 * MS, drop=0.3, rng=np.random.default_rng(1))
    changed = moments(thread, plant, 4_000 * MS)
    assert thread.messages == 2_000
    assert np.array(thread.dropped) / thread.messages == pytest.approx([0.3, 0.3], abs=0.04)
    assert len(changed) == pytest.approx(thread.messages - thread.dropped[1], abs=1)
    assert all(when % (2 * MS) == 0 for when in changed)


def test_losses_follow_from_the_generator():
    """The same generator loses the same messages, another one others."""
    logs = []
    for seed in (1, 1, 2):
        thread = CommunicationThread(point(), 2 * MS, drop=0.3, rng=np.random.default_rng(seed))
        logs.append([thread.read(k * MS).time_ns for k in range(400)])
    assert logs[0] == logs[1] != logs[2]


def test_no_wrench_stays_no_wrench():
    """What the plant does not measure is not zero behind a link either."""

    class Blind(RigidPlant):
        def read(self, now_ns):
            sample = super().read(now_ns)
            sample.set_wrench(None)
            return sample

    robot = load_robot("point3")
    thread = CommunicationThread(Blind("point", Arm.of(robot, gravity=0.0), robot.home), 2 * MS)
    assert thread.read(10 * MS).wrench is None


def test_the_contact_wrench_is_published_with_the_state_it_belongs_to():
    """Wall force and penetration of one loop agree: f = k δ."""
    robot = load_robot("point3")
    plant = RigidPlant("point", Arm.of(robot, gravity=0.0), robot.home)
    wall = Wall(point=plant.arm.position + np.array([0.01, 0.0, 0.0]))
    plant.touch(wall)
    thread = SimulationThread(plant, HERTZ_157)
    thread.write(push(20.0), 0)
    for now_ns in range(0, 500 * MS, 7 * MS):
        sample = thread.read(now_ns)
        depth = max(0.0, float(sample.q[0] - robot.home[0]) - 0.01)
        assert sample.wrench[0] == pytest.approx(-wall.stiffness * depth, abs=1e-9)


def test_wrong_numbers_are_refused_by_name():
    """Each message says what was wrong and what would be right."""
    with pytest.raises(UnknownName, match="elapsed, literal"):
        SimulationThread(point(), MS, "sometimes")
    with pytest.raises(OutOfRange, match="drop"):
        CommunicationThread(point(), MS, drop=1.5)
    with pytest.raises(BadValue, match="period of communication"):
        CommunicationThread(point(), 0)
    with pytest.raises(BadValue, match="force sensor"):
        CommunicationThread(point(), MS, 0)
    with pytest.raises(BadValue, match="simulation"):
        SimulationThread(point(), -1)
