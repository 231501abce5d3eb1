"""Virtual fixtures lead where they say, give out no more energy than was put in, never jump."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farhand.control.haptic.fixtures import KINDS, Fixture
from farhand.errors import BadValue, UnknownName
from farhand.parameters import assign
from farhand.rigs import Options, build_rig

DT = 1e-3
REST = np.zeros(3)


def grown(**settings) -> Fixture:
    """A fixture at its full strength."""
    fixture = Fixture(**settings)
    fixture.push(np.ones(3), REST, 1.0, np.zeros(3))
    return fixture


def force_at(fixture: Fixture, place, velocity=REST) -> np.ndarray:
    """What it pushes with there, [N]."""
    force = np.zeros(3)
    fixture.push(np.asarray(place, dtype=float), np.asarray(velocity, dtype=float), DT, force)
    return force


@pytest.mark.parametrize(
    ("kind", "place", "expected"),
    [
        ("plane", (0.3, -0.2, 0.02), (0.0, 0.0, -10.0)),
        ("line", (0.03, 0.0, 0.7), (-15.0, 0.0, 0.0)),
        ("tube", (0.07, 0.0, 0.7), (-10.0, 0.0, 0.0)),
        ("tube", (0.04, 0.0, 0.7), (0.0, 0.0, 0.0)),
        ("forbidden", (0.0, 0.03, 0.0), (0.0, 10.0, 0.0)),
        ("forbidden", (0.0, 0.06, 0.0), (0.0, 0.0, 0.0)),
        ("forbidden", (0.0, 0.0, 0.0), (0.0, 0.0, 25.0)),
        ("attractor", (0.0, 0.0, -0.02), (0.0, 0.0, 10.0)),
        ("attractor", (1.0, 0.0, 0.0), (-40.0, 0.0, 0.0)),
        ("none", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ],
)
def test_a_fixture_pushes_to_the_nearest_place_that_is_allowed(kind, place, expected):
    """500 N/m times the way there, up to 40 N."""
    np.testing.assert_allclose(force_at(grown(kind=kind, damping=0.0), place), expected, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), damping=st.floats(0.0, 100.0))
def test_a_tool_moved_about_gets_no_more_out_than_it_put_in(kind, seed, damping):
    """Along any path the work done on the tool is at most what the spring held at the start."""
    rng = np.random.default_rng(seed)
    fixture = grown(kind=kind, damping=damping, direction=rng.normal(size=3).clip(-1, 1))
    place, velocity, work = rng.uniform(-0.15, 0.15, 3), np.zeros(3), 0.0
    force_at(fixture, place)
    held = fixture.stored
    for _ in range(3000):
        velocity += 0.05 * rng.normal(size=3) - 0.02 * velocity
        before = force_at(fixture, place, velocity)
        moved = place + velocity * DT
        work += 0.5 * float((before + force_at(fixture, moved, velocity)) @ (moved - place))
        place = moved
        assert work <= held - fixture.stored + 2e-3


@pytest.mark.parametrize("kind", KINDS)
def test_a_fixture_grows_from_nothing(kind):
    """Chosen while the tool is far away, it takes half a second to its full force."""
    fixture = Fixture(kind=kind, damping=0.0, radius=0.05)
    place = np.array([0.02, 0.01, 0.03]) if kind == "forbidden" else np.array([0.2, 0.1, 0.3])
    sizes = [np.linalg.norm(force_at(fixture, place)) for _ in range(600)]
    assert sizes[0] < 0.005 * sizes[-1]
    assert sizes[-1] == sizes[500] > 0.0
    assign({"fixture": fixture}, "fixture.point", (0.001, 0.0, 0.0))
    assert np.linalg.norm(force_at(fixture, place)) < 0.005 * sizes[-1]


def test_a_fixture_without_direction_or_kind_is_refused():
    """In one line."""
    with pytest.raises(BadValue, match="has no direction"):
        assign({"fixture": Fixture()}, "fixture.direction", 0.0)
    with pytest.raises(UnknownName, match="attractor"):
        assign({"fixture": Fixture()}, "fixture.kind", "magnet")


def test_a_run_without_a_fixture_refuses_one_later():
    """With how to start it, instead of silence."""
    rig = build_rig("dual-arm", Options())
    with pytest.raises(BadValue, match="--set fixture.kind"):
        assign(rig.session.parameters, "fixture.kind", "plane")
    rig.close()


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_either_tool_of_the_dual_arm_rig_is_kept_near_a_plane(side):
    """The hand lifts the leader by 0.2 m; a plane at the start holds the guided side back."""
    heights = []
    for kind in ("none", "plane"):
        rig = build_rig(
            "dual-arm",
            Options("position-position", scenario="free", settings=[("fixture.kind", "none")]),
        )
        tool = rig.world.ports[side].tool.position
        start = tool.copy()
        for path, value in (
            ("point", start),
            ("side", side),
            ("stiffness", 2000.0),
            ("limit", 200.0),
            ("kind", kind),
        ):
            assign(rig.session.parameters, f"fixture.{path}", value)
        rig.session.run(2.5)
        heights.append(float(tool[2] - start[2]))
        assert not rig.session.trips
        rig.close()
    assert heights[0] > 0.15
    assert heights[1] < 0.5 * heights[0]
