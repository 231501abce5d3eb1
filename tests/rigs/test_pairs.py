"""Several pairs in one session, and one leader with several followers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from farhand.errors import FarhandError, Mismatch
from farhand.loop.target import accept_targets
from farhand.loop.telemetry import Reader
from farhand.recording.loader import load
from farhand.rigs import Options, build_rig
from farhand.rigs.pairs.layout import from_text, like_pairs, read, to_text
from farhand.running.rerun import record, rerun

TWO = """
[[pair]]
name = "left"

[[pair]]
name = "right"
leader = "openarm"
follower = "openarm"
law = "unilateral"
space = "tool"
leader_base = [2.0, 0.0, 0.0]
follower_base = [2.0, 2.0, 0.0]
"""


def built(pairs, **more):
    """A rig of these pairs."""
    return build_rig("pairs", Options(settings=[("rig.layout", to_text(pairs))], **more))


@pytest.fixture
def two(tmp_path):
    """A rig from a file: unlike pairs, each with its own law and space."""
    path = tmp_path / "two.toml"
    path.write_text(TWO)
    rig = built(read(path), scenario="free")
    yield rig
    rig.close()


def test_each_pair_of_a_file_has_its_own_law_space_and_place(two):
    """And what a reader of the recording needs to tell them apart."""
    session = two.session
    names = ["left-leader", "left-follower", "right-leader", "right-follower"]
    assert [station.name for station in session.stations] == names
    laws = [bridge.laws[0] for bridge in session.bridges]
    assert [(law.name, law.port.space) for law in laws] == [
        ("position-position", "joints"),
        ("unilateral", "tool"),
    ]
    assert two.world.placed["right-follower"].placement.position == (2.0, 2.0, 0.0)
    about = Reader(session.telemetry.path).header["description"]["pairs"]
    assert about["coupling-2"] == ["right", "right-leader", "right-follower", "unilateral"]


def test_every_follower_follows_its_own_leader(two):
    """The right hand moves alone, and only the right follower moves."""
    session = two.session
    session.commands.post("set", "left-leader.hand.open", True, at_ns=0)
    session.run(0.001)
    start = {s.name: s.arm.position.copy() for s in session.stations}
    session.run(2.2, two.metrics.pull)
    moved = {s.name: np.linalg.norm(s.arm.position - start[s.name]) for s in session.stations}
    assert session.trips == []
    assert moved["left-follower"] < 0.005
    assert moved["right-follower"] > 0.03
    found = {name: value for name, (value, _) in two.metrics.values().items()}
    assert found["tracking_error_max_left"] < found["tracking_error_max_right"]
    assert found["energy_balance_error"] < 1e-3


def test_one_stop_stops_every_arm(two):
    """All four are held, and a reset with an engage moves all again."""
    session = two.session
    session.run(1.0)
    session.commands.post("stop")
    session.run(1.0)
    assert {record.where for record in session.trips} == {s.name for s in session.stations}
    assert max(np.abs(s.arm.v).max() for s in session.stations) < 0.02
    for name in ("reset", "engage"):
        session.commands.post(name)
    session.run(0.5)
    assert [bridge.b.contribution.gain for bridge in session.bridges] == [1.0, 1.0]


def test_one_leader_has_several_followers():
    """Both go where it goes, and it feels both: twice the force of one."""
    rig = built(like_pairs(1, "openarm", ["openarm", "openarm"], "joints"), scenario="free")
    session = rig.session
    assert [s.name for s in session.stations] == ["leader", "follower", "follower-2"]
    session.run(2.2, rig.metrics.pull)
    leader, one, two = (station.arm.q for station in session.stations)
    assert session.trips == []
    np.testing.assert_allclose(one, two, atol=1e-9)
    np.testing.assert_allclose(one[:4], leader[:4], atol=0.05)
    efforts = [bridge.a.effort for bridge in session.bridges]
    np.testing.assert_allclose(efforts[0], efforts[1], atol=1e-9)
    torque = rig.metrics.history.signal("leader", "torque_coupled")[-1]
    np.testing.assert_allclose(torque, efforts[0] + efforts[1], atol=1e-9)
    rig.close()


def test_a_law_that_needs_an_arm_for_itself_is_refused():
    """Virtual constraints take their own effort for the only one."""
    with pytest.raises(Mismatch, match="share station 'leader'"):
        built(like_pairs(1, "openarm", ["openarm", "openarm"], None), law="virtual-constraints")


def test_each_follower_takes_targets_of_its_own(two):
    """By the name of its station."""
    session = two.session
    accept_targets(session)
    session.commands.post("set", "hand.open", True)
    session.run(0.1)
    left, right = session.stations[1], session.stations[3]
    goal, still = left.arm.q + 0.2, right.arm.q.copy()
    session.commands.post("set", "left-follower.target.joints", goal.tolist())
    session.run(2.0)
    np.testing.assert_allclose(left.arm.q, goal, atol=0.02)
    np.testing.assert_allclose(right.arm.q, still, atol=0.01)


def test_a_recording_of_pairs_is_run_again_to_the_bit(tmp_path):
    """The layout is in the recording, not the file that it came from."""
    rig = built(like_pairs(2, None, [], None), scenario="free")
    path = record(rig, tmp_path / "pairs.mcap", 0.3)
    streams = load(path)
    assert "right-follower" in json.dumps(streams.metadata)
    assert rerun(streams).exact


def test_a_layout_comes_back_from_its_text(tmp_path):
    """Every field."""
    (tmp_path / "two.toml").write_text(TWO)
    pairs = read(tmp_path / "two.toml")
    assert from_text(to_text(pairs)) == pairs


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no pairs"),
        ("pair = 3", "no pairs"),
        ("[[pair]", "is not TOML"),
        ("[[pairs]]", "did you mean 'pair'"),
        ('[[pair]]\nleder = "so101"', "did you mean 'leader'"),
        ("[[pair]]\nleader = 3", "must be a text"),
        ("[[pair]]\nfollower = []", "names no arm"),
        ('[[pair]]\nspace = "joint"', "did you mean 'joints'"),
        ("[[pair]]\nleader_base = [1, 2]", "three numbers"),
        ("[[pair]]\nfollower_base = [[0, 1, 0], [0, 2, 0]]", "2 follower_base for 1 followers"),
        ('[[pair]]\nname = "a"\n[[pair]]\nname = "a"', "two pairs are named 'a'"),
        ('[[pair]]\nname = "a"\n[[pair]]', "pair 2 has no name"),
        ('[[pair]]\nname = "a b"', "must be a letter"),
        ("[[pair]]\n" + "follower = [" + '"so101",' * 20 + "]", "at most 16"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_in_one_line(tmp_path, text, reason):
    """With the file's name."""
    path = tmp_path / "arms.toml"
    path.write_text(text)
    with pytest.raises(FarhandError) as refused:
        read(path)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_said(tmp_path):
    """As other files are."""
    with pytest.raises(FarhandError, match="cannot read"):
        read(tmp_path / "nowhere.toml")
