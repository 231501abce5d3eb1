"""Compiled functions: the plain form gives the same numbers, and nobody waits for the compiler."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from farhand import compiled, kernels, rigid_body
from farhand.arm import Arm
from farhand.compiled import Repeated, bind
from farhand.control.trajectory.kernels import displacement
from farhand.control.trajectory.paths import HandPath, Move
from farhand.coupling import kernels as laws
from farhand.kernels import multiply, products, rotation_log, scaled_square, solve
from farhand.robots import Placement, load_robot, robot_names
from farhand.running import fill_cache
from farhand.spatial import rotation_from_vector, rotation_vector
from farhand.world import kernels as world

PLACEMENT = Placement((0.3, -0.2, 0.1), (0.1, 0.2, 0.3, 0.9))


def in_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let new arms do without numba."""
    monkeypatch.setattr("farhand.arm.enabled", lambda: False)


@pytest.mark.parametrize("name", robot_names())
def test_the_terms_are_those_of_pinocchio(monkeypatch, name):
    """Every term of every robot that comes with Farhand, askew and moving."""
    robot = load_robot(name)
    fast = Arm.of(robot, PLACEMENT)
    in_plain(monkeypatch)
    slow = Arm.of(robot, PLACEMENT)
    assert slow.body is None
    assert fast.body is not None or fast.nq != fast.nv
    rng = np.random.default_rng(8)
    for _ in range(10):
        q = fast.integrate(fast.q, rng.uniform(-2.0, 2.0, fast.nv))
        v = rng.uniform(-3.0, 3.0, fast.nv)
        fast.update(q, v)
        slow.update(q, v)
        for term in ("position", "rotation", "twist", "M", "J", "bias", "gravity", "drift"):
            one, two = getattr(fast, term), getattr(slow, term)
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * max(1.0, np.abs(two).max()))


def test_a_changed_model_counts_once_the_arm_is_told():
    """A load on the last link, and off again to the bit."""
    arm = Arm.of(load_robot("ur5e"))
    before = arm.state.copy()
    inertia = arm.model.inertias[6].copy()
    arm.model.inertias[6] = inertia + inertia
    arm.refresh()
    arm.compute()
    assert not np.array_equal(arm.state, before)
    arm.model.inertias[6] = inertia
    arm.refresh()
    arm.compute()
    np.testing.assert_array_equal(arm.state, before)


def plain(function):
    """A compiled function as the plain Python that it is made from."""
    return getattr(function, "py_func", function)


def sample() -> tuple[Arm, np.random.Generator]:
    """An arm in a random state, and random numbers."""
    rng, arm = np.random.default_rng(5), Arm.of(load_robot("ur5e"), PLACEMENT)
    arm.update(rng.uniform(-2.0, 2.0, 6), rng.normal(size=6))
    return arm, rng


def calls() -> dict[str, tuple]:
    """Every compiled function of a tick with arguments, of which the last ones are results."""
    arm, rng = sample()
    R = rotation_from_vector(rng.normal(size=3))
    path = HandPath([Move(0.0, 2.0, (0.1, 0.2, 0.3), (0.3, -0.2, 0.5)), Move(2.0, 1.0)])
    force = (arm.state, 6, rng.normal(size=6), np.zeros(6), True, rng.normal(size=(6, 6)))
    # two tools and five joints
    touches, live = rng.normal(size=(3, 7)), rng.normal(size=12 * 5 + 2 * 5 + 3 * 12)
    touches[:, 6] = 0, 1, 1
    spd = arm.M + np.eye(6)
    body = arm.body
    assert body is not None
    axes = rng.normal(size=(2, 5, 3))
    moves = np.array([[0, 1, 2, 0, 0, 0], [2, 0, 0, 1, 1, 2]])
    return {
        "log": (rotation_log, R, np.zeros(3)),
        "terms": (rigid_body.terms, body.links, body.parents, body.bodies, arm.state),
        "torque": (rigid_body.joint_torque, arm.state, 6, np.zeros(6), rng.normal(size=6)),
        "path": (displacement, path.rows, 1.1, np.zeros(18)),
        "tool terms": (laws.tool_terms, *force, np.zeros((6, 6)), np.zeros(6)),
        "constraint": (
            laws.constraint_force,
            *force,
            *force[:4],
            True,
            *rng.normal(size=(2, 12)),
            np.zeros(12),
            rng.uniform(size=13),
            np.zeros((6, 6)),
            0.7,
            np.zeros(12),
        ),
        "follow": (
            laws.follow,
            arm.pose,
            np.concatenate([np.ones(3), R.reshape(9)]),
            arm.pose[::-1].copy(),
            np.zeros(12),
            np.zeros(12),
        ),
        "error": (laws.pose_error, rng.normal(size=12), np.ones(6), arm.pose, np.zeros(12)),
        "spring": (laws.spring_force, *rng.normal(size=(2, 2, 6)), np.zeros(6)),
        "hand": (
            world.hand_wrench,
            path.rows,
            path.pose,
            rng.normal(size=30),
            np.ones(3),
            R,
            np.ones(6),
            np.zeros(6),
            1.1,
        ),
        "wall": (
            world.wall_force,
            np.ones(3),
            np.ones(6),
            np.array([-1.0, 0, 0, 2, 3, 0.1, 0, 0]),
            np.zeros(6),
        ),
        "step": (world.begin_step, live, rng.normal(size=5), np.zeros(28), np.zeros(5)),
        "work": (
            world.end_step,
            live,
            touches,
            *rng.normal(size=(3, 5)),
            5e-4,
            rng.normal(size=28),
        ),
        "touches": (world.sum_touches, touches, 5, live),
        "tools": (
            world.tool_motion,
            *axes,
            rng.normal(size=(3, 3)),
            rng.normal(size=5),
            moves,
            live,
        ),
        "solve": (solve, spd, rng.normal(size=(6, 2))),
        "products": (products, spd, rng.normal(size=(6, 7))),
        "multiply": (multiply, spd, spd),
    }


@pytest.mark.parametrize("name", calls())
def test_the_plain_form_gives_the_same_numbers(name):
    """To the last digits: sums may be in another order."""
    function, *first = calls()[name]
    second = [np.copy(value) if isinstance(value, np.ndarray) else value for value in first]
    one, two = function(*first), plain(function)(*second)
    for a, b in zip((one, *first), (two, *second), strict=True):
        if b is not None:
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def kernels_of(monkeypatch: pytest.MonkeyPatch, numba: bool) -> ModuleType:
    """The shared functions as a process with or without numba has them."""
    if numba:
        return kernels
    monkeypatch.setattr(compiled, "enabled", lambda: False)
    spec = importlib.util.find_spec(kernels.__name__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("numba", [True, False])
def test_a_solution_solves(monkeypatch, numba):
    """Against NumPy's own, by elimination."""
    made = kernels_of(monkeypatch, numba)
    _, rng = sample()
    A = rng.normal(size=(6, 6))
    A, B = A @ A.T + np.eye(6), rng.normal(size=(6, 3))
    right = np.linalg.solve(A, B)
    np.testing.assert_allclose(made.solve(A.copy(), B.copy()), right, rtol=1e-10)
    np.testing.assert_allclose(made.products(A, B.copy()), B.T @ right, rtol=1e-10)
    np.testing.assert_allclose(made.multiply(A, B), A.dot(B), rtol=1e-10)


@pytest.mark.parametrize("axis", [(0.6, -0.64, 0.48), (-1.0, 0, 0), (0, -1.0, 0), (0, 0, -1.0)])
@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-7, np.pi - 1e-12])
def test_a_rotation_vector_is_that_of_pinocchio(angle, axis):
    """Also next to none and to a half turn, and about an axis of the frame."""
    R, found = rotation_from_vector(angle * np.array(axis)), np.zeros(3)
    rotation_log(R, found)
    np.testing.assert_allclose(np.abs(found), np.abs(rotation_vector(R)), atol=2e-7)
    np.testing.assert_allclose(rotation_from_vector(found), R, atol=1e-9)


RUN = """
import json, sys
from farhand.rigs import Options, build_rig
rig = build_rig("dual-arm", Options(law="virtual-constraints", seed=3))
rig.session.run(0.5)
found = [station.arm.state.tolist() for station in rig.session.stations]
print(json.dumps({"numba": "numba" in sys.modules, "state": found}))
"""


def test_a_run_without_numba_is_the_same_run():
    """It never imports numba, and after 500 ticks both arms are where they are with it."""
    found = {}
    for form in ("plain", "compiled"):
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            env={**os.environ, compiled.VARIABLE: form},
            capture_output=True,
            text=True,
            check=True,
        )
        found[form] = json.loads(done.stdout)
    assert (found["plain"]["numba"], found["compiled"]["numba"]) == (False, True)
    np.testing.assert_allclose(
        found["plain"]["state"], found["compiled"]["state"], rtol=1e-9, atol=1e-9
    )


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """A fresh installation: no choice made, nothing in the cache."""
    monkeypatch.delenv(compiled.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiled.enabled.cache_clear()
    compiled.stamp.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    compiled.enabled.cache_clear()
    compiled.stamp.cache_clear()


def test_the_first_run_does_without_and_compiles_for_the_next(fresh, monkeypatch, capsys):
    """In another process, once; a filled cache starts none."""
    started = []
    monkeypatch.setattr(fill_cache.subprocess, "Popen", lambda *a, **k: started.append((a, k)))
    assert not compiled.enabled()
    fill_cache.in_background()
    (((command,), options),) = started
    assert command == fill_cache.COMMAND
    assert options["env"][compiled.VARIABLE] == "compiled"
    assert "compiled in the background" in capsys.readouterr().err
    compiled.stamp().parent.mkdir(parents=True)
    compiled.stamp().touch()
    compiled.enabled.cache_clear()
    assert compiled.enabled()
    fill_cache.in_background()
    assert len(started) == 1 and not capsys.readouterr().err


def test_long_work_compiles_at_once(fresh, monkeypatch, capsys):
    """And its workers too: they inherit the choice. It is for once: the cache is filled."""
    filled = []
    monkeypatch.setattr(fill_cache.subprocess, "run", lambda *a, **k: filled.append(a[0]))
    fill_cache.at_once()
    assert compiled.enabled() and os.environ[compiled.VARIABLE] == "compiled"
    assert "compiling first" in capsys.readouterr().err
    assert filled == [fill_cache.COMMAND]
    fill_cache.at_once()
    assert len(filled) == 1 and not capsys.readouterr().err
    monkeypatch.delenv(compiled.VARIABLE)


def test_filling_the_cache_leaves_its_stamp(fresh, monkeypatch):
    """Only when every rig has run; two at a time would do the same work."""
    ran = []

    class Rig:
        def __init__(self, name: str) -> None:
            ran.append(name)
            self.session = self

        def run(self, seconds: float) -> None:
            assert not compiled.stamp().exists()

        def close(self) -> None: ...

    monkeypatch.setattr("farhand.rigs.build_rig", lambda name, options: Rig(name))
    monkeypatch.setattr(fill_cache.os, "nice", lambda by: by)
    fill_cache.fill()
    assert compiled.stamp().exists()
    assert set(ran) == {"dual-arm", "hazardous", "youbot", "cooperative", "humanoid"}


def test_a_bound_function_follows_its_arrays():
    """It keeps the arrays that it was given, so later values count; those with gaps as well."""
    scale, values = np.array([1.0, 2.0, 3.0]), np.arange(6.0)
    bound = bind(scaled_square, scale, values[::2])
    assert bound() == 0.0 + 16.0 + 144.0
    scale[0] = values[0] = 2.0
    assert bound() == 16.0 + 16.0 + 144.0
    later = bind(scaled_square, scale, then=(values,))
    assert later(np.ones(3)) == scale @ scale


def test_a_repeated_call_notices_other_arguments():
    """The same objects again and again, then others, then a plain function in place of it."""
    scale, values, repeated = np.ones(3), np.arange(3.0), Repeated()
    assert [repeated.call(scaled_square, scale, values) for _ in range(3)] == [5.0] * 3
    values[0] = 2.0
    assert repeated.call(scaled_square, scale, values) == 9.0
    assert repeated.call(scaled_square, scale, np.ones(3)) == 3.0
    assert repeated.call(scaled_square, scale, np.arange(6.0)[::2]) == 0.0 + 4.0 + 16.0
    assert repeated.call(lambda one, two: len(two), scale, values) == 3
