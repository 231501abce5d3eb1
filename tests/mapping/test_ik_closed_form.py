"""Closed forms and their pieces: every branch leads back to the pose, on any geometry."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.mapping.ik import Chain, Model
from farhand.mapping.ik.closed_form import (
    BRANCHES,
    FAMILIES,
    ClosedForm,
    _swivel,
    angle_onto,
    angles_at_distance,
    angles_at_height,
    family_of,
    three_rotations,
)
from farhand.robots import load_robot
from farhand.spatial import rotation_from_vector

seeds = st.integers(0, 2**32 - 1)
ARMS = {
    "lwa4p": "wrist",
    "elbow6": "wrist",
    "rx160": "wrist",
    "ur5e": "parallel",
    "iiwa14": "elbow",
}


def unit(rng: np.random.Generator) -> np.ndarray:
    k = rng.normal(size=3)
    return k / np.linalg.norm(k)


@given(seeds)
@settings(deadline=None)
def test_a_rotation_is_found_again_from_where_it_took_a_point(seed: int) -> None:
    """Subproblem 1."""
    rng = np.random.default_rng(seed)
    k, a, angle = unit(rng), rng.normal(size=3), rng.uniform(-3, 3)
    assert angle_onto(k, a, rotation_from_vector(angle * k) @ a) == pytest.approx(angle, abs=1e-6)


@given(seeds)
@settings(deadline=None)
def test_both_angles_reach_the_height_and_the_distance_they_were_asked_for(seed: int) -> None:
    """Subproblems 4 and 3, judged by doing the rotation."""
    rng = np.random.default_rng(seed)
    k, a, b, angle = unit(rng), rng.normal(size=3), rng.normal(size=3), rng.uniform(-3, 3)
    there = rotation_from_vector(angle * k) @ a
    for found, measure in (
        (angles_at_height(k, a, b, float(b @ there)), lambda x: b @ x - b @ there),
        (
            angles_at_distance(k, a, b, float(np.linalg.norm(b - there))),
            lambda x: np.linalg.norm(b - x) - np.linalg.norm(b - there),
        ),
    ):
        assert found[2]
        for theta in found[:2]:
            assert abs(measure(rotation_from_vector(theta * k) @ a)) < 1e-6


def test_what_cannot_be_reached_is_said_and_the_nearest_angle_given() -> None:
    """A height above the circle: the top of the circle, and not exact."""
    k, a, h = np.array([0.0, 0, 1]), np.array([1.0, 0, 0]), np.array([0.0, 1, 0])
    one, two, exact = angles_at_height(k, a, h, 2.0)
    assert not exact
    assert one == pytest.approx(np.pi / 2) and two == pytest.approx(np.pi / 2)
    one, two, exact = angles_at_height(k, a, h, -2.0)
    assert not exact and np.sin([one, two]) == pytest.approx([-1.0, -1.0])
    # rounding is forgiven, in proportion to the circle
    for size in (1e-3, 1.0, 1e3):
        for over, exact in ((0.5e-9, True), (2e-9, False)):
            height = size + over * (1.0 + size)
            assert bool(angles_at_height(k, size * a, h, height)[2]) is exact
            assert bool(angles_at_height(k, size * a, h, -height)[2]) is exact
    # a point on the axis stays where it is
    for height, exact in ((2.0, True), (2.1, False), (1.9, False)):
        assert angles_at_height(k, 2.0 * k, k, height) == (0.0, 0.0, exact)


@given(seeds)
@settings(deadline=None)
def test_three_rotations_make_up_the_rotation(seed: int) -> None:
    """Euler angles about any three axes, the outer ones lined up included."""
    rng = np.random.default_rng(seed)
    h1, h2, other = np.ascontiguousarray(rotation_from_vector(rng.normal(size=3)))
    h3, middle = (other if seed % 2 else h1), rng.choice([0.0, np.pi / 2, rng.uniform(-3, 3)])
    R = rotation_from_vector(rng.uniform(-3, 3) * h1) @ rotation_from_vector(middle * h2)
    R = R @ rotation_from_vector(rng.uniform(-3, 3) * h3)
    rows = np.empty((2, 3))
    assert three_rotations(h1, h2, h3, R, rows)
    for a, b, c in rows:
        made = (
            rotation_from_vector(a * h1)
            @ rotation_from_vector(b * h2)
            @ rotation_from_vector(c * h3)
        )
        np.testing.assert_allclose(made, R, atol=1e-6)


@pytest.mark.parametrize("name", ARMS)
def test_every_branch_leads_back_to_the_pose(name: str) -> None:
    """Pinocchio is the judge; the configuration the pose was made from is among the branches."""
    robot = load_robot(name)
    chain, model = Chain.of(robot), Model(robot)
    form, rng = ClosedForm(chain), np.random.default_rng(4)
    assert FAMILIES[form.family] == ARMS[name]
    for _ in range(300):
        q = rng.uniform(-np.pi, np.pi, chain.n)
        pose = model.pose(q)
        found = form.solve(*pose, elbow_angle=rng.uniform(-np.pi, np.pi))
        assert 2 <= len(found) <= BRANCHES
        assert (np.abs(found) <= np.pi + 1e-12).all()
        for row in found:
            assert np.abs(model.error(pose, row)).max() < 1e-7
        if chain.n == 6:
            apart = np.abs(np.remainder(found - q + np.pi, 2 * np.pi) - np.pi).max(axis=1)
            assert apart.min() < 1e-4


def test_the_elbow_angle_turns_the_elbow_about_the_line_from_shoulder_to_wrist() -> None:
    """At ψ = 0 the elbow is as high as it can be; at ψ it has gone round by ψ."""
    robot = load_robot("iiwa14")
    chain, model = Chain.of(robot), Model(robot)
    form = ClosedForm(chain)
    pose = model.pose(robot.home)
    heights = {}
    for psi in (0.0, 0.5, np.pi):
        q = form.solve(*pose, elbow_angle=psi)[0]
        model.pose(q)
        elbow = model.data.oMi[4].translation
        heights[psi] = elbow[2]
    shoulder = np.array([0, 0, 0.36])
    wrist = pose.position - 0.126 * pose.rotation[:, 2]
    line = (wrist - shoulder) / np.linalg.norm(wrist - shoulder)
    along = shoulder[2] + line[2] * np.sqrt(0.42**2 - _offset(wrist - shoulder) ** 2)
    swing = heights[0.0] - along
    assert swing > 0
    assert heights[0.5] - along == pytest.approx(swing * np.cos(0.5), abs=1e-9)
    assert heights[np.pi] - along == pytest.approx(-swing, abs=1e-9)


def _offset(reach: np.ndarray) -> float:
    """Distance of the elbow from the line, from the three sides of the triangle."""
    d = float(np.linalg.norm(reach))
    along = (d * d + 0.42**2 - 0.40**2) / (2 * d)
    return float(np.sqrt(0.42**2 - along**2))


def test_an_arm_of_slides_has_no_closed_form() -> None:
    """And says so instead of guessing."""
    assert family_of(Chain.of(load_robot("point3")))[0] == FAMILIES.index("none")


BENT = {
    "lwa4p": {"axes": [(0, 1), (1, None), (2, None)], "points": [3, 4]},
    "ur5e": {"axes": [(0, 1), (1, None), (2, None), (3, None)], "points": [4]},
    "iiwa14": {"axes": [(1, None), (5, None)], "points": [0, 1, 5, 6]},
}
"""Of each family, axes to lay along another or to turn, and points to move."""


@pytest.mark.parametrize("name", BENT)
def test_an_arm_that_is_bent_out_of_its_family_has_no_closed_form(name: str) -> None:
    """By any axis or point that the closed form counts on, or a hinge that slides."""
    chain = Chain.of(load_robot(name))
    for joint, other in BENT[name]["axes"]:
        axes, points = chain.axes.copy(), chain.points.copy()
        # turned about a point of its own beside the others, so that nothing meets it any more
        axes[joint] = axes[other] if other is not None else [0.6, 0.64, 0.48]
        points[joint] += [0.01, 0.02, 0.03]
        assert family_of(replace(chain, axes=axes, points=points))[0] == 0
    for joint in BENT[name]["points"]:
        points = chain.points.copy()
        points[joint] += np.array([1e-6, 2e-6, 3e-6])
        assert family_of(replace(chain, points=points))[0] == 0
    for joint in range(chain.n):
        assert family_of(replace(chain, hinge=np.arange(chain.n) != joint))[0] == 0


@pytest.mark.parametrize("straight", [False, True])
def test_the_swivel_brings_the_arm_along_its_reach_and_the_elbow_round_by_psi(straight) -> None:
    """From where the elbow is highest; a straight arm has it on the side to which it would bend."""
    rng = np.random.default_rng(7)
    for reach in (*rng.normal(size=(10, 3)), np.array([0.0, 0.0, 0.7])):
        upper, axis, psi = rng.normal(size=3), unit(rng), rng.uniform(-3, 3)
        v = 1.7 * upper if straight else upper + rng.normal(size=3)
        side = np.cross(axis, v) if straight else upper
        up = np.array([0.0, 0.0, 1.0]) if reach[0] else np.array([1.0, 0.0, 0.0])
        out = np.empty((3, 3))
        _swivel(v, upper, axis, reach, psi, out)
        along, there = v / np.linalg.norm(v), reach / np.linalg.norm(reach)
        across, highest = side - along * (along @ side), up - there * (there @ up)
        np.testing.assert_allclose(out @ out.T, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(out @ along, there, atol=1e-12)
        elbow = rotation_from_vector(psi * there) @ highest / np.linalg.norm(highest)
        np.testing.assert_allclose(out @ across, np.linalg.norm(across) * elbow, atol=1e-12)


@pytest.mark.parametrize("elbow_angle", [0.0, 1.0, -2.5])
def test_a_straight_arm_and_one_that_reaches_straight_up_have_their_branches(elbow_angle) -> None:
    """Where the elbow angle has no natural zero."""
    robot = load_robot("iiwa14")
    chain, model = Chain.of(robot), Model(robot)
    form = ClosedForm(chain)
    turned = rotation_from_vector(np.array([0.3, 0.5, -0.2]))
    above = np.array([0.0, 0.0, 0.36 + 0.7]) + 0.126 * turned[:, 2]
    straight = model.pose(np.array([0.3, 0.5, 0.2, 0.0, 0.4, 0.6, 0.1]))
    for position, rotation in (straight, (above, turned)):
        found = form.solve(position, rotation, elbow_angle)
        assert len(found) == 8
        for row in found:
            place = model.pose(row)
            np.testing.assert_allclose(place.position, position, atol=1e-7)
            np.testing.assert_allclose(place.rotation, rotation, atol=1e-7)


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_that_stands_elsewhere_has_the_same_branches(name: str) -> None:
    """Its axes, its tool and the pose moved alike."""
    robot = load_robot(name)
    chain, away = Chain.of(robot), np.array([0.3, -0.2, 0.5])
    moved = replace(chain, points=chain.points + away, tool_position=chain.tool_position + away)
    position, rotation = Model(robot).pose(np.linspace(0.4, 1.1, chain.n))
    found = ClosedForm(moved).solve(position + away, rotation, 0.7)
    wanted = ClosedForm(chain).solve(position, rotation, 0.7)
    np.testing.assert_allclose(np.exp(1j * found), np.exp(1j * wanted), atol=1e-7)
