"""A served session: programs find it by name, command it and read it; nothing they do delays it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time

import numpy as np
import pytest

from farhand import client
from farhand.client import SessionGone, attach
from farhand.errors import BadValue, FileError, UnknownName
from farhand.loop.clock import WallClock
from farhand.rigs import Options, build_rig
from farhand.running.serving import MAX_CLIENTS, NamedSession


@pytest.fixture(autouse=True)
def private(tmp_path, monkeypatch):
    """Sessions of this test alone."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "farhand"


@pytest.fixture
def named(private):
    """The name ``test``."""
    with NamedSession("test") as named:
        yield named


@pytest.fixture
def served(named):
    """A rig that runs in a thread, under that name."""
    # However busy the machine is
    settings = [("deadlines.storm", 1_000_000)]
    options = Options(scenario="rest", clock=WallClock(), settings=settings)
    rig = build_rig("dual-arm", options)
    named.open(rig)
    loop = threading.Thread(target=rig.session.run, args=(600.0,))
    loop.start()
    rig.loop = loop
    yield rig
    rig.session.finish()
    loop.join()
    named.close()
    rig.close()


def until(holds) -> bool:
    """Whether something comes to hold; on a busy machine that may take a while."""
    end = time.monotonic() + 20.0
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return False


def raw(path):
    """A connection of somebody who does not use our client."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(5.0)
    connection.connect(str(path))
    return connection, json.loads(connection.recv(8192))


def test_every_signal_is_named_and_read_with_its_time(served):
    """All streams of the loop, with unit and rate, and the newest values of each."""
    with attach("test", wait=5.0) as session:
        signals = session.signals()
        assert set(signals) == {"leader", "follower", "coupling"}
        assert signals["follower"]["q"].unit == "rad"
        assert signals["follower"]["q"].rate == 1000.0
        for stream, found in signals.items():
            for name, signal in found.items():
                t, values = session.latest(stream, name)
                assert len(values) == signal.size
                assert 0.0 <= t <= served.session.now_ns * 1e-9 + 0.002
        assert session.rig == "dual-arm"
        assert session.description["law"] == served.law


def test_reading_gives_every_record_once_and_each_signal_has_its_own_place(served):
    """From the moment of attaching, in order, without a gap, also of two signals of a stream."""
    with attach("test", wait=5.0) as session:
        times = []
        for _ in range(5):
            time.sleep(0.05)
            t, q = session.read("follower", "q")
            assert q.shape == (len(t), 6)
            times.append(t)
        t, v = session.read("follower", "v")
        steps = np.diff(np.concatenate(times))
        # the loop may skip a tick on a busy machine, a reader never does
        assert steps.min() > 0.0
        assert len(t) >= sum(map(len, times))
        np.testing.assert_array_equal(t[: sum(map(len, times))], np.concatenate(times))
        assert session.lost == 0


def test_a_command_comes_back_with_what_came_of_it(served):
    """Done or refused, with the words of the session."""
    with attach("test", wait=5.0) as session:
        outcome = session.set("hand.stiffness", 800)
        assert outcome.done
        assert outcome.text == "now 800"
        assert served.parts.hand.stiffness == 800.0
        refused = session.command("set hand.stiffness=-1")
        assert not refused.done
        assert "outside" in refused.text
        assert not session.command("dance").done
        assert session.command("release").done
        texts = [event.text for event in session.events()]
        assert "hand.stiffness is now 800" in texts


def test_a_stop_shows_as_trips_and_events(served):
    """And a reset clears it."""
    with attach("test", wait=5.0) as session:
        assert session.trips() == {}
        assert session.command("stop").done
        assert until(lambda: set(session.trips()) == {"leader", "follower"})
        kinds = set()

        def told():
            # the tick that trips tells of it at its end
            kinds.update((e.data.get("kind"), e.data.get("where")) for e in session.events())
            return {("trip", "leader"), ("trip", "follower")} <= kinds

        assert until(told)
        refused = session.command("engage")
        assert "reset first" in refused.text
        assert session.command("reset").done
        assert session.trips() == {}


def test_a_target_moves_the_follower(served):
    """Through the socket to the arm."""
    with attach("test", wait=5.0) as session:
        _, q = session.latest("follower", "q")
        assert session.target(q + np.array([0.05, 0, 0, 0, 0, 0])).done
        assert until(lambda: abs(session.latest("follower", "q")[1][0] - q[0] - 0.05) < 0.01)
        with pytest.raises(BadValue, match="either joints or tool"):
            session.target()


def test_an_unknown_signal_is_named_with_those_there_are(served):
    """As everywhere."""
    with attach("test", wait=5.0) as session:
        with pytest.raises(UnknownName, match="did you mean 'follower'"):
            session.latest("folower", "q")
        with pytest.raises(UnknownName, match="'qq'"):
            session.read("follower", "qq")


def test_the_end_of_a_session_is_said_with_the_remedy(served, named):
    """What was there can still be read; then, and for every other call, it is gone."""
    session = attach("test", wait=5.0)
    assert until(lambda: session.latest("follower", "q")[0] > 0.1)
    session.command("end")
    served.loop.join()
    named.close()
    t, _ = session.read("follower", "q")
    assert len(t) > 0
    for call in (
        lambda: session.read("follower", "q"),
        lambda: session.latest("follower", "q"),
        lambda: session.command("stop"),
    ):
        with pytest.raises(SessionGone, match="not running; start it with: farhand serve"):
            call()


def test_nobody_to_attach_to_is_an_error_that_says_how_to_start():
    """At once, or after the time one is ready to wait."""
    began = time.monotonic()
    with pytest.raises(SessionGone, match="session nobody is not running"):
        attach("nobody", wait=0.2)
    assert 0.2 <= time.monotonic() - began < 2.0


def test_two_sessions_of_one_name_are_refused_and_a_dead_one_is_replaced(private):
    """The lock ends with its process, the socket's file does not."""
    with NamedSession("one"):
        with pytest.raises(BadValue, match="session one is running already"):
            NamedSession("one")
        NamedSession("two").close()
    stale = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stale.bind(str(private / "one.sock"))
    stale.close()
    with pytest.raises(SessionGone):
        attach("one")
    NamedSession("one").close()
    assert not (private / "one.sock").exists()


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 65, "a b"])
def test_a_name_cannot_lead_out_of_the_folder(name):
    """Nor be anything else than a plain word."""
    with pytest.raises(BadValue, match="not a name of a session"):
        NamedSession(name)
    with pytest.raises(BadValue, match="not a name of a session"):
        attach(name)


def test_only_the_same_user_gets_in(private, monkeypatch, tmp_path):
    """By the folder's mode, and by who is at the other end."""
    with NamedSession("one"):
        assert private.stat().st_mode & 0o777 == 0o700
    private.chmod(0o750)
    with pytest.raises(FileError, match="only you can open"):
        attach("one")
    private.chmod(0o700)
    private.rename(tmp_path / "elsewhere")
    private.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError, match="only you can open"):
        NamedSession("one")
    ours, theirs = socket.socketpair()
    client.check_peer(ours)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(FileError, match="and this one 12345's"):
        client.check_peer(theirs)
    ours.close()
    theirs.close()


def test_a_lock_that_is_a_link_is_not_followed(private, tmp_path):
    """Whoever could write there could have us open any file."""
    NamedSession("one").close()
    (private / "two.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(FileError, match="cannot lock"):
        NamedSession("two")
    assert not (tmp_path / "victim").exists()


def test_signals_are_for_the_same_user_only(served):
    """The ring lies in a folder that everybody can look into."""
    assert served.session.telemetry.path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "message",
    [
        b"not json",
        b"[1, 2]",
        b'{"name": "stop"}',
        b'{"id": 1}',
        b'{"id": 1, "name": 5}',
        b'{"id": 1, "name": "set", "path": 5}',
        b'{"id": 1, "name": "set", "path": "hand.stiffness", "value": {"a": [1]}}',
        b'{"id": 1, "name": "set", "path": "hand.stiffness", "value": NaN}',
        b"[" * 8000,
        b"x" * 9000,
    ],
)
def test_a_bad_message_is_refused_and_the_next_is_heard(served, private, message):
    """A program in another language gets it wrong at first."""
    attach("test", wait=5.0).close()
    connection, hello = raw(private / "test.sock")
    assert hello["rig"] == "dual-arm"
    connection.send(message)
    answer = json.loads(connection.recv(8192))
    assert answer["done"] is False
    assert answer["text"]
    connection.send(b'{"id": 7, "name": "release"}')
    assert json.loads(connection.recv(8192)) == {"id": 7, "done": True, "text": "done"}
    connection.close()


def test_who_never_takes_its_answers_is_let_go_and_nobody_else_notices(served, private):
    """Its commands stop at the first answer it does not read; the session ticks on."""
    attach("test", wait=5.0).close()
    stalled, _ = raw(private / "test.sock")
    stalled.setblocking(False)
    sent = 0
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        try:
            stalled.send(b'{"id": 1, "name": "release"}')
            sent += 1
        except BlockingIOError:
            time.sleep(0.001)
        except OSError:
            break
    with attach("test") as session:
        assert session.command("release").done
    before = served.session.ticks
    assert until(lambda: served.session.ticks - before > 100)
    stalled.close()


def test_there_is_room_for_so_many_and_again_when_one_leaves(served):
    """The next one gets the reason."""
    many = [attach("test", wait=5.0)]
    many += [attach("test") for _ in range(MAX_CLIENTS - 1)]
    with pytest.raises(client.FarhandError, match="16 programs are attached"):
        attach("test")
    many.pop().close()

    def room():
        with contextlib.suppress(client.FarhandError):
            attach("test").close()
            return True

    assert until(room)
    for one in many:
        one.close()
