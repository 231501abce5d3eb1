"""History: every signal of a run, in bounded memory."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from farhand.analysis import history as module
from farhand.analysis.history import History
from farhand.errors import UnknownName
from farhand.loop.telemetry import Telemetry


@pytest.fixture
def telemetry():
    """A ring with one stream of two channels."""
    with Telemetry(capacity=64) as telemetry:
        stream = telemetry.stream("arm", 1000.0)
        telemetry.signals = stream.channel("q", 2, "rad"), stream.channel("t", 1, "s")
        telemetry.arm = stream
        telemetry.freeze()
        yield telemetry


def write(telemetry, first: int, count: int) -> None:
    """Records of numbers that tell their place."""
    for k in range(first, first + count):
        telemetry.signals[0][:] = k, -k
        telemetry.signals[1][0] = k
        telemetry.arm.commit(k * 1_000_000)


def test_what_is_pulled_is_what_was_written(telemetry):
    """Times and values, by channel."""
    history = History(telemetry.path)
    write(telemetry, 0, 30)
    new = history.pull()
    assert len(new["arm"][0]) == 30
    write(telemetry, 30, 20)
    history.pull()
    np.testing.assert_allclose(history.times("arm"), np.arange(50) * 1e-3)
    np.testing.assert_array_equal(history.signal("arm", "q")[:, 1], -np.arange(50))
    assert history.lost == 0


@pytest.mark.parametrize(
    ("stream", "channel", "words"),
    [("amr", "q", "stream 'amr' .did you mean 'arm'"), ("arm", "w", "'arm' 'w'; available: q, t")],
)
def test_a_name_that_is_not_recorded_is_answered_with_those_that_are(
    telemetry, stream, channel, words
):
    """Also before anything was pulled."""
    with pytest.raises(UnknownName, match=words):
        History(telemetry.path).signal(stream, channel)


def test_records_overwritten_before_they_were_pulled_are_counted(telemetry):
    """A gap is known, not hidden."""
    history = History(telemetry.path)
    write(telemetry, 0, 200)
    history.pull()
    kept = len(history.times("arm"))
    assert kept <= 64
    assert history.lost == 200 - kept


def test_memory_stays_bounded_and_evenly_spaced(telemetry, monkeypatch):
    """Beyond the limit every second record goes, again and again."""
    monkeypatch.setattr(module, "MAX_ROWS", 100)
    history = History(telemetry.path)
    for start in range(0, 1000, 50):
        write(telemetry, start, 50)
        history.pull()
        assert len(history.times("arm")) <= 100
    steps = np.diff(history.signal("arm", "t")[:, 0])
    assert len(set(steps)) == 1
    assert steps[0] > 1


def test_events_are_kept(telemetry):
    """Trips and commands, with their times."""
    history = History(telemetry.path)
    telemetry.event(5, "leader tripped")
    history.pull()
    assert history.events == [(5, "leader tripped")]


def test_another_process_s_history_is_taken_over_and_gone_on_with(telemetry):
    """Nothing twice, nothing missing, events and losses included."""
    there, here = History(telemetry.path), History(telemetry.path)
    write(telemetry, 0, 30)
    telemetry.event(5, "first")
    there.pull()
    here.restore(pickle.loads(pickle.dumps(there.state())))
    write(telemetry, 30, 20)
    telemetry.event(6, "second")
    here.pull()
    np.testing.assert_array_equal(here.signal("arm", "q")[:, 0], np.arange(50))
    assert [text for _, text in here.events] == ["first", "second"]
    assert here.lost == 0
    assert here.latest == pytest.approx(0.049)


def test_events_stay_bounded(telemetry, monkeypatch):
    """The newest are kept."""
    monkeypatch.setattr(module, "MAX_EVENTS", 10)
    history = History(telemetry.path)
    for number in range(50):
        telemetry.event(number, f"event {number}")
        history.pull()
        assert len(history.events) < 20
    assert history.events[-1] == (49, "event 49")
