"""Zenoh wire: the same sealed datagrams through routers and wide-area networks, also with TLS."""

from __future__ import annotations

import json
import re
from collections import deque
from pathlib import Path
from typing import Any

from farhand.errors import BadValue, LinkError, Mismatch
from farhand.link.seal import ROLES

CAPACITY = 256
"""Datagrams that wait for the next tick; of more, the newest."""

MAX_CONFIG_BYTES, MAX_CONFIG_DEPTH = 1_000_000, 64
"""Of a configuration file; Zenoh's own example has 40 kB and 7 levels."""


def locator(text: str) -> str:
    """An address as Zenoh writes it, such as ``tls/HOST:PORT``; ``HOST:PORT`` alone is TCP."""
    return text if "/" in text else f"tcp/{text}"


class ZenohWire:
    """Publishes this side's datagrams and subscribes to the other's, with best effort.

    Nothing is discovered: the session uses the given addresses, or those of its configuration file.

    Args:
        role: of this side.
        listen: where others may connect, such as ``tcp/0.0.0.0:7447``; nowhere by default.
        connect: a peer or router to connect to; none by default.
        config: a Zenoh configuration file (JSON5), for certificates and other settings.
        name: of the link, the same on both sides; several may share a router.

    Raises:
        Mismatch: Zenoh is not installed.
        LinkError: the session cannot be opened.
        BadValue: the configuration file or the name is not valid.
    """

    def __init__(
        self,
        role: str,
        listen: str | None = None,
        connect: str | None = None,
        config: Path | None = None,
        name: str = "link",
    ) -> None:
        zenoh = library()
        if not name or set(name) & set("*$#?/ "):
            allowed = "letters, digits, - or _ and none of * $ # ? / or space"
            raise BadValue(f"link name {name!r} must have {allowed}")
        settings = _settings(zenoh, config)
        if config is None:
            settings.insert_json5("mode", '"peer"')
            settings.insert_json5("scouting/multicast/enabled", "false")
        for where, place in (("listen", listen), ("connect", connect)):
            if place is not None:
                _insert(settings, f"{where}/endpoints", [locator(place)])
        self._arrived: deque[bytes] = deque(maxlen=CAPACITY)
        self.unsent = 0
        try:
            self._session = zenoh.open(settings)
            mine, theirs = (f"farhand/{name}/{side}" for side in (role, *(set(ROLES) - {role})))
            self._subscriber = self._session.declare_subscriber(theirs, self._take)
            self._publisher = self._session.declare_publisher(
                mine,
                congestion_control=zenoh.CongestionControl.DROP,
                reliability=zenoh.Reliability.BEST_EFFORT,
                express=True,
            )
        except zenoh.ZError as error:
            raise LinkError(f"Zenoh cannot open the link: {one_line(error)}") from None

    def _take(self, sample: Any) -> None:
        """Called by Zenoh's own thread."""
        self._arrived.append(sample.payload.to_bytes())

    def send(self, datagram: bytes) -> None:
        """Publish a datagram; under congestion it is dropped."""
        try:
            self._publisher.put(datagram)
        # The session is closing, or the network is gone: the datagram is lost.
        except Exception:
            self.unsent += 1

    def reply(self, datagram: bytes) -> None:
        """Publish it: every possible peer receives it."""
        self.send(datagram)

    def receive(self) -> bytes | None:
        """The next datagram; None when there is none."""
        return self._arrived.popleft() if self._arrived else None

    def confirm(self) -> None:
        """Zenoh knows where its peers are."""

    def close(self) -> None:
        """Leave the network."""
        self._session.close()


def library() -> Any:
    """Zenoh's package.

    Raises:
        Mismatch: it is not installed.
    """
    try:
        import zenoh
    except ImportError:
        install = "pip install 'farhand[zenoh]'"
        raise Mismatch(f"this needs the package eclipse-zenoh: {install}") from None
    return zenoh


def _settings(zenoh: Any, path: Path | None) -> Any:
    if path is None:
        return zenoh.Config()
    _refuse_deep(path)
    try:
        return zenoh.Config.from_file(str(path))
    except zenoh.ZError as error:
        raise BadValue(f"{path} is not a Zenoh configuration: {one_line(error)}") from None


def _refuse_deep(path: Path) -> None:
    """Refuse a file that is endless or nested deeper than Zenoh's parser can bear."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise BadValue(f"cannot read {path}: {error.strerror or error}") from None
    depth = deepest = 0
    for byte in content:
        depth += (byte in b"[{") - (byte in b"]}")
        deepest = max(deepest, depth)
    if len(content) > MAX_CONFIG_BYTES or deepest > MAX_CONFIG_DEPTH:
        limits = f"at most {MAX_CONFIG_BYTES} bytes and {MAX_CONFIG_DEPTH} levels"
        raise BadValue(f"{path} is not a Zenoh configuration: those have {limits}")


def _insert(settings: Any, path: str, value: object) -> None:
    try:
        settings.insert_json5(path, json.dumps(value))
    # Zenoh raises a type that it does not export.
    except Exception as error:
        raise BadValue(f"Zenoh refuses {path} = {value}: {one_line(error)}") from None


def one_line(error: Exception) -> str:
    """What an error of Zenoh says, on one line, without the place in its source."""
    return re.sub(r" at \S+\.rs:\d+", "", " ".join(str(error).split()))[:200]
