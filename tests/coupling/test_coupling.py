"""Bilateral laws keep what they declare: reciprocity, symmetry, ports, needs."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from farhand.coupling import (
    LAWS,
    NEEDS,
    PROPERTIES,
    PositionForce,
    PositionPosition,
    Side,
    Unilateral,
    law_named,
    laws_with,
)
from farhand.errors import BadValue, Mismatch, UnknownName
from farhand.mapping import WorkspaceMapping
from farhand.parameters import assign

DT = 1e-3
SEEDS = range(8)
EVERY_LAW = list(LAWS.values())


def by_name(laws):
    """Parametrise a test over laws."""
    return pytest.mark.parametrize("law_type", laws, ids=lambda law: law.name)


def step(law, a: Side, b: Side) -> tuple[np.ndarray, np.ndarray]:
    """Both wrenches, as copies."""
    on_a, on_b = law.step(a, b, DT)
    return on_a.wrench.copy(), on_b.wrench.copy()


def mapped(law_type, seed: int, force_scale: float = 0.4):
    """A law with turned axes and unlike scales, unless it refuses them."""
    axes = np.random.default_rng(100 + seed).uniform(-1, 1, 3)
    try:
        return law_type(
            mapping=WorkspaceMapping(motion_scale=2.5, force_scale=force_scale, axes=axes)
        )
    except BadValue:
        return law_type()


def move(side: Side, *steps: float) -> None:
    """Turn the first joints of a side's arm by these angles [rad]."""
    q = side.arm.q.copy()
    q[: len(steps)] += steps
    side.arm.update(q, side.arm.v.copy())


def shift(side: Side, by: np.ndarray) -> None:
    """Shift a side's tool without turning it, to first order."""
    move(side, *np.linalg.solve(side.arm.J, np.concatenate([by, np.zeros(3)])))


@by_name(EVERY_LAW)
def test_a_law_declares_only_what_can_be_needed_and_promised(law_type):
    """Needs and properties are words everyone knows."""
    assert law_type.needs <= NEEDS.keys()
    assert law_type.properties <= PROPERTIES
    assert law_named(law_type.name) is law_type


def test_an_unknown_law_is_answered_with_those_there_are():
    """By name."""
    with pytest.raises(UnknownName, match="position-position"):
        law_named("telepathy")


def test_laws_are_found_by_what_they_promise():
    """Reciprocal laws include the spring and not the measured force."""
    names = {law.name for law in laws_with("reciprocal")}
    assert {"none", "position-position"} <= names
    assert "unilateral" not in names
    assert laws_with() == EVERY_LAW


@by_name(laws_with("reciprocal"))
@pytest.mark.parametrize("seed", SEEDS)
def test_action_is_reaction_through_the_mapping(law_type, seed, pair):
    """What the hand feels is the opposite of what the follower is pulled with, turned and scaled by
    the mapping.
    """
    law, (a, b), felt = mapped(law_type, seed), pair(seed), np.zeros(6)
    law.engage(a, b)
    move(a, 0.02, -0.03, 0.01)
    on_a, on_b = step(law, a, b)
    law.mapping.back(on_b, out=felt)
    np.testing.assert_allclose(on_a, -felt, atol=1e-9)


@by_name(laws_with("reciprocal", "velocity-force-port"))
@pytest.mark.parametrize("seed", SEEDS)
def test_a_reciprocal_port_with_unit_force_scale_only_takes_power_by_damping(law_type, seed, pair):
    """Power into both sides is minus the rate of the spring's energy minus damping: with e = 0 it
    is never positive.
    """
    law, (a, b) = mapped(law_type, seed, force_scale=1.0), pair(seed)
    law.engage(a, b)
    on_a, on_b = step(law, a, b)
    assert on_a @ a.twist + on_b @ b.twist <= 1e-9


@by_name(laws_with("symmetric"))
@pytest.mark.parametrize("seed", SEEDS)
def test_exchanging_the_sides_exchanges_the_efforts(law_type, seed, pair):
    """With an identity mapping and captured offsets it does not matter which side is called
    leader.
    """
    (a, b), forward, swapped = pair(seed), law_type(), law_type()
    forward.engage(a, b)
    swapped.engage(b, a)
    move(a, 0.02, -0.03, 0.01)
    move(b, -0.01, 0.02, 0.04)
    on_a, on_b = step(forward, a, b)
    swapped_b, swapped_a = step(swapped, b, a)
    np.testing.assert_allclose(swapped_a, on_a, atol=1e-9)
    np.testing.assert_allclose(swapped_b, on_b, atol=1e-9)


@by_name(laws_with("velocity-force-port"))
@pytest.mark.parametrize("seed", SEEDS)
def test_behind_a_port_only_motion_counts(law_type, seed, pair):
    """Another measured wrench on either side, or none, changes no effort."""
    law, (a, b) = law_type(), pair(seed)
    law.engage(a, b)
    move(a, 0.02, -0.03, 0.01)
    before = step(law, a, b)
    for wrench in (np.full(6, 50.0), None):
        a.wrench = b.wrench = wrench
        np.testing.assert_array_equal(step(law, a, b), before)


@by_name(EVERY_LAW)
def test_sides_that_agree_and_rest_are_left_alone(law_type, pair):
    """Zero error, zero rate and no contact: zero effort."""
    law, (a, b) = mapped(law_type, 1), pair(1, moving=False)
    law.engage(a, b)
    for wrench in step(law, a, b):
        np.testing.assert_allclose(wrench, 0.0, atol=1e-9)


@by_name([law for law in EVERY_LAW if law.name != "none"])
@pytest.mark.parametrize("axis", range(3))
def test_the_tools_are_brought_together_again(law_type, axis, pair):
    """A displacement of the leader is the error, and the tools accelerate towards each other."""
    law, (a, b) = law_type(), pair(2, moving=False)
    law.engage(a, b)
    shift(a, 0.01 * np.eye(3)[axis])
    away, follow = (
        side.arm.J @ np.linalg.solve(side.arm.M, side.arm.J.T @ wrench)
        for side, wrench in zip((a, b), step(law, a, b), strict=True)
    )
    np.testing.assert_allclose(law.error[:3], 0.01 * np.eye(3)[axis], atol=1e-3)
    assert (follow - away) @ law.error > 0.0


@by_name([Unilateral, PositionPosition, PositionForce])
def test_a_spring_pulls_with_stiffness_times_distance(law_type, pair):
    """And with rotational stiffness times angle."""
    law, (a, b) = law_type(), pair(2, moving=False)
    law.engage(a, b)
    move(a, 0.02, -0.03, 0.01, 0.05)
    on_b, spring = step(law, a, b)[1], law.spring
    expected = np.repeat([spring.stiffness, spring.rotational_stiffness], 3) * law.error
    np.testing.assert_allclose(on_b, expected, atol=1e-9)
    assert np.abs(law.error).min() > 1e-4


@by_name(EVERY_LAW)
def test_efforts_do_not_change_the_sides(law_type, pair):
    """A law looks; it does not touch."""
    law, (a, b) = mapped(law_type, 3), pair(3)
    law.engage(a, b)
    before = [
        array.copy()
        for side in (a, b)
        for array in (side.position, side.rotation, side.twist, side.wrench)
    ]
    step(law, a, b)
    after = [
        array
        for side in (a, b)
        for array in (side.position, side.rotation, side.twist, side.wrench)
    ]
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)


def test_unilateral_gives_the_leader_nothing(pair):
    """Whatever the follower touches."""
    a, b = pair(4)
    np.testing.assert_array_equal(step(law_named("unilateral")(), a, b)[0], 0.0)


def test_no_coupling_gives_nobody_anything(pair):
    """The baseline."""
    for wrench in step(law_named("none")(), *pair(5)):
        np.testing.assert_array_equal(wrench, 0.0)


def test_position_force_shows_the_hand_what_the_follower_measures(pair):
    """Same sign and full strength: a wall that pushes the follower back pushes the hand back."""
    a, b = pair(6, moving=False)
    b.wrench = np.array([-12.0, 3.0, 1.0, 0.5, -0.2, 0.1])
    law = law_named("position-force")()
    np.testing.assert_allclose(step(law, a, b)[0], b.wrench)


def test_position_force_without_a_measurement_leaves_the_hand_only_the_damping(pair):
    """No measurement is not zero force by accident but by documented choice; the damping stays."""
    a, b = pair(7)
    law = law_named("position-force")()
    b.wrench = None
    on_a = step(law, a, b)[0]
    np.testing.assert_allclose(on_a[:3], -law.leader_damping * a.twist[:3])
    np.testing.assert_allclose(on_a[3:], -law.leader_rotational_damping * a.twist[3:])


def test_a_force_that_is_no_longer_measured_fades_from_the_hand(pair):
    """To 1/e of it in a fifth of a second."""
    a, b = pair(6, moving=False)
    b.wrench = felt = np.array([-12.0, 3.0, 1.0, 0.5, -0.2, 0.1])
    law = law_named("position-force")()
    step(law, a, b)
    b.wrench = None
    for _ in range(200):
        on_a = law.step(a, b, 1e-3)[0].wrench
    np.testing.assert_allclose(on_a, felt / np.e, rtol=1e-9)


def test_the_damping_of_position_force_follows_its_parameters(pair):
    """A live change is felt at the next step."""
    a, b = pair(7)
    law = law_named("position-force")()
    b.wrench = None
    assign(law, "leader_damping", 0.0)
    np.testing.assert_array_equal(step(law, a, b)[0][:3], 0.0)


def test_a_law_whose_needs_are_not_met_is_refused_by_name():
    """The message names the law and what it lacks."""
    with pytest.raises(
        Mismatch, match="law 'position-force' needs a measured contact wrench of the follower"
    ):
        law_named("position-force")().require(set())


@by_name(EVERY_LAW)
def test_a_law_with_all_it_needs_is_not_refused(law_type):
    """Nor is one that needs nothing."""
    law_type().require(frozenset(NEEDS))


@by_name(EVERY_LAW)
def test_two_instances_of_a_law_are_two_laws(law_type, pair):
    """Each end of a link has its own: a parameter or an offset of one is not the other's."""
    first, second = law_type(), law_type()
    first.engage(*pair(0))
    assign(first, "mapping.motion_scale", 3.0)
    assert second.mapping.motion_scale == 1.0
    np.testing.assert_array_equal(second.mapping.offset_position, 0.0)


class OwnMapping(WorkspaceMapping):
    """A user's mapping, which goes the long way: forward, then compare."""

    def forward(self, p_a, R_a, twist_a):
        """As written."""
        super().forward(p_a, R_a, twist_a)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_short_way_to_the_error_is_the_long_one(pair, seed):
    """A workspace that is neither turned nor scaled is mapped and compared in one function."""
    laws = PositionPosition(), PositionPosition(mapping=OwnMapping())
    a, b = pair(seed)
    for law in laws:
        law.engage(a, b)
    move(a, 0.3, -0.2, 0.4, 0.1)
    for law in laws:
        law.measure(a, b)
    short, long = laws
    assert np.abs(short.error).min() > 1e-6
    np.testing.assert_allclose(short.error, long.error, atol=1e-14)
    np.testing.assert_allclose(short.rate, long.rate, atol=1e-14)
    np.testing.assert_allclose(short.mapping.position, long.mapping.position, atol=1e-14)
    np.testing.assert_allclose(short.mapping.rotation, long.mapping.rotation, atol=1e-14)
    np.testing.assert_array_equal(short.mapping.twist, long.mapping.twist)


OWN = """
import helper_of_mine
from farhand.coupling import PositionPosition

class Own(PositionPosition):
    name = "own"

number = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The current folder, with a user's module in it, as an installed command sees it: not on the
    path.
    """
    (tmp_path / "own_laws.py").write_text(OWN)
    (tmp_path / "helper_of_mine.py").write_text("")
    (tmp_path / "broken_laws.py").write_text("def step(:\n")
    (tmp_path / "needy_laws.py").write_text("import a_package_nobody_has\n")
    monkeypatch.setattr(
        sys, "path", [place for place in sys.path if place not in ("", str(Path.cwd()))]
    )
    monkeypatch.chdir(tmp_path)
    laws, modules = LAWS.copy(), set(sys.modules)
    yield tmp_path
    LAWS.clear()
    LAWS.update(laws)
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_a_law_is_found_in_the_current_folder(folder):
    """With what its module imports from there, and the path is as it was."""
    before = list(sys.path)
    law = law_named("own_laws:Own")
    assert law.name == "own"
    assert LAWS["own"] is law is law_named("own_laws:Own")
    assert sys.path == before


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no_laws:Own", "there is no module 'no_laws', neither in the current folder ({folder})"),
        ("own_laws:Their", "own_laws.py has no 'Their'"),
        ("own_laws:number", "is not a class derived from farhand.coupling.Coupling"),
        ("broken_laws:Own", "cannot be imported: SyntaxError: "),
        ("needy_laws:Own", "module 'needy_laws' needs 'a_package_nobody_has'"),
        (":Own", "law ':Own' cannot be imported: "),
    ],
)
def test_a_module_without_the_law_is_told_in_one_line(folder, name, told):
    """Where was looked, or what is wrong with what was found; the path is as it was."""
    before = list(sys.path)
    with pytest.raises(BadValue) as refused:
        law_named(name)
    assert told.format(folder=folder) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert sys.path == before
