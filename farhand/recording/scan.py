"""Scan: the records of an MCAP file from front to back, with a clear word for whatever is wrong with it."""

from __future__ import annotations

import mmap
import os
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
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Metadata, Schema

from farhand.errors import FileError
from farhand.recording.cdr import MESSAGE, PREFIX
from farhand.recording.growing import MAGIC

_HEAD = struct.Struct("<BQ")
_CHUNK = struct.Struct("<QQQI")
_LARGEST = 1 << 32  # [bytes] of one record


@dataclass(frozen=True)
class Chunk:
    """Message records, compressed together.

    Attributes:
        start_ns: earliest time in it, [ns].
        end_ns: latest, [ns].
    """

    start_ns: int
    end_ns: int
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
                content = zstandard.ZstdDecompressor().decompress(self._data, max_output_size=self._size)
            elif not self._compression:
                content = bytes(self._data)
            else:
                raise FileError(f"a chunk is compressed with {self._compression}, which Farhand does not write")
        except zstandard.ZstdError:
            raise FileError("a chunk cannot be decompressed") from None
        if len(content) != self._size or (self._crc and zlib.crc32(content) != self._crc):
            raise FileError("a chunk does not match its checksum")
        return content


@dataclass
class Found:
    """What is in a file.

    Attributes:
        schemas: by id.
        channels: by id.
        metadata: texts by name.
        attachments: files by name.
        chunks: in order.
        complete: whether the file was finished: it has an index.
        whole: whether it ends as it should.
        read: how far it could be read, [bytes].
    """

    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)
    attachments: dict[str, bytes] = field(default_factory=dict)
    chunks: list[Chunk] = field(default_factory=list)
    complete: bool = False
    whole: bool = False
    read: int = 0


def scan(path: Path, salvage: bool = False) -> Found:
    """Read the data section of a file.

    Args:
        path: the file.
        salvage: take what is there from a file that is cut off; otherwise it is refused.

    Raises:
        FileError: the file is missing, empty, not MCAP, or cut off.
    """
    content = _open(path)
    if bytes(content[: len(MAGIC)]) != MAGIC:
        if bytes(content[:5]) == MAGIC[:5]:
            raise FileError(f"{path} is cut off, or an MCAP file of another major version")
        raise FileError(f"{path} is not an MCAP file")
    found = Found(read=len(MAGIC))
    try:
        _walk(content, found)
    except (struct.error, ValueError, EOFError) as error:
        found.whole = False
        reason = " ".join(str(error).split())
        if not salvage:
            hint = f"farhand recover {path} saves what is there"
            raise FileError(f"{path} is cut off or damaged ({reason}); {hint}") from None
    return found


def _open(path: Path) -> memoryview:
    try:
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise FileError(f"{path} is empty")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None


def _walk(content: memoryview, found: Found) -> None:
    """Take in record after record until the end of the data section, then look at the end of the file."""
    while True:
        if found.read + _HEAD.size > len(content):
            raise ValueError(f"it ends after {len(content)} bytes without the end of the format")
        opcode, length = _HEAD.unpack_from(content, found.read)
        start, end = found.read + _HEAD.size, found.read + _HEAD.size + length
        if opcode == 0 or length > _LARGEST or end > len(content):
            raise ValueError(f"the record at byte {found.read} goes beyond the end")
        if opcode == Opcode.DATA_END:
            break
        _take(opcode, content[start:end], found)
        found.read = end
    if bytes(content[-len(MAGIC) :]) != MAGIC:
        raise ValueError("its index is cut off")
    found.whole = True
    found.complete = struct.unpack_from("<Q", content, len(content) - 28)[0] != 0


def _take(opcode: int, content: memoryview, found: Found) -> None:
    if opcode == Opcode.CHUNK:
        start, end, size, crc = _CHUNK.unpack_from(content)
        (name,) = struct.unpack_from("<I", content, _CHUNK.size)
        place = _CHUNK.size + 4
        compression = bytes(content[place : place + name]).decode()
        (length,) = struct.unpack_from("<Q", content, place + name)
        data = content[place + name + 8 :]
        if len(data) != length:
            raise ValueError("a chunk has another length than it says")
        found.chunks.append(Chunk(start, end, size, crc, compression, data))
        return
    if opcode not in (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.METADATA, Opcode.ATTACHMENT):
        return
    stream = ReadDataStream(BytesIO(content))
    if opcode == Opcode.SCHEMA:
        schema = Schema.read(stream)
        found.schemas[schema.id] = schema
    elif opcode == Opcode.CHANNEL:
        channel = Channel.read(stream)
        found.channels[channel.id] = channel
    elif opcode == Opcode.METADATA:
        metadata = Metadata.read(stream)
        found.metadata[metadata.name] = metadata.metadata
    else:
        attachment = Attachment.read(stream)
        found.attachments[attachment.name] = attachment.data


def messages(records: bytes, kinds: dict[int, np.dtype[Any]]) -> Iterator[tuple[int, Any]]:
    """The messages of a chunk as (channel, array of records) where ``kinds`` knows the channel's layout, else bytes."""
    place = 0
    while place < len(records):
        opcode, length = _HEAD.unpack_from(records, place)
        end = place + _HEAD.size + length
        if opcode != MESSAGE or end > len(records) or length < PREFIX - _HEAD.size:
            raise FileError(f"a chunk holds a record of an unknown kind ({opcode})")
        (channel,) = struct.unpack_from("<H", records, place + _HEAD.size)
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
    most, look = (len(records) - place) // kind.itemsize, 64
    while True:
        block = np.frombuffer(records, kind, min(look, most), place)
        same = (block["opcode"] == MESSAGE) & (block["length"] == kind.itemsize - 9) & (block["channel"] == channel)
        if not same.all():
            return int(np.argmin(same))
        if len(block) == most:
            return most
        look *= 4
