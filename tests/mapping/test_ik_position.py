"""Inverse kinematics of the position alone: an honest status, and no more motion than it takes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from farhand.errors import BadValue, OutOfRange
from farhand.mapping.ik import Model, Pose, PositionSolver
from farhand.robots import load_robot


@pytest.fixture(scope="module")
def leg():
    """A chain of three hinges with its solver."""
    robot = load_robot("phua_leg")
    return Model(robot), PositionSolver(robot)


def at(position) -> Pose:
    return Pose(np.asarray(position, dtype=float), np.eye(3))


def test_every_position_inside_the_limits_is_met_from_home(leg):
    """Whatever the rotation asked for."""
    model, solver = leg
    for q in np.random.default_rng(2).uniform(model.lower, model.upper, (40, 3)):
        found = solver.solve(at(model.pose(q).position))
        assert found.status == "solved" and model.within(found.q)
        assert np.linalg.norm(model.pose(found.q).position - model.pose(q).position) <= 1e-6
        assert math.isnan(found.rotation_error)


def test_a_warm_start_is_left_by_no_more_than_it_takes(leg):
    """A position next to where the tool is needs joints next to where they are."""
    model, solver = leg
    q = 0.5 * (model.lower + model.upper)
    found = solver.solve(at(model.pose(q + 1e-3).position), q)
    assert found.status == "solved" and np.abs(found.q - q).max() < 5e-3


def test_what_cannot_be_met_says_why_and_is_the_closest(leg):
    """Beyond the stretched leg nothing helps; no number is met by nothing."""
    model, solver = leg
    stretched = max(
        np.linalg.norm(model.pose(q).position)
        for q in np.random.default_rng(3).uniform(-3, 3, (2000, 3))
    )
    far = solver.solve(at([0.0, 0.0, -10.0 * stretched]))
    assert far.status == "unreachable" and model.within(far.q)
    assert far.position_error == pytest.approx(
        np.linalg.norm(model.pose(far.q).position - [0, 0, -10 * stretched])
    )
    assert solver.solve(at([0.0, math.nan, 0.0])).status == "invalid"
    with pytest.raises(BadValue, match="3 values"):
        solver.solve(at([0.0, 0.0, 0.0]), np.zeros(4))
    with pytest.raises(OutOfRange):
        PositionSolver(load_robot("phua_leg"), 0.0)


def test_a_position_only_outside_the_limits_is_limited():
    """Three slides of 8 cm: 10 cm is one joint too far."""
    found = PositionSolver(load_robot("point3")).solve(at([0.1, 0.0, 0.0]))
    assert found.status == "limited" and found.position_error == pytest.approx(0.02, abs=1e-6)
