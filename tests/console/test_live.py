"""The page's own line: who drives, who may only watch, and what everybody hears."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from websockets.sync.client import ClientConnection, connect

from farhand.console.gate import open_server
from farhand.console.live import WATCHED_MESSAGES, Live, kind_of
from farhand.console.serve import Tokens

TOKENS = Tokens("secret", "look")
SECONDS = 10.0


class Source:
    """A run with two signals."""

    header = {"streams": {"arm": {"channels": [{"name": "q", "size": 2, "unit": "rad"}]}}}
    closed = False

    def latest(self, stream: str) -> Any:
        return 0, {"q": np.array([0.5, np.nan])}

    def events_with_data(self) -> list[Any]:
        return []


@pytest.fixture
def asked() -> list[tuple[str, str, Any]]:
    """What was carried out."""
    return []


@pytest.fixture
def live(asked) -> Live:
    """A run that notes what it is asked for."""
    made = Live()
    names = ("stop", "engage", "view", "hello", "nudge")
    actions = {
        name: lambda who, value, name=name: asked.append((name, who, value)) for name in names
    }
    made.begin(Source(), {"rig": "dual-arm"}, actions)
    return made


@pytest.fixture
def port(live) -> Iterator[int]:
    """Of its page."""
    server = open_server("127.0.0.1", 0, TOKENS, "dual-arm", live)
    yield server.get_port()
    server.stop()


def come(port: int, number: str, token: str = "secret") -> ClientConnection:
    """A visitor with the page open."""
    cookie = {"Cookie": f"farhand={token}; farhand_visitor={number}"}
    line = connect(f"ws://127.0.0.1:{port}/farhand/live", additional_headers=cookie)
    line.send(json.dumps({"do": "hello", "value": {"name": f"visitor {number}"}}))
    return line


def eventually(condition: Any) -> bool:
    """Whether it comes true in time."""
    deadline = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(condition())


def ask(line: ClientConnection, what: str, value: Any = None) -> None:
    """Ask for something."""
    line.send(json.dumps({"do": what, "value": value}))


def names(asked: list[tuple[str, str, Any]]) -> list[tuple[str, str]]:
    """What was carried out for whom, without greetings."""
    return [(what, who) for what, who, _ in asked if what != "hello"]


def test_the_first_drives_and_anybody_stops(live, port, asked):
    """The second sees, stops, but does not engage before taking the wheel."""
    with come(port, "1") as first, come(port, "2") as second:
        assert eventually(lambda: len(live.visitors) == 2)
        assert live.drives("1") and not live.drives("2")
        ask(second, "engage")
        ask(second, "stop")
        assert eventually(lambda: ("stop", "2") in names(asked))
        assert ("engage", "2") not in names(asked)
        ask(second, "drive")
        assert eventually(lambda: live.drives("2"))
        ask(first, "engage")
        ask(second, "engage")
        assert eventually(lambda: ("engage", "2") in names(asked))
        assert ("engage", "1") not in names(asked)


def test_who_holds_the_token_to_watch_never_drives(live, port, asked):
    """Not even alone, and not by asking; but stopping is for all."""
    with come(port, "1", "look") as line:
        for what in ("drive", "engage", "nudge", "stop"):
            ask(line, what)
        assert eventually(lambda: ("stop", "1") in names(asked))
    assert names(asked) == [("stop", "1")]


def test_the_wheel_is_free_some_seconds_after_the_driver_left(live, port, monkeypatch):
    """Not at once: a page that is loaded again keeps it."""
    with come(port, "1"):
        assert eventually(lambda: live.drives("1"))
    with come(port, "2"):
        assert eventually(lambda: not live.visitors["1"].lines and "2" in live.visitors)
        assert not live.drives("2")
        monkeypatch.setattr("farhand.console.live.WHEEL_FREE_S", 0.0)
        assert eventually(lambda: live.drives("2"))


def test_rubbish_is_ignored(live, port, asked):
    """And the line stays open."""
    with come(port, "1") as line:
        for text in (
            "",
            "[]",
            "{}",
            '{"do": 3}',
            '{"do": "plot"}',
            '{"do": "sudo"}',
            "\x00",
            "[" * 9999,
        ):
            line.send(text)
        ask(line, "stop")
        assert eventually(lambda: ("stop", "1") in names(asked))


def heard(line: ClientConnection, live: Live, part: str) -> Any:
    """The next message with that part."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        live.sample(time.monotonic(), {"force [N]": 1.23456789})
        live.show({"mode": "engaged"})
        try:
            said = json.loads(line.recv(timeout=0.05))
        except TimeoutError:
            continue
        if part in said:
            return said[part]
    raise AssertionError(f"no {part}")


def test_everybody_gets_the_state_the_wheel_and_the_plotted_signals(live, port):
    """A signal that has no value is a gap, not a zero; the particulars come once."""
    with come(port, "1") as line:
        assert heard(line, live, "about") == {"rig": "dual-arm"}
        assert heard(line, live, "state") == {"mode": "engaged"}
        wheel = heard(line, live, "wheel")
        here = {"driver": "visitor 1", "here": 1, "drives": True, "may_drive": True}
        assert wheel == here | {"drawn": False}
        ask(line, "plot", ["force [N]", "arm/q/0", "arm/q/1", "arm/none/0"])
        plot = heard(line, live, "plot")
        assert plot["names"] == ["force [N]", "arm/q/0", "arm/q/1", "arm/none/0"]
        assert [values[-1] for values in plot["v"]] == [1.2346, 0.5, None, None]


def test_only_the_camera_of_somebody_who_watches_comes_through():
    """Every other message of viser's client could move something."""
    known = [{"type": kind} for kind in ("GuiUpdateMessage", "TransformControlsUpdateMessage")]
    assert all(kind_of(msgspec.msgpack.encode(said)) not in WATCHED_MESSAGES for said in known)
    assert kind_of(msgspec.msgpack.encode({"type": "ViewerCameraMessage"})) in WATCHED_MESSAGES
    assert kind_of(b"\xc1rubbish") == "" and kind_of("text") == ""
