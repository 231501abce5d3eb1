"""Commands: posted by anyone, taken at a tick boundary, in order."""

from __future__ import annotations

import threading

import pytest

from farhand.errors import BadValue, UnknownName
from farhand.loop.commands import MOST_LOGGED, NAMES, Commands, Logged, Request


def names(commands: Commands, now_ns: int) -> list[str]:
    """Names of what is due."""
    return [request.name for request in commands.due(now_ns)]


def test_a_command_without_a_time_is_due_at_the_next_boundary_and_only_there():
    """Taken once, then gone."""
    commands = Commands()
    commands.post("engage")
    assert names(commands, 0) == ["engage"]
    assert names(commands, 0) == []


def test_commands_of_the_same_time_keep_the_order_in_which_they_were_posted():
    """First asked, first done."""
    commands = Commands()
    for name in ("clutch", "declutch", "stop", "reset"):
        commands.post(name, at_ns=5)
    assert names(commands, 5) == ["clutch", "declutch", "stop", "reset"]


def test_a_later_command_waits_for_its_time_whatever_the_order_of_posting():
    """Posted late to early, taken early to late."""
    commands = Commands()
    commands.post("release", at_ns=3_000)
    commands.post("engage", at_ns=1_000)
    assert names(commands, 999) == []
    assert names(commands, 1_000) == ["engage"]
    assert names(commands, 10_000) == ["release"]


def test_an_unknown_command_is_refused_with_those_there_are():
    """The message lists every command."""
    with pytest.raises(UnknownName) as refusal:
        Commands().post("engauge")
    assert all(name in str(refusal.value) for name in NAMES)


@pytest.mark.parametrize(
    ("text", "at_ns", "request_"),
    [
        ("7:engage", 7_000_000_000, Request("engage")),
        ("0.25: stop ", 250_000_000, Request("stop")),
        ("3:set wall.stiffness=800", 3_000_000_000, Request("set", "wall.stiffness", "800")),
        ("3:set wall.point = 1,2,3", 3_000_000_000, Request("set", "wall.point", "1,2,3")),
    ],
)
def test_a_command_can_be_written_as_text(text, at_ns, request_):
    """Seconds, a colon, the command, and for ``set`` a path and a value."""
    commands = Commands()
    commands.post_text(text)
    assert commands.due(at_ns - 1) == []
    [found] = commands.due(at_ns)
    assert (found.name, found.path) == (request_.name, request_.path)
    assert found.value in (request_.value, "")


@pytest.mark.parametrize(
    "text", ["engage", "soon:engage", "nan:engage", "inf:engage", ":engage", ""]
)
def test_text_without_a_time_is_refused(text):
    """The message shows the form."""
    with pytest.raises(BadValue, match="SECONDS:NAME"):
        Commands().post_text(text)


def test_text_with_an_unknown_command_is_refused():
    """As for a posted one."""
    with pytest.raises(UnknownName, match="unknown command 'jump'"):
        Commands().post_text("1:jump")


def test_many_threads_may_post_and_nothing_is_lost():
    """A console and a script post at the same time as the session takes."""
    commands, taken = Commands(), []

    def post() -> None:
        for _ in range(200):
            commands.post("engage")
            commands.post("release", at_ns=0)

    threads = [threading.Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        taken += names(commands, 0)
    taken += names(commands, 0)
    assert sorted(taken) == ["engage"] * 800 + ["release"] * 800


def test_the_log_is_bounded_and_says_how_much_it_forgot():
    """A page that drags a hand for a day posts a million commands; the last ten thousand are there
    at any time.
    """
    commands = Commands()
    for tick in range(25_000):
        commands.note(Logged(tick, tick, Request("set", "hand.drag", tick)))
        assert len(commands.log) <= 2 * MOST_LOGGED
    assert commands.forgotten + len(commands.log) == 25_000
    assert len(commands.log) >= MOST_LOGGED
    assert commands.log[-1].tick == 24_999


@pytest.mark.parametrize(
    "wrong", [{"path": None}, {"path": 5}, {"at_ns": float("nan")}, {"at_ns": "7"}]
)
def test_a_command_that_could_not_be_carried_out_is_refused_where_it_is_posted(wrong):
    """A path that is no text used to end the loop; a time that is none used to keep all later ones
    from being due.
    """
    commands = Commands()
    with pytest.raises(BadValue):
        commands.post("set", **{"path": "wall.stiffness", "value": 1.0} | wrong)
    commands.post("stop", at_ns=5)
    assert names(commands, 5) == ["stop"]
