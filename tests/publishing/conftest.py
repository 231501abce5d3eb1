"""A session that is published to a router of its own and to Foxglove, in a process of its own."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from farhand.client import Client, start

FARHAND = [sys.executable, "-m", "farhand"]
# However busy the machine is
CALM = ("--scenario", "rest", "--set", "deadlines.storm=1000000")


def free_port() -> int:
    """A port nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class PublishedSession:
    """Where it is."""

    session: Client
    router: int  # port of the Zenoh router
    foxglove: int  # port of the WebSocket
    recording: Path


@pytest.fixture(scope="module")
def router() -> Iterator[int]:
    """A Zenoh router; not the one of this machine."""
    zenoh = pytest.importorskip("zenoh")
    port, settings = free_port(), zenoh.Config()
    settings.insert_json5("mode", '"router"')
    settings.insert_json5("listen/endpoints", json.dumps([f"tcp/127.0.0.1:{port}"]))
    settings.insert_json5("scouting/multicast/enabled", "false")
    with zenoh.open(settings):
        yield port


@pytest.fixture(scope="module")
def published(router: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PublishedSession]:
    """A session that may be driven by all who watch."""
    folder = tmp_path_factory.mktemp("published")
    recording, foxglove = folder / "run.mcap", free_port()
    where = ("--publish", f"ros2://127.0.0.1:{router}", "--publish", f"foxglove:{foxglove}")
    options = (*CALM, *where, "--publish-drive", "--record", str(recording))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        with start("dual-arm", *options, name="published", program=FARHAND) as session:
            yield PublishedSession(session, router, foxglove, recording)
