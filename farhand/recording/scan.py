"""The records of an MCAP file from front to back, and what is wrong with it.

Only the checksum of all data protects the head of a file, and early files lack it. So a record is
accepted only if writing it again gives the same bytes. Channels and schemas come from the summary
if that matches its checksum. After a damaged record, reading goes on at the next one that the index
lists, or that is found by its pattern.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    ChunkIndex,
    Header,
    McapRecord,
    Metadata,
    MetadataIndex,
    Schema,
)

from farhand.errors import FileError
from farhand.recording.cdr import MESSAGE, PREFIX
from farhand.recording.growing import FOOT, MAGIC, PRIVATE, record_bytes

HEAD = struct.Struct("<BQ")
"""Of every record: its opcode and its length, [bytes]."""

_CHUNK = struct.Struct("<QQQI")
_END_SIZE = 13  # [bytes] of the record that ends the data
_ZSTD = b"\x04\x00\x00\x00zstd"
# [bytes] from the start of a chunk to the name of its compression
_ZSTD_AT = HEAD.size + _CHUNK.size

MAX_CHUNK_BYTES = 64 << 20  # a quarter of a second of a run has about 1 MB
MAX_RATIO = 1000  # of a chunk to what it is compressed to; recordings reach about 25

_SEARCH_BYTES = 1 << 20  # over which a record is searched by its pattern
_PARSED: dict[int, type[Any]] = {
    Opcode.HEADER: Header,
    Opcode.SCHEMA: Schema,
    Opcode.CHANNEL: Channel,
    Opcode.METADATA: Metadata,
    Opcode.ATTACHMENT: Attachment,
    Opcode.CHUNK_INDEX: ChunkIndex,
    Opcode.METADATA_INDEX: MetadataIndex,
    Opcode.ATTACHMENT_INDEX: AttachmentIndex,
}

_NAMED = (Opcode.HEADER, Opcode.SCHEMA, Opcode.CHANNEL, Opcode.METADATA, Opcode.ATTACHMENT)
_DATA = {*_NAMED, Opcode.MESSAGE, Opcode.CHUNK, Opcode.MESSAGE_INDEX, PRIVATE}
"""Kinds of records that stand in the data section."""

UNREADABLE = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError),
    *(struct.error, McapError),
)
"""What damaged content raises when it is read."""


@dataclass(frozen=True)
class Chunk:
    """Message records, compressed together."""

    start_ns: int  #: earliest time in it, [ns]
    end_ns: int  #: latest, [ns]
    _size: int
    _crc: int
    _compression: str
    _data: memoryview

    def records(self) -> bytes:
        """Its content.

        Raises:
            FileError: it is damaged.
        """
        try:
            if self._compression == "zstd":
                if zstandard.get_frame_parameters(self._data[:18]).content_size != self._size:
                    raise FileError("the size of a chunk is wrong")
                # Before memory is taken for it: a file of some kB may claim gigabytes.
                if self._size > min(MAX_CHUNK_BYTES, MAX_RATIO * len(self._data)):
                    raise FileError(f"a chunk claims {self._size} bytes, which none can have")
                unpack = zstandard.ZstdDecompressor().decompress
                content = unpack(self._data, max_output_size=self._size)
            elif not self._compression:
                content = bytes(self._data)
            else:
                raise FileError(f"a chunk is compressed with {self._compression}, not with zstd")
        except (zstandard.ZstdError, MemoryError):
            raise FileError("a chunk cannot be decompressed") from None
        if len(content) != self._size or (self._crc and zlib.crc32(content) != self._crc):
            raise FileError("a chunk does not match its checksum")
        return content

    def fits(self) -> bool:
        """Whether it is good and ends exactly where its compressed content ends."""
        stream = zstandard.ZstdDecompressor().decompressobj()
        try:
            self.records()
            stream.decompress(self._data)
        except (zstandard.ZstdError, FileError):
            return False
        return stream.eof and not stream.unused_data


def messages(records: bytes, kinds: dict[int, np.dtype[Any]]) -> Iterator[tuple[int, Any]]:
    """The messages of a chunk as (channel, records): an array if ``kinds`` has it, else bytes."""
    place = 0
    while place < len(records):
        if place + PREFIX > len(records):
            raise FileError("a chunk ends in the middle of a message")
        opcode, length = HEAD.unpack_from(records, place)
        end = place + HEAD.size + length
        if opcode != MESSAGE or end > len(records) or length < PREFIX - HEAD.size:
            raise FileError(f"a chunk holds a record of an unknown kind ({opcode})")
        (channel,) = struct.unpack_from("<H", records, place + HEAD.size)
        kind = kinds.get(channel)
        if kind is None or kind.itemsize != end - place:
            yield channel, records[place:end]
            place = end
            continue
        count = _alike(records, place, kind, channel)
        yield channel, np.frombuffer(records, kind, count, place)
        place += count * kind.itemsize


def _alike(records: bytes, place: int, kind: np.dtype[Any], channel: int) -> int:
    """How many records of one channel follow one another."""
    most, count = (len(records) - place) // kind.itemsize, 64
    while True:
        block = np.frombuffer(records, kind, min(count, most), place)
        same = (block["opcode"] == MESSAGE) & (block["channel"] == channel)
        same &= block["length"] == kind.itemsize - HEAD.size
        if not same.all():
            return int(np.argmin(same))
        if len(block) == most:
            return most
        count *= 4


@dataclass
class ScannedFile:
    """What is in a file."""

    schemas: dict[int, Schema] = field(default_factory=dict)  # by id
    channels: dict[int, Channel] = field(default_factory=dict)  # by id
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)  # texts by name
    attachments: dict[str, Attachment] = field(default_factory=dict)  # files by name
    chunks: list[Chunk] = field(default_factory=list)  # in order
    indexed: bool = False  # whether it has an index, as finished files have
    whole: bool = True  # whether every record is good, up to the end
    # whether the data match their checksum; True if there is none, as in early files
    matches: bool = True
    mended: int = 0  # good chunks with a wrong length or kind in their head
    unread: int = 0  # bytes that belong to no whole record

    def take(self, record: McapRecord) -> None:
        """Add a record of the head."""
        if isinstance(record, Schema):
            self.schemas[record.id] = record
        elif isinstance(record, Channel):
            self.channels[record.id] = record
        elif isinstance(record, Metadata):
            self.metadata[record.name] = record.metadata
        elif isinstance(record, Attachment):
            self.attachments[record.name] = record


@dataclass
class _Summary:
    """What follows the data of a finished file."""

    end: int  # where the data end, [bytes]
    head: ScannedFile = field(default_factory=ScannedFile)  # schemas and channels
    # where chunks, metadata and attachments begin, in order, [bytes]
    starts: list[int] = field(default_factory=list)


def scan(path: Path, salvage: bool = False) -> ScannedFile:
    """Read a file.

    Args:
        path: the file.
        salvage: take what is there from a file that is cut off or damaged; otherwise it is refused.

    Raises:
        FileError: the file is missing, empty, not MCAP, cut off or damaged.
    """
    content = _open(path)
    if bytes(content[: len(MAGIC)]) != MAGIC:
        if bytes(content[:5]) == MAGIC[:5]:
            raise FileError(f"{path} is cut off, or an MCAP file of another major version")
        raise FileError(f"{path} is not an MCAP file")
    found = ScannedFile()
    try:
        summary = _summary(content)
        found.indexed = summary is not None
    except UNREADABLE as error:
        summary, found.whole = None, False
        if not salvage:
            _refuse(path, error)
    try:
        _walk(content, found, summary, salvage)
    except UNREADABLE as error:
        _refuse(path, error)
    if summary is not None:
        found.schemas, found.channels = summary.head.schemas, summary.head.channels
    return found


def _refuse(path: Path, error: Exception) -> None:
    reason = " ".join(str(error).split())[:120] or "a record ends too early"
    hint = f"farhand recover {path} saves what is there"
    raise FileError(f"{path} is cut off or damaged ({reason}); {hint}") from None


def _open(path: Path) -> memoryview:
    try:
        if not stat.S_ISREG(mode := os.stat(path).st_mode) and not stat.S_ISDIR(mode):
            reason = "it is a pipe or a device, and recordings are files"
            raise FileError(f"cannot read {path}: {reason}")
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise FileError(f"{path} is empty")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None


def _summary(content: memoryview) -> _Summary | None:
    """The summary, if it matches its checksum; None if the file was never finished."""
    if bytes(content[-len(MAGIC) :]) != MAGIC or len(content) < len(MAGIC) + _END_SIZE + len(FOOT):
        raise ValueError(f"it ends after {len(content)} bytes without the end of the format")
    foot = len(content) - len(FOOT)
    opcode, length, start, _, crc = struct.unpack_from("<BQQQI", content, foot)
    if (opcode, length) != (Opcode.FOOTER, 20):
        raise ValueError("its last record is not the one that ends a file")
    if start == 0:
        return None
    inside = len(MAGIC) + _END_SIZE <= start <= foot
    if not inside or (crc and zlib.crc32(content[start : foot + 25]) != crc):
        raise ValueError("its index does not match its checksum")
    summary, place = _Summary(start - _END_SIZE), start
    while place < foot:
        opcode, end = _head(content, place)
        if opcode in _PARSED:
            record = _parse(opcode, content, place, end)
            summary.head.take(record)
            if isinstance(record, ChunkIndex):
                summary.starts.append(record.chunk_start_offset)
            elif isinstance(record, MetadataIndex | AttachmentIndex):
                summary.starts.append(record.offset)
        place = end
    summary.starts = sorted([*summary.starts, summary.end])
    return summary


def _walk(content: memoryview, found: ScannedFile, summary: _Summary | None, salvage: bool) -> None:
    """Read record after record until the end of the data, where the rest of the file begins."""
    place, starts = len(MAGIC), summary.starts if summary else []
    rest = len(content) - _END_SIZE - len(FOOT) if summary is None else summary.end
    while place < len(content):
        try:
            opcode, end = _head(content, place)
            if opcode == Opcode.DATA_END and end == place + _END_SIZE:
                if found.whole and place != rest:
                    raise ValueError(f"the data end at byte {place}, not where the index begins")
                (crc,) = struct.unpack_from("<I", content, place + HEAD.size)
                found.matches = not crc or zlib.crc32(content[:place]) == crc
                return
            _take(opcode, content, place, end, found)
        except UNREADABLE:
            if not salvage:
                raise
            found.whole = False
            end = _resume(content, place, starts, found)
        place = end
    if not salvage:
        raise ValueError(f"it ends after {len(content)} bytes without the end of the format")
    found.whole = False


def _head(content: memoryview, place: int) -> tuple[int, int]:
    """Kind of the record at a place, and where it ends."""
    if place + HEAD.size > len(content):
        raise ValueError(f"it ends after {len(content)} bytes without the end of the format")
    opcode, length = HEAD.unpack_from(content, place)
    if place + HEAD.size + length > len(content):
        raise ValueError(f"the record at byte {place} goes beyond the end")
    return opcode, place + HEAD.size + length


def _take(opcode: int, content: memoryview, place: int, end: int, found: ScannedFile) -> None:
    """Add the record at a place of the data."""
    known = opcode in _DATA
    if opcode == Opcode.MESSAGE:
        known = struct.unpack_from("<H", content, place + 9)[0] in found.channels
    if not known:
        raise ValueError(f"the record at byte {place} is of an unknown kind ({opcode})")
    if opcode == Opcode.CHUNK:
        chunk, until = _chunk(content, place)
        if until != end:
            raise ValueError(f"the chunk at byte {place} has the wrong length")
        found.chunks.append(chunk)
    elif opcode == Opcode.MESSAGE_INDEX:
        if end - place < 15 or struct.unpack_from("<I", content, place + 11)[0] != end - place - 15:
            raise ValueError(f"the index at byte {place} has the wrong length")
    elif opcode in _NAMED:
        found.take(_parse(opcode, content, place, end))


def _chunk(content: memoryview, place: int) -> tuple[Chunk, int]:
    """The chunk at a place, and where it ends according to its inner length."""
    start, end, size, crc = _CHUNK.unpack_from(content, place + HEAD.size)
    (name,) = struct.unpack_from("<I", content, place + _ZSTD_AT)
    at = place + _ZSTD_AT + 4
    compression = bytes(content[at : at + name]).decode()
    (length,) = struct.unpack_from("<Q", content, at + name)
    at += name + 8
    if at + length > len(content):
        raise ValueError(f"the chunk at byte {place} goes beyond the end")
    return Chunk(start, end, size, crc, compression, content[at : at + length]), at + length


def _parse(opcode: int, content: memoryview, place: int, end: int) -> McapRecord:
    """The record at a place, if writing it again gives the same bytes."""
    written = bytes(content[place:end])
    record: McapRecord = _PARSED[opcode].read(ReadDataStream(BytesIO(written[HEAD.size :])))
    again = record_bytes(record)
    unchecked = opcode == Opcode.ATTACHMENT and written[-4:] == bytes(4)
    if again != written and not (unchecked and again[:-4] == written[:-4]):
        raise ValueError(f"the record at byte {place} is damaged")
    return record


def _resume(content: memoryview, place: int, starts: list[int], found: ScannedFile) -> int:
    """Where to go on after the damaged record at a place; keeps a chunk with a wrong head."""
    chunk = _good_chunk(content, place)
    if chunk is not None:
        found.chunks.append(chunk[0])
        found.mended += 1
        return chunk[1]
    later = [start for start in starts if start > place]
    goal = later[0] if later else _search(content, place)
    found.unread += goal - place
    return goal


def _good_chunk(content: memoryview, place: int) -> tuple[Chunk, int] | None:
    """The chunk at a place and its end, if it is good but for one of its two lengths."""
    data = place + _ZSTD_AT + len(_ZSTD) + 8
    if bytes(content[place + _ZSTD_AT : data - 8]) != _ZSTD or data > len(content):
        return None
    start, end, size, crc = _CHUNK.unpack_from(content, place + HEAD.size)
    (outer,), (inner,) = (struct.unpack_from("<Q", content, at) for at in (place + 1, data - 8))
    for until in (data + inner, place + HEAD.size + outer):
        chunk = Chunk(start, end, size, crc, "zstd", content[data : max(until, data)])
        if until <= len(content) and chunk.fits():
            return chunk, until
    return None


def _search(content: memoryview, place: int) -> int:
    """The next place after this one with a record that is certainly good, or the end."""
    limit, data = len(content), content.obj
    at = place + _ZSTD_AT
    while (at := data.find(_ZSTD, at + 1)) >= 0:  # type: ignore[attr-defined]
        if _good_chunk(content, at - _ZSTD_AT) is not None:
            limit = at - _ZSTD_AT
            break
    for start in range(place + 1, min(limit, place + _SEARCH_BYTES)):
        if content[start] in _NAMED:
            try:
                opcode, end = _head(content, start)
                if end <= limit:
                    _parse(opcode, content, start, end)
                    return start
            except UNREADABLE:
                continue
    return limit
