"""Way-points: a text file that keeps them, and a law that goes to them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from farhand.coupling.side import Side
from farhand.errors import BadValue, FileError, Mismatch
from farhand.learning.demonstration import DemonstratedRobot
from farhand.learning.waypoints import TaughtPoint, points_of, read_points, replaying, write_points
from farhand.spatial import rotation_from_vector
from tests.learning.conftest import made_up

LIMB = DemonstratedRobot("humanoid", "follower", "phua", ("a", "b"))
POINTS = [TaughtPoint("left-arm", (0.01, 0.0, 0.02)), TaughtPoint("left-arm", (-0.01, 0.005, 0.0))]


def test_a_file_gives_the_same_points_back(tmp_path):
    """To a micrometre; comments and blank lines are left out."""
    path = tmp_path / "points.txt"
    write_points(path, POINTS)
    path.write_text("# taught\n\n" + path.read_text())
    assert read_points(path) == POINTS


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no way-point"),
        ("left-arm 1 2\n", "line 1 is not CHAIN X Y Z"),
        ("left-arm 0 0 0\nleft-arm a b c\n", "line 2 is not CHAIN X Y Z"),
        ("left-arm nan 0 0\n", "not a number"),
        ("left-arm 0 0 0\nright-arm 0 0 0\n", "way-points of left-arm, right-arm"),
    ],
)
def test_bad_files_are_refused_by_line(tmp_path, text, reason):
    """With what a line should be."""
    path = tmp_path / "points.txt"
    path.write_text(text)
    with pytest.raises(BadValue, match=reason):
        read_points(path)


def test_files_that_are_none_are_refused(tmp_path):
    """Missing, or not text."""
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    for name in ("a", "b"):
        with pytest.raises(FileError, match=f"cannot read .*{name}"):
            read_points(tmp_path / name)


def taught(seed: int, name: str, limb: str | None = "left-arm", robot: DemonstratedRobot = LIMB):
    """A demonstration of a limb of the humanoid, in a recording of this name."""
    settings = {} if limb is None else {"rig.limb": limb}
    return replace(made_up(seed, robot), source=Path(name), settings=settings)


def test_points_are_where_demonstrations_end():
    """From where the first one of the same recording began: every recording begins where the limb
    was then.
    """
    shown = [taught(0, "a"), taught(1, "a"), taught(2, "b"), taught(3, "b")]
    points = points_of(shown)
    assert {point.chain for point in points} == {"left-arm"}
    for point, one, first in zip(points, shown, (0, 0, 2, 2), strict=True):
        np.testing.assert_allclose(
            point.position, one.position[-1] - shown[first].position[0], atol=1e-9
        )


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"robot": replace(LIMB, joints=("c", "d"))}, "different robots: a is of .* b of"),
        ({"robot": replace(LIMB, rig="dual-arm")}, "different robots"),
        ({"limb": "right-leg"}, "different limbs: a is of left-arm, b of right-leg"),
    ],
)
def test_points_of_unlike_robots_or_limbs_are_refused(other, reason):
    """Sent to another limb they would be places it cannot be, on servos that do as they are
    told.
    """
    with pytest.raises(Mismatch, match=reason):
        points_of([taught(0, "a"), taught(1, "b", **other)])


def test_points_of_what_cannot_go_to_them_are_refused():
    """An arm of another rig, and the pen that leads the limb."""
    with pytest.raises(
        Mismatch, match="only the humanoid's limbs go to way-points; a is of the follower"
    ):
        points_of([taught(0, "a", limb=None)])
    with pytest.raises(Mismatch, match="a is of the leader"):
        points_of([taught(0, "a", robot=replace(LIMB, station="leader"))])


def test_replay_visits_every_point_in_order():
    """A tool that follows perfectly is there in time; one that reports nothing is believed after
    the patience.
    """
    for follows in (True, False):
        law, a, b = replaying(POINTS)(), Side("leader"), Side("follower")
        law.engage(a, b)
        visited = []
        for _ in range(6000):
            law.step(a, b, 1e-3)
            if follows:
                b.position[:] = law.target.position
            if law.reached > len(visited):
                visited.append(law.target.position.copy())
        np.testing.assert_allclose(visited, [point.position for point in POINTS], atol=1e-9)


def test_a_way_takes_its_length_over_the_speed_and_a_tenth_of_a_second_at_least():
    """Quintic from rest to rest; half way after half the time, then it waits for the tool."""
    far = [TaughtPoint("left-arm", (0.03, 0.0, 0.04)), TaughtPoint("left-arm", (0.0301, 0.0, 0.04))]
    law, a, b = replaying(far)(speed=0.1, patience=0.2, rest=0.1), Side("leader"), Side("follower")
    b.position[:] = 1.0, 2.0, 3.0
    law.engage(a, b)
    for _ in range(250):
        law.step(a, b, 1e-3)
    np.testing.assert_allclose(law.target.position, [1.015, 2.0, 3.02], atol=1e-6)
    np.testing.assert_allclose(law.target.twist[:3], 1.875 * np.array([0.06, 0.0, 0.08]), atol=1e-6)
    # half a second of way, 0.2 s of patience, 0.1 s of rest, each to a tick
    for _ in range(545):
        law.step(a, b, 1e-3)
    assert law.reached == 0
    for _ in range(10):
        if law.reached == 0:
            law.step(a, b, 1e-3)
    assert law.reached == 1
    np.testing.assert_allclose(law.target.position, [1.03, 2.0, 3.04], atol=1e-6)
    # the next one is a tenth of a millimetre away: a tenth of a second
    for _ in range(50):
        law.step(a, b, 1e-3)
    np.testing.assert_allclose(law.target.position[0], 1.03005, atol=2e-6)


def test_a_tool_in_the_box_is_there_at_once_and_one_outside_is_not():
    """Half a box wide in each direction; the rest counts from then on without a break."""
    for off, there in ((0.9e-3, True), (1.1e-3, False)):
        law, a, b = replaying(POINTS)(patience=9.0, rest=0.2), Side("leader"), Side("follower")
        law.engage(a, b)
        length = float(np.linalg.norm(POINTS[0].position)) / 0.05
        for _ in range(round((length + 0.25) * 1e3)):
            b.position[:] = law.target.position + [0.0, -off, 0.0]
            law.step(a, b, 1e-3)
        assert law.reached == there
    law.engage(a, b)
    assert law.reached == 0
    kept = np.zeros(1)

    class Stream:
        def channel(self, name, width, unit):
            assert (name, width, unit) == ("waypoints_reached", 1, "-")
            return kept

    law.record(Stream())
    for k in range(3000):
        b.position[:] = law.target.position + ([0.1, 0.0, 0.0] if k % 150 == 0 else 0.0)
        law.step(a, b, 1e-3)
    assert law.reached == kept[0] == 0
    for _ in range(3000):
        b.position[:] = law.target.position
        law.step(a, b, 1e-3)
    assert law.reached == kept[0] == len(POINTS)


def test_the_follower_is_pulled_by_its_error_and_rate_and_the_leader_is_free():
    """The spring of the law, in place and turn."""
    law, a, b = replaying(POINTS)(), Side("leader"), Side("follower")
    law.engage(a, b)
    for _ in range(200):
        law.step(a, b, 1e-3)
    b.position[:] = law.target.position + [1e-3, 0.0, 0.0]
    b.rotation[:] = rotation_from_vector(np.array([0.0, 0.03, 0.0]))
    b.twist[:] = 0.01
    on_a, on_b = law.step(a, b, 1e-3)
    error = [*(law.target.position - b.position), 0.0, -0.03, 0.0]
    expected = replaying(POINTS)().spring.pull(np.array(error), law.target.twist - b.twist)
    np.testing.assert_allclose(on_b.wrench, expected, atol=1e-9)
    assert not np.any(on_a.wrench) and on_b.target is law.target


def test_a_place_may_be_just_below_ten_metres_away(tmp_path):
    """Not more, either way."""
    path = tmp_path / "points.txt"
    path.write_text("left-arm 9.9 -9.9 0\n  \n#no\n")
    assert read_points(path) == [TaughtPoint("left-arm", (9.9, -9.9, 0.0))]
    for x in ("10.1", "-10.1"):
        path.write_text(f"left-arm 0 {x} 0\n")
        with pytest.raises(BadValue, match="line 1 is further away than 10 m"):
            read_points(path)
