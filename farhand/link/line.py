"""Line: one side's sealed connection to its peer, once both agree on what they run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

from farhand.link.channel import Channel
from farhand.link.seal import HELLO, ROLES, STATE, Datagram, Peer, Seal

MAX_DATAGRAMS = 128
"""Datagrams examined in one tick; the rest wait for the next."""

MAX_STRANGERS = 8
"""How many of them may be of new peers: for each a key has to be derived."""

GREETING_PERIOD_NS = 100_000_000
"""Time between greetings until the peer has agreed, [ns]; ten times that afterwards."""

SILENCE_NS = 2_000_000_000
"""Time after which a silent peer may be replaced by one whose clock seems to be behind, [ns]."""

AT_ONCE = -(2**63)  # earlier than any time [ns]


class Wire(Protocol):
    """Carries datagrams to and from the peer, unchanged or not at all. No method ever blocks."""

    def send(self, datagram: bytes) -> None:
        """Send to the peer, if its address is known."""

    def reply(self, datagram: bytes) -> None:
        """Send to the sender of the last datagram, which need not be the peer."""

    def receive(self) -> Datagram | None:
        """The next datagram, valid until the next call; None when there is none."""

    def confirm(self) -> None:
        """Take the sender of the last datagram for the peer."""

    def close(self) -> None:
        """Release the wire."""


class Line(Channel):
    """Both directions of a link over a wire: it agrees with the peer, then carries packets.

    Packets are exchanged only between two sides that hold the same key, answer each other's present
    start and have sent each other the same terms. Another start of the peer takes the place of one
    that has agreed only with the same terms. The leader sends the first packet: what a follower
    sent before would be old when the leader comes to read it.

    Args:
        wire: what carries the datagrams.
        seal: of this side.
        terms: what both sides must agree on, by name.

    Attributes:
        generation: counts the starts of the peer that have answered.
        agreed: whether the peer has sent the same terms.
        refusal: why it is refused, if its terms differ; None otherwise.
    """

    def __init__(self, wire: Wire, seal: Seal, terms: Mapping[str, str]) -> None:
        self.wire, self.seal = wire, seal
        self.generation, self.agreed = 0, False
        self.refusal: str | None = None
        self._terms = dict(terms)
        self._greeting = json.dumps(self._terms, sort_keys=True).encode()
        role = next(iter(ROLES.keys() - {seal.role}))
        ahead = f"it already has a {role} whose clock is ahead of this one's; end that one first"
        self._busy = json.dumps({**self._terms, "busy": ahead}).encode()
        seal.admits = self._admits
        self._begun = False
        self._heard_ns = self._next_ns = AT_ONCE
        self._peer: Peer | None = None
        self._arrived: list[bytes] = []

    def send(self, now_ns: int, data: bytes) -> None:
        """Send a packet to a peer that has agreed, and a greeting when due; ``now_ns`` [ns]."""
        if now_ns >= self._next_ns:
            self.greet()
            self._next_ns = now_ns + GREETING_PERIOD_NS * (10 if self.agreed else 1)
        if self.agreed and self._begun:
            self.wire.send(self.seal.close(STATE, data))

    def greet(self) -> None:
        """Send the peer this side's terms."""
        self.wire.send(self.seal.close(HELLO, self._greeting))

    def receive(self, now_ns: int) -> list[bytes]:
        """Packets of the agreed peer since the last call; the list is valid until the next."""
        arrived, wire, seal = self._arrived, self.wire, self.seal
        arrived.clear()
        datagram = wire.receive()
        if datagram is None:
            return arrived
        seal.strangers, unproven = MAX_STRANGERS, seal.counts.unproven
        seal.silent = now_ns - self._heard_ns > SILENCE_NS
        answered, examined = False, 0
        while datagram is not None:
            opened = seal.open(datagram)
            if opened is not None:
                wire.confirm()
                self._heard_ns = now_ns
                kind, content = opened
                if kind == HELLO or self._peer is not seal.live:
                    self._meet(kind, content)
                elif self.agreed:
                    arrived.append(content)
                    self._begun = True
            elif seal.waiting and not answered:
                self._turn_away(seal.waiting)
                answered = True
            # The sender has the key, and has yet to hear of this start.
            elif not answered and seal.counts.unproven > unproven:
                wire.reply(seal.close(HELLO, self._greeting))
                answered = True
            examined += 1
            datagram = wire.receive() if examined < MAX_DATAGRAMS else None
        return arrived

    def close(self) -> None:
        """Close the wire."""
        self.wire.close()

    def _meet(self, kind: int, content: bytes) -> None:
        """Take a greeting, or the first datagram of another start of the peer."""
        # What the start before it said no longer counts.
        if self._peer is not self.seal.live:
            self._peer = self.seal.live
            self.generation += 1
            self.agreed, self.refusal, self._next_ns = False, None, AT_ONCE
            self._begun = self.seal.role == "leader"
            self._arrived.clear()
        if kind == HELLO:
            self.refusal = self._difference(content)
            self.agreed = self.refusal is None

    def _turn_away(self, epoch: bytes) -> None:
        """Tell another start of the peer why it cannot take over: its clock, or its terms."""
        live = self.seal.live
        behind = live is not None and epoch < live.epoch
        content = self._busy if behind else self._greeting
        self.wire.reply(self.seal.close(HELLO, content, to=epoch))

    def _admits(self, kind: int, content: bytes) -> bool:
        """Whether another start of the peer may take the place of the one that has agreed."""
        # A side sends states only to one whose terms it has found equal.
        return kind == STATE or not self.agreed or self._difference(content) is None

    def _difference(self, content: bytes) -> str | None:
        """How the peer's terms differ from this side's, in words; None if they do not."""
        try:
            terms = json.loads(content)
        except (ValueError, RecursionError):
            terms = None
        if not isinstance(terms, dict):
            return "the other side greets in a way this version does not understand"
        if "busy" in terms:
            return str(terms["busy"])[:120]
        for name in sorted(terms.keys() | self._terms.keys(), key=_rank):
            theirs, mine = terms.get(name, "nothing"), self._terms.get(name, "nothing")
            if theirs != mine:
                has = f"the other side has {name} {str(theirs)[:60]!r}, this one {mine!r}"
                return f"{has}: start both alike"
        return None


def _rank(name: str) -> tuple[int, str]:
    """The order in which differing terms are named."""
    order = ("version", "rig", "law", "layer")
    return (order.index(name) if name in order else len(order)), name
