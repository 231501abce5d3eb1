"""Visitor: somebody who has the page open without a browser, to count what the page really sends.

It speaks viser's own protocol: a camera is sent once, and whatever comes back is unpacked and
counted. Several of them share a process, which is not the session's.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from farhand.errors import FarhandError

START_TIMEOUT = 60.0  # [s]
MOVES = ("SetPositionMessage", "SetOrientationMessage")
PART = "/robots/"

CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (2.0, 2.0, 2.0),
    "fov": 0.7,
    "near": 0.01,
    "far": 100.0,
    "image_height": 800,
    "image_width": 1280,
    "look_at": (0.0, 0.0, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
}
"""Where such a visitor stands: what the page needs to know of one before it counts."""


class Visitors:
    """Some visitors of a page, in a process of their own.

    Args:
        address: of the page.
        count: how many.

    Raises:
        FarhandError: the page sends them nothing they understand.
    """

    def __init__(self, address: str, count: int = 1) -> None:
        context = multiprocessing.get_context("spawn")
        self._hears, word = context.Pipe(duplex=True)
        self._process = context.Process(
            target=_visit, args=(address, count, word), name="visitors", daemon=True
        )
        self._process.start()
        word.close()
        self._answer(START_TIMEOUT)

    @property
    def pid(self) -> int:
        """Of their process."""
        return self._process.pid or 0

    def frames(self) -> list[int]:
        """How many frames, in which a robot moved, each of them has got so far."""
        return list(self._ask("frames"))

    def nodes(self) -> frozenset[str]:
        """What the first of them was told to draw, by name."""
        return frozenset(self._ask("nodes"))

    def close(self) -> None:
        """They leave."""
        self._hears.close()
        self._process.terminate()
        self._process.join()

    def _ask(self, what: str) -> Sequence[Any]:
        self._hears.send(what)
        return self._answer(START_TIMEOUT)

    def _answer(self, timeout: float) -> Sequence[Any]:
        with suppress(EOFError, OSError):
            if self._hears.poll(timeout):
                answer: Sequence[Any] = self._hears.recv()
                return answer
        raise FarhandError(
            "nobody could look at the page: it sends nothing that a visitor understands"
        )

    def __enter__(self) -> Visitors:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()


class _Visitor:
    """One of them."""

    def __init__(self) -> None:
        self.frames, self.nodes = 0, set[str]()

    async def look(self, address: str) -> None:
        import msgspec
        import viser
        from websockets.asyncio.client import connect

        version = f"viser-v{viser.__version__}"
        url = address.replace("http://", "ws://", 1)
        async with connect(url, subprotocols=[version], max_size=None, compression=None) as line:  # type: ignore[list-item]
            await line.send(msgspec.msgpack.encode(CAMERA))
            async for message in line:
                if isinstance(message, bytes):
                    self._take(message)

    def _take(self, message: bytes) -> None:
        import msgspec
        import zstandard

        length = int.from_bytes(message[8:16], "little")
        inner = msgspec.msgpack.decode(
            zstandard.ZstdDecompressor().decompress(message[16 : 16 + length])
        )
        said = [(str(item.get("type")), str(item.get("name"))) for item in inner["messages"]]
        self.nodes |= {name for _, name in said if name.startswith("/")}
        self.frames += any(kind in MOVES and name.startswith(PART) for kind, name in said)


def _visit(address: str, count: int, word: Connection) -> None:
    with suppress(KeyboardInterrupt):
        asyncio.run(_look(address, count, word))


async def _look(address: str, count: int, word: Connection) -> None:
    """Look at the page, all of them, and answer how many frames there were, until nobody asks any more."""
    visitors = [_Visitor() for _ in range(count)]
    looking = [asyncio.create_task(visitor.look(address)) for visitor in visitors]
    while not all(visitor.nodes for visitor in visitors):
        if any(task.done() for task in looking):
            return
        await asyncio.sleep(0.02)
    word.send(())
    with suppress(EOFError, OSError):
        while not any(task.done() for task in looking):
            if word.poll():
                known = {
                    "frames": [visitor.frames for visitor in visitors],
                    "nodes": sorted(visitors[0].nodes),
                }
                word.send(known[word.recv()])
            await asyncio.sleep(0.005)
