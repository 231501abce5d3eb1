"""A run on its page: recordings begun and ended there, and another session in its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from farhand.console.menus import menus_of
from farhand.errors import Mismatch, UnknownName
from farhand.loop.clock import VirtualClock, WallClock
from farhand.loop.commands import Commands, Logged, Request
from farhand.loop.telemetry import EVENT_CAPACITY
from farhand.recording.loader import load
from farhand.rigs import Options, build_rig
from farhand.running.live_values import LiveValues
from farhand.running.page import WAITING, changed_options, steer
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
        self._session = SimpleNamespace(now_ns=0, commands=commands)

    def close(self) -> None:
        pass


def run(script, seconds: float = 0.6, clock=None, options=None, **how):
    """A dual-arm run on a scripted page."""
    options = options or Options(scenario="press", linked=True)
    options.clock = clock or WallClock()
    rig = build_rig("dual-arm", options)
    page = ScriptedPage(rig, script)
    last, outcome = steer(rig, seconds, None, page, **how)
    last.close()
    return page, last, outcome


def said_by(rig) -> list[str]:
    """What a session's log says."""
    rig.metrics.pull()
    return [text for _, text in rig.metrics.history.events]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Recordings go to where farhand was started."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_another_law_begins_another_session_on_the_same_page():
    """With everything else as it was; the page is told, and the new session says what it is."""
    page, last, outcome = run([(0.2, "restart", "", {"law": "position-force"})])
    assert (last.law, last.scenario.name) == ("position-force", "press")
    ((ring, scene, commands),) = page.shown
    assert scene["law"] == "position-force" and scene["menus"]["linked"]
    assert commands is last.session.commands
    assert outcome.seconds == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"law": "levitation"}, "levitation"),
        ({"layer": "none", "scenario": "siesta"}, "siesta"),
        ({"delay": "20"}, "delay"),
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
        (0.3, "end", "", None),
        (0.4, "end", "", True),
    ]
    page, last, outcome = run(script, 5.0, VirtualClock(), fixed=True)
    assert page.shown == [] and 0.4 < outcome.seconds < 1.0
    said = [event.text for event in load(folder / "r.mcap").happened]
    assert any("command line" in text for text in said)
    # Ending it for everybody needs a confirmation
    assert any(text.startswith("end: refused") for text in said)


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


def value_of(rig, path: str):
    """A parameter of a rig."""
    return next(value for known, value, *_ in rig.parameters() if known == path)


def test_a_delay_set_live_stays_through_switches_of_law_layer_and_scenario():
    """With every other value that a visitor has set, as long as the new session has it."""
    script = [
        (0.05, "set", "link.jitter", 0.0),
        (0.05, "set", "link.delay", "300"),
        (0.05, "set", "link.jitter", "20"),
        (0.05, "set", "wall.stiffness", 800.0),
        (0.05, "set", "law.mapping.motion_scale", 1.5),
        (0.05, "set", "hand.drag", [0.0, 0.0, 0.01]),
        (0.3, "restart", "", {"law": "position-force", "scenario": "wall"}),
        (0.0, "restart", "", {"layer": "tank"}),
    ]
    page, last, _ = run(script, 0.5, options=Options(scenario="press", delay=100.0, linked=True))
    assert (last.law, last.options.layer, last.scenario.name) == ("position-force", "tank", "wall")
    assert last.options.delay == 100.0 and last.parts.link.delay == 300.0
    assert (last.parts.link.jitter, last.parts.wall.stiffness) == (20.0, 800.0)
    assert value_of(last, "law.mapping.motion_scale") == 1.5
    # A hand is where its visitor holds it now
    assert not last.parts.hand.drag.any()
    assert len(page.shown) == 2
    knobs = {knob["path"]: knob["value"] for knob in page.shown[-1][1]["knobs"]}
    assert knobs["link.delay"] == 300.0
    assert ("link.delay", "300") in page.shown[-1][1]["twin"]["options"]["settings"]


def test_a_law_s_own_gain_is_left_behind_and_the_log_says_so():
    """Also one of the command line, which used to prevent the switch."""
    own = [("law.derivative", 30.0)]
    script = [
        (0.05, "set", "law.proportional", 50.0),
        (0.2, "restart", "", {"law": "position-force"}),
    ]
    rig = build_rig("dual-arm", Options(scenario="press", settings=own, clock=WallClock()))
    page = ScriptedPage(rig, script)
    last, _ = steer(rig, 0.4, None, page)
    said = said_by(last)
    last.close()
    assert last.law == "position-force"
    assert "not carried over: law.proportional, a parameter of the law virtual-constraints" in said
    assert any(text.startswith("not carried over: law.derivative") for text in said)


def test_what_a_scenario_sets_is_not_taken_for_a_visitor_s_wish():
    """Played again it begins with its own values, and sets them when it is time."""
    rig = build_rig("dual-arm", Options(scenario="press", clock=WallClock()))
    rig.session.commands.post_text("0.05:set wall.stiffness=700")
    script = [(0.1, "set", "wall.damping", 3.0), (0.2, "again", "", None)]
    page = ScriptedPage(rig, script)
    last, _ = steer(rig, 0.3, None, page, planned=["0.25:set hand.open=true"])
    last.close()
    assert last is not rig and last.scenario.name == "press" and len(page.shown) == 1
    assert last.parts.wall.stiffness != 700.0 and last.parts.wall.damping == 3.0
    assert last.parts.hand.open


def test_values_outlive_a_log_that_forgets(monkeypatch):
    """A drag of some minutes fills it."""
    monkeypatch.setattr("farhand.loop.commands.MOST_LOGGED", 2)
    commands, live = Commands(), LiveValues()
    for number in range(20):
        path = "wall.stiffness" if number == 0 else "hand.drag"
        commands.note(Logged(number, number, Request("set", path, number)))
        live.take(commands)
    assert commands.forgotten and live.values == {"wall.stiffness": 0}


def test_a_run_waits_for_its_first_visitor_and_counts_from_there():
    """Nothing moves before; the log says why."""
    page, last, outcome = run([(0.0, "arrived", "", None)], 0.3, wait=True)
    assert outcome.seconds == pytest.approx(0.3, abs=0.01)

    class Patient(ScriptedPage):
        calls = 0

        def poll(self) -> int:
            self.calls += 1
            assert self.calls > 20 or self.rig.session.ticks == 0
            return super().poll() if self.calls > 20 else 0

    rig = build_rig("dual-arm", Options(scenario="press", clock=WallClock()))
    page = Patient(rig, [(0.0, "arrived", "", None)])
    last, outcome = steer(rig, 0.3, None, page, wait=True)
    said = said_by(last)
    last.close()
    assert page.calls > 20 and outcome.seconds == pytest.approx(0.3, abs=0.01)
    assert said.index(WAITING) < said.index("the first visitor is here: the scenario begins")


@pytest.mark.parametrize("how", ["end", "dead"])
def test_a_run_that_waits_can_be_ended_and_does_not_wait_for_a_dead_page(how):
    """Nobody can open a page that is gone."""
    script = [(0.0, "end", "", True)] if how == "end" else []
    rig = build_rig("dual-arm", Options(scenario="press", clock=WallClock()))
    page = ScriptedPage(rig, script)
    page.alive = how == "end"
    last, outcome = steer(rig, 0.2, None, page, wait=True)
    last.close()
    assert outcome.seconds == pytest.approx(0.0 if how == "end" else 0.2, abs=0.01)
