"""A recording is read at any of its times as if it were happening."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import viser

from farhand.console.live import Live
from farhand.console.player import Player
from farhand.console.scene import Scene, scene_of
from farhand.console.source import RecordedSource
from farhand.recording.loader import load
from farhand.rigs import Options, build_rig
from farhand.running.rerun import record


@pytest.fixture(scope="module")
def scene() -> Scene:
    """Of the rig that is recorded."""
    rig = build_rig("dual-arm", Options(scenario="press"))
    made = scene_of(rig)
    rig.close()
    return made


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Three seconds of the hand pressing on the wall, with a stop at 2.5 s."""
    rig = build_rig("dual-arm", Options(scenario="press"))
    rig.session.commands.post_text("2.5:stop")
    return load(record(rig, tmp_path_factory.mktemp("r") / "r.mcap", 3.0))


@pytest.fixture
def player(recording, scene) -> Iterator[Player]:
    """The recording on a page nobody looks at."""
    server = viser.ViserServer("127.0.0.1", 0, verbose=False)
    yield Player(server, RecordedSource(recording), scene, Live())
    server.stop()


def test_the_record_shown_is_the_last_not_after_the_time(recording):
    """Between two records the earlier one counts."""
    source = RecordedSource(recording)
    source.seek(1_500_500_000)
    t_ns, channels = source.latest("leader")
    assert t_ns == 1_500_000_000
    np.testing.assert_array_equal(channels["q"], recording["leader/q"][1500])


def test_events_are_told_once_and_again_after_a_step_back(recording):
    """A slider that is moved back makes them happen again."""
    source = RecordedSource(recording)
    source.seek(source.end_ns)
    assert any("stop" in text for _, text, _ in source.events_with_data())
    assert source.events_with_data() == [] and source.closed
    source.seek(1_000_000_000)
    earlier = [text for _, text, _ in source.events_with_data()]
    assert any("engage" in text for text in earlier) and not any("stop" in text for text in earlier)


def test_seeking_shows_that_time_and_the_seconds_before_it(player, recording):
    """Robots, status and curves."""
    player.seek(2.0)
    reading = player.reading
    assert reading.time_ns == 2_000_000_000 and not reading.trip
    np.testing.assert_array_equal(reading.q["follower"], recording["follower/q"][2000])
    player.seek(2.9)
    assert "operator stopped" in player.reading.trip
    player.seek(1.0)
    assert not player.reading.trip


def test_it_plays_at_its_speed_and_stops_at_its_end(player):
    """And begins again from the start when asked to play on."""
    player.play(True)
    for _ in range(4):
        player.frame(0.5, True)
    assert player.reading.time_ns == pytest.approx(2.0e9, abs=2e6)
    for _ in range(4):
        player.frame(0.5, True)
    assert player.reading.ended
    player.play(True)
    player.frame(0.1, True)
    assert player.reading.time_ns < 0.2e9


@pytest.mark.parametrize(("asked", "shown"), [(1.25, 1.25), (99.0, 3.0), (float("nan"), 0.0)])
def test_a_link_opens_at_its_moment_and_stays_there(player, asked, shown):
    """Also when others wrote the link, with a time that the recording does not have."""
    player.actions["seek"]("anybody", asked)
    for _ in range(3):
        player.frame(0.5, True)
    assert player.reading.time_ns == pytest.approx(1e9 * shown, abs=2e6)


def test_the_page_knows_which_moment_it_shows(player, monkeypatch):
    """For the link that it offers."""
    said = []
    monkeypatch.setattr(Live, "show", lambda live, state: said.append(state["time"]))
    player.seek(2.0)
    assert said == [2.0]
