"""The gate lets in this machine's own pages and visitors with the token, and nobody else."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request

import pytest

from farhand.console.gate import Gate, judge
from farhand.errors import FarhandError


def head(*lines: str, target: str = "/") -> bytes:
    """A request as a browser sends it."""
    return "\r\n".join([f"GET {target} HTTP/1.1", *lines, "", ""]).encode()


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080"])
def test_a_page_of_this_machine_needs_no_token(host):
    """Its own page may open a connection to it."""
    assert judge(head(f"Host: {host}", f"Origin: http://{host}"), "") is None
    assert judge(head(f"Host: {host}"), "") is None


def test_a_page_of_another_site_may_not_steer():
    """Neither by calling this machine, nor by a name of its own that leads here."""
    assert b"403" in judge(head("Host: 127.0.0.1:8080", "Origin: http://elsewhere.test"), "")
    assert b"403" in judge(
        head("Host: elsewhere.test:8080", "Origin: http://elsewhere.test:8080"), ""
    )
    assert b"403" in judge(
        head("Host: arm.test", "Origin: http://elsewhere.test", "Cookie: farhand=secret"), "secret"
    )


def test_the_token_in_the_address_becomes_a_cookie():
    """And the visitor is sent on to an address without it."""
    answer = judge(head("Host: arm.test", target="/?token=secret"), "secret").decode()
    assert (
        "303" in answer
        and "Location: /\r\n" in answer
        and "farhand=secret" in answer
        and "HttpOnly" in answer
    )


@pytest.mark.parametrize("line", ["Cookie: other=1; farhand=secret", "cookie: farhand=secret"])
def test_the_cookie_lets_in(line):
    """However the browser writes it."""
    assert judge(head("Host: arm.test", line), "secret") is None


@pytest.mark.parametrize(
    "target", ["/", "/?token=", "/?token=wrong", "/?token=secre", "/?other=secret", ""]
)
def test_without_the_token_nobody_gets_in(target):
    """A wrong one, a part of it, or none."""
    assert b"403" in judge(head("Host: arm.test", "Cookie: farhand=wrong", target=target), "secret")


@pytest.fixture
def inner():
    """A page that answers everything with its request."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
                )

    threading.Thread(target=answer, daemon=True).start()
    yield server.getsockname()[1]
    server.close()


def test_what_is_let_in_reaches_the_page(inner):
    """Whole, and so does the answer."""
    gate = Gate("127.0.0.1", 0, inner)
    with urllib.request.urlopen(f"http://127.0.0.1:{gate.port}/", timeout=10) as answer:
        assert answer.read() == b"hello"
    gate.close()


def test_a_visitor_without_the_token_is_told_what_is_missing(inner):
    """Code 403, and words."""
    gate = Gate("127.0.0.1", 0, inner, "secret")
    with pytest.raises(urllib.error.HTTPError, match="403") as caught:
        urllib.request.urlopen(f"http://127.0.0.1:{gate.port}/", timeout=10)
    assert b"access token" in caught.value.read()
    gate.close()


def test_rubbish_closes_the_connection_and_nothing_else(inner):
    """The next visitor is served."""
    gate = Gate("127.0.0.1", 0, inner)
    with socket.create_connection(("127.0.0.1", gate.port)) as rude:
        rude.sendall(b"\x00" * 100_000)
    with urllib.request.urlopen(f"http://127.0.0.1:{gate.port}/", timeout=10) as answer:
        assert answer.read() == b"hello"
    gate.close()


def test_a_port_that_cannot_be_opened_is_named(inner):
    """On one line."""
    with pytest.raises(FarhandError, match=f"port {inner}"):
        Gate("127.0.0.1", inner, inner)
