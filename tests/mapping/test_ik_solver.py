"""The recommended solver, judged by Pinocchio: solved means met and inside the limits."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.errors import BadValue, ModelError, OutOfRange, UnknownName
from farhand.mapping.ik import STATUSES, Model, Pose, Solver
from farhand.robots import load_robot
from farhand.spatial import rotation_from_vector

ARMS = ("ur5e", "iiwa14", "lwa4p", "elbow6", "rx160")
_CACHE: dict[str, tuple[Solver, Model]] = {}

PLANAR = """<mujoco><worldbody><body name="a"><joint axis="0 0 1" range="-150 150"/>
    <geom size="0.1"/>
    <body name="b" pos="0.5 0 0"><joint axis="0 0 1" range="-150 150"/><geom size="0.1"/>
    <body name="c" pos="0.4 0 0"><joint type="slide" axis="0 0 1" range="-0.2 0.3"/>
    <geom size="0.1"/>
    <body name="d" pos="0 0 0"><joint axis="0 0 1" range="-170 170"/><geom size="0.1"/>
    <site name="tool" pos="0 0 0.05"/></body></body></body></body></worldbody></mujoco>"""


def arm(name: str) -> tuple[Solver, Model]:
    if name not in _CACHE:
        _CACHE[name] = Solver(load_robot(name)), Model(load_robot(name))
    return _CACHE[name]


def assert_honest(model: Model, pose: Pose, found) -> None:
    """Whatever the status, it is true of the joints that came with it."""
    assert found.status in STATUSES
    assert np.isfinite(found.q).all() and model.within(found.q)
    error = model.error(pose, found.q)
    assert np.linalg.norm(error[:3]) == pytest.approx(found.position_error, abs=1e-9)
    assert np.linalg.norm(error[3:]) == pytest.approx(found.rotation_error, abs=1e-7)
    met = found.position_error <= 1e-6 and found.rotation_error <= 1e-6
    assert met == (found.status == "solved")


@pytest.mark.parametrize("name", ARMS)
def test_every_pose_the_arm_can_take_is_found_from_nowhere(name: str) -> None:
    """Random configurations inside the limits, cold and from a random start."""
    solver, model = arm(name)
    rng = np.random.default_rng(8)
    for q, start in rng.uniform(model.lower, model.upper, (500, 2, solver.chain.n)):
        pose = model.pose(q)
        for found in (solver.solve(pose), solver.solve(pose, start)):
            assert found.status == "solved"
            assert_honest(model, pose, found)


@pytest.mark.parametrize("name", ARMS)
def test_a_moving_pose_is_followed_without_a_jump(name: str) -> None:
    """On a smooth path away from limits and singularities the joints move as little as they can."""
    solver, model = arm(name)
    q = solver.chain.home.copy()
    middle, rng = q.copy(), np.random.default_rng(9)
    swing, phase = rng.uniform(0.05, 0.2, len(q)), rng.uniform(0, 6, len(q))
    for t in np.arange(0.0, 5.0, 0.01):
        reference = middle + swing * (np.sin(t + phase) - np.sin(phase))
        found = solver.solve(model.pose(reference), q)
        assert found.status == "solved" and found.iterations <= 3
        assert np.abs(found.q - q).max() < 0.02
        q = found.q
    if len(q) == 6:
        np.testing.assert_allclose(q, reference, atol=1e-4)


@pytest.mark.parametrize("name", ARMS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_any_pose_at_all_gets_an_honest_answer(name: str, seed: int) -> None:
    """In reach or out of it, from any start, even one outside the limits."""
    solver, model = arm(name)
    rng = np.random.default_rng(seed)
    pose = Pose(rng.uniform(-1.5, 1.5, 3), rotation_from_vector(rng.normal(size=3) * 2))
    start = None if seed % 2 else rng.uniform(-7, 7, solver.chain.n)
    assert_honest(model, pose, solver.solve(pose, start))


@pytest.mark.parametrize("name", ARMS)
def test_a_pose_out_of_reach_gets_the_closest_one_and_says_so(name: str) -> None:
    """Pulled outward from a stretched arm, the tool stays: the error is what was pulled."""
    solver, model = arm(name)
    far = Pose(np.array([1.7, 0.0, 0.4]), np.eye(3))
    found = solver.solve(far)
    assert found.status == "unreachable"
    assert_honest(model, far, found)
    rng = np.random.default_rng(10)
    weight = 0.01
    cost = found.position_error**2 + (weight * found.rotation_error) ** 2
    for q in np.clip(
        found.q + rng.normal(size=(200, solver.chain.n)) * 0.05, model.lower, model.upper
    ):
        error = model.error(far, q)
        assert error[:3] @ error[:3] + weight**2 * (error[3:] @ error[3:]) > cost - 1e-6


@pytest.mark.parametrize("folded", [2.0 * np.pi, 0.0])
def test_a_pose_at_the_edge_of_reach_is_solved_if_it_is_met(folded: float) -> None:
    """Wrist and upper arm straight: rounding puts the pose beyond every branch, yet it is met."""
    solver, model = arm("ur5e")
    rng = np.random.default_rng(9)
    for elbow in (-0.171, 0.222, -0.49, -0.087, -0.129, 0.0):
        for turn in rng.uniform(-3.0, 3.0, (5, 2)):
            pose = model.pose(np.array([turn[0], -folded, elbow, turn[1], folded, -folded]))
            found = solver.solve(pose)
            assert found.status == "solved"
            assert_honest(model, pose, found)


def test_a_pose_that_only_broken_limits_would_meet_is_called_limited() -> None:
    """An elbow folded further than the joint allows."""
    solver, model = arm("iiwa14")
    folded = np.array([0.0, 0.5, 0.0, -2.6, 0.0, 0.4, 0.0])
    pose = model.pose(folded)
    found = solver.solve(pose)
    assert found.status == "limited"
    assert_honest(model, pose, found)


def test_a_step_larger_than_allowed_is_refused_and_the_start_held() -> None:
    """Nothing moves until the operator comes back slowly."""
    robot = load_robot("lwa4p")
    careful, model = Solver(robot, step_max=0.1), arm("lwa4p")[1]
    start = np.array(robot.home)
    near, far = model.pose(start + 0.05), model.pose(start + 0.8)
    assert careful.solve(near, start).status == "solved"
    found = careful.solve(far, start)
    assert found.status == "jump"
    np.testing.assert_array_equal(found.q, start)
    assert_honest(model, far, found)


@pytest.mark.parametrize("side", ["above", "below"])
def test_the_elbow_is_on_the_side_that_was_asked_for(side: str) -> None:
    """Wherever a branch inside the limits allows it, from nowhere and from the other side."""
    robot = load_robot("lwa4p")
    solver, model = Solver(robot, elbow=side), arm("lwa4p")[1]
    rng, allowed = np.random.default_rng(11), 0
    for _ in range(100):
        q = robot.home + rng.uniform(-0.3, 0.3, 6)
        rows = _all_branches(solver, model.pose(q))
        possible = any(
            (solver.elbow_height(row) > 0) == (side == "above") for row in rows if model.within(row)
        )
        allowed += possible
        for start in (None, q):
            found = solver.solve(model.pose(q), start)
            assert found.status == "solved"
            assert (solver.elbow_height(found.q) > 0) == (side == "above") or not possible
    assert allowed > 20


def test_the_elbow_height_is_that_of_the_published_sign_rule() -> None:
    """Above exactly when sign(r) (−q3) > 0, for the Powerball."""
    solver, _ = arm("lwa4p")
    for q in np.random.default_rng(12).uniform(-2.7, 2.7, (200, 6)):
        r = 0.350 * np.sin(q[1]) + 0.305 * np.sin(q[1] - q[2])
        assert (solver.elbow_height(q) > 0) == (np.sign(r) * -q[2] > 0)


def test_a_flip_of_the_elbow_shows_as_a_change_of_branch() -> None:
    """Two mirrored configurations, one pose, two branches."""
    solver, model = arm("lwa4p")
    q = np.array([0.3, 0.4, -1.2, 0.5, 0.8, 0.1])
    seen = {solver.branch(row) for row in _all_branches(solver, model.pose(q))}
    assert len(seen) == 8


def _all_branches(solver: Solver, pose: Pose) -> np.ndarray:
    from farhand.mapping.ik.closed_form import ClosedForm

    return ClosedForm(solver.chain).solve(*pose)


def test_a_pose_that_is_no_pose_is_answered_with_the_start() -> None:
    """NaN, infinity, a mirrored or stretched matrix: never passed on to the joints."""
    solver, model = arm("ur5e")
    start = np.array(load_robot("ur5e").home)
    good = model.pose(start)
    bad = [
        Pose(np.array([np.nan, 0, 0]), good.rotation),
        Pose(good.position, np.full((3, 3), np.inf)),
        Pose(good.position, -good.rotation),
        Pose(good.position, 1.1 * good.rotation),
    ]
    for pose in bad:
        found = solver.solve(pose, start)
        assert found.status == "invalid"
        np.testing.assert_array_equal(found.q, start)
    found = solver.solve(good, np.full(6, np.nan))
    assert found.status == "invalid" and np.isfinite(found.q).all()


def test_every_turn_of_a_cube_is_a_rotation_and_no_mirror_image_is() -> None:
    """The 24 turns and 24 reflections that permute the axes: each sign counts."""
    solver, model = arm("ur5e")
    start = np.array(load_robot("ur5e").home)
    position = model.pose(start).position
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((-1.0, 1.0), repeat=3):
            matrix = np.eye(3)[list(order)] * signs
            found = solver.solve(Pose(position, matrix), start)
            assert (found.status == "invalid") is bool(np.linalg.det(matrix) < 0.0)


def test_an_arm_without_a_closed_form_is_solved_by_restarts(tmp_path: Path) -> None:
    """Two hinges, a slide and a hinge: poses it can take are found, others get the closest."""
    path = tmp_path / "scara.xml"
    path.write_text(PLANAR)
    robot = load_robot(path)
    solver, model = Solver(robot), Model(robot)
    assert solver.family == "none" and solver.branch(solver.chain.home) == -1
    for q in np.random.default_rng(13).uniform(model.lower, model.upper, (100, 4)):
        found = solver.solve(model.pose(q))
        assert found.status == "solved"
        assert_honest(model, model.pose(q), found)
    tilted = Pose(np.array([0.5, 0.3, 0.1]), rotation_from_vector(np.array([0.5, 0, 0])))
    found = solver.solve(tilted)
    assert found.status == "unreachable" and found.position_error < 1e-3
    low = Pose(np.array([0.5, 0.3, -0.5]), np.eye(3))
    assert solver.solve(low).status == "limited"


def test_what_makes_no_sense_is_refused_on_one_line() -> None:
    """Another number of joints, an unknown side, a tolerance of zero, a robot that is no chain."""
    solver, model = arm("ur5e")
    with pytest.raises(BadValue, match="6 values"):
        solver.solve(model.pose(solver.chain.home), np.zeros(7))
    with pytest.raises(UnknownName, match="above"):
        Solver(load_robot("ur5e"), elbow="up")
    with pytest.raises(OutOfRange, match="position tolerance"):
        Solver(load_robot("ur5e"), tolerance_position=0.0)
    with pytest.raises(OutOfRange, match="step_max"):
        Solver(load_robot("ur5e"), step_max=float("nan"))
    with pytest.raises(BadValue, match="no closed form"):
        Solver(load_robot("point3"), elbow="above")


def test_a_robot_that_branches_is_refused(tmp_path: Path) -> None:
    """There is no single way from the base to the tool."""
    path = tmp_path / "fork.xml"
    path.write_text(
        '<mujoco><worldbody><body name="a"><joint axis="0 0 1"/><geom size="0.1"/>'
        '<site name="tool"/></body>'
        '<body name="b" pos="1 0 0"><joint axis="0 0 1"/><geom size="0.1"/></body>'
        "</worldbody></mujoco>"
    )
    with pytest.raises(ModelError, match="single chain"):
        Solver(load_robot(path))


def test_nothing_is_left_to_compile_in_the_midst_of_a_run():
    """Whatever becomes of a pose, and however arrays lie in memory, no stage compiles again."""
    solver, _ = arm("lwa4p")
    stages = [stage for stage in vars(solver._stages).values() if hasattr(stage, "overloads")]
    before = {stage.__name__: len(stage.overloads) for stage in stages}
    fixed = solver.chain.home.copy()
    fixed.flags.writeable = False
    turned = np.asfortranarray(rotation_from_vector(np.array([0.3, -0.2, 0.1])))
    spread = np.zeros((3, 2))[:, 0]
    for place in ((0.3, 0.1, 0.4), (9.0, 0.0, 0.0), (0.0, 0.0, 0.05)):
        spread[:] = place
        for start in (None, fixed, fixed + 1.0):
            solver.solve(Pose(spread, turned), start)
    assert solver.branch(fixed) >= 0 and solver.elbow_height(fixed) > 0.0
    assert {stage.__name__: len(stage.overloads) for stage in stages} == before


def test_arrays_of_the_wrong_shape_never_reach_compiled_code():
    """Compiled code reads beyond short arrays: a position of two numbers was "solved"."""
    solver, model = arm("ur5e")
    q = np.full(6, 0.1)
    for position, rotation in (
        (np.zeros(2), np.eye(3)),
        (np.zeros((3, 1)), np.eye(3)),
        (np.zeros(3), np.eye(2)),
    ):
        with pytest.raises(BadValue, match="shape"):
            solver.solve(Pose(position, rotation), q)
    for pose in ("here", (np.zeros(3), np.eye(3)), Pose("abc", np.eye(3))):
        with pytest.raises(BadValue, match="pose"):
            solver.solve(pose, q)
    for ask in (solver.branch, solver.elbow_height):
        with pytest.raises(BadValue, match="6 values"):
            ask(q[:3])
    pose = model.pose(q)
    given = Pose(pose.position.tolist(), np.asfortranarray(pose.rotation))
    assert solver.solve(given, q.tolist()).status == "solved"
