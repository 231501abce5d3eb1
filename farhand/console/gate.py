"""The gate of the page: whom it admits, who may drive, and what it adds to viser's own page."""

from __future__ import annotations

import functools
import gzip
import hmac
import socket
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import viser
import websockets.asyncio.server as websocket_server
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from farhand.console.live import VISITOR, Live, Watched, new_number
from farhand.console.serve import Tokens, cannot_open
from farhand.errors import FarhandError

COOKIE, VISITOR_COOKIE = "farhand", "farhand_visitor"
OWN_NAMES = ("127.0.0.1", "localhost", "::1")
"""What a browser calls the machine it runs on."""

OWN_PATH = "/farhand/"  # below it lies what is not viser's
LIVE_PATH = OWN_PATH + "live"
ALIVE_PATH = OWN_PATH + "alive"
FILES = {"page.js": "application/javascript", "page.css": "text/css; charset=utf-8"}

_PAGE = (
    "<!doctype html><meta charset=utf-8><title>Farhand</title>"
    "<p style='font:16px sans-serif;margin:3em'>{}</p>"
)
_NO_TOKEN = (
    "This console needs its access token: open the whole address that farhand printed, "
    "with ?token=&hellip;"
)
_FOREIGN = "A page of another site may not control this console."
_TITLE = "<title>Viser</title>"
_ADDED = (
    "<title>{title}</title>"
    f'<link rel="stylesheet" href="{OWN_PATH}page.css"><script src="{OWN_PATH}page.js"></script>'
)


class Admitted(NamedTuple):
    """Somebody who may come in."""

    number: str  # of the visitor
    may_drive: bool


def open_server(host: str, port: int, tokens: Tokens, rig: str, live: Live) -> viser.ViserServer:
    """A page of which every request and every WebSocket passes :func:`judge` first.

    viser has no option for that, but starts its server by ``websockets.asyncio.server.serve``,
    which is replaced meanwhile. There is no second port behind the gate.

    Args:
        host: interface to listen on.
        port: to listen on; 0 for any free one.
        tokens: that a visitor must show; empty for none.
        rig: whose page it is.
        live: the page's own line to its visitors.
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
            refused = judge(request, tokens)
            if refused is not None:
                return refused
            if request.headers.get("Upgrade", "").lower() == "websocket":
                return None
            own = _own(request, f"Farhand · {rig}")
            return own or process_request(connection, request)

        async def handle(connection: ServerConnection) -> None:
            request = connection.request
            assert request is not None
            somebody = admitted(request, tokens)
            if urlsplit(request.path).path == LIVE_PATH:
                await live.serve(connection, *somebody)
                return
            VISITOR.set(somebody.number)
            live.pictures[somebody.number] += 1
            try:
                await handler(Watched(connection, live, somebody.number))
            finally:
                live.pictures[somebody.number] -= 1

        return serve(handle, sock=listening, process_request=admit, **more)

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


def judge(request: Request, tokens: Tokens) -> Response | None:
    """The answer to a request that is refused or redirected; None to admit it.

    A visitor without a token is refused with code 403. With one in the address (``?token=…``) the
    browser gets a cookie and is sent on to the plain address. A connection from a page of another
    site is refused as well, also on this machine, where no token is needed.
    """
    headers = request.headers
    host = headers.get("Host", "")
    if "Origin" in headers and urlsplit(headers["Origin"]).netloc != host:
        return _answer(HTTPStatus.FORBIDDEN, _FOREIGN)
    # Another name that resolves to this machine is an attack
    if not tokens.drive and urlsplit(f"//{host}").hostname not in OWN_NAMES:
        return _answer(HTTPStatus.FORBIDDEN, _FOREIGN)
    if not tokens.drive or _one_of(_cookie(headers, COOKIE), tokens):
        return None
    shown = parse_qs(urlsplit(request.path).query).get("token", [""])[0]
    if _one_of(shown, tokens):
        cookie = f"{COOKIE}={shown}; Path=/; HttpOnly; SameSite=Lax"
        return _answer(HTTPStatus.SEE_OTHER, "", {"Location": "/", "Set-Cookie": cookie})
    return _answer(HTTPStatus.FORBIDDEN, _NO_TOKEN)


def admitted(request: Request, tokens: Tokens) -> Admitted:
    """Who is behind a request that was admitted, and whether he may drive."""
    number = _cookie(request.headers, VISITOR_COOKIE) or new_number()
    shown = _cookie(request.headers, COOKIE)
    drives = not tokens.drive or hmac.compare_digest(shown.encode(), tokens.drive.encode())
    return Admitted(number, drives)


def _one_of(shown: str, tokens: Tokens) -> bool:
    same = [hmac.compare_digest(shown.encode(), token.encode()) for token in tokens]
    return any(same)


def _cookie(headers: Headers, wanted: str) -> str:
    pairs = (part.strip().partition("=") for part in headers.get("Cookie", "").split(";"))
    return next((value for name, _, value in pairs if name == wanted), "")


def _own(request: Request, title: str) -> Response | None:
    """What the gate serves itself: viser's page with our script in it, the script, the style."""
    path = urlsplit(request.path).path
    if path == ALIVE_PATH:
        return _answer(HTTPStatus.OK, "alive", {"Cache-Control": "no-store"})
    name = path.removeprefix(OWN_PATH)
    if path.startswith(OWN_PATH) and name in FILES:
        return _file((Path(__file__).parent / "page" / name).read_bytes(), FILES[name])
    if path not in ("/", "/index.html"):
        return None
    more = {}
    if not _cookie(request.headers, VISITOR_COOKIE):
        cookie = f"{VISITOR_COOKIE}={new_number()}; Path=/; SameSite=Lax"
        more = {"Set-Cookie": cookie}
    packed = "gzip" in request.headers.get("Accept-Encoding", "")
    if packed:
        more["Content-Encoding"] = "gzip"
    return _file(_index(title, packed), "text/html; charset=utf-8", more)


@functools.cache
def _index(title: str, packed: bool) -> bytes:
    """The page of viser with our title, style and script."""
    source = Path(viser.__file__).parent / "client" / "build" / "index.html"
    page = source.read_bytes()
    if page.count(_TITLE.encode()) != 1:
        raise FarhandError("this version of viser has another page; install viser 1.1")
    page = page.replace(_TITLE.encode(), _ADDED.format(title=title).encode())
    return gzip.compress(page) if packed else page


def _file(content: bytes, kind: str, more: dict[str, str] | None = None) -> Response:
    headers = {"Content-Type": kind, "Content-Length": str(len(content))}
    headers |= {"Cache-Control": "no-store", **(more or {})}
    return Response(HTTPStatus.OK, "OK", Headers(headers), content)


def _answer(status: HTTPStatus, text: str, more: dict[str, str] | None = None) -> Response:
    body = _PAGE.format(text).encode()
    kind = {"Content-Type": "text/html", "Content-Length": str(len(body)), "Connection": "close"}
    return Response(status, status.phrase, Headers({**kind, **(more or {})}), body)
