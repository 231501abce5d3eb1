"""OpenArm's laws: the makers' gains, both readings of the friction, and what rest means."""

from __future__ import annotations

import tomllib
from importlib import resources

import numpy as np
import pytest

from farhand.coupling import OpenArm, OpenArmFourChannel, PositionPosition, Side, Spring
from farhand.errors import Mismatch
from farhand.mapping.joint_map import JointMapping

N = 8
NAMES = tuple(f"joint{number}" for number in range(1, N + 1))


def mapping() -> JointMapping:
    return JointMapping.alike(NAMES, NAMES, slides=[False] * 7 + [True])


def sides(rng: np.random.Generator, torque: bool = False) -> tuple[Side, Side]:
    a, b = Side("leader", joints=N), Side("follower", joints=N)
    for side in (a, b):
        side.q[:], side.v[:] = 0.1 * rng.standard_normal(N), rng.standard_normal(N)
        side.torque = rng.standard_normal(N) if torque else None
    return a, b


def test_without_friction_it_is_position_position() -> None:
    """The same spring, felt on both sides."""
    a, b = sides(np.random.default_rng(0))
    spring = Spring(500.0, 20.0, 30.0, 2.0)
    plain = PositionPosition(mapping=mapping(), spring=spring)
    law = OpenArm(mapping=mapping(), spring=Spring(500.0, 20.0, 30.0, 2.0))
    expected = [effort.wrench.copy() for effort in plain.step(a, b, 1e-3)]
    for effort, wrench in zip(law.step(a, b, 1e-3), expected, strict=True):
        np.testing.assert_allclose(effort.wrench, wrench, atol=1e-12)


@pytest.mark.parametrize(("reading", "factor"), [("code", 0.1), ("file", 1.0)])
def test_on_the_makers_gains_each_arm_gets_spring_and_its_own_friction(
    reading: str, factor: float
) -> None:
    """Joint 2 by hand: 240 N·m/rad, 3 N·m·s/rad and F_c tanh(c k v) + F_v v + F_o."""
    law = OpenArm(mapping=mapping(), published=True, reading=reading)
    a, b = sides(np.random.default_rng(1))
    law.mapping.capture(np.zeros(N), np.zeros(N))
    on_a, on_b = law.step(a, b, 1e-3)
    spring = 240.0 * (a.q[1] - b.q[1]) + 3.0 * (a.v[1] - b.v[1])
    friction = [
        0.306 * np.tanh(factor * 28.417 * side.v[1]) + 0.063 * side.v[1] + 0.088 for side in (a, b)
    ]
    assert on_b.wrench[1] == pytest.approx(spring + friction[1])
    assert on_a.wrench[1] == pytest.approx(-spring + friction[0])
    assert on_a.local[1] == pytest.approx(friction[0])


def test_around_rest_the_friction_is_a_negative_damping_ten_times_stronger_in_the_file() -> None:
    """F_c k c + F_v: 0.93 and 8.8 N·m·s/rad at joint 2, 3.0 and 22.4 at joint 4."""
    slopes = {}
    for reading in ("code", "file"):
        law = OpenArm(mapping=mapping(), published=True, reading=reading)
        v = np.full(N, 1e-5)
        slopes[reading] = (law.friction(v) - law.friction(-v)) / 2e-5
    assert slopes["code"][[1, 3]] == pytest.approx([0.933, 2.972], rel=1e-3)
    assert slopes["file"][[1, 3]] == pytest.approx([8.759, 22.40], rel=1e-3)


def test_the_share_scales_the_friction_live() -> None:
    law = OpenArm(mapping=mapping(), published=True)
    whole = law.friction(np.ones(N))
    law.friction_share = 0.3
    law.refresh()
    np.testing.assert_allclose(law.friction(np.ones(N)), 0.3 * whole)


def test_the_gripper_has_the_gains_of_its_motor_over_its_ratio() -> None:
    """Power stays: torques once, gains twice."""
    text = (resources.files("farhand.coupling") / "openarm.toml").read_text()
    gains, ratio = tomllib.loads(text)["openarm"], 0.042017
    assert gains["stiffness"][7] == pytest.approx(16.0 / ratio**2, rel=1e-3)
    assert gains["damping"][7] == pytest.approx(0.2 / ratio**2, rel=1e-3)
    assert gains["coulomb"][7] == pytest.approx(0.0512 / ratio, rel=1e-3)
    assert gains["steepness"][7] == pytest.approx(4.0 / ratio, rel=1e-3)
    assert gains["viscous"][7] == pytest.approx(0.084 / ratio**2, rel=1e-3)
    assert gains["offset"][7] == pytest.approx(0.050 / ratio, rel=1e-3)


@pytest.mark.parametrize("law", [OpenArm, OpenArmFourChannel])
def test_the_makers_gains_are_for_their_joints_alone(law: type) -> None:
    with pytest.raises(Mismatch, match="are for 8 joints, not for 6"):
        law(published=True)


@pytest.mark.parametrize("published", [False, True])
def test_four_channels_are_at_rest_where_hand_and_environment_push_against_each_other(
    published: bool,
) -> None:
    """Equal postures, opposite efforts: each arm is asked for what holds against its touch."""
    law = OpenArmFourChannel(mapping=mapping(), published=published)
    a, b = sides(np.random.default_rng(2), torque=True)
    b.q[:], b.v[:], b.torque = a.q, a.v, -a.torque
    law.engage(a, b)
    for _ in range(3000):
        on_a, on_b = law.step(a, b, 1e-3)
    arms = slice(0, 7)
    np.testing.assert_allclose(on_a.wrench[arms], -a.torque[arms], atol=1e-6)
    np.testing.assert_allclose(on_b.wrench[arms], -b.torque[arms], atol=1e-6)


def test_four_channels_follow_the_hand_with_their_share_of_its_effort() -> None:
    """In free motion both arms are pushed alike: K_f/(α + β) of what the hand does, 0.83 times."""
    law = OpenArmFourChannel(mapping=mapping(), published=True)
    a, b = sides(np.random.default_rng(3), torque=True)
    b.q[:], b.v[:], b.torque = a.q, a.v, np.zeros(N)
    law.engage(a, b)
    for _ in range(3000):
        on_a, on_b = law.step(a, b, 1e-3)
    assert on_b.wrench[1] == pytest.approx(1.5 / 1.8 * a.torque[1], rel=1e-6)
    assert on_a.wrench[1] + a.torque[1] == pytest.approx(1.5 / 1.8 * a.torque[1], rel=1e-6)


def test_the_observer_has_the_published_bandwidth_and_the_published_limit() -> None:
    """15 rad/s at joint 2: 63 % after 1/15 s; at most 11.5 N·m are taken away."""
    law = OpenArmFourChannel(mapping=mapping(), published=True)
    a, b = sides(np.random.default_rng(4), torque=True)
    b.q[:], b.v[:] = a.q, a.v
    a.torque[:], b.torque = 0.0, np.full(N, 40.0)
    law.engage(a, b)
    for _ in range(round(1000 / 15)):
        _, on_b = law.step(a, b, 1e-3)
    h = 40.0 * -np.expm1(-15.0 * round(1000 / 15) * 1e-3)
    assert on_b.wrench[1] == pytest.approx(1.5 / 1.8 * h - 11.5, rel=1e-6)
