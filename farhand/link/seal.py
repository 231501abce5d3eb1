"""Seal: encrypts and authenticates every datagram with the key that both sides hold."""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from farhand.errors import BadValue, FileError

MAGIC = b"FHS2"
KEY_BYTES = 32
KEY_PREFIX = "farhand-key-1 "  # of a key file
MAX_KEY_FILE_BYTES = 1024  # read; a key file is shorter
EPOCH_BYTES = 16
NOBODY = bytes(EPOCH_BYTES)
"""The epoch of a peer that has not been heard."""

HELLO, STATE = 1, 2
"""Kinds of content: what a side runs; the packet of one tick."""

ROLES = {"leader": 1, "follower": 2}
WINDOW = 1024  # datagrams that one may arrive behind the newest
# Magic, role, kind, zero, epoch of the sender, epoch of the peer.
_NAMES = struct.Struct("<4sBBH16s16s")
_HEADER = struct.Struct(f"<{_NAMES.size}sQ")
_NONCE = struct.Struct("<4xQ")
HEADER_BYTES = _HEADER.size
TAG_BYTES = 16
SHORTEST = HEADER_BYTES + TAG_BYTES  # of a datagram with nothing in it [bytes]

Datagram = bytes | bytearray | memoryview


@dataclass(slots=True)
class Counts:
    """What happened to everything that arrived."""

    opened: int = 0  # from the peer, fresh and whole
    malformed: int = 0  # not of this format
    forged: int = 0  # not sealed with this key, or changed under way
    reflected: int = 0  # sealed with this key by this side's own role: sent back, or a second side
    replayed: int = 0  # seen before, or too late to know
    outdated: int = 0  # from an earlier start of the peer
    declined: int = 0  # from another start of the peer, which runs something else
    unproven: int = 0  # from a peer that does not yet answer this start of this side

    @property
    def refused(self) -> int:
        """Everything that was not from the peer."""
        foreign = self.malformed + self.forged + self.reflected
        return foreign + self.replayed + self.outdated + self.declined


def new_epoch() -> bytes:
    """A name for one start of one side: the time, so that later starts are greater, and chance."""
    return time.time_ns().to_bytes(8, "big") + secrets.token_bytes(8)


class Peer:
    """One start of the other side: its key, and which of its datagrams have been opened.

    Attributes:
        epoch: the name of the start.
        cipher: under the key of that side and start.
        newest: the greatest number opened; -1 before the first.
        opened: by number modulo :data:`WINDOW`, the last number opened.
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
    8      names: epoch of the sender, epoch of the peer as the sender knows it (16 bytes each)
    40     counter (u64, little-endian)
    48     content, encrypted; its 16-byte tag covers content, names and, as nonce, counter
    ====== =====================================================================================

    The cipher is AES-256-GCM under a separate key for each side and start,
    :math:`k = \mathrm{HKDF}(\text{shared key}, \text{epoch}, \text{role})`, with the counter as
    nonce, which never repeats. A datagram sent back to its sender is under the wrong role's key. A
    state is opened only if it names this side's present epoch, so a recording of an earlier start
    opens nothing. A peer that restarts has a greater epoch and takes over once it answers; from
    then on its earlier epochs open nothing. So that one start with a wrong clock does not lock out
    all later ones, a smaller epoch may take over too once the live peer is silent, unless it was
    live or turned away before: no recording can bring it back.

    Args:
        key: shared by both sides, 32 bytes.
        role: of this side, ``"leader"`` or ``"follower"``.
        epoch: of this start, also an attribute; a new one by default.

    Attributes:
        live: the peer that answers this start; None before one does.
        counts: what happened to all datagrams.
        strangers: how many keys may still be derived for new starts; each takes microseconds.
        admits: whether a new start may take over, by kind and content of what it says first.
        silent: whether the live peer has fallen silent.
        waiting: epoch of a start that the last :meth:`open` turned away, and that may be told why.
    """

    def __init__(self, key: bytes, role: str, epoch: bytes | None = None) -> None:
        if len(key) != KEY_BYTES:
            raise BadValue(f"a key has {KEY_BYTES} bytes, not {len(key)}")
        self._key, self.role = key, role
        self._mine, self._theirs = ROLES[role], 3 - ROLES[role]
        self.epoch = epoch or new_epoch()
        self.counts, self.strangers = Counts(), 1 << 62
        self.live: Peer | None = None
        self.admits: Callable[[int, bytes], bool] = lambda kind, content: True
        self.silent, self.waiting = False, b""
        self._candidate: Peer | None = None
        # Epochs that were live before, and those turned away while another was.
        self._past: set[bytes] = set()
        self._turned_away: set[bytes] = set()
        self._cipher = self._derive(self._mine, self.epoch)
        self._counter = 0
        # How this side's states begin, and those of the live peer.
        self._named = _names(self._mine, STATE, self.epoch, NOBODY)
        self._expected = b""

    def close(self, kind: int, content: Datagram, to: bytes = b"") -> bytes:
        """Seal content; greetings name the newest peer heard or ``to``, states the live one."""
        self._counter = counter = self._counter + 1
        if kind == STATE:
            names = self._named
        else:
            peer = self._candidate or self.live
            heard = to or (NOBODY if peer is None else peer.epoch)
            names = _names(self._mine, kind, self.epoch, heard)
        sealed = self._cipher.encrypt(_NONCE.pack(counter), content, names)
        return _HEADER.pack(names, counter) + sealed

    def open(self, datagram: Datagram) -> tuple[int, bytes] | None:
        """Kind and content of a datagram of the peer that answers this start; None for all others.

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
        # Nearly all datagrams are states of the live peer, newer than the last.
        try:
            content = peer.cipher.decrypt(_NONCE.pack(counter), datagram[HEADER_BYTES:], names)
        except InvalidTag:
            self.counts.forged += 1
            return None
        peer.opened[counter % WINDOW] = peer.newest = counter
        self.counts.opened += 1
        return STATE, content

    def _open_other(self, names: bytes, counter: int, sealed: Datagram) -> tuple[int, bytes] | None:
        """Open greetings, overtaken datagrams and those of other starts or other senders."""
        self.waiting = b""
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
        live = self.live
        if live is not None and self._comes_too_late(peer.epoch, live.epoch):
            self.counts.outdated += 1
            self.waiting = peer.epoch
            return None
        if heard != self.epoch:
            self.counts.unproven += 1
            self._candidate = peer
            return None
        if peer is not live:
            if not self.admits(kind, content):
                self.counts.declined += 1
                self._candidate, self.waiting = live, peer.epoch
                return None
            self._welcome(peer)
        self.counts.opened += 1
        return kind, content

    def _comes_too_late(self, epoch: bytes, live: bytes) -> bool:
        """Whether a start with the key is turned away because it seems older than the live one."""
        if epoch < live and not self.silent:
            self._turned_away.add(epoch)
        return epoch < live and epoch in self._turned_away

    def _sender(self, names: bytes, counter: int, sealed: Datagram) -> Peer | None:
        """The claimed sender of a datagram, if it may be one; None, and counted, otherwise."""
        magic, role, kind, zero, epoch, _ = _NAMES.unpack(names)
        if magic != MAGIC or zero or not 1 <= kind <= 2 or not 1 <= role <= 2:
            self.counts.malformed += 1
            return None
        if role == self._mine:
            self._count_own(epoch, names, counter, sealed)
            return None
        if self.live is not None and epoch == self.live.epoch:
            return self.live
        return self._stranger(epoch)

    def _stranger(self, epoch: bytes) -> Peer | None:
        """A peer that may replace the live one; None, and counted, if it may not."""
        if epoch in self._past:
            self.counts.outdated += 1
            return None
        if self._candidate is not None and self._candidate.epoch == epoch:
            return self._candidate
        if self.strangers <= 0:
            # Not examined, so not opened.
            self.counts.forged += 1
            return None
        self.strangers -= 1
        return Peer(epoch, self._derive(self._theirs, epoch))

    def _welcome(self, peer: Peer) -> None:
        """Let a start of the peer that answers replace the one before it."""
        if self.live is not None:
            self._past.add(self.live.epoch)
            if self._candidate is self.live:
                self._candidate = None
        self.live, self.silent = peer, False
        self._named = _names(self._mine, STATE, self.epoch, peer.epoch)
        self._expected = _names(self._theirs, STATE, peer.epoch, self.epoch)
        # Greetings keep naming a later start that has yet to answer.
        if self._candidate is None or self._candidate.epoch <= peer.epoch:
            self._candidate = peer

    def _derive(self, role: int, epoch: bytes) -> AESGCM:
        info = b"farhand link 2 " + bytes([role])
        return AESGCM(HKDF(SHA256(), KEY_BYTES, salt=epoch, info=info).derive(self._key))

    def _count_own(self, epoch: bytes, names: bytes, counter: int, sealed: Datagram) -> None:
        """Count a datagram of this side's own role as reflected, or as forged without the key."""
        cipher = self._cipher if epoch == self.epoch else None
        if cipher is None and self.strangers > 0:
            self.strangers -= 1
            cipher = self._derive(self._mine, epoch)
        if cipher is None:
            self.counts.forged += 1
            return
        try:
            cipher.decrypt(_NONCE.pack(counter), sealed, names)
            self.counts.reflected += 1
        except InvalidTag:
            self.counts.forged += 1


def _names(role: int, kind: int, epoch: bytes, heard: bytes) -> bytes:
    return _NAMES.pack(MAGIC, role, kind, 0, epoch, heard)


def write_key(path: Path) -> None:
    """Write a new key that only its owner can read; an existing file is never overwritten.

    Raises:
        FileError: the file exists, or cannot be written.
    """
    text = KEY_PREFIX + base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode() + "\n"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        text = f"{path} already exists; a key is never overwritten, choose another name"
        raise FileError(text) from None
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(text)
    except OSError as error:
        # Half a key would stay for ever, as none is overwritten.
        path.unlink(missing_ok=True)
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None


def read_key(path: Path) -> bytes:
    """The key in a file.

    Raises:
        FileError: the file cannot be read.
        BadValue: it is not a key; the message does not repeat its content.
    """
    try:
        with path.open("rb") as file:
            text = file.read(MAX_KEY_FILE_BYTES).decode("ascii")
    except OSError as error:
        raise FileError(f"cannot read the key {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        text = ""
    make_one = f"make one with: farhand key --out {path.name}.new"
    wrong = BadValue(f"{path} is not a Farhand key; {make_one}")
    if not text.startswith(KEY_PREFIX):
        raise wrong
    try:
        key = base64.b64decode(text[len(KEY_PREFIX) :].strip(), validate=True)
    except (binascii.Error, ValueError):
        raise wrong from None
    if len(key) != KEY_BYTES:
        raise wrong
    return key


def open_to_others(path: Path) -> bool:
    """Whether anyone but its owner may read a file."""
    return bool(path.stat().st_mode & 0o077)
