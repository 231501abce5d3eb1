"""Visitors of the console page without a browser: they count frames, or work the panel.

They speak viser's own protocol.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import msgspec
import viser
import zstandard
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from farhand.errors import FarhandError, UnknownName

START_TIMEOUT_S = 60.0
MOVES = ("SetPositionMessage", "SetOrientationMessage")

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
"""What the page must know about a visitor before it sends anything."""


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
        self._answer(START_TIMEOUT_S)

    @property
    def pid(self) -> int:
        """Of their process."""
        return self._process.pid or 0

    def frames(self) -> list[int]:
        """How many frames, in which a robot moved, each of them has got so far."""
        return list(self._ask("frames"))

    def nodes(self) -> frozenset[str]:
        """What the first of them has to draw, by name."""
        return frozenset(self._ask("nodes"))

    def close(self) -> None:
        """They leave."""
        self._hears.close()
        self._process.terminate()
        self._process.join()

    def _ask(self, what: str) -> Sequence[Any]:
        self._hears.send(what)
        return self._answer(START_TIMEOUT_S)

    def _answer(self, timeout: float) -> Sequence[Any]:
        with suppress(EOFError, OSError):
            if self._hears.poll(timeout):
                answer: Sequence[Any] = self._hears.recv()
                return answer
        raise FarhandError("the page sends nothing that a visitor understands")

    def __enter__(self) -> Visitors:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Visitor:
    """One of them."""

    def __init__(self) -> None:
        self.frames, self.nodes = 0, set[str]()

    async def look(self, address: str) -> None:
        from websockets.asyncio.client import connect

        protocols = [Subprotocol(f"viser-v{viser.__version__}")]
        url = address.replace("http://", "ws://", 1)
        async with connect(url, subprotocols=protocols, max_size=None, compression=None) as line:
            await line.send(msgspec.msgpack.encode(CAMERA))
            async for message in line:
                if isinstance(message, bytes):
                    self._take(message)

    def _take(self, message: bytes) -> None:
        said = [(str(item.get("type")), str(item.get("name"))) for item in unpack(message)]
        self.nodes |= {name for _, name in said if name.startswith("/")}
        self.frames += any(kind in MOVES and name.startswith("/robots/") for kind, name in said)


def _visit(address: str, count: int, word: Connection) -> None:
    with suppress(KeyboardInterrupt):
        asyncio.run(_look(address, count, word))


async def _look(address: str, count: int, word: Connection) -> None:
    """Let all of them look at the page, and answer requests until nobody asks any more."""
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
                frames = [visitor.frames for visitor in visitors]
                known = {"frames": frames, "nodes": sorted(visitors[0].nodes)}
                word.send(known[word.recv()])
            await asyncio.sleep(0.005)


REPLY_TIMEOUT_S = 20.0


def unpack(message: bytes) -> list[dict[str, Any]]:
    """The messages in one frame of the page."""
    length = int.from_bytes(message[8:16], "little")
    content = zstandard.ZstdDecompressor().decompress(message[16 : 16 + length])
    return msgspec.msgpack.decode(content)["messages"]


class PageOperator:
    """One operator at a panel.

    Args:
        address: of the page, such as ``http://127.0.0.1:8080``.
    """

    def __init__(self, address: str) -> None:
        #: of the panel by id, as they were created and changed
        self.items: dict[str, dict[str, Any]] = {}
        self.changes: dict[str, int] = {}  #: how often each was changed from the other side, by id
        url, version = address.replace("http://", "ws://", 1), f"viser-v{viser.__version__}"
        protocols = [Subprotocol(version)]
        cookie = {"Cookie": "farhand_visitor=operator"}
        self._own = connect(f"{url}/farhand/live", additional_headers=cookie, compression=None)
        self._line = connect(
            url, subprotocols=protocols, additional_headers=cookie, max_size=None, compression=None
        )
        self._say(CAMERA)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def find(self, label: str) -> str:
        """Id of the first item with a label.

        Raises:
            UnknownName: there is none.
        """
        deadline = time.monotonic() + REPLY_TIMEOUT_S
        while time.monotonic() < deadline:
            for uuid, item in list(self.items.items()):
                if item["props"].get("label") == label:
                    return uuid
            time.sleep(0.02)
        known = sorted(str(item["props"].get("label")) for item in self.items.values())
        raise UnknownName("item of the panel", label, known)

    def enter(self, label: str, value: object) -> None:
        """Type or choose a value and submit the form it is in."""
        self.press(label, value)
        form = self.items[self.find(label)]["container_uuid"]
        self._say({"type": "GuiFormSubmitMessage", "uuid": form})

    def press(self, label: str, value: object = True) -> None:
        """Press a button, or one of a group."""
        uuid, updates = self.find(label), {"value": value}
        self._say({"type": "GuiUpdateMessage", "uuid": uuid, "updates": updates})

    def key(self, action: str) -> None:
        """Press the key of an action, such as ``stop``."""
        self._own.send(json.dumps({"do": action}))

    def texts(self) -> str:
        """Everything that the panel says in words, one item a line."""
        contents = (item["props"].get("content") for item in list(self.items.values()))
        return "\n".join(str(content) for content in contents if content)

    def close(self) -> None:
        """Leave."""
        self._own.close()
        self._line.close()
        self._thread.join()

    def _say(self, message: dict[str, Any]) -> None:
        self._line.send(msgspec.msgpack.encode(message))

    def _listen(self) -> None:
        with suppress(ConnectionClosed):
            for message in self._line:
                if isinstance(message, bytes):
                    for item in unpack(message):
                        self._hear(item)

    def _hear(self, said: dict[str, Any]) -> None:
        uuid = said.get("uuid", "")
        if "props" in said and said["type"].startswith(("Gui", "Register")):
            self.items[uuid] = said
        elif said["type"] == "GuiUpdateMessage" and uuid in self.items:
            self.items[uuid]["props"] |= said["updates"]
            self.changes[uuid] = self.changes.get(uuid, 0) + 1

    def __enter__(self) -> PageOperator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
