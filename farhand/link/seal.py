"""Seal: every datagram is encrypted and authenticated with a key that both sides hold; nothing else is opened."""

from __future__ import annotations

import secrets
import struct
import time
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from farhand.errors import BadValue

MAGIC = b"FHS2"
KEY_BYTES = 32
EPOCH_BYTES = 16
NOBODY = bytes(EPOCH_BYTES)
"""Stands for the epoch of a peer that has not been heard."""

HELLO, STATE = 1, 2
"""Kinds of content: who a side is and what it runs; the packet of one tick."""

ROLES = {"leader": 1, "follower": 2}
WINDOW = 1024  # how far behind the newest a datagram may arrive [datagrams]
# magic, role, kind, zero, epoch of the sender, epoch of the peer
_NAMES = struct.Struct("<4sBBH16s16s")
_HEADER = struct.Struct(f"<{_NAMES.size}sQ")
_NONCE = struct.Struct("<4xQ")
HEADER_BYTES = _HEADER.size
TAG_BYTES = 16
SHORTEST = HEADER_BYTES + TAG_BYTES  # of a datagram with nothing in it [bytes]

Datagram = bytes | bytearray | memoryview


@dataclass(slots=True)
class Counts:
    """What became of everything that arrived.

    Attributes:
        opened: datagrams from the peer, fresh and whole.
        malformed: not of this format.
        forged: not sealed with this key, or changed on the way.
        reflected: sealed with this key by a side of this side's own role; its own, sent back, or a
            second such side.
        replayed: seen before, or too late to tell.
        outdated: from an earlier start of the peer.
        unproven: from a peer that does not yet answer this start of this side.
    """

    opened: int = 0
    malformed: int = 0
    forged: int = 0
    reflected: int = 0
    replayed: int = 0
    outdated: int = 0
    unproven: int = 0

    @property
    def refused(self) -> int:
        """All that was not from the peer."""
        return self.malformed + self.forged + self.reflected + self.replayed + self.outdated


def new_epoch() -> bytes:
    """Names one start of one side: the time, so that a later start is greater, and chance, so that no two are equal."""
    return time.time_ns().to_bytes(8, "big") + secrets.token_bytes(8)


class Peer:
    """One start of the other side: its key, and which of its datagrams have been opened.

    Args:
        epoch: that names the start.
        cipher: under the key of that side and start.

    Attributes:
        newest: the greatest number opened; -1 before the first.
        opened: by number modulo :data:`WINDOW`, the last number opened of those that share the
            place.
    """

    __slots__ = ("epoch", "cipher", "newest", "opened")

    def __init__(self, epoch: bytes, cipher: AESGCM) -> None:
        self.epoch, self.cipher = epoch, cipher
        self.newest, self.opened = -1, [-1] * WINDOW


class Seal:
    r"""Seals what one side sends and opens what its peer has sealed.

    ====== =====================================================================================
    offset content
    ====== =====================================================================================
    0      names: magic ``FHS2``, sender's role (u8), kind (u8), zero (u16)
    8      names: epoch of the sender (16 bytes), epoch of the peer as the sender knows it (16
    bytes) 40     counter (u64, little-endian)
    48     content, encrypted; its 16-byte tag covers content, names and, as nonce, counter
    ====== =====================================================================================

    The cipher is AES-256-GCM under a key of its own for each side and start,
    :math:`k = \mathrm{HKDF}(\text{shared key}, \text{epoch}, \text{role})`, with the counter as
    nonce, which never comes twice. A datagram sent back to its sender is under the wrong role's
    key. A state is opened only if it names this side's present epoch: it answers this very start,
    so a recording of an earlier one opens nothing. A peer that starts again has a greater epoch and
    takes over once it answers; its earlier epochs open nothing from then on.

    Args:
        key: shared by both sides, 32 bytes.
        role: of this side, ``"leader"`` or ``"follower"``.
        epoch: of this start; a new one by default.

    Attributes:
        epoch: of this start.
        live: the peer that answers this start; None before one does.
        counts: what became of all datagrams.
        strangers: for how many starts not heard before a key may still be derived; each takes some
            microseconds.
    """

    def __init__(self, key: bytes, role: str, epoch: bytes | None = None) -> None:
        if len(key) != KEY_BYTES:
            raise BadValue(f"a key has {KEY_BYTES} bytes, not {len(key)}")
        self._key, self.role = key, role
        self._mine, self._theirs = ROLES[role], 3 - ROLES[role]
        self.epoch = epoch or new_epoch()
        self.counts, self.strangers = Counts(), 1 << 62
        self.live: Peer | None = None
        self._candidate: Peer | None = None
        self._cipher = self._derive(self._mine, self.epoch)
        self._counter = 0
        self._named = _names(self._mine, STATE, self.epoch, NOBODY)  # how this side's states begin
        self._expected = b""  # how the states of the live peer's begin

    def close(self, kind: int, content: Datagram) -> bytes:
        """Seal content of a kind; greetings name the newest peer heard, states the one that answers."""
        self._counter = counter = self._counter + 1
        if kind == STATE:
            names = self._named
        else:
            peer = self._candidate or self.live
            names = _names(self._mine, kind, self.epoch, NOBODY if peer is None else peer.epoch)
        return _HEADER.pack(names, counter) + self._cipher.encrypt(
            _NONCE.pack(counter), content, names
        )

    def open(self, datagram: Datagram) -> tuple[int, bytes] | None:
        """Kind and content of a datagram of the peer's that answers this start; None, and counted, for all others.

        A datagram of a peer that does not answer yet makes the next greeting name it, so that it
        can.
        """
        if len(datagram) < SHORTEST:
            self.counts.malformed += 1
            return None
        names, counter = _HEADER.unpack_from(datagram)
        peer = self.live
        if peer is None or names != self._expected or counter <= peer.newest:
            return self._open_other(names, counter, datagram[HEADER_BYTES:])
        try:  # nearly all are states of the live peer's that follow on the newest
            content = peer.cipher.decrypt(_NONCE.pack(counter), datagram[HEADER_BYTES:], names)
        except InvalidTag:
            self.counts.forged += 1
            return None
        peer.opened[counter % WINDOW] = peer.newest = counter
        self.counts.opened += 1
        return STATE, content

    def _open_other(self, names: bytes, counter: int, sealed: Datagram) -> tuple[int, bytes] | None:
        """Open whatever else may come: greetings, what was overtaken, other starts, and what is not the peer's."""
        _, _, kind, _, _, heard = _NAMES.unpack(names)
        peer = self._sender(names, counter, sealed)
        if peer is None:
            return None
        place = counter % WINDOW
        if counter <= peer.newest - WINDOW or peer.opened[place] == counter:
            self.counts.replayed += 1
            return None
        try:
            content = peer.cipher.decrypt(_NONCE.pack(counter), sealed, names)
        except InvalidTag:
            self.counts.forged += 1
            return None
        peer.opened[place] = counter
        if counter > peer.newest:
            peer.newest = counter
        if heard != self.epoch:
            self.counts.unproven += 1
            self._candidate = peer
            return None
        if peer is not self.live:
            self._welcome(peer)
        self.counts.opened += 1
        return kind, content

    def _sender(self, names: bytes, counter: int, sealed: Datagram) -> Peer | None:
        """Who says to have sent a datagram, if that may be; None, and counted, if it may not."""
        magic, role, kind, zero, epoch, _ = _NAMES.unpack(names)
        if magic != MAGIC or zero or not 1 <= kind <= 2 or not 1 <= role <= 2:
            self.counts.malformed += 1
            return None
        if role == self._mine:
            self._count_own(epoch, names, counter, sealed)
            return None
        return (
            self.live
            if self.live is not None and epoch == self.live.epoch
            else self._stranger(epoch)
        )

    def _stranger(self, epoch: bytes) -> Peer | None:
        """One that is not the live peer, if it may become that; None, and counted, if it may not."""
        if self.live is not None and epoch < self.live.epoch:
            self.counts.outdated += 1
            return None
        if self._candidate is not None and self._candidate.epoch == epoch:
            return self._candidate
        if self.strangers <= 0:
            self.counts.forged += 1  # not looked at, so not opened
            return None
        self.strangers -= 1
        return Peer(epoch, self._derive(self._theirs, epoch))

    def _welcome(self, peer: Peer) -> None:
        """A start of the peer's that answers takes the place of the one before it."""
        self.live = peer
        self._named = _names(self._mine, STATE, self.epoch, peer.epoch)
        self._expected = _names(self._theirs, STATE, peer.epoch, self.epoch)
        if self._candidate is None or self._candidate.epoch <= peer.epoch:
            self._candidate = (
                peer  # a later start that is still to answer goes on being named in greetings
            )

    def _derive(self, role: int, epoch: bytes) -> AESGCM:
        info = b"farhand link 2 " + bytes([role])
        return AESGCM(HKDF(SHA256(), KEY_BYTES, salt=epoch, info=info).derive(self._key))

    def _count_own(self, epoch: bytes, names: bytes, counter: int, sealed: Datagram) -> None:
        """Tell a datagram of this side's own role, which is a mistake or a reflection, from one without the key."""
        cipher = self._cipher if epoch == self.epoch else None
        if cipher is None and self.strangers > 0:
            self.strangers -= 1
            cipher = self._derive(self._mine, epoch)
        if cipher is None:
            self.counts.forged += 1  # not looked at, so not known to be a reflection
            return
        try:
            cipher.decrypt(_NONCE.pack(counter), sealed, names)
            self.counts.reflected += 1
        except InvalidTag:
            self.counts.forged += 1


def _names(role: int, kind: int, epoch: bytes, heard: bytes) -> bytes:
    return _NAMES.pack(MAGIC, role, kind, 0, epoch, heard)
