"""The DH arm against mechanics and against the engines: two unlike arms, one table each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.arm import Arm
from farhand.errors import BadValue, FarhandError, FileError, ModelError, UnknownName
from farhand.robots import load_robot
from farhand_lab.dh import FOLDER, DHArm, read_table

TABLES = [("ur5e", "cb"), ("ur5e", "ur"), ("elbow6", None)]
PENDULUM = """
a = [2.0]
d = [0.0]
alpha = [0.0]
mass = [3.0]
com = [[-1.5, 0.0, 0.0]]
inertia = [[0.1, 0.0, 0.0, 0.2, 0.0, 0.3]]
armature = [0.4]
"""
EMPTY = "\n".join(
    f"{key} = []" for key in ("a", "d", "alpha", "mass", "com", "inertia", "armature")
)


@pytest.fixture(params=TABLES, ids=str)
def case(request: pytest.FixtureRequest) -> tuple[DHArm, Arm]:
    """The table's arm and the robot's model."""
    name, variant = request.param
    return DHArm.load(name, variant), Arm.of(load_robot(name, variant))


def random_states(seed: int, count: int = 20):
    rng = np.random.default_rng(seed)
    return [(rng.uniform(-np.pi, np.pi, 6), rng.normal(size=6)) for _ in range(count)]


def slope(function, step: float = 1e-6) -> np.ndarray:
    return (function(step) - function(-step)) / (2 * step)


def test_every_term_equals_that_of_the_robots_model(case) -> None:
    """The table and the MJCF file were written down apart and describe the same arm."""
    table, arm = case
    for q, v in random_states(1):
        arm.update(q, v)
        terms = table.terms(q, v)
        np.testing.assert_allclose(terms.pose[:3, 3], arm.position, rtol=0, atol=1e-12)
        np.testing.assert_allclose(terms.pose[:3, :3], arm.rotation, rtol=0, atol=1e-12)
        np.testing.assert_allclose(terms.J, arm.J, rtol=0, atol=1e-12)
        np.testing.assert_allclose(terms.drift, arm.drift, rtol=0, atol=1e-11)
        np.testing.assert_allclose(terms.B, arm.M, rtol=0, atol=1e-12)
        np.testing.assert_allclose(terms.coriolis, arm.coriolis, rtol=0, atol=1e-11)


def test_the_single_terms_are_those_of_all_terms(case) -> None:
    """Asking for one thing gives what asking for everything gives."""
    table, _ = case
    q, v = random_states(2, 1)[0]
    terms = table.terms(q, v)
    np.testing.assert_array_equal(table.pose(q), terms.pose)
    np.testing.assert_array_equal(table.jacobian(q), terms.J)
    np.testing.assert_array_equal(table.drift(q, v), terms.drift)
    np.testing.assert_array_equal(table.mass_matrix(q), terms.B)
    np.testing.assert_array_equal(table.coriolis(q, v), terms.coriolis)


def test_the_jacobian_is_the_derivative_of_the_pose(case) -> None:
    """Position and rotation, by central differences along the motion."""
    table, _ = case
    for q, v in random_states(3):
        rate = slope(lambda t, q=q, v=v: table.pose(q + t * v))
        spin = rate[:3, :3] @ table.pose(q)[:3, :3].T
        twist = [*rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]]
        np.testing.assert_allclose(table.jacobian(q) @ v, twist, rtol=0, atol=1e-8)


def test_the_tool_jacobian_is_that_of_a_point_fixed_to_the_tool(case) -> None:
    """The velocity of the shifted point, seen in the tool's own axes."""
    table, _ = case
    shift = np.array([0.1, -0.03, 0.05])
    for q, v in random_states(4):
        pose = table.pose(q)
        rate = slope(lambda t, q=q, v=v: table.pose(q + t * v))
        velocity = pose[:3, :3].T @ (rate[:3, 3] + rate[:3, :3] @ shift)
        J = table.tool_jacobian(q, shift)
        np.testing.assert_allclose(J[:3] @ v, velocity, rtol=0, atol=1e-8)
        np.testing.assert_array_equal(J[3:], table.body_jacobian(q)[3:])


@given(st.integers(0, 2**32 - 1))
def test_one_wrench_gives_one_torque_in_any_axes(seed: int) -> None:
    """Power does not depend on who looks: J_bᵀ h_b = Jᵀ h."""
    table, rng = DHArm.load("elbow6"), np.random.default_rng(seed)
    q, wrench = rng.uniform(-np.pi, np.pi, 6), rng.uniform(-1, 1, 6)
    R = table.pose(q)[:3, :3]
    in_base = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
    torque = table.body_jacobian(q).T @ wrench
    np.testing.assert_allclose(torque, table.jacobian(q).T @ in_base, rtol=0, atol=1e-12)


def test_coriolis_torque_does_no_work_that_the_mass_matrix_does_not_take_up(case) -> None:
    """Passivity: q̇ᵀ(Ḃ − 2C)q̇ = 0, with Ḃ exact by a complex step."""
    table, _ = case
    for q, v in random_states(5):
        rate = table.mass_matrix(q + 1e-30j * v).imag / 1e-30
        assert abs(v @ rate @ v - 2 * v @ table.coriolis(q, v)) < 1e-11


def test_a_complex_step_gives_the_derivative_to_rounding() -> None:
    """As good as the geometric Jacobian."""
    table = DHArm.load("ur5e")
    q, v = random_states(6, 1)[0]
    rate = table.pose(q + 1e-30j * v).imag[:3, 3] / 1e-30
    np.testing.assert_allclose(rate, table.jacobian(q)[:3] @ v, rtol=0, atol=1e-14)


def test_scaling_the_masses_scales_the_mass_matrix_exactly() -> None:
    """And the Coriolis torque with it; the geometry stays."""
    table = DHArm.load("ur5e")
    light, (q, v) = table.scaled(0.25), random_states(7, 1)[0]
    np.testing.assert_array_equal(light.pose(q), table.pose(q))
    np.testing.assert_allclose(light.mass_matrix(q), 0.25 * table.mass_matrix(q), rtol=1e-14)
    np.testing.assert_allclose(light.coriolis(q, v), 0.25 * table.coriolis(q, v), rtol=1e-12)


def test_a_pendulum_of_one_link(tmp_path: Path) -> None:
    """Closed form: the centre is half a metre from the joint, the tool two."""
    path = tmp_path / "dh.toml"
    path.write_text(PENDULUM)
    arm, q, v = read_table(path), np.array([0.3]), np.array([2.0])
    np.testing.assert_allclose(arm.pose(q)[:3, 3], [2 * np.cos(0.3), 2 * np.sin(0.3), 0])
    np.testing.assert_allclose(arm.mass_matrix(q), [[3 * 0.5**2 + 0.3 + 0.4]])
    np.testing.assert_allclose(arm.coriolis(q, v), [0], atol=1e-12)
    np.testing.assert_allclose(
        arm.drift(q, v), [-8 * np.cos(0.3), -8 * np.sin(0.3), 0, 0, 0, 0], atol=1e-12
    )


def test_the_first_variant_is_the_default() -> None:
    """As in robot.toml, asking for nothing gives the published set."""
    np.testing.assert_array_equal(DHArm.load("ur5e").d, DHArm.load("ur5e", "cb").d)
    assert DHArm.load("ur5e", "ur").d[3] == 0.1333


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in FOLDER.glob("*/dh.toml")))
def test_every_table_says_where_its_values_come_from(folder: str) -> None:
    """No number without a source."""
    assert "[sources]" in (FOLDER / folder / "dh.toml").read_text()


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (("mass = [3.0]", ""), ModelError, "lacks mass"),
        (("mass = [3.0]", "mass = 3.0"), BadValue, "1 entries"),
        (("mass = [3.0]", "mass = [3.0, 4.0]"), BadValue, "mass must be a list"),
        (("mass = [3.0]", 'mass = ["heavy"]'), BadValue, "heavy"),
        (("com = [[-1.5, 0.0, 0.0]]", "com = [[-1.5, 0.0]]"), BadValue, "3 values"),
        ((PENDULUM, EMPTY), ModelError, "no links"),
        (("alpha", "alfa"), UnknownName, "did you mean 'alpha'"),
        (("a = [2.0]", "a = ["), ModelError, "dh.toml"),
    ],
)
def test_a_wrong_table_is_refused_on_one_line(tmp_path: Path, change, kind, words: str) -> None:
    """The message names the file and what is wrong with it."""
    path = tmp_path / "dh.toml"
    path.write_text(PENDULUM.replace(*change))
    with pytest.raises(FarhandError) as caught:
        read_table(path)
    assert type(caught.value) is kind
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    """A robot without a table, a variant that does not exist, a file that is missing."""
    with pytest.raises(UnknownName, match="available: elbow6, ur5e"):
        DHArm.load("point3")
    with pytest.raises(UnknownName, match="available: cb, ur"):
        DHArm.load("ur5e", "cv")
    with pytest.raises(FileError, match="No such file"):
        read_table(tmp_path / "dh.toml")
