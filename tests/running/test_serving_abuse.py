"""A served session under programs that are wrong, in a hurry or hostile: it ticks on."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import threading

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
    assert not path.exists()
    with NamedSession("brief") as again:
        again.open(rigs[1])
        named.close()
        assert path.exists()
        with pytest.raises(BadValue, match="brief is running already"):
            NamedSession("brief")
    for rig in rigs:
        rig.close()


def test_our_own_client_reads_every_refusal(served):
    """However long the name was."""
    with attach("test") as session:
        for path in ("x" * 8000, "é" * 1300):
            outcome = session.set(path, 1.0)
            assert not outcome.done
            assert outcome.text.startswith("unknown parameter")


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
