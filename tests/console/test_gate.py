"""The gate lets in this machine's own pages and visitors with the token, and nobody else."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import viser
from websockets.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.http11 import Request
from websockets.sync.client import connect

from farhand.console.gate import admitted, judge, open_server
from farhand.console.live import Live
from farhand.console.serve import Tokens
from farhand.errors import FarhandError

OPEN, CLOSED = Tokens(), Tokens("secret", "look")
FOREIGN = ("elsewhere.test", "http://elsewhere.test")


def asked(*lines: str, target: str = "/") -> Request:
    """A request as a browser sends it."""
    return Request(target, Headers(line.split(": ", 1) for line in lines))


def refusal(request: Request, tokens: Tokens) -> int:
    """The code of the answer."""
    answer = judge(request, tokens)
    assert answer is not None
    return answer.status_code


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080"])
def test_a_page_of_this_machine_needs_no_token(host):
    """Its own page may open a connection to it."""
    assert judge(asked(f"Host: {host}", f"Origin: http://{host}"), OPEN) is None
    assert judge(asked(f"Host: {host}"), OPEN) is None


def test_a_page_of_another_site_may_not_steer():
    """Neither by calling this machine, nor by a name of its own that leads here."""
    assert refusal(asked("Host: 127.0.0.1:8080", "Origin: http://elsewhere.test"), OPEN) == 403
    host = "elsewhere.test:8080"
    assert refusal(asked(f"Host: {host}", f"Origin: http://{host}"), OPEN) == 403
    foreign = ("Host: arm.test", "Origin: http://elsewhere.test", "Cookie: farhand=secret")
    assert refusal(asked(*foreign), CLOSED) == 403


def test_the_token_in_the_address_becomes_a_cookie():
    """And the visitor is sent on to an address without it."""
    answer = judge(asked("Host: arm.test", target="/?token=secret"), CLOSED)
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/"
    assert "farhand=secret" in answer.headers["Set-Cookie"]
    assert "HttpOnly" in answer.headers["Set-Cookie"]


@pytest.mark.parametrize("line", ["Cookie: other=1; farhand=secret", "cookie: farhand=secret"])
def test_the_cookie_lets_in(line):
    """However the browser writes it."""
    assert judge(asked("Host: arm.test", line), CLOSED) is None


@pytest.mark.parametrize(
    "target", ["/", "/?token=", "/?token=wrong", "/?token=secre", "/?other=secret", ""]
)
def test_without_the_token_nobody_gets_in(target):
    """A wrong one, a part of it, or none; the visitor is told what is missing."""
    request = asked("Host: arm.test", "Cookie: farhand=wrong", target=target)
    answer = judge(request, CLOSED)
    assert answer.status_code == 403
    assert b"access token" in answer.body


@pytest.mark.parametrize(("token", "drives"), [("secret", True), ("look", False)])
def test_one_token_drives_and_the_other_watches(token, drives):
    """Both open the page."""
    request = asked("Host: arm.test", f"Cookie: farhand={token}; farhand_visitor=7", target="/")
    assert judge(request, CLOSED) is None
    assert admitted(request, CLOSED) == ("7", drives)
    answer = judge(asked("Host: arm.test", target=f"/?token={token}"), CLOSED)
    assert f"farhand={token}" in answer.headers["Set-Cookie"]


@pytest.fixture
def page(request):
    """A page on a free port, with the token of the test or none."""
    server = open_server("127.0.0.1", 0, getattr(request, "param", OPEN), "dual-arm", Live())
    yield server
    server.stop()


def ports_of_this_process() -> set[int]:
    """Where it listens, from the system's own tables."""
    mine = {link.readlink().name for link in Path("/proc/self/fd").iterdir() if link.is_symlink()}
    rows = [
        row.split()
        for table in ("tcp", "tcp6")
        for row in Path("/proc/net", table).read_text().splitlines()[1:]
    ]
    listening = [row for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in mine]
    return {int(row[1].rpartition(":")[2], 16) for row in listening}


def http(port: int, *lines: str) -> bytes:
    """The whole answer to a request."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall("\r\n".join(["GET / HTTP/1.1", *lines, "", ""]).encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


def websocket(port: int, host: str, origin: str | None) -> int:
    """The code of the answer to a WebSocket; 101 if it was opened."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        try:
            protocol = f"viser-v{viser.__version__}"
            address = f"ws://{host}/"
            with connect(address, sock=connection, origin=origin, subprotocols=[protocol]):
                return 101
        except InvalidStatus as refused:
            return refused.response.status_code


def test_nothing_behind_the_gate_can_be_reached_around_it():
    """Every port that a page opens refuses a foreign Host, a foreign Origin and a missing Host."""
    before = ports_of_this_process()
    server = open_server("127.0.0.1", 0, OPEN, "dual-arm", Live())
    opened = ports_of_this_process() - before
    try:
        assert server.get_port() in opened
        for port in opened:
            own = f"127.0.0.1:{port}"
            assert http(port, "Host: elsewhere.test").startswith(b"HTTP/1.1 403")
            assert http(port, f"Host: {own}", f"Origin: {FOREIGN[1]}").startswith(b"HTTP/1.1 403")
            assert http(port).startswith(b"HTTP/1.1 403")
            assert websocket(port, *FOREIGN) == 403
            assert websocket(port, "elsewhere.test", None) == 403
            assert websocket(port, own, FOREIGN[1]) == 403
    finally:
        server.stop()


def test_the_page_and_its_websocket_pass_the_gate(page):
    """With the name of this machine."""
    own = f"127.0.0.1:{page.get_port()}"
    answer = http(page.get_port(), f"Host: {own}")
    assert answer.startswith(b"HTTP/1.1 200")
    assert "<title>Farhand · dual-arm</title>" in answer.decode()
    assert websocket(page.get_port(), own, f"http://{own}") == 101


@pytest.mark.parametrize("page", [CLOSED], indirect=True)
def test_with_a_token_a_websocket_needs_the_cookie(page):
    """Without it, not even the page's own name opens one."""
    own = f"127.0.0.1:{page.get_port()}"
    assert websocket(page.get_port(), own, f"http://{own}") == 403
    assert http(page.get_port(), f"Host: {own}", "Cookie: farhand=secret").startswith(
        b"HTTP/1.1 200"
    )


def test_rubbish_closes_the_connection_and_nothing_else(page):
    """The next visitor is served."""
    with socket.create_connection(("127.0.0.1", page.get_port())) as rude:
        rude.sendall(b"\x00" * 100_000)
    assert http(page.get_port(), "Host: localhost").startswith(b"HTTP/1.1 200")


def test_a_viser_that_is_started_in_another_way_is_refused(monkeypatch):
    """Rather than served without a gate."""

    class Other:
        stopped = False

        def __init__(self, *_: object, **__: object) -> None:
            pass

        def get_port(self) -> int:
            return 1

        def stop(self) -> None:
            Other.stopped = True

    monkeypatch.setattr(viser, "ViserServer", Other)
    with pytest.raises(FarhandError, match="cannot be guarded"):
        open_server("127.0.0.1", 0, OPEN, "dual-arm", Live())
    assert Other.stopped


def test_a_port_that_cannot_be_opened_is_named(page):
    """On one line."""
    with pytest.raises(FarhandError, match=f"port {page.get_port()}"):
        open_server("127.0.0.1", page.get_port(), OPEN, "dual-arm", Live())
