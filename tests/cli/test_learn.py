"""``farhand learn`` and ``farhand perform``: from recordings to a skill at work; bad input is one
line and code 2.
"""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from farhand.errors import FarhandError
from farhand.learning import learn, load_skill
from farhand.rigs import Options, build_rig
from farhand.running.rerun import record
from farhand.running.run import RunOutcome
from tests.learning.conftest import made_up


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Five short demonstrations in free space, and one of another robot."""
    folder = tmp_path_factory.mktemp("d")
    for number in range(6):
        settings = [("rig.follower_robot", "lwa4p")] if number == 5 else []
        rig = build_rig(
            "dual-arm",
            Options(law="position-position", scenario="free", seed=number, settings=settings),
        )
        record(rig, folder / f"{number}.mcap", 2.5)
    return folder


@pytest.fixture
def skill(tmp_path):
    """A skill that reaches in free space, from made-up demonstrations."""
    learn("reach", [made_up(seed) for seed in range(5)]).save(tmp_path / "reach.npz")
    return tmp_path / "reach.npz"


def test_recordings_become_a_skill(farhand_command, recorded, tmp_path):
    """Whose file says what it was learnt from; the word for the skill may also choose the
    method.
    """
    demos = [recorded / f"{number}.mcap" for number in range(5)]
    said = farhand_command(
        "learn", "promp", *demos, "--out", tmp_path / "s.npz", "--json", tmp_path / "s.json"
    )
    assert (
        said.code == 0
        and "from 5 demonstrations of the follower (ur5e, 6 joints) of dual-arm" in said.out
    )
    assert json.loads((tmp_path / "s.json").read_text())["method"] == "promp"
    assert abs(load_skill(tmp_path / "s.npz").facts.duration - 1.5) < 0.3


@pytest.mark.parametrize(
    "kind",
    ["few", "twice", "copied", "mixed", "truncated", "missing", "method", "station", "points"],
)
def test_bad_demonstrations_are_one_line_and_code_2(farhand_command, recorded, tmp_path, kind):
    """Too few, twice, copied, of two robots, cut off, not there, by what does not exist; what was
    there stays so.
    """
    demos = [recorded / f"{number}.mcap" for number in range(5)]
    more: list[object] = []
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(demos[0].read_bytes()[:50_000])
    if kind == "few":
        demos = demos[:4]
    elif kind == "method":
        more = ["--method", "magic"]
    elif kind == "station":
        more = ["--station", "coupling"]
    elif kind == "points":
        more = ["--method", "way-points"]
    elif kind == "copied":
        cut.write_bytes(demos[0].read_bytes())
        demos[1] = cut
    else:
        demos[1] = {
            "twice": demos[0],
            "mixed": recorded / "5.mcap",
            "truncated": cut,
            "missing": tmp_path / "none.mcap",
        }[kind]
    out = tmp_path / "s.npz"
    out.write_bytes(b"before")
    said = farhand_command("learn", "wipe", *demos, "--out", out, *more)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("farhand: ") and said.err.count("\n") == 1
    words = {
        "few": "too few",
        "twice": "0.mcap is given twice",
        "mixed": "different robots",
        "truncated": "cut.mcap",
        "missing": "none.mcap",
        "copied": "cut.mcap has the same demonstration as",
        "station": "unknown station 'coupling'; available: follower, leader",
        "points": "only the humanoid's limbs go to way-points",
    }
    assert words.get(kind, "available: dmp, promp, way-points") in said.err
    assert out.read_bytes() == b"before" and sorted(p.name for p in tmp_path.iterdir()) == [
        "cut.mcap",
        "s.npz",
    ]


def test_a_skill_is_performed_with_another_goal(farhand_command, skill, tmp_path):
    """Within reach of the arm; the JSON says how it went."""
    words = (
        "--headless",
        "--goal",
        "0.35,1.1,0.4",
        "--set",
        "law.approach=3",
        "--json",
        tmp_path / "p.json",
    )
    motion = load_skill(skill).motion(2)
    assert not np.allclose(motion.position[-1], [0.35, 1.1, 0.4])
    said = farhand_command("perform", skill, *words, "--seconds", "0.2")
    assert said.code == 0 and "force-aware" in said.out
    assert (
        json.loads((tmp_path / "p.json").read_text())["performances"]["force-aware"]["phase"] == 0.0
    )


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--goal", "1,2"), "is not 3 numbers"),
        (("--via", "2,0,0,0"), "phase 2"),
        (("--shift", "9"), "--shift = 9 is outside"),
        (("--set", "law.magic=1"), "unknown parameter 'law.magic'"),
        (("--shift", "0.01"), "touches no wall"),
        (("--goal", "9,9,9"), "--goal 9,9,9 is out of reach"),
        (("--via", "0.5,0,3,0"), "--via 0.5,0,3,0 is out of reach"),
    ],
)
def test_bad_wishes_are_one_line_and_code_2(farhand_command, skill, words, reason):
    """Before anything runs."""
    said = farhand_command("perform", skill, "--headless", *words)
    assert (said.code, said.out) == (2, "") and reason in said.err and said.err.count("\n") == 1


def test_comparing_needs_no_page(farhand_command, skill):
    """And says so."""
    said = farhand_command("perform", skill, "--compare")
    assert said.code == 2 and "--compare needs --headless" in said.err


def test_way_points_are_learnt_and_gone_to(farhand_command, tmp_path):
    """From one recording with two demonstrations, through a text file; a broken file is one line
    and code 2.
    """
    settings = [("rig.rate", 200.0)]
    rig = build_rig("humanoid", Options(scenario="free", settings=settings))
    for text in ("0.4:set demonstration.active=true", "2.3:set demonstration.active=false"):
        rig.session.commands.post_text(text)
    for text in ("2.45:set demonstration.active=true", "4.3:set demonstration.active=false"):
        rig.session.commands.post_text(text)
    taught = record(rig, tmp_path / "t.mcap", 4.5)
    said = farhand_command("learn", "way-points", taught, "--out", tmp_path / "p.txt")
    assert said.code == 0 and "2 way-points" in said.out
    assert [line.split()[0] for line in (tmp_path / "p.txt").read_text().splitlines()] == [
        "left-arm",
        "left-arm",
    ]
    said = farhand_command("perform", tmp_path / "p.txt", "--headless", "--set", "rig.rate=200")
    assert said.code == 0 and "2 of 2 way-points reached" in said.out
    (tmp_path / "p.txt").write_text("left-arm 1 2")
    said = farhand_command("perform", tmp_path / "p.txt", "--headless")
    assert said.code == 2 and "line 1 is not CHAIN X Y Z" in said.err and said.err.count("\n") == 1


def test_a_skill_without_measured_force_has_nothing_to_compare(farhand_command, tmp_path):
    """A synthetic force is no force that could be kept."""
    shown = [replace(made_up(seed), force_kind="synthetic") for seed in range(5)]
    learn("reach", shown).save(tmp_path / "reach.npz")
    said = farhand_command("perform", tmp_path / "reach.npz", "--headless", "--compare")
    assert said.code == 2 and "--compare needs a measured force" in said.err


def test_a_recorded_performance_is_shown_but_not_run_again(
    farhand_command, skill, tmp_path, monkeypatch
):
    """The page needs no skill, which is in no recording; a proof would need it, and says so."""
    path, scenes = tmp_path / "done.mcap", []

    def serve(recording, scene, host, port, speed, at):
        scenes.append(scene)
        raise FarhandError("no page here")

    monkeypatch.setattr(importlib.import_module("farhand.console.serve"), "serve_recording", serve)
    assert (
        farhand_command("perform", skill, "--headless", "--seconds", "0.1", "--record", path).code
        == 0
    )
    assert "no page here" in farhand_command("replay", path).err
    assert scenes[0]["law"] == "skill" and scenes[0]["scenario"].startswith(
        "the follower does by itself"
    )
    assert [thing["rigid"] for thing in scenes[0]["things"] if thing["kind"] == "tie"] == [False]
    said = farhand_command("replay", path, "--rerun")
    assert said.code == 2 and "performance" in said.err and said.err.count("\n") == 1


@pytest.mark.parametrize(
    "words", [("--shift", "0.1"), ("--goal", "0,0,0"), ("--compare",), ("--position-only",)]
)
def test_what_bends_a_skill_is_refused_for_way_points(farhand_command, tmp_path, words):
    """They are gone to as they are."""
    (tmp_path / "p.txt").write_text("left-arm 0.1 0.1 0.0\n")
    said = farhand_command("perform", tmp_path / "p.txt", "--headless", *words)
    assert said.code == 2 and f"{words[0]} needs a skill" in said.err and said.err.count("\n") == 1


def test_a_performance_is_judged_by_the_rules_of_a_run():
    """A stop is an outcome; one for something that is no number, and a recording that broke off,
    are failures.
    """
    perform = importlib.import_module("farhand.cli.perform")

    def faults(kind: str | None, unrecorded: str | None = None) -> list[str]:
        trip = SimpleNamespace(kind=kind, time_ns=250_000_000, reason="too fast")
        trips = [] if kind is None else [SimpleNamespace(where="follower", trip=trip)]
        rig = SimpleNamespace(session=SimpleNamespace(trips=trips))
        return perform._faults(rig, RunOutcome(1.0, 1.0, False, unrecorded))

    assert faults(None) == faults("speed") == []
    assert faults("invalid") == ["follower stopped at 0.25 s: too fast"]
    assert faults(None, "disk full") == ["the recording stopped before the run: disk full"]
    assert (perform._conclude([]), perform._conclude(faults("invalid"))) == (0, 2)


def test_a_note_stands_beside_the_skill(farhand_command, recorded, tmp_path, monkeypatch):
    """Printed, and in the JSON."""
    module = importlib.import_module("farhand.learning.skill")
    monkeypatch.setattr(module, "MAX_SPREAD", 1e-9)  # everything is unlike
    demos = [recorded / f"{number}.mcap" for number in range(5)]
    said = farhand_command(
        "learn", "x", *demos, "--out", tmp_path / "s.npz", "--json", tmp_path / "s.json"
    )
    assert said.code == 0 and "note: the demonstrations differ" in said.out
    assert json.loads((tmp_path / "s.json").read_text())["notes"] == list(
        load_skill(tmp_path / "s.npz").facts.notes
    )
