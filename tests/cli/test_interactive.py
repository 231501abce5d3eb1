"""A run on its page: recordings begun and ended there, and another session in its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from farhand.cli.interactive import steer
from farhand.clock import WallClock
from farhand.recording.loader import load
from farhand.rigs import Options, build_rig


class ScriptedPage:
    """A page whose visitor does one thing after the other, each once the session has gone so far, [s]."""

    address = "http://127.0.0.1:1"
    alive = True

    def __init__(self, rig, script: list[tuple[float, str, str, object]]) -> None:
        self.handlers: dict[str, Callable[[str, object], None]] = {}
        self.health, self.shown, self.rig = [0.0] * 4, [], rig
        self._script, self._session = script, rig.session

    def poll(self) -> int:
        if self._script and 1e-9 * self._session.now_ns >= self._script[0][0]:
            _, name, path, value = self._script.pop(0)
            self.handlers[name](path, value)
        return 0

    def show(self, ring_path, scene, commands) -> None:
        self.shown.append((ring_path, scene, commands))

    def close(self) -> None:
        pass


def run(script, seconds: float = 0.6):
    """A dual-arm run on a scripted page."""
    rig = build_rig("dual-arm", Options(scenario="press", clock=WallClock()))
    page = ScriptedPage(rig, script)
    last, outcome = steer(rig, seconds, None, page)
    last.close()
    return page, last, outcome


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Recordings go to where farhand was started."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_another_law_begins_another_session_on_the_same_page():
    """With everything else as it was; the page is told, and the new session says what it is."""
    page, last, outcome = run([(0.2, "restart", "", {"law": "position-force", "delay": "20"})])
    assert (last.law, last.options.delay, last.scenario.name) == ("position-force", 20.0, "press")
    ((ring, scene, commands),) = page.shown
    assert scene["law"] == "position-force" and scene["menus"]["linked"]
    assert commands is last.session.commands
    assert outcome.seconds == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize(
    ("wish", "why"),
    [({"law": "levitation"}, "levitation"), ({"delay": "-3"}, "outside"), ({"loss": "some"}, "not a number")],
)
def test_what_cannot_be_built_is_refused_and_the_session_goes_on(wish, why, folder):
    """To its end, with the reason among its events."""
    page, last, outcome = run([(0.1, "record", "r.mcap", None), (0.3, "restart", "", wish)])
    assert page.shown == [] and last.law == "virtual-constraints"
    assert outcome.seconds == pytest.approx(0.6, abs=0.01)
    told = [event for event in load(folder / "r.mcap").happened if event.text.startswith("restart: refused")]
    assert len(told) == 1 and why in told[0].text


def test_a_recording_is_begun_and_ended_from_the_page(folder):
    """The file is whole, has the rig's description, and what was done on the page among its events."""
    run([(0.2, "record", "mine.mcap", None), (0.5, "record", "", None)], 0.8)
    found = load(folder / "mine.mcap")
    assert found.complete and found.metadata["rig"] == "dual-arm"
    assert found.duration > 0.25
    assert any("recording to mine.mcap" in text for _, text in found.events)


@pytest.mark.parametrize("name", ["../away.mcap", "/tmp/away.mcap", "run.txt", ".mcap", "there.mcap"])
def test_a_name_that_leads_elsewhere_or_is_taken_is_refused(name, folder):
    """A visitor writes into the working folder only, and over nothing."""
    (folder / "there.mcap").write_bytes(b"precious")
    run([(0.1, "record", name, None)], 0.3)
    assert sorted(path.name for path in folder.iterdir()) == ["there.mcap"]
    assert (folder / "there.mcap").read_bytes() == b"precious"


def test_the_page_is_told_how_the_ticks_do():
    """Time of a tick and rate, a few times a second."""
    page, _, _ = run([])
    assert page.health[0] > 1.0 and page.health[1] > 10.0
