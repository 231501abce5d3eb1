"""Skills: learnt, kept, bent, and refused with one line where the input is no good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.errors import BadValue, FileError, Mismatch, UnknownName
from farhand.learning.alignment import Aligned
from farhand.learning.demonstration import DemonstratedRobot
from farhand.learning.skill import (
    METHODS,
    Skill,
    _facts,
    _force_kind,
    _notes,
    _threshold,
    learn,
    load_skill,
)
from farhand.spatial import rotation_from_vector
from tests.learning.conftest import made_up


@pytest.fixture(scope="module", params=METHODS)
def skill(request, shown) -> Skill:
    """By either method."""
    return learn("reach", shown, request.param)


def test_a_skill_keeps_the_force_at_its_place(skill):
    """20 N are shown half way; the skill has them there and nothing at its ends."""
    motion = skill.motion(401)
    force = np.linalg.norm(motion.force, axis=1)
    at = motion.position[int(force.argmax()), 0]
    assert abs(force.max() - 20.0) < 1.5 and abs(at - 0.15) < 0.02
    assert force[[0, -1]].max() < 1.0
    assert abs(motion.position[-1, 0] - 0.3) < 2e-3


def test_goal_and_via_point_bend_the_motion_and_not_the_turn(skill):
    """The new goal is reached, the via-point passed, and orientation stays as learnt for a
    primitive that keeps it.
    """
    goal = skill.motion(2).position[-1] + [0.02, 0.0, 0.05]
    bent = skill.towards(goal).motion(201)
    np.testing.assert_allclose(bent.position[-1], goal, atol=2e-3)
    point = skill.motion(201).position[100] + [0.0, 0.03, 0.0]
    np.testing.assert_allclose(
        skill.through(0.5, point).motion(201).position[100], point, atol=1e-3
    )


def test_a_file_gives_the_same_skill_back(skill, tmp_path):
    """To the bit, with all it says of itself."""
    skill.save(tmp_path / "s.npz")
    again = load_skill(tmp_path / "s.npz")
    assert again.facts == skill.facts and again.threshold == skill.threshold
    np.testing.assert_array_equal(again.motion(50).force, skill.motion(50).force)


def test_bad_demonstrations_are_refused(shown):
    """Too few, of two robots, or by a method that does not exist."""
    with pytest.raises(BadValue, match="4 demonstrations are too few: learning needs at least 5"):
        learn("x", shown[:4])
    other = made_up(9, DemonstratedRobot("dual-arm", "follower", "iiwa14", ("a",)))
    with pytest.raises(
        Mismatch, match="different robots: demo0.mcap is of .*ur5e.*demo9.mcap of .*iiwa14"
    ):
        learn("x", [*shown, other])
    with pytest.raises(UnknownName, match="available: dmp, promp"):
        learn("x", shown, "magic")


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 broken"])
def test_what_is_no_skill_is_refused(tmp_path, content):
    """Empty, foreign and damaged files, and one that is not there."""
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(FileError, match="bad.npz"):
        load_skill(tmp_path / "bad.npz")
    with pytest.raises(FileError, match="none.npz"):
        load_skill(tmp_path / "none.npz")


def test_a_skill_with_a_part_missing_is_refused(skill, tmp_path):
    """Or with numbers that are not finite."""
    skill.save(tmp_path / "s.npz")
    with np.load(tmp_path / "s.npz") as content:
        arrays = {key: content[key] for key in content.files}
    np.savez(tmp_path / "less.npz", **{k: v for k, v in arrays.items() if k != "reference"})
    with pytest.raises(FileError, match="not a whole skill"):
        load_skill(tmp_path / "less.npz")
    np.savez(tmp_path / "nan.npz", **arrays | {"reference": np.full((3, 3), np.nan)})
    with pytest.raises(FileError, match="not finite"):
        load_skill(tmp_path / "nan.npz")


def silent(one, begin: int, end: int):
    """A demonstration whose sensor gives nothing from one sample to another."""
    force = one.force.copy()
    force[begin:end] = np.nan
    return replace(one, force=force)


def test_a_sensor_that_falls_silent_does_not_teach_zero(shown):
    """Three of six lose it before the push: the rest have shown 20 N, and the note says how much is
    missing.
    """
    skill = learn("x", [*(silent(one, 250, 800) for one in shown[:3]), *shown[3:]])
    assert abs(np.linalg.norm(skill.motion().force, axis=1).max() - 20.0) < 1.5
    whole = learn("x", shown)
    assert (skill.facts.force_kind, whole.facts.notes) == ("measured", ())
    assert abs(skill.facts.force_mean - whole.facts.force_mean) < 1.5
    (note,) = skill.facts.notes
    assert note.startswith("34% of the force readings are missing, 69% of those in demo0.mcap")


def test_no_force_is_learnt_where_nobody_measured_much_of_the_way(shown):
    """All lose it in the push: what the force was there is not known, so the skill is a movement
    alone.
    """
    skill = learn("x", [silent(one, 300, 500) for one in shown])
    assert (
        skill.facts.force_kind == "none"
        and not skill.motion().force.any()
        and skill.facts.contact_share == 0.0
    )
    assert skill.facts.notes == (
        "no force is learnt: more than 5% of the way has no measured force",
    )
    brief = learn("x", [silent(one, 100, 110) for one in shown])
    assert (brief.facts.force_kind, brief.facts.notes) == ("measured", ())


def test_one_demonstration_without_a_force_leaves_the_others_theirs(shown):
    """And unlike kinds of force are not averaged."""
    without = replace(silent(shown[0], 0, 800), force_kind="none")
    skill = learn("x", [without, *shown[1:]])
    assert (
        skill.facts.force_kind == "measured"
        and "100% of those in demo0.mcap" in skill.facts.notes[0]
    )
    assert abs(np.linalg.norm(skill.motion().force, axis=1).max() - 20.0) < 1.5
    mixed = learn("x", [replace(shown[0], force_kind="synthetic"), *shown[1:]])
    assert (
        mixed.facts.force_kind == "none" and "measured and some synthetic" in mixed.facts.notes[0]
    )


def test_demonstrations_that_contradict_one_another_are_noted(shown):
    """Half of them go the other way: their mean goes nowhere."""
    away = [replace(one, position=one.position * [-1.0, 1.0, 1.0]) for one in shown[:3]]
    (note,) = learn("x", [*away, *shown[3:]]).facts.notes
    assert "deviate from their mean" in note and "mean that nobody showed" in note


def test_a_copy_of_a_demonstration_does_not_count(shown):
    """Whatever its file is called."""
    copy = replace(shown[2], source=shown[2].source.with_name("other.mcap"))
    with pytest.raises(BadValue, match="other.mcap has the same demonstration as demo2.mcap"):
        learn("x", [*shown, copy])


def aligned_with(force: np.ndarray, measured: np.ndarray | None = None) -> Aligned:
    """Demonstrations that stand still, with forces of these sizes, (m, n)."""
    m, n = force.shape
    vectors = np.stack([force, 0 * force, 0 * force], axis=2)
    there = np.ones((m, n), dtype=bool) if measured is None else measured
    s = np.linspace(0.0, 1.0, n)
    return Aligned(s, np.zeros((m, n, 6)), vectors, there, np.eye(3), np.full(m, 2.0))


def test_contact_is_above_a_third_of_the_mean_force_that_touches_and_above_one_newton():
    """What is below a tenth of the largest does not touch."""
    force = np.tile([0.0] * 10 + [1.5] * 10 + [20.0] * 20, (5, 1))
    assert _threshold(aligned_with(force)) == pytest.approx(0.3 * 20.0)
    force = np.tile([0.0] * 10 + [2.5] * 20 + [20.0] * 20, (5, 1))
    assert _threshold(aligned_with(force)) == pytest.approx(0.3 * 11.25)
    force = np.tile([0.0] * 10 + [1.1] * 20, (5, 1))
    assert _threshold(aligned_with(force)) == 1.0
    assert _threshold(aligned_with(0.9 * np.ones((5, 10)))) == 1.0
    force = np.tile([0.9] * 10 + [4.0] * 10, (5, 1))
    assert _threshold(aligned_with(force)) == pytest.approx(1.2)


def test_facts_are_of_what_was_measured_and_shown(shown):
    """Mean force in contact, its share of the readings, deviation, duration, common settings."""
    force = np.tile([0.0] * 30 + [10.0] * 10, (5, 1))
    measured = np.ones((5, 40), dtype=bool)
    force[0, 30:], measured[0, 30:] = 99.0, False
    one = aligned_with(force, measured)
    motion = one.motion.copy()
    motion[:, :, 0] = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])[:, None]
    one = replace(one, motion=motion, durations=np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    taught = [replace(d, settings={"a": 1, "b": k}) for k, d in enumerate(shown[:5])]
    facts = _facts("x", "dmp", taught, one, 3.0, "measured")
    assert facts.force_mean == pytest.approx(10.0)
    assert facts.contact_share == pytest.approx(40.0 / 190.0)
    assert facts.deviation == pytest.approx(np.sqrt(2.0)) and facts.duration == 3.0
    assert facts.settings == {"a": 1} and facts.demonstrations == 5
    none = _facts("x", "dmp", taught, replace(one, measured=np.zeros((5, 40), bool)), 3.0, "none")
    assert none.force_mean == none.contact_share == 0.0


def test_a_long_movement_has_five_bumps_per_second_and_a_short_one_twenty(shown):
    """Of its mean duration."""
    long = [replace(one, times=3.0 * one.times) for one in shown]
    mean = np.mean([one.duration for one in long])
    assert len(learn("x", long).primitive.weights) == round(5.0 * mean) > 20
    assert len(learn("x", shown).primitive.weights) == 20


def test_missing_force_is_noted_by_its_share_and_the_worst_of_them(shown):
    """From 5 % of the readings on; a phase that nobody measured for more than 5 % is not learnt."""
    for lost, noted in ((30, False), (60, True)):
        some = [silent(one, 100, 100 + lost) for one in shown[:5]]
        mine = learn("x", [*some, shown[5]]).facts
        assert bool(mine.notes) == noted and mine.force_kind == "measured"
    assert mine.notes[0].startswith("6% of the force readings are missing, 8% of those in demo0")
    kinds = [aligned_with(np.ones((6, 100)), np.tile(np.arange(100) >= k, (6, 1))) for k in (4, 6)]
    assert [_force_kind(shown, one) for one in kinds] == ["measured", "none"]
    mixed = [replace(shown[0], force_kind="synthetic"), *shown[1:]]
    assert _force_kind(mixed, kinds[0]) == "none"


def test_demonstrations_may_deviate_by_a_fifth_of_their_extent(shown):
    """The mean diagonal of the box about one."""
    extent = np.mean([np.linalg.norm(np.ptp(one.position, axis=0)) for one in shown])
    assert not list(_notes(shown, "measured", 0.19 * extent))
    (note,) = _notes(shown, "measured", 0.21 * extent)
    assert "by 21% of their extent of" in note and f"{1e3 * extent:.0f} mm" in note


def test_another_goal_is_reached_at_the_end_and_orientation_and_force_stay(skill):
    """At the end and not before; the turn of the last sample is as learnt."""
    before, goal = skill.motion(101), skill.motion(2).position[-1] + [0.05, 0.02, 0.0]
    after = skill.towards(goal).motion(101)
    np.testing.assert_allclose(after.position[-1], goal, atol=2e-3)
    if skill.facts.method == "dmp":
        assert np.linalg.norm(after.position[50] - before.position[50]) < 0.054
        np.testing.assert_allclose(after.vector, before.vector, atol=1e-9)
        np.testing.assert_allclose(after.force, before.force, atol=1e-9)
        bent = skill.through(0.5, before.position[50] + [0.0, 0.0, 0.05]).motion(101)
        np.testing.assert_allclose(bent.vector, before.vector, atol=1e-6)
    np.testing.assert_allclose(before.phase, np.linspace(0.0, 1.0, 101))
    turned = rotation_from_vector(before.vector[70]) @ skill.reference
    np.testing.assert_allclose(before.rotation[70], turned, atol=1e-9)
