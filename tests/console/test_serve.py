"""The page runs in a process of its own: it answers, hands requests on, stays polite, and never
outlives the run.
"""

from __future__ import annotations

import contextvars
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from farhand.console import Page, scene_of, serve
from farhand.console.live import VISITOR, Live
from farhand.console.serve import Tokens
from farhand.console.source import Requests
from farhand.console.viewer import NICENESS, view
from farhand.errors import FarhandError, OutOfRange
from farhand.loop.commands import Commands

PARENT = """
import multiprocessing, time
from farhand.console import scene_of, serve
from farhand.rigs import build_rig
if __name__ == "__main__":
    rig = build_rig("dual-arm")
    page = serve(rig.session.telemetry.path, scene_of(rig), port=0)
    print(multiprocessing.active_children()[0].pid, flush=True)
    {then}
"""


def eventually(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether it comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def exists(pid: int) -> bool:
    """Whether there is such a process; one that is dead but not reaped counts as gone."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def the_child() -> multiprocessing.process.BaseProcess:
    """The process of the one page there is."""
    (child,) = [
        child for child in multiprocessing.active_children() if child.name == "farhand-console"
    ]
    return child


@pytest.fixture
def page(rig) -> Iterator[Page]:
    """A page on a free port."""
    with serve(
        rig.session.telemetry.path, scene_of(rig), port=0, commands=rig.session.commands
    ) as made:
        yield made


def test_the_address_answers(page):
    """A browser that goes there gets the page."""
    with urllib.request.urlopen(page.address, timeout=20) as answer:
        assert answer.status == 200
        assert b"<html" in answer.read()
    assert page.alive


def test_the_page_yields_to_the_session(page):
    """Its process is niced."""
    pid = the_child().pid
    assert os.getpriority(os.PRIO_PROCESS, pid) == min(
        19, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS
    )


def test_closing_leaves_no_process_and_frees_the_port(page):
    """A second close does nothing, and nothing is heard afterwards."""
    pid, port = the_child().pid, int(page.address.rpartition(":")[2])
    page.close()
    page.close()
    assert not exists(pid)
    assert not page.alive
    assert page.poll() == 0
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_a_page_that_dies_does_not_disturb_the_session(page):
    """Polling goes on and hears nothing."""
    os.kill(the_child().pid, signal.SIGKILL)
    assert eventually(lambda: not page.alive)
    assert page.poll() == 0


def test_a_request_of_the_page_reaches_the_commands():
    """What a button sends through the pipe is posted with its path and value."""
    incoming, outgoing = multiprocessing.Pipe(duplex=False)
    nobody = SimpleNamespace(
        terminate=int, join=lambda timeout=None: None, is_alive=lambda: False, close=int
    )
    commands = Commands()
    page = Page("", nobody, incoming, commands)
    assert page.poll() == 0
    requests = Requests(outgoing)
    requests.send("stop")
    requests.send("set", "wall.stiffness", 800.0)
    assert page.poll() == 2
    assert [str(request) for request in commands.due(0)] == ["stop", "set wall.stiffness=800.0"]
    page.close()
    requests.send("stop")  # into a pipe that nobody reads any more


def test_a_port_in_use_is_named_with_the_way_out(rig):
    """One line, with the port and the flag."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            FarhandError, match=rf"port {port} on 127\.0\.0\.1 is in use.*--port"
        ) as caught:
            serve(rig.session.telemetry.path, scene_of(rig), port=port)
    assert "\n" not in str(caught.value)


def test_a_number_that_is_no_port_is_refused(rig):
    """With the range."""
    with pytest.raises(OutOfRange, match="70000"):
        serve(rig.session.telemetry.path, scene_of(rig), port=70000)


def test_a_host_that_is_not_here_is_refused(rig):
    """With the system's reason."""
    with pytest.raises(FarhandError, match="192.0.2.1"):
        serve(rig.session.telemetry.path, scene_of(rig), host="192.0.2.1", port=0)


def test_a_ring_that_is_not_there_is_reported_in_the_parent(rig, tmp_path):
    """The child's reason comes back on one line, and no child is left."""
    with pytest.raises(FarhandError, match="nothing.ring"):
        serve(tmp_path / "nothing.ring", scene_of(rig), port=0)
    assert "farhand-console" not in {child.name for child in multiprocessing.active_children()}


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_the_page_ends_with_its_parent_however_that_ends(tmp_path, sent):
    """No orphan is left by a parent that had no chance to clean up."""
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(then="time.sleep(60)"))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        child = int(parent.stdout.readline())
        assert exists(child)
        parent.send_signal(sent)
        parent.wait()
        assert eventually(lambda: not exists(child))


def test_the_page_is_taken_down_when_the_program_ends_without_closing_it(tmp_path):
    """And says nothing on the way."""
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(then="pass"))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=environment, timeout=60
    )
    assert done.returncode == 0
    assert done.stderr == ""
    assert eventually(lambda: not exists(int(done.stdout)))


def view_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **stand_ins: object) -> Connection:
    """Run the page's process in this one, with parts replaced; what it sends to the session."""
    parts = {"behave": lambda: None, "Reader": lambda _: None, "_follow": lambda *_: None}
    for name, part in (parts | stand_ins).items():
        monkeypatch.setattr(f"farhand.console.viewer.{name}", part)
    ours, theirs = multiprocessing.Pipe()
    view(tmp_path, {"rig": "dual-arm"}, "127.0.0.1", 0, Tokens(), (theirs, theirs), None)
    return ours


def server_with(arrivals: list[Any]) -> SimpleNamespace:
    """Viser's server; who connects is given to those in ``arrivals``."""
    return SimpleNamespace(
        get_port=lambda: 8080,
        stop=lambda: None,
        on_client_connect=arrivals.append,
        on_client_disconnect=lambda _: None,
    )


def test_the_port_is_sent_before_anything_a_waiting_visitor_asks_for(tmp_path, monkeypatch):
    """A page that is left open comes back as soon as there is a server, before it is complete."""

    def prepare(server: object, source: object, scene: object, requests: Requests, *_: object):
        requests.send("stop")

    ours = view_of(
        tmp_path,
        monkeypatch,
        open_server=lambda *_: server_with([]),
        Console=prepare,
        _announce=lambda live, requests: requests.send("arrived"),
    )
    assert ours.recv() == 8080
    assert ours.recv()[0] == "stop"


def test_a_visitor_who_comes_before_the_page_is_complete_gets_his_view(tmp_path, monkeypatch):
    """Asked later, viser would not say whose client it is, and none of his keys would turn it."""
    arrivals, greeted = [], []

    def prepare(server: object, source: object, scene: object, requests: object, live: Live, *_):
        visit = contextvars.copy_context()
        visit.run(VISITOR.set, "one")
        # without a loop: that of a browser test may still be running in this process
        with pytest.raises(StopIteration):
            visit.run(arrivals[0](SimpleNamespace(client_id=1)).send, None)
        live.actions = {"hello": lambda number, value: greeted.append(number)}

    server = server_with(arrivals)
    ours = view_of(tmp_path, monkeypatch, open_server=lambda *_: server, Console=prepare)
    assert ours.recv() == 8080
    assert greeted == ["one"]
