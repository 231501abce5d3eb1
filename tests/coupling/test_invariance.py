"""What no law may depend on: where the world's origin is, how its axes are turned, and what power
the mapping makes.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.arm import Arm
from farhand.coupling import LAWS, Side, laws_with
from farhand.mapping import WorkspaceMapping
from farhand.robots import Placement, load_robot
from farhand.spatial import quaternion_from_rotation, rotation_from_vector

DT = 1e-3
POSTURE = np.array([1.3, -1.4, -1.5, -1.2, 1.4, 0.3])
BASES = {"leader": np.zeros(3), "follower": np.array([0.0, 0.75, 0.0])}
"""Where the two bases stand, [m]."""

angles = st.floats(-3.0, 3.0)
vectors = st.tuples(angles, angles, angles).map(np.array)


def sides(rng: np.random.Generator, turn: np.ndarray, shift: np.ndarray) -> tuple[Side, Side]:
    """Two arms that move and are touched, in a world turned and shifted as a whole; gravity stays
    as it is.
    """
    robot, made = load_robot("ur5e"), []
    for role, base in BASES.items():
        place = Placement(tuple(turn @ base + shift), tuple(quaternion_from_rotation(turn)))
        arm = Arm.of(robot, place)
        arm.update(POSTURE + rng.uniform(-0.4, 0.4, 6), rng.uniform(-1, 1, 6))
        side = Side(role, arm)
        side.wrench = np.kron(np.eye(2), turn) @ rng.uniform(-20, 20, 6)
        made.append(side)
    return made[0], made[1]


def efforts(law_type, seed: int, turn: np.ndarray, shift: np.ndarray) -> list[np.ndarray]:
    """Efforts a little after engagement, in such a world."""
    a, b = sides(np.random.default_rng(seed), turn, shift)
    law = law_type()
    law.engage(a, b)
    for side, step in ((a, 0.02), (b, -0.01)):
        side.arm.update(side.arm.q + step, side.arm.v.copy())
    return [effort.wrench.copy() for effort in law.step(a, b, DT)]


@pytest.mark.parametrize("law_type", LAWS.values(), ids=lambda law: law.name)
@settings(deadline=None, max_examples=6)
@given(seed=st.integers(0, 1000), turn=vectors, shift=vectors)
def test_efforts_turn_with_the_world_and_do_not_see_where_it_begins(law_type, seed, turn, shift):
    """Both bases turned and shifted together: the same efforts, in the turned axes."""
    rotation = rotation_from_vector(turn)
    here = efforts(law_type, seed, np.eye(3), np.zeros(3))
    there = efforts(law_type, seed, rotation, shift)
    for before, after in zip(here, there, strict=True):
        np.testing.assert_allclose(
            after, np.kron(np.eye(2), rotation) @ before, rtol=1e-7, atol=1e-6
        )


@pytest.mark.parametrize("law_type", laws_with("reciprocal"), ids=lambda law: law.name)
@settings(deadline=None, max_examples=10)
@given(
    seed=st.integers(0, 1000), axes=vectors, scale=st.floats(0.1, 5.0), force=st.floats(0.1, 3.0)
)
def test_power_is_balanced_at_the_two_ports(law_type, seed, axes, scale, force):
    """The hand's port takes force scale × what the follower's wrench does on the mapped leader:
    nothing is made.

    Power at both ports is −s_f w·(ẋ_t − ẋ_b) + (1 − s_f) w·ẋ_b: with s_f = 1 only the law's own
    spring and damper.
    """
    a, b = sides(np.random.default_rng(seed), np.eye(3), np.zeros(3))
    law = law_type(mapping=WorkspaceMapping(motion_scale=scale, force_scale=force, axes=axes))
    law.engage(a, b)
    a.arm.update(a.arm.q + 0.02, a.arm.v.copy())
    on_a, on_b = (effort.wrench.copy() for effort in law.step(a, b, DT))
    at_ports = on_a @ a.twist + on_b @ b.twist
    inside = -force * on_b @ law.rate + (1.0 - force) * on_b @ b.twist
    assert at_ports == pytest.approx(inside, rel=1e-9, abs=1e-9)
