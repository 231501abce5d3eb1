"""Zenoh: the same sealed line through another transport; without the package, one clear line."""

from __future__ import annotations

import builtins
import datetime
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from farhand.errors import BadValue, LinkError, Mismatch
from farhand.link.line import Line
from farhand.link.seal import Seal
from farhand.link.zenoh import ZenohWire, _refuse_deep, locator

KEY = bytes(range(32))


def free_port() -> int:
    """A port nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def certify(folder: Path, name: str) -> Path:
    """Make an authority and a certificate by it for ``localhost``: files ``NAME.ca``, ``NAME.crt``
    and ``NAME.key``.
    """
    now, day, pem = (
        datetime.datetime.now(datetime.UTC),
        datetime.timedelta(days=1),
        serialization.Encoding.PEM,
    )
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])
        for text in ("authority", "localhost")
    ]
    more = (
        x509.BasicConstraints(True, None),
        x509.SubjectAlternativeName([x509.DNSName("localhost")]),
    )
    for key, subject, extension, ending in zip(keys, names, more, ("ca", "crt"), strict=True):
        made = x509.CertificateBuilder(
            names[0], subject, key.public_key(), x509.random_serial_number()
        )
        made = (
            made.not_valid_before(now - day)
            .not_valid_after(now + day)
            .add_extension(extension, critical=True)
        )
        (folder / f"{name}.{ending}").write_bytes(
            made.sign(keys[0], hashes.SHA256()).public_bytes(pem)
        )
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / f"{name}.key").write_bytes(keys[1].private_bytes(pem, *plain))
    return folder / name


@pytest.fixture
def router() -> Iterator[Callable[..., None]]:
    """Start Zenoh's own router at a place, with settings by path, and take it down at the end."""
    zenoh = pytest.importorskip("zenoh")
    running: list[Any] = []

    def start(place: str, **settings: str) -> None:
        config, wanted = zenoh.Config(), {"mode": "router", "listen/endpoints": [place], **settings}
        for path, value in {"scouting/multicast/enabled": False, **wanted}.items():
            config.insert_json5(path.replace("__", "/"), json.dumps(value))
        running.append(zenoh.open(config))

    yield start
    for session in running:
        session.close()


def hear_each_other(leads: ZenohWire, follows: ZenohWire) -> bool:
    """Whether packets go both ways between a leader and a follower."""
    lines = (
        Line(leads, Seal(KEY, "leader"), {"rig": "r"}),
        Line(follows, Seal(KEY, "follower"), {"rig": "r"}),
    )
    heard: tuple[set[bytes], set[bytes]] = set(), set()
    try:
        for tick in range(2000):
            for line, words, mine in zip(lines, heard, (b"leader", b"follower"), strict=True):
                words |= set(line.receive(tick * 10_000_000))
                line.send(tick * 10_000_000, mine)
            if all(heard):
                break
            time.sleep(2e-3)
    finally:
        for line in lines:
            line.close()
    return heard == ({b"follower"}, {b"leader"})


def test_two_sides_meet_and_hear_each_other():
    """Leader connects, follower listens; packets go both ways."""
    pytest.importorskip("zenoh")
    place = f"127.0.0.1:{free_port()}"
    follower = ZenohWire("follower", listen=place)
    assert hear_each_other(ZenohWire("leader", connect=place), follower)


def test_two_sides_that_both_connect_meet_through_a_router(router):
    """Neither has an open port; another link of another name through the same router is not
    theirs.
    """
    place = f"127.0.0.1:{free_port()}"
    router(f"tcp/{place}")
    other = ZenohWire("follower", connect=place, name="another")
    follower = ZenohWire("follower", connect=place)
    assert hear_each_other(ZenohWire("leader", connect=place), follower)
    assert other.receive() is None
    other.close()


def test_a_router_with_a_certificate_is_met_and_one_of_a_stranger_is_not(router, tmp_path):
    """TLS with the configuration file of the documentation; an authority that is not the router's
    opens nothing.
    """
    ours, strangers = certify(tmp_path, "ours"), certify(tmp_path, "strangers")
    place = f"tls/localhost:{free_port()}"
    tls = "transport__link__tls__listen_"
    router(place, **{f"{tls}certificate": f"{ours}.crt", f"{tls}private_key": f"{ours}.key"})
    for name in (ours, strangers):
        trusted = json.dumps(f"{name}.ca")
        text = f'{{ mode: "client", transport: {{ link: {{ tls: {{ root_ca_certificate: {trusted} }} }} }} }}'
        name.with_suffix(".json5").write_text(text)
    wires = [
        ZenohWire(role, connect=place, config=ours.with_suffix(".json5"))
        for role in ("leader", "follower")
    ]
    assert hear_each_other(*wires)
    with pytest.raises(LinkError, match="Zenoh cannot open the link"):
        ZenohWire("leader", connect=place, config=strangers.with_suffix(".json5"))


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
    with pytest.raises(BadValue, match="none.json5"):
        ZenohWire("leader", config=tmp_path / "none.json5")


def test_a_configuration_that_is_too_deep_or_endless_is_refused(tmp_path):
    """Before Zenoh's parser sees it, which such a file ends together with the process."""
    pytest.importorskip("zenoh")
    deep = tmp_path / "deep.json5"
    deep.write_text("[" * 100_000)
    for path in (deep, Path("/dev/zero")):
        with pytest.raises(BadValue, match=f"{path} is not a Zenoh configuration"):
            ZenohWire("leader", config=path)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("[{" * 32 + "}]" * 32, False),
        ("[" + "[{" * 32 + "}]" * 32 + "]", True),
        ("[]" * 100, False),
        (" " * 201, True),
    ],
)
def test_a_configuration_may_be_as_deep_and_as_long_as_its_limits(
    text, refused, tmp_path, monkeypatch
):
    """64 levels, and here 200 bytes; many brackets side by side are not deep."""
    monkeypatch.setattr("farhand.link.zenoh.MAX_CONFIG_BYTES", 200)
    path = tmp_path / "settings.json5"
    path.write_text(text)
    with pytest.raises(BadValue, match="at most 200 bytes") if refused else nullcontext():
        _refuse_deep(path)


def test_what_zenoh_does_not_take_is_counted_and_lost():
    """The session is closing, or the network is gone."""

    def refuse(datagram: bytes) -> None:
        raise OSError

    wire = object.__new__(ZenohWire)
    wire.unsent, wire._publisher = 0, SimpleNamespace(put=refuse)
    wire.send(b"x")
    wire.reply(b"x")
    assert wire.unsent == 2
