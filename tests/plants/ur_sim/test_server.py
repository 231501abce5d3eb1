"""The ports, over real sockets."""

from __future__ import annotations

import os
import random
import socket
import struct
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from farhand.errors import FileError
from farhand.plants.ur_sim.build import simulated_controller
from farhand.plants.ur_sim.server import Server

HOST = f"127.{64 + os.getpid() % 64}.{os.getpid() // 64 % 250}.5"
"""A loop-back address of this process's own, so that tests may run beside each other."""


@pytest.fixture
def server() -> Iterator[Server]:
    """A controller that runs in a thread."""
    made, going = Server(simulated_controller(), HOST), [True]
    thread = threading.Thread(target=lambda: made.run(60.0, lambda: bool(going)))
    thread.start()
    yield made
    going.clear()
    thread.join(5.0)
    made.close()
    assert not thread.is_alive()


def connect(server: Server, port: str) -> socket.socket:
    made = socket.create_connection((HOST, server.ports[port]), 2.0)
    made.settimeout(2.0)
    return made


def take(connection: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        more = connection.recv(size - len(got))
        assert more, "the controller closed the connection"
        got += more
    return got


def ask(connection: socket.socket, line: str) -> str:
    connection.sendall(f"{line}\n".encode())
    return connection.makefile().readline().strip()


def test_the_dashboard_greets_and_answers(server):
    """One line each, also when a line comes in pieces."""
    with connect(server, "dashboard") as dashboard:
        assert (
            dashboard.makefile().readline().strip()
            == "Connected: Universal Robots Dashboard Server"
        )
        dashboard.sendall(b"robot")
        assert ask(dashboard, "mode") == "Robotmode: RUNNING"
        assert ask(dashboard, "quit") == "Disconnected"
        assert dashboard.recv(10) == b""


def test_a_script_port_tells_the_version_and_takes_programs(server):
    """The version message is the first, as the public description of the client interface has
    it.
    """
    with connect(server, "secondary") as script:
        size, kind = struct.unpack(">iB", take(script, 5))
        body = take(script, size - 5)
        assert kind == 20
        assert b"URControl" in body
        script.sendall(b"def job():\n write_output_integer_register(5, 11)\n sleep(0.01)\nend\n")
        size, kind = struct.unpack(">iB", take(script, 5))
        assert kind == 16
        take(script, size - 5)
        assert server.controller.exchange.values["output_int_register_5"] == 11


def test_outputs_stream_over_rtde(server):
    """Two hundred packages without a gap, or with the gap said by their time stamps."""
    with connect(server, "rtde") as rtde:
        rtde.sendall(b"\x00\x05V\x00\x02")
        assert take(rtde, 4) == b"\x00\x04V\x01"
        names = struct.pack(">d", 500.0) + b"timestamp"
        rtde.sendall(struct.pack(">HB", 3 + len(names), ord("O")) + names + b"\x00\x03S")
        assert take(rtde, 10) == b"\x00\x0aO\x01DOUBLE"
        assert take(rtde, 4) == b"\x00\x04S\x01"
        times = [struct.unpack(">HBBd", take(rtde, 12))[3] for _ in range(50)]
        np.testing.assert_allclose(np.diff(times), 0.002, atol=1e-9)


def test_a_client_that_does_not_read_does_not_hold_the_controller_up(server):
    """Packages for it are left out, and the cycles go on."""
    with connect(server, "rtde") as rtde:
        names = b"actual_q," * 100
        rtde.sendall(
            b"\x00\x05V\x00\x02" + struct.pack(">HBd", 11 + len(names), ord("O"), 500.0) + names
        )
        rtde.sendall(b"\x00\x03S")
        before = server.controller.cycles
        with connect(server, "dashboard") as dashboard:
            dashboard.makefile().readline()
            for _ in range(20):
                assert ask(dashboard, "robotmode") == "Robotmode: RUNNING"
        assert server.controller.cycles >= before


def test_noise_on_every_port_is_survived(server):
    """Random bytes, then silence, then a hard end; a dashboard client is served afterwards."""
    rng = random.Random(0)
    for index in range(150):
        with connect(server, rng.choice(list(server.ports))) as connection:
            connection.sendall(rng.randbytes(rng.randrange(1, 3000)))
            if index % 3 == 0:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with connect(server, "dashboard") as dashboard:
        dashboard.makefile().readline()
        assert ask(dashboard, "robotmode") == "Robotmode: RUNNING"
    assert np.isfinite(server.controller.arm.q).all()


def test_a_port_that_is_taken_is_refused_in_one_line(server):
    """And nothing stays open."""
    with pytest.raises(FileError, match=f"cannot listen on {HOST}:29999"):
        Server(simulated_controller(), HOST)
