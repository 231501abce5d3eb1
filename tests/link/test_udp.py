"""UDP: datagrams cross the loop-back, nothing waits, and the listening side learns where its peer
is.
"""

from __future__ import annotations

import socket
import time

import pytest

from farhand.errors import BadValue, LinkError
from farhand.link.udp import UdpWire, format_address, parse_address


@pytest.fixture
def wires():
    """A leader's wire and the follower's it is connected to."""
    follower = UdpWire(listen=("127.0.0.1", 0))
    leader = UdpWire(connect=follower.address)
    yield leader, follower
    leader.close()
    follower.close()


def heard(wire: UdpWire) -> bytes | None:
    """The next datagram within a second."""
    for _ in range(1000):
        datagram = wire.receive()
        if datagram is not None:
            return bytes(datagram)
        time.sleep(1e-3)
    return None


def test_datagrams_cross_both_ways_once_the_peer_is_known(wires):
    """A listening side sends nothing before somebody was confirmed to be its peer."""
    leader, follower = wires
    follower.send(b"to nobody")
    leader.send(b"hello")
    assert heard(follower) == b"hello"
    follower.reply(b"who are you")
    assert heard(leader) == b"who are you"
    assert follower.peer is None
    follower.confirm()
    follower.send(b"welcome")
    assert heard(leader) == b"welcome"


def test_receiving_never_waits(wires):
    """None, at once."""
    assert wires[0].receive() is None
    assert wires[1].receive() is None


def test_all_that_wait_are_given_in_order_and_then_none_until_more_come(wires):
    """However often it is asked in between, and after every count of datagrams that waited."""
    leader, follower = wires
    for count in (1, 3, 0, 2):
        sent = [bytes([count, k]) for k in range(count)]
        for datagram in sent:
            leader.send(datagram)
        # once the first has come, the others are there
        first = [heard(follower)] if sent else []
        assert first + [bytes(follower.receive() or b"") for _ in sent[1:]] == sent
        assert follower.receive() is None
        assert follower.receive() is None


def test_a_side_that_was_told_where_its_peer_is_does_not_change_its_mind(wires):
    """Whoever else sends to it."""
    leader, follower = wires
    before = leader.peer
    stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    leader.send(b"x")  # binds its address
    assert heard(follower) == b"x"
    stranger.sendto(b"me", ("127.0.0.1", leader.address[1]))
    assert heard(leader) == b"me"
    leader.confirm()
    assert leader.peer == before
    stranger.close()


def test_what_the_system_does_not_take_is_counted(wires):
    """A datagram that is too long is lost, not an error."""
    wires[0].send(bytes(70_000))
    assert wires[0].unsent == 1


def test_an_address_in_use_is_refused_on_one_line(wires):
    """With the address."""
    with pytest.raises(
        LinkError, match=f"cannot listen at 127.0.0.1:{wires[1].address[1]}: Address already in use"
    ):
        UdpWire(listen=wires[1].address)


@pytest.mark.parametrize("text", ["", "host", ":7400", "host:", "host:port", "host:-1", "host:٣"])
def test_an_address_that_is_none_is_refused(text):
    """With an example of one."""
    with pytest.raises(BadValue, match="HOST:PORT, such as"):
        parse_address(text, "--listen")


def test_a_port_that_does_not_exist_is_refused_with_the_last_one():
    """70000 is of the right form."""
    with pytest.raises(BadValue, match="there is no port 70000; they end at 65535"):
        parse_address("host:70000", "--listen")
    with pytest.raises(BadValue, match="there is no port 65536"):
        parse_address("host:65536", "--listen")
    assert parse_address("host:65535", "--listen") == ("host", 65535)


def test_an_address_may_be_of_either_internet():
    """Brackets keep the colons of the newer one apart."""
    assert parse_address("[::1]:7400", "") == ("::1", 7400)
    assert parse_address("0.0.0.0:0", "") == ("0.0.0.0", 0)


@pytest.mark.parametrize("place", [("::1", 7400), ("192.168.1.20", 7400), ("robot.example", 1)])
def test_an_address_is_written_as_it_can_be_given_again(place):
    """An IPv6 address without brackets could not be told from its port."""
    assert parse_address(format_address(*place), "--connect") == place
    assert format_address("::1", 7400) == "[::1]:7400"


def test_a_taken_ipv6_address_is_named_with_brackets():
    """As the user gave it."""
    try:
        first = UdpWire(listen=("::1", 0))
    except LinkError:
        pytest.skip("this machine has no IPv6")
    with pytest.raises(LinkError, match=r"cannot listen at \[::1\]:"):
        UdpWire(listen=first.address)
    first.close()


@pytest.mark.parametrize("others", [["127.0.0.2"], ["127.0.0.2", "127.0.0.4"]])
@pytest.mark.parametrize("listens", ["127.0.0.1", "127.0.0.3"])
def test_a_name_with_several_addresses_is_tried_at_each(listens, others, monkeypatch):
    """Whichever answers is the peer; the others get nothing more."""
    follower = UdpWire(listen=(listens, 0))
    port = follower.address[1]
    kind = (socket.AF_INET, socket.SOCK_DGRAM, 17, "")
    hosts = sorted([listens, *others])
    found = [(*kind, (host, port)) for host in hosts]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    leader = UdpWire(connect=("robot.example", port))
    assert [host for host, _ in leader.tried] == hosts
    leader.send(b"hello")
    assert heard(follower) == b"hello"
    follower.reply(b"welcome")
    assert heard(leader) == b"welcome"
    leader.confirm()
    assert leader.peer == (listens, port)
    follower.confirm()
    leader.send(b"state")
    assert heard(follower) == b"state"
    follower.send(b"state back")
    assert heard(leader) == b"state back"
    leader.close()
    follower.close()


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (UnicodeError("label too long"), "label too long"),
        (OSError("no network"), "no network"),
    ],
)
def test_a_host_that_is_not_found_is_named_with_the_reason(error, reason, monkeypatch):
    """On one line, whoever found out."""

    def look_up(*_, **__):
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(LinkError, match=f"cannot find the host 'robot': {reason}$"):
        UdpWire(connect=("robot", 7400))
