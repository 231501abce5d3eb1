"""A served session under programs that are wrong, in a hurry or hostile: it ticks on."""

from __future__ import annotations

import fcntl
import json
import select
import socket
import subprocess
import threading
from typing import Any

import numpy as np
import pytest

from farhand import client
from farhand.client import SessionGone, attach, start
from farhand.errors import BadValue, FarhandError
from farhand.loop.clock import WallClock
from farhand.rigs import Options, build_rig
from farhand.running.serving import NamedSession


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A rig that runs in a thread, named ``test``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        # However busy the machine is
        settings = [("deadlines.storm", 1_000_000)]
        options = Options(scenario="rest", clock=WallClock(), settings=settings)
        rig = build_rig("dual-arm", options)
        with NamedSession("test") as named:
            named.open(rig)
            loop = threading.Thread(target=rig.session.run, args=(600.0,))
            loop.start()
            attach("test", wait=20.0).close()
            yield loop
            rig.session.finish()
            loop.join()
        rig.close()


@pytest.fixture
def raw(served):
    """A connection of somebody who does not use our client."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(10.0)
    connection.connect(str(client.socket_path("test")))
    connection.recv(8192)
    yield connection
    connection.close()


def asked(connection, **message) -> dict:
    """The answer to a message."""
    connection.send(json.dumps({"id": 1, **message}).encode())
    return json.loads(connection.recv(8192))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("hand.stiffness", 10**400),
        ("follower.target.joints", [10**400] * 6),
        ("hand.stiffness", "9" * 8000),
        ("hand.stiffness", json.loads("[" * 900 + "]" * 900)),
        ("hand.stiffness", [[[1.0]]]),
        ("hand.stiffness", {"a": 1}),
        ("\ud800", 1),
        ("hand.stiffness", "\ud800"),
        ("é" * 1300, 1),
        ("x" * 8000, 1),
        ("x." * 4000, 1),
        ("", None),
    ],
    ids=lambda value: f"{value!r:.20}",
)
def test_whatever_a_program_sets_is_refused_in_one_message_and_the_loop_goes_on(
    served, raw, path, value
):
    """Numbers too large, texts too long, letters that are none."""
    answer = asked(raw, name="set", path=path, value=value)
    assert answer["done"] is False
    assert 0 < len(answer["text"]) <= 1000
    assert asked(raw, name="release")["done"]
    assert served.is_alive()


def test_a_message_may_be_as_long_as_is_said_and_no_longer(served, raw):
    """The last byte counts, and what is too long is not read as something shorter."""
    message = b'{"id": 1, "name": "set", "path": "hand.stiffness", "value": [[910.0]]}'
    raw.send(message.ljust(client.MAX_MESSAGE_BYTES))
    assert json.loads(raw.recv(8192)) == {"id": 1, "done": True, "text": "now 910"}
    raw.send(message.ljust(client.MAX_MESSAGE_BYTES + 1))
    assert "at most 8192 bytes" in json.loads(raw.recv(8192))["text"]


def test_a_closed_name_leaves_nothing_behind_and_is_free_at_once(served):
    """Even while somebody still holds the object; closing again takes nothing from the next."""
    rigs = [build_rig("dual-arm", Options(scenario="rest")) for _ in range(2)]
    named = NamedSession("brief")
    named.open(rigs[0])
    path = client.socket_path("brief")
    assert path.exists()
    named.close()
    assert not list(path.parent.glob("brief*"))
    with NamedSession("brief") as again:
        again.open(rigs[1])
        named.close()
        assert path.exists()
        with pytest.raises(BadValue, match="brief is running already"):
            NamedSession("brief")
    for rig in rigs:
        rig.close()


def test_a_lock_that_was_removed_meanwhile_is_not_taken_for_the_name(served, monkeypatch):
    """It was opened before the last session of that name let go of it, and locked after."""
    lock, before = fcntl.flock, NamedSession("brief")

    def late(file: Any, how: int) -> None:
        monkeypatch.undo()
        before.close()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with NamedSession("brief"), pytest.raises(BadValue, match="brief is running already"):
        NamedSession("brief")


def test_our_own_client_reads_every_refusal(served):
    """However long the name was."""
    with attach("test") as session:
        for path in ("x" * 8000, "é" * 1300):
            outcome = session.set(path, 1.0)
            assert not outcome.done
            assert outcome.text.startswith("unknown parameter")


@pytest.mark.parametrize("value", [{"a": 1}, np.zeros((2, 2, 2))], ids=["object", "box"])
def test_a_refused_value_comes_back_to_the_one_who_sent_it(served, value):
    """The answer had another number, so the client waited for five seconds and gave up."""
    with attach("test") as session:
        outcome = session.set("hand.stiffness", value)
        assert not outcome.done and outcome.text.startswith("a value is a number")


@pytest.mark.parametrize(
    ("script", "wait", "words"),
    [
        ("exit 0", 20.0, "ended at once and said nothing"),
        ("echo no arms >&2; exit 2", 20.0, "^no arms$"),
        ("echo wait >&2; exec sleep 600", 0.3, "did not start in 0.3 s; it said: wait"),
    ],
)
def test_a_program_that_does_not_serve_is_said(served, tmp_path, script, wait, words):
    """Its path may be given as one word."""
    (tmp_path / "farhand").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "farhand").chmod(0o755)
    with pytest.raises(FarhandError, match=words):
        start("dual-arm", name="other", program=str(tmp_path / "farhand"), wait=wait)


@pytest.mark.parametrize(
    "value", [[[1.0, 2.0], [3.0]], np.array([1j]), object()], ids=["ragged", "complex", "object"]
)
def test_what_cannot_be_sent_is_refused_before_it_is(served, value):
    """By the client itself, as a bad value."""
    with attach("test") as session:
        with pytest.raises(BadValue):
            session.set("hand.stiffness", value)
        assert session.command("release").done


def test_an_answer_that_another_thread_takes_first_is_no_end(served):
    """One thread commands, one reads: the reader must not wait for what the other has taken."""
    with attach("test") as session:

        class Race:
            def poll(self, timeout):
                return [(session._socket.fileno(), select.POLLIN)]

        session._poll = Race()
        session._socket.settimeout(0.2)
        assert session.latest("follower", "q")[0] > 0.0


def test_a_client_that_was_closed_says_so(served):
    """And does not read on."""
    session = attach("test")
    session.close()
    with pytest.raises((SessionGone, FarhandError, ValueError)):
        session.latest("follower", "q")


def test_a_session_of_ours_that_does_not_end_is_killed(served, monkeypatch):
    """A program that leaves its ``with`` block does not wait for ever."""
    monkeypatch.setattr(client, "END_TIMEOUT_S", 0.2)
    stuck = subprocess.Popen(["sleep", "600"])
    with attach("test") as session:
        session._process = stuck
        session._command = lambda name: None
    assert stuck.poll() is not None


def test_an_interrupt_while_a_session_starts_leaves_no_process(served, tmp_path, monkeypatch):
    """Nobody else would know of it."""
    begun = []
    popen = client.subprocess.Popen
    monkeypatch.setattr(
        client.subprocess, "Popen", lambda *a, **k: begun.append(popen(*a, **k)) or begun[0]
    )

    def interrupt(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(client, "Client", interrupt)
    sleeper = tmp_path / "farhand"
    sleeper.write_text("#!/bin/sh\nexec sleep 600\n")
    sleeper.chmod(0o755)
    with pytest.raises(KeyboardInterrupt):
        start("dual-arm", name="other", program=[str(sleeper)])
    assert begun[0].poll() is not None
