"""Chunks of a recording: messages compressed together, with a checksum."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import zstandard

from farhand.errors import FileError
from farhand.recording.cdr import MESSAGE, PREFIX

HEAD = struct.Struct("<BQ")
"""Of every record: its opcode and its length, [bytes]."""


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
                if zstandard.get_frame_parameters(self._data[:18]).content_size != self._size:
                    raise FileError("the size of a chunk is wrong")
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
            stream.decompress(self._data)
            self.records()
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
