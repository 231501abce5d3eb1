"""The gate in front of the page: it admits this machine's own pages and visitors with the token."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import threading
from urllib.parse import parse_qs, urlsplit

from farhand.errors import FarhandError

MAX_HEAD_BYTES = 32_768
REQUEST_TIMEOUT_S = 10.0  # for a visitor to send the head of a request
BLOCK_BYTES = 65_536
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


class Gate:
    """A relay that checks the head of every connection before it passes anything on.

    A visitor without the token is refused with code 403. With it in the address (``?token=…``) the
    browser gets a cookie and is sent on to the plain address. A connection from a page of another
    site is refused as well, also on this machine, where no token is needed.

    Args:
        host: interface to listen on.
        port: to listen on; 0 for any free one.
        inner: port of the page on this machine.
        token: that a visitor must show; empty for none.
    """

    def __init__(self, host: str, port: int, inner: int, token: str = "") -> None:
        self._inner, self._token = inner, token
        self._loop, self._opened = asyncio.new_event_loop(), threading.Event()
        self._failed: OSError | None = None
        self.port = 0  #: that is listened on
        self._thread = threading.Thread(target=self._run, args=(host, port), daemon=True)
        self._thread.start()
        self._opened.wait()
        if self._failed is not None:
            reason = f"cannot open port {port} on {host}: {self._failed.strerror}"
            raise FarhandError(f"{reason}; try --port 0")

    def close(self) -> None:
        """Listen no more."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, host: str, port: int) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            opening = asyncio.start_server(self._meet, host, port, limit=MAX_HEAD_BYTES)
            server = self._loop.run_until_complete(opening)
            self.port = server.sockets[0].getsockname()[1]
        except OSError as error:
            self._failed = error
            return
        finally:
            self._opened.set()
        self._loop.run_forever()
        server.close()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        cut_off = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError)
        with contextlib.suppress(OSError, *cut_off):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), REQUEST_TIMEOUT_S)
            answer = judge(head, self._token)
            if answer is None:
                await self._relay(head, reader, writer)
            else:
                writer.write(answer)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()

    async def _relay(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        inside, out = await asyncio.open_connection("127.0.0.1", self._inner)
        out.write(head)
        await asyncio.gather(_copy(reader, out), _copy(inside, writer))


def judge(head: bytes, token: str) -> bytes | None:
    """The answer to a request that is refused or redirected; None to admit it."""
    lines = head.decode("latin-1").split("\r\n")
    target = lines[0].split(" ")[1] if lines[0].count(" ") == 2 else "/"
    pairs = (line.partition(":") for line in lines[1:])
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    host = headers.get("host", "")
    if "origin" in headers and urlsplit(headers["origin"]).netloc != host:
        return _answer("403 Forbidden", _FOREIGN)
    # Another name that resolves to this machine is an attack
    if not token and urlsplit(f"//{host}").hostname not in OWN_NAMES:
        return _answer("403 Forbidden", _FOREIGN)
    kept = _cookie(headers.get("cookie", ""))
    if not token or hmac.compare_digest(kept.encode(), token.encode()):
        return None
    shown = parse_qs(urlsplit(target).query).get("token", [""])[0]
    if hmac.compare_digest(shown.encode(), token.encode()):
        cookie = f"Set-Cookie: {COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax"
        return _answer("303 See Other", "", f"Location: /\r\n{cookie}\r\n")
    return _answer("403 Forbidden", _NO_TOKEN)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(BLOCK_BYTES):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


def _cookie(header: str) -> str:
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return next((value for name, _, value in pairs if name == COOKIE), "")


def _answer(status: str, text: str, more: str = "") -> bytes:
    body = _PAGE.format(text).encode()
    kind = f"Content-Type: text/html\r\nContent-Length: {len(body)}"
    return f"HTTP/1.1 {status}\r\n{kind}\r\nConnection: close\r\n{more}\r\n".encode() + body
