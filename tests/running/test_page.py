"""A run on its page: recordings begun and ended there, and another session in its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from farhand.console.menus import menus_of
from farhand.errors import Mismatch, UnknownName
from farhand.loop.clock import VirtualClock, WallClock
from farhand.loop.telemetry import EVENT_CAPACITY
from farhand.recording.loader import load
from farhand.rigs import Options, build_rig
from farhand.running.page import changed_options, steer
from farhand.running.rerun import rerun


class ScriptedPage:
    """A page whose visitor does one thing after the other, each once the session has gone so far,
    [s].
    """

    address = "http://127.0.0.1:1"
    alive = True

    def __init__(self, rig, script: list[tuple[float, str, str, object]]) -> None:
        self.handlers: dict[str, Callable[[str, object], None]] = {}
        self.health, self.shown, self.rig = [0.0] * 4, [], rig
        self._script, self._session = script, rig.session

    def poll(self) -> int:
        if self._script and 1e-9 * self._session.now_ns >= self._script[0][0]:
            _, name, path, value = self._script.pop(0)
            if name in self.handlers:
                self.handlers[name](path, value)
            else:
                self._session.commands.post(name, path, value)
        return 0

    def show(self, ring_path, scene, commands) -> None:
        self.shown.append((ring_path, scene, commands))

    def close(self) -> None:
        pass


def run(script, seconds: float = 0.6, clock=None, fixed: bool = False):
    """A dual-arm run on a scripted page."""
    rig = build_rig("dual-arm", Options(scenario="press", clock=clock or WallClock()))
    page = ScriptedPage(rig, script)
    last, outcome = steer(rig, seconds, None, page, fixed=fixed)
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
    [
        ({"law": "levitation"}, "levitation"),
        ({"delay": "-3"}, "outside"),
        ({"loss": "some"}, "not a number"),
    ],
)
def test_what_cannot_be_built_is_refused_and_the_session_goes_on(wish, why, folder):
    """To its end, with the reason among its events."""
    page, last, outcome = run([(0.1, "record", "r.mcap", None), (0.3, "restart", "", wish)])
    assert page.shown == [] and last.law == "virtual-constraints"
    assert outcome.seconds == pytest.approx(0.6, abs=0.01)
    told = [
        event
        for event in load(folder / "r.mcap").happened
        if event.text.startswith("restart: refused")
    ]
    assert len(told) == 1 and why in told[0].text


def test_a_recording_is_begun_and_ended_from_the_page(folder):
    """The file is whole, has the rig's description, and what was done on the page among its
    events.
    """
    run([(0.2, "record", "mine.mcap", None), (0.5, "record", "", None)], 0.8)
    found = load(folder / "mine.mcap")
    assert found.complete and found.metadata["rig"] == "dual-arm"
    assert found.duration > 0.25
    assert any("recording to mine.mcap" in text for _, text in found.events)


@pytest.mark.parametrize(
    "name", ["../away.mcap", "/tmp/away.mcap", "run.txt", ".mcap", "there.mcap"]
)
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


def test_a_recording_has_the_commands_given_before_it_began(folder):
    """Even those that the telemetry has forgotten by then: run again from its start, all comes out
    the same.
    """
    rig = build_rig("dual-arm", Options(scenario="press"))
    for n in range(EVENT_CAPACITY + 50):
        rig.session.commands.post("set", "hand.drag", [0.0, 0.0, 1e-6 * n], 10_000_000)
    page = ScriptedPage(
        rig, [(0.1, "set", "wall.stiffness", 800.0), (0.2, "record", "late.mcap", None)]
    )
    steer(rig, 0.3, None, page)[0].close()
    found = load(folder / "late.mcap")
    given = [event.data["path"] for event in found.happened if event.kind == "command"]
    assert given.count("hand.drag") == EVENT_CAPACITY + 50 and given[-1] == "wall.stiffness"
    again = rerun(found)
    assert again.exact and again.commands == len(given)


def test_a_recording_without_its_first_commands_is_not_run_again(folder):
    """The reason is given, and no wrong comparison is made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("farhand.loop.commands.MOST_LOGGED", 2)
        script = [(0.02, "set", "hand.drag", [0.0, 0.0, 1e-5 * n]) for n in range(1, 8)]
        run([*script, (0.3, "record", "late.mcap", None)], 0.5, VirtualClock())
    with pytest.raises(Mismatch, match="lacks the command at 0 s, as 4 were given before"):
        rerun(load(folder / "late.mcap"))


def test_a_run_that_is_fixed_is_recorded_and_ended_but_not_replaced(folder):
    """As a performance: what the page asks beyond that is refused with a word."""
    script = [
        (0.1, "record", "r.mcap", None),
        (0.2, "restart", "", {"law": "unilateral"}),
        (0.4, "end", "", None),
    ]
    page, last, outcome = run(script, 5.0, VirtualClock(), fixed=True)
    assert page.shown == [] and outcome.seconds < 1.0
    assert any("command line" in event.text for event in load(folder / "r.mcap").happened)


@pytest.fixture
def leg():
    """The humanoid's menus and options, its leg at a limit."""
    options = Options(scenario="limit", settings=[("hand.stiffness", 100.0)])
    rig = build_rig("humanoid", options)
    yield rig.options, menus_of(rig)
    rig.close()


def test_a_part_that_is_chosen_is_built_in_and_a_scenario_has_its_own_say(leg):
    """A limb chosen on the page holds until a scenario that brings its own limb."""
    before, menus = leg
    before.settings.insert(0, ("rig.limb", "right-arm"))
    chosen = {"law": "unilateral", "scenario": "limit", "rig.device": "virtuose"}
    same = changed_options(before, chosen, menus)
    assert same.settings == [*before.settings, ("rig.device", "virtuose")]
    other = changed_options(before, {"scenario": "balance"}, menus)
    assert other.settings == [("hand.stiffness", 100.0)]


@pytest.mark.parametrize(
    "change",
    [
        {"law": "planted:Law"},
        {"layer": "planted:Layer"},
        {"scenario": "planted"},
        {"rig.limb": "planted.xml"},
        {"rig.rate": 1.0},
        {"side": "leader"},
    ],
)
def test_a_visitor_chooses_what_is_on_the_menu_and_nothing_else(change, leg, tmp_path, monkeypatch):
    """Whatever is posted in its place is refused before anything is imported."""
    monkeypatch.chdir(tmp_path)
    Path("planted.py").write_text("raise SystemExit('was imported')")
    with pytest.raises(UnknownName, match=next(iter(change))):
        changed_options(leg[0], change, leg[1])
