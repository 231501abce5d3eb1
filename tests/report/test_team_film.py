"""A run of a team as a moving picture."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from farhand.analysis.team import TeamMetrics
from farhand.report import team_film
from farhand.report.team_film import MAX_FRAMES, FilmScene, film, film_of
from farhand.rigs import Options, Rig, build_rig


@pytest.fixture(scope="module")
def ran() -> Rig:
    """A person puts an object into one follower's jaws: 2.2 s."""
    rig = build_rig("cooperative", Options(scenario="weigh"))
    rig.session.run(2.2, rig.metrics.pull)
    yield rig
    rig.close()


def scene_of(rig: Rig) -> FilmScene:
    """Of the object and its arm."""
    assert isinstance(rig.metrics, TeamMetrics)
    return FilmScene(
        rig.world,
        rig.metrics.history,
        rig.metrics.arms,
        rig.metrics.thing,
        np.array(rig.construction.size),
    )


def test_the_film_moves_is_small_and_plays_twice_as_fast(ran: Rig) -> None:
    """One picture every 0.25 s, shown for 0.125 s."""
    data = film_of(ran.metrics, ran.construction.size)
    picture = Image.open(io.BytesIO(data))
    assert picture.n_frames == 9 and picture.info["duration"] in (120, 130)
    assert len(data) < 2_000_000 * 9 / MAX_FRAMES


def test_a_scene_shows_the_tools_where_the_run_had_them_and_the_forces_of_the_time(
    ran: Rig,
) -> None:
    """To a tenth of a millimetre; before the jaws close there is no force, after the person let go
    the weight.
    """
    scene = scene_of(ran)
    for time, lift in ((0.5, 0.0), (2.15, 2.122 * 9.804)):
        scene.look(time)
        row = np.searchsorted(ran.metrics.history.times("follower_1"), time - 1e-9)
        there = ran.metrics.history.signal("follower_1", "position_tool_in_world")[row]
        np.testing.assert_allclose(scene.chain("follower_1")[-1], there, atol=1e-4)
        assert scene.forces[0, 2] == pytest.approx(lift, abs=2.0)


def test_a_long_run_has_pictures_farther_apart(ran: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the film stays small."""
    monkeypatch.setattr(team_film, "MAX_FRAMES", 4)
    assert Image.open(io.BytesIO(film(scene_of(ran)))).n_frames == 4
