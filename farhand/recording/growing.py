"""A growing MCAP file that is whole after every write, so that a crash loses only unwritten data.

The end records of the format always follow the data, after a few kilobytes of padding that readers
skip. The next write replaces both. When the disk is full, the padding is the room to say so.
"""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
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
    Statistics,
    SummaryOffset,
)
from numpy.typing import NDArray

MAGIC = b"\x89MCAP0\r\n"
# The numbers are noisy: a higher level of compression gains little
COMPRESSION_LEVEL = 1
PADDING_BYTES = 4096
PRIVATE = 0x80  # opcode that readers skip

Index = tuple[int, NDArray[np.int64], NDArray[np.int64]]
"""Channel, times [ns] and offsets in the uncompressed chunk [bytes] of the messages in it."""

FOOT = struct.pack("<BQQQI", Opcode.FOOTER, 20, 0, 0, 0) + MAGIC
"""How a file without an index ends."""

_END = struct.Struct("<BQI")
_PADDING = struct.pack("<BQ", PRIVATE, PADDING_BYTES) + bytes(PADDING_BYTES)
_TAIL_SIZE = len(_PADDING) + _END.size + len(FOOT)


class GrowingFile:
    """An MCAP file with the profile ``ros2`` that is being written.

    Args:
        path: where; must not exist.
    """

    def __init__(self, path: Path) -> None:
        self._compress = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL).compress
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        # The lock says that the file grows; it ends with the process, in any case
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._place, self._crc = 0, 0  # how far the data goes, and the checksum of all of it
        self._schemas: dict[str, Schema] = {}
        self._channels: list[Channel] = []
        self._chunks: list[ChunkIndex] = []
        self._attachments: list[AttachmentIndex] = []
        self._metadata: list[MetadataIndex] = []
        self._counts: dict[int, int] = defaultdict(int)
        self._append(MAGIC + record_bytes(Header(profile="ros2", library="farhand")))

    @property
    def closed(self) -> bool:
        """Whether it is finished or given up."""
        return self._file < 0

    def channel(self, topic: str, schema: str, definition: str, metadata: dict[str, str]) -> int:
        """Declare a topic with CDR messages; gives the number of its channel."""
        records = b""
        if schema not in self._schemas:
            number = len(self._schemas) + 1
            text = definition.encode()
            self._schemas[schema] = Schema(id=number, name=schema, encoding="ros2msg", data=text)
            records = record_bytes(self._schemas[schema])
        channel = Channel(
            id=len(self._channels) + 1,
            topic=topic,
            message_encoding="cdr",
            schema_id=self._schemas[schema].id,
            metadata=metadata,
        )
        self._channels.append(channel)
        self._append(records + record_bytes(channel))
        return channel.id

    def metadata(self, name: str, content: dict[str, str]) -> None:
        """Add named texts."""
        data = record_bytes(Metadata(name=name, metadata=content))
        self._metadata.append(MetadataIndex(offset=self._place, length=len(data), name=name))
        self._append(data)

    def attachment(self, name: str, media_type: str, content: bytes) -> None:
        """Add a file."""
        about: dict[str, Any] = {"create_time": 0, "log_time": 0}
        about |= {"name": name, "media_type": media_type}
        data = record_bytes(Attachment(data=content, **about))
        about |= {"offset": self._place, "length": len(data), "data_size": len(content)}
        self._attachments.append(AttachmentIndex(**about))
        self._append(data)

    def chunk(self, records: bytes, indexes: Iterable[Index]) -> None:
        """Add message records, compressed together, and the index of each channel in them."""
        used = [index for index in indexes if len(index[1])]
        if not used:
            return
        start, end = min(int(i[1].min()) for i in used), max(int(i[1].max()) for i in used)
        packed = self._compress(records)
        chunk = _chunk_record(start, end, records, "zstd", packed)
        tables, offsets = b"", {}
        for channel, times, places in used:
            offsets[channel] = self._place + len(chunk) + len(tables)
            tables += _index_record(channel, times, places)
        place = self._place
        self._append(chunk + tables)
        self._chunks.append(
            ChunkIndex(
                chunk_length=len(chunk),
                chunk_start_offset=place,
                compression="zstd",
                compressed_size=len(packed),
                message_end_time=end,
                message_index_length=len(tables),
                message_index_offsets=offsets,
                message_start_time=start,
                uncompressed_size=len(records),
            )
        )
        for channel, times, _ in used:
            self._counts[channel] += len(times)

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        os.fdatasync(self._file)

    def finish(self) -> None:
        """Write the summary and close: the file is complete and indexed."""
        self._write(_end(self._crc) + self._summary(self._place + _END.size), self._place)
        os.ftruncate(self._file, self._size)
        os.fsync(self._file)
        self._close()

    def give_up(self, records: bytes, indexes: Iterable[Index]) -> None:
        """Close a file whose disk is full: cut what did not fit, and say why in the padding."""
        os.ftruncate(self._file, self._place + _TAIL_SIZE)
        used = [index for index in indexes if len(index[1])]
        time = int(used[0][1][0]) if used else 0
        chunk = _chunk_record(time, time, records, "", records)
        left, padded = PADDING_BYTES - len(chunk), _PADDING
        if left >= 0:
            padded = chunk + struct.pack("<BQ", PRIVATE, left) + bytes(left)
        self._write(padded + _end(zlib.crc32(padded, self._crc)) + FOOT, self._place)
        self._close()

    def _close(self) -> None:
        os.close(self._file)
        self._file = -1

    def _append(self, data: bytes) -> None:
        """Write over the end records, and new ones behind the data."""
        crc = zlib.crc32(data, self._crc)
        self._write(data + _PADDING + _end(zlib.crc32(_PADDING, crc)) + FOOT, self._place)
        self._place, self._crc = self._place + len(data), crc

    def _write(self, data: bytes, place: int) -> None:
        view, written = memoryview(data), 0
        while written < len(data):
            written += os.pwrite(self._file, view[written:], place + written)
        self._size = place + len(data)

    def _summary(self, start: int) -> bytes:
        groups: list[tuple[int, list[McapRecord]]] = [
            (Opcode.SCHEMA, list(self._schemas.values())),
            (Opcode.CHANNEL, list(self._channels)),
            (Opcode.STATISTICS, [self._statistics()]),
            (Opcode.CHUNK_INDEX, list(self._chunks)),
            (Opcode.ATTACHMENT_INDEX, list(self._attachments)),
            (Opcode.METADATA_INDEX, list(self._metadata)),
        ]
        content, offsets = b"", b""
        for opcode, records in groups:
            data = b"".join(record_bytes(record) for record in records)
            if data:
                place = {"group_start": start + len(content), "group_length": len(data)}
                offsets += record_bytes(SummaryOffset(group_opcode=opcode, **place))
                content += data
        offset_start = start + len(content)
        content += offsets
        foot = struct.pack("<BQQQ", Opcode.FOOTER, 20, start, offset_start)
        return content + foot + struct.pack("<I", zlib.crc32(content + foot)) + MAGIC

    def _statistics(self) -> Statistics:
        return Statistics(
            attachment_count=len(self._attachments),
            channel_count=len(self._channels),
            channel_message_counts=dict(self._counts),
            chunk_count=len(self._chunks),
            message_count=sum(self._counts.values()),
            message_start_time=min((chunk.message_start_time for chunk in self._chunks), default=0),
            message_end_time=max((chunk.message_end_time for chunk in self._chunks), default=0),
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )


def growing(path: Path) -> bool:
    """Whether somebody is writing the file at this moment."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def record_bytes(record: McapRecord) -> bytes:
    """A record as it stands in a file."""
    builder = RecordBuilder()
    record.write(builder)
    return bytes(builder.end())


def _end(crc: int) -> bytes:
    """The record that ends the data, with their checksum."""
    return _END.pack(Opcode.DATA_END, 4, crc)


def _chunk_record(start: int, end: int, records: bytes, compression: str, packed: bytes) -> bytes:
    content = struct.pack("<QQQI", start, end, len(records), zlib.crc32(records))
    content += struct.pack("<I", len(compression)) + compression.encode()
    content += struct.pack("<Q", len(packed)) + packed
    return struct.pack("<BQ", Opcode.CHUNK, len(content)) + content


def _index_record(channel: int, times: NDArray[np.int64], places: NDArray[np.int64]) -> bytes:
    pairs = np.stack([times, places], axis=1).astype("<u8").tobytes()
    return struct.pack("<BQHI", Opcode.MESSAGE_INDEX, 6 + len(pairs), channel, len(pairs)) + pairs
