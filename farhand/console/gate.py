"""The gate of the page: it admits this machine's own pages and visitors with the token."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

import viser
import websockets.asyncio.server as websocket_server
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from farhand.console.serve import cannot_open
from farhand.errors import FarhandError

COOKIE = "farhand"
OWN_NAMES = ("127.0.0.1", "localhost", "::1")
"""What a browser calls the machine it runs on."""

_PAGE = (
    "<!doctype html><meta charset=utf-8><title>Farhand</title>"
    "<p style='font:16px sans-serif;margin:3em'>{}</p>"
)
_NO_TOKEN = (
    "This console needs its access token: open the whole address that farhand printed, "
    "with ?token=&hellip;"
)
_FOREIGN = "A page of another site may not control this console."


def open_server(host: str, port: int, token: str, rig: str) -> viser.ViserServer:
    """A page of which every request and every WebSocket passes :func:`judge` first.

    viser has no option for that, but starts its server by ``websockets.asyncio.server.serve``,
    which is replaced meanwhile. There is no second port behind the gate.

    Args:
        host: interface to listen on.
        port: to listen on; 0 for any free one.
        token: that a visitor must show; empty for none.
        rig: whose page it is.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise FarhandError(cannot_open(host, port, error)) from None
    opened, serve = listening.getsockname()[1], websocket_server.serve

    def serve_guarded(
        handler: Any, _host: str, _port: int, *, process_request: Callable[..., Any], **more: Any
    ) -> Any:
        def admit(connection: ServerConnection, request: Request) -> Response | None:
            return judge(request, token) or process_request(connection, request)

        return serve(handler, sock=listening, process_request=admit, **more)

    replaced: Any = websocket_server
    replaced.serve = serve_guarded
    try:
        server = viser.ViserServer("127.0.0.1", 0, label=f"Farhand · {rig}", verbose=False)
    finally:
        replaced.serve = serve
    if server.get_port() != opened:
        server.stop()
        raise FarhandError("this version of viser cannot be guarded; install viser 1.1")
    return server


def judge(request: Request, token: str) -> Response | None:
    """The answer to a request that is refused or redirected; None to admit it.

    A visitor without the token is refused with code 403. With it in the address (``?token=…``) the
    browser gets a cookie and is sent on to the plain address. A connection from a page of another
    site is refused as well, also on this machine, where no token is needed.
    """
    headers = request.headers
    host = headers.get("Host", "")
    if "Origin" in headers and urlsplit(headers["Origin"]).netloc != host:
        return _answer(HTTPStatus.FORBIDDEN, _FOREIGN)
    # Another name that resolves to this machine is an attack
    if not token and urlsplit(f"//{host}").hostname not in OWN_NAMES:
        return _answer(HTTPStatus.FORBIDDEN, _FOREIGN)
    kept = _cookie(headers.get("Cookie", ""))
    if not token or hmac.compare_digest(kept.encode(), token.encode()):
        return None
    shown = parse_qs(urlsplit(request.path).query).get("token", [""])[0]
    if hmac.compare_digest(shown.encode(), token.encode()):
        cookie = f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax"
        return _answer(HTTPStatus.SEE_OTHER, "", {"Location": "/", "Set-Cookie": cookie})
    return _answer(HTTPStatus.FORBIDDEN, _NO_TOKEN)


def _cookie(header: str) -> str:
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return next((value for name, _, value in pairs if name == COOKIE), "")


def _answer(status: HTTPStatus, text: str, more: dict[str, str] | None = None) -> Response:
    body = _PAGE.format(text).encode()
    kind = {"Content-Type": "text/html", "Content-Length": str(len(body)), "Connection": "close"}
    return Response(status, status.phrase, Headers({**kind, **(more or {})}), body)
