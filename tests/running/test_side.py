"""One side of two machines: a pause while nobody is coupled is excused, and a stop is passed on."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from farhand.errors import LinkError
from farhand.link.line import Line
from farhand.link.seal import Seal
from farhand.link.udp import UdpWire
from farhand.loop.clock import WallClock
from farhand.rigs import Options, Rig, build_rig
from farhand.running.recorder import RunRecording
from farhand.running.side import LinkStatus, SideLoop, SideOptions, _meet


@pytest.fixture
def follower() -> Iterator[tuple[Rig, SideLoop, LinkStatus]]:
    """The follower's side of the dual-arm rig, what is called between its ticks, its status."""
    rig = build_rig("dual-arm", Options(side="follower", clock=WallClock()))
    nowhere = SimpleNamespace(receive=lambda: None, send=len, reply=len, confirm=int, close=int)
    line = Line(nowhere, Seal(bytes(32), "follower"), {})
    status = LinkStatus(rig, line)
    loop = SideLoop(rig, 1.0, RunRecording(rig, None), None, status)
    yield rig, loop, status
    loop.close()
    rig.close()


def test_a_pause_while_nobody_is_coupled_needs_no_reset(follower, capsys):
    """The next leader finds a follower that is ready, and the pause is told here."""
    rig, loop, _ = follower
    guard = rig.session.bridges[0].end.station.guard
    loop()
    guard.stop(0, "late", "a tick began 0.700 s late (limit 0.1 s)")
    loop()
    assert guard.trip is None
    assert "nobody was coupled, so this is reset: a tick began 0.700 s" in capsys.readouterr().err


@pytest.mark.parametrize("seen", [True, False])
def test_a_pause_while_coupled_stays_until_somebody_resets_it(follower, seen):
    """Also if the coupling began and ended between two calls."""
    rig, loop, _ = follower
    end = rig.session.bridges[0].end
    loop()
    end.engagement.engage(end.engagement.number + 1)
    if seen:
        loop()
    end.station.guard.stop(0, "late", "a tick began 0.700 s late (limit 0.1 s)")
    end.engagement.release()
    for _ in range(3):
        end.engagement.step(1.0)
        loop()
    assert end.station.guard.trip is not None


def test_other_trips_are_not_excused(follower):
    """A stop is a stop."""
    rig, loop, _ = follower
    guard = rig.session.bridges[0].end.station.guard
    loop()
    guard.stop(0, "stop", "stopped by the operator")
    loop()
    assert guard.trip is not None


def test_a_side_whose_peer_is_stopped_says_so(follower):
    """Not only that they are apart."""
    rig, _, status = follower
    status._line.agreed = True
    assert status.state() == "apart"
    rig.session.bridges[0].end.endpoint.incoming.tripped = True
    assert status.state() == "the leader is stopped; reset it there"


def test_of_several_addresses_the_one_that_answers_is_named_and_else_all(monkeypatch, capsys):
    """A name may stand for one of either internet, of which the follower hears one."""
    follower = Line(UdpWire(listen=("127.0.0.3", 0)), Seal(bytes(32), "follower"), {})
    port = follower.wire.address[1]
    found = [(socket.AF_INET, socket.SOCK_DGRAM, 17, "", (f"127.0.0.{k}", port)) for k in (2, 3)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    wanted = SideOptions("leader", "dual-arm", Path("key"), connect=f"robot.example:{port}")
    leader = Line(UdpWire(connect=("robot.example", port)), Seal(bytes(32), "leader"), {})
    done = threading.Event()

    def answer() -> None:
        while not done.wait(0.005):
            follower.receive(time.monotonic_ns())
            follower.greet()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        _meet(leader, wanted, time.monotonic_ns)
    finally:
        done.set()
        thread.join()
    assert f"the follower answers at 127.0.0.3:{port}" in capsys.readouterr().err
    leader.close()
    follower.close()
    wanted.patience = 0.05
    leader = Line(UdpWire(connect=("robot.example", port)), Seal(bytes(32), "leader"), {})
    with pytest.raises(LinkError, match=rf"\(127.0.0.2:{port}, 127.0.0.3:{port}\) within 0.05 s"):
        _meet(leader, wanted, time.monotonic_ns)
    leader.close()
