"""The loop of whole arms is the loop along one axis where the arms are masses on rails."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.analysis.stability import loop as loop_module
from farhand.analysis.stability.cells import position_force
from farhand.analysis.stability.loop import (
    HANDS,
    Contact,
    Loop,
    LoopArm,
    LoopDrive,
    LoopTool,
    WholeLoop,
)
from farhand.analysis.stability.spectrum import (
    CharacteristicCircle,
    largest_stable,
    largest_stable_delay,
    least_damped,
    stable,
    unrolled,
)

X = np.array([1.0, 0.0, 0.0])
HAND = HANDS["soft"]


def rail(mass, damping, dry=0.0):
    """One joint that slides along x."""
    J = np.zeros((6, 1))
    J[0, 0] = 1.0
    return LoopArm(np.array([[mass]]), J, np.array([damping]), np.array([dry]), X)


def table(law):
    """A law along one axis as a table of all directions."""
    whole = np.zeros((2, 2, 6, 3, 6))
    whole[:, :, 0, :, 0] = [law.on_leader, law.on_follower]
    return whole.reshape(2, 2, 6, 18)


def both(stiffness, delay=0, velocity_filter=0.0, dry=0.0):
    law, wall = position_force(2000.0, 60.0, 10.0), Contact(stiffness, 5.0)
    one = Loop(
        law, LoopTool(1.0, 2.0, dry), LoopTool(1.0, 5.0), HAND, wall, 1e-3, delay, velocity_filter
    )
    leader = rail(1.0 + HAND.mass, 2.0, dry)
    hold = np.zeros((6, 6))
    hold[0, 0] = 1.0
    leader = replace(leader, stiffness=HAND.stiffness * hold, damping=HAND.damping * hold)
    whole = WholeLoop((leader, rail(1.0, 5.0)), table(law), wall, 1e-3, delay, velocity_filter)
    return one, whole


@pytest.mark.parametrize("velocity_filter", [0.0, 80.0])
def test_on_rails_both_have_the_same_eigenvalues(velocity_filter):
    """Same physics, two ways to write it down."""
    found = []
    for loop in both(1500.0, 0, velocity_filter):
        A, B, R = loop.matrices()
        found.append(np.sort_complex(np.round(np.linalg.eigvals(A + B @ R), 9)))
    np.testing.assert_allclose(found[1], found[0], atol=1e-7)


def test_on_rails_both_have_the_same_limits():
    """Stiffness, delay and frequency."""
    one = largest_stable(lambda K: both(K, 12)[0], 10.0, 1e5)
    assert largest_stable(lambda K: both(K, 12)[1], 10.0, 1e5) == pytest.approx(one, rel=0.01)
    assert largest_stable_delay(both(1000.0)[1], 100) == largest_stable_delay(both(1000.0)[0], 100)
    assert least_damped(both(1000.0, 20)[1]).frequency == pytest.approx(
        least_damped(both(1000.0, 20)[0]).frequency, rel=1e-3
    )


def test_a_wall_pushes_through_one_channel_only():
    """Six directions forward, one force back: no more has to be kept of what is under way."""
    _, _, R = both(1000.0)[1].matrices()
    assert len(R) == 2


def test_dry_friction_of_the_joints_stills_a_small_bump():
    """As along one axis."""
    one, whole = both(4000.0, 12, dry=0.5)
    assert not stable(whole)
    mode = least_damped(whole)
    small, large = whole.with_friction_damping(mode, 1e-5), whole.with_friction_damping(mode, 1.0)
    assert stable(small) and not stable(large)
    ours = one.with_friction_damping(least_damped(one), 1e-4).leader.damping
    assert whole.with_friction_damping(mode, 1e-4).limbs[0].viscous[0] == pytest.approx(
        ours, rel=0.02
    )


@pytest.mark.parametrize("observers", [(0.0, 0.0), (50.0, 50.0)])
def test_coupled_joints_that_slide_are_coupled_tools(observers, monkeypatch):
    """On rails a joint is the tool, its torque the wrench: the same eigenvalues."""
    monkeypatch.setattr(loop_module, "RETURN_RATE", 0.0)
    tools = replace(both(1500.0)[1], observers=observers)
    law = [[gains[:1, ::6] for gains in of] for of in tools.law]
    joints = replace(
        tools, limbs=tuple(replace(limb, joints=True) for limb in tools.limbs), law=law
    )
    found = []
    for loop in (tools, joints):
        A, B, R = loop.matrices()
        found.append(np.linalg.eigvals(A + B @ R))
    # the tools' five other directions have observers of their own
    for value in found[1]:
        assert np.abs(found[0] - value).min() < 1e-9


def test_fingers_hold_the_last_joint_and_are_felt_as_torque():
    """A gripper on a spring: ω = √(k/m), and the law sees what they push with."""
    arm = replace(rail(2.0, 0.0), joints=True, grip=(800.0, 0.0))
    still = [[np.zeros((1, 3))] * 2] * 2
    whole = WholeLoop((arm, replace(rail(1.0, 1.0), joints=True)), still, Contact(0.0))
    A, _, _ = whole.matrices()
    frequencies = np.abs(np.angle(np.linalg.eigvals(A))) / whole.period
    assert frequencies.max() == pytest.approx(np.sqrt(800.0 / 2.0), rel=1e-3)
    seen = whole._sides[0].C
    np.testing.assert_allclose(seen[2], [-800.0, 0.0])


def test_like_arms_over_a_long_link_are_counted_right():
    """The same roots twice, near the circle: f turns a whole time within a step of the phase."""
    law = np.zeros((2, 2, 6, 18))
    law[1, 0, 0, 0], law[1, 1, 0, 0] = 0.1, -0.1
    swing = np.zeros((6, 6))
    swing[0, 0] = 4e4
    arms = [replace(rail(1.0, 0.1), stiffness=swing) for _ in range(2)]
    whole = WholeLoop((arms[0], rail(1.0, 0.1)), law, Contact(4e4, 0.0), 1e-3, 200)
    A, B, R = whole.matrices()
    assert np.abs(np.linalg.eigvals(unrolled(A, B, R, 200))).max() < 1.0
    assert CharacteristicCircle(whole, 200).stable(200)


def springs(K, D):
    """Two sliding joints that chase each other, all of it in the law."""
    arm = replace(rail(1.0, 1.0), joints=True)
    pull, push = np.array([[K, D, 0.0]]), np.array([[-K, -D, 0.0]])
    return WholeLoop((arm, arm), [[push, pull], [pull, push]], Contact(300.0))


def test_a_motor_as_fast_as_the_ticks_is_the_law_itself():
    """What the law says about its own side may be done in the motor."""
    K, D = 200.0, 4.0
    law = springs(K, D)
    none, chased = np.zeros((1, 3)), law.law[0][1]
    drive = LoopDrive(K * np.eye(1), D * np.eye(1), law.period)
    motors = replace(law, law=[[none, chased], [chased, none]], drives=(drive, drive))
    found = [
        np.sort_complex(np.linalg.eigvals(A + B @ R))
        for A, B, R in (loop.matrices() for loop in (law, motors))
    ]
    np.testing.assert_allclose(found[1], found[0], atol=1e-9)


def test_a_bus_that_is_late_by_whole_ticks_is_a_link():
    """With nothing fed forward, all that crosses the bus is what crosses the link."""
    law = springs(200.0, 4.0)
    none, chased = np.zeros((1, 3)), law.law[0][1]
    K, D = 200.0 * np.eye(1), 4.0 * np.eye(1)
    found = []
    for late, delay in ((3e-3, 0), (0.0, 3)):
        drive = LoopDrive(K, D, 1e-3, late=late)
        loop = replace(law, law=[[none, chased], [chased, none]], drives=(drive, drive))
        A, B, R = loop.matrices()
        sizes = np.sort(np.abs(np.linalg.eigvals(unrolled(A, B, R, delay))))
        found.append(sizes[-4:])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_a_simulated_arm_moves_as_its_world_steps_it():
    """The velocity of a step's end moves it on: x' = x + h v', half a step before the real arm."""
    one = replace(rail(2.0, 0.0), joints=True)
    whole = WholeLoop((one, one), [[np.zeros((1, 3))] * 2] * 2, Contact(0.0), step=1e-3)
    np.testing.assert_allclose(whole._sides[0].B[:, 0], [0.5e-6, 0.5e-3], rtol=1e-4)
    exact = replace(whole, step=0.0)
    np.testing.assert_allclose(exact._sides[0].B[:, 0], [0.25e-6, 0.5e-3], rtol=1e-4)
