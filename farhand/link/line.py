"""Line: one side's sealed line to its peer over any wire, once the two have agreed on what they run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

from farhand.link.channel import Channel
from farhand.link.seal import HELLO, STATE, Datagram, Peer, Seal

MOST_DATAGRAMS = 128
"""How many datagrams are looked at in one tick; the rest wait for the next."""

MOST_STRANGERS = 8
"""How many of them may be of peers not heard before: for each a key has to be derived."""

GREETING_NS = 100_000_000
"""Time between greetings until the peer has agreed, [ns]; ten times that afterwards."""

AT_ONCE = -(2**63)  # before any time there is [ns]


class Wire(Protocol):
    """Carries datagrams to and from wherever the peer is, unchanged or not at all. No verb ever blocks."""

    def send(self, datagram: bytes) -> None:
        """Send, if it is known where to."""

    def reply(self, datagram: bytes) -> None:
        """Send to wherever the datagram received last came from, and think no different of where the peer is."""

    def receive(self) -> Datagram | None:
        """The next datagram, valid until the next call; None when there is none."""

    def confirm(self) -> None:
        """The datagram received last was from the peer: that is where it is."""

    def close(self) -> None:
        """Give back what the wire holds."""


class Line(Channel):
    """Both directions of a link over a wire: greets the peer, checks that both run the same, then carries packets.

    Packets come and go only between two sides that hold the same key, answer each other's present
    start and have told each other the same terms.

    Args:
        wire: what carries the datagrams.
        seal: of this side.
        terms: what both sides must agree on, by name.

    Attributes:
        generation: counts the starts of the peer that have answered; a peer that starts again is a
            new one.
        agreed: whether the peer has told the same terms.
        refusal: why it is refused, if its terms differ; None otherwise.
    """

    def __init__(self, wire: Wire, seal: Seal, terms: Mapping[str, str]) -> None:
        self.wire, self.seal = wire, seal
        self.generation, self.agreed = 0, False
        self.refusal: str | None = None
        self._terms = dict(terms)
        self._greeting = json.dumps(self._terms, sort_keys=True).encode()
        self._next_ns = AT_ONCE
        self._peer: Peer | None = None
        self._arrived: list[bytes] = []

    def send(self, now_ns: int, data: bytes) -> None:
        """Send a packet to a peer that has agreed, and a greeting now and then; ``now_ns`` [ns]."""
        if now_ns >= self._next_ns:
            self.greet()
            self._next_ns = now_ns + GREETING_NS * (10 if self.agreed else 1)
        if self.agreed:
            self.wire.send(self.seal.close(STATE, data))

    def greet(self) -> None:
        """Tell the peer this side's terms."""
        self.wire.send(self.seal.close(HELLO, self._greeting))

    def receive(self, now_ns: int) -> list[bytes]:
        """Packets of the agreed peer since the last call; the list is valid until the next."""
        arrived, wire, seal = self._arrived, self.wire, self.seal
        arrived.clear()
        datagram = wire.receive()
        if datagram is None:
            return arrived
        seal.strangers, answered, unproven, looked = MOST_STRANGERS, False, seal.counts.unproven, 0
        while datagram is not None:
            opened = seal.open(datagram)
            if opened is not None:
                wire.confirm()
                kind, content = opened
                if kind == HELLO or self._peer is not seal.live:
                    self._meet(kind, content)
                elif self.agreed:
                    arrived.append(content)
            # it has the key, and yet to hear of this start
            elif not answered and seal.counts.unproven > unproven:
                wire.reply(seal.close(HELLO, self._greeting))
                answered = True
            looked += 1
            datagram = wire.receive() if looked < MOST_DATAGRAMS else None
        return arrived

    def close(self) -> None:
        """Close the wire."""
        self.wire.close()

    def _meet(self, kind: int, content: bytes) -> None:
        """A greeting, or the first word of another start of the peer."""
        # another start of the peer: what the one before said no longer counts
        if self._peer is not self.seal.live:
            self._peer = self.seal.live
            self.generation += 1
            self.agreed, self.refusal, self._next_ns = False, None, AT_ONCE
            self._arrived.clear()
        if kind == HELLO:
            self.refusal = self._difference(content)
            self.agreed = self.refusal is None

    def _difference(self, content: bytes) -> str | None:
        """How the peer's terms differ from this side's, in words; None if they do not."""
        try:
            told = json.loads(content)
        except ValueError:
            told = None
        if not isinstance(told, dict):
            return "the other side greets in a way this version does not understand"
        for name in sorted(told.keys() | self._terms.keys(), key=_weight):
            theirs, mine = told.get(name, "nothing"), self._terms.get(name, "nothing")
            if theirs != mine:
                return f"the other side has {name} {str(theirs)[:60]!r}, this one {mine!r}: start both alike"
        return None


def _weight(name: str) -> tuple[int, str]:
    """What to name first where several terms differ."""
    order = ("version", "rig", "law", "layer")
    return (order.index(name) if name in order else len(order)), name
