"""Skills: learnt, kept, bent, and refused with one line where the input is no good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from farhand.errors import BadValue, FileError, Mismatch, UnknownName
from farhand.learning.demonstration import DemonstratedRobot
from farhand.learning.skill import METHODS, Skill, learn, load_skill
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
