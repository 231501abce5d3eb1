"""Operator: somebody who works the page without a browser: reads what its panel says, types, chooses and presses.

It speaks viser's own protocol, so what it does takes the same way as a click: for scripted trials
of the panel.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Any

import msgspec
import viser
import zstandard
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from farhand.console.visitor import CAMERA
from farhand.errors import UnknownName

REPLY_TIMEOUT_S = 20.0  # [s]


class Operator:
    """One operator at a panel.

    Args:
        address: of the page, such as ``http://127.0.0.1:8080``.

    Attributes:
        items: of the panel by id, as they were told and changed.
        changes: how often each was changed from the other side, by id.
    """

    def __init__(self, address: str) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.changes: dict[str, int] = {}
        url, version = (
            address.replace("http://", "ws://", 1),
            Subprotocol(f"viser-v{viser.__version__}"),
        )
        self._line = connect(url, subprotocols=[version], max_size=None, compression=None)
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
        self._say(
            {"type": "GuiFormSubmitMessage", "uuid": self.items[self.find(label)]["container_uuid"]}
        )

    def press(self, label: str, value: object = True) -> None:
        """Press a button, or one of a group."""
        self._say(
            {"type": "GuiUpdateMessage", "uuid": self.find(label), "updates": {"value": value}}
        )

    def key(self, label: str) -> None:
        """Press the key of a command, such as ``Stop``."""
        self._say({"type": "CommandTriggerMessage", "uuid": self.find(label)})

    def texts(self) -> str:
        """Everything that the panel says in words, one item a line."""
        contents = (item["props"].get("content") for item in list(self.items.values()))
        return "\n".join(str(content) for content in contents if content)

    def close(self) -> None:
        """Leave."""
        self._line.close()
        self._thread.join()

    def _say(self, message: dict[str, Any]) -> None:
        self._line.send(msgspec.msgpack.encode(message))

    def _listen(self) -> None:
        unpack = zstandard.ZstdDecompressor()
        with suppress(ConnectionClosed):
            for message in self._line:
                if isinstance(message, bytes):
                    length = int.from_bytes(message[8:16], "little")
                    for item in msgspec.msgpack.decode(
                        unpack.decompress(message[16 : 16 + length])
                    )["messages"]:
                        self._hear(item)

    def _hear(self, said: dict[str, Any]) -> None:
        uuid = said.get("uuid", "")
        if "props" in said and said["type"].startswith(("Gui", "Register")):
            self.items[uuid] = said
        elif said["type"] == "GuiUpdateMessage" and uuid in self.items:
            self.items[uuid]["props"] |= said["updates"]
            self.changes[uuid] = self.changes.get(uuid, 0) + 1

    def __enter__(self) -> Operator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()
