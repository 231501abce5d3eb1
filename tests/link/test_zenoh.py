"""Zenoh: the same sealed line through another transport; without the package, one clear line."""

from __future__ import annotations

import builtins
import socket
import time

import pytest

from farhand.errors import BadValue, Mismatch
from farhand.link.line import Line
from farhand.link.seal import Seal
from farhand.link.zenoh import ZenohWire, locator

KEY = bytes(range(32))


def free_port() -> int:
    """A port nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_two_sides_meet_and_hear_each_other():
    """Leader connects, follower listens; packets go both ways."""
    pytest.importorskip("zenoh")
    place = f"127.0.0.1:{free_port()}"
    follower = Line(ZenohWire("follower", listen=place), Seal(KEY, "follower"), {"rig": "r"})
    leader = Line(ZenohWire("leader", connect=place), Seal(KEY, "leader"), {"rig": "r"})
    heard: dict[str, set[bytes]] = {"leader": set(), "follower": set()}
    try:
        for tick in range(2000):
            for name, line in (("leader", leader), ("follower", follower)):
                heard[name] |= set(line.receive(tick * 10_000_000))
                line.send(tick * 10_000_000, name.encode())
            if all(heard.values()):
                break
            time.sleep(2e-3)
    finally:
        leader.close()
        follower.close()
    assert heard == {"leader": {b"follower"}, "follower": {b"leader"}}


def test_without_the_package_one_line_says_what_to_install(monkeypatch):
    """No traceback."""
    found = builtins.__import__

    def missing(name, *rest):
        if name == "zenoh":
            raise ImportError
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(Mismatch, match=r"pip install 'farhand\[zenoh\]'"):
        ZenohWire("leader", connect="127.0.0.1:1")


def test_a_place_without_a_protocol_means_tcp():
    """One with it stays as it is."""
    assert locator("10.0.0.1:7447") == "tcp/10.0.0.1:7447"
    assert locator("tls/example.org:7447") == "tls/example.org:7447"


def test_a_name_with_a_wildcard_and_a_configuration_that_is_none_are_refused(tmp_path):
    """Before anything is opened."""
    pytest.importorskip("zenoh")
    with pytest.raises(BadValue, match="link name"):
        ZenohWire("leader", connect="127.0.0.1:1", name="**")
    with pytest.raises(BadValue, match="no Zenoh configuration"):
        ZenohWire("leader", config=tmp_path / "none.json5")
