"""Recover: what a crash, a full disk or a broken copy left of a recording, as a whole file."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from farhand.errors import FileError
from farhand.recording.growing import GrowingFile
from farhand.recording.loader import described
from farhand.recording.scan import messages, scan


@dataclass(frozen=True)
class Recovered:
    """What could be saved.

    Attributes:
        path: the new file.
        messages: how many are in it.
        damaged: chunks that had to be left out.
        unread: bytes at the end that belong to no whole record.
        whole: whether there was nothing to repair but the index.
    """

    path: Path
    messages: int
    damaged: int
    unread: int
    whole: bool


def recover(source: Path, destination: Path) -> Recovered:
    """Write everything that can be read of a recording to a new file, with a new index.

    Raises:
        FileError: nothing can be read, it is not a recording of Farhand's, or the new file cannot be written.
    """
    found = scan(source, salvage=True)
    described(source, found)
    part = destination.with_name(f".{destination.name}.{os.getpid()}")
    try:
        file = GrowingFile(part)
        for name, content in found.metadata.items():
            file.metadata(name, content)
        for name, data in found.attachments.items():
            file.attachment(name, "application/octet-stream", data)
        for channel in sorted(found.channels.values(), key=lambda c: c.id):
            schema = found.schemas[channel.schema_id]
            file.channel(channel.topic, schema.name, schema.data.decode(), channel.metadata)
        counts = [_copy(chunk, file) for chunk in found.chunks]
        file.finish()
        os.replace(part, destination)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise FileError(f"cannot write {destination}: {error.strerror}") from None
    unread = 0 if found.whole else source.stat().st_size - found.read
    kept = [count for count in counts if count is not None]
    return Recovered(destination, sum(kept), len(counts) - len(kept), unread, found.whole and len(kept) == len(counts))


def _copy(chunk: object, file: GrowingFile) -> int | None:
    """Copy one chunk with a new index; None if it is damaged."""
    try:
        records = chunk.records()  # type: ignore[attr-defined]
        places: dict[int, list[tuple[int, int]]] = {}
        place = 0
        for channel, record in messages(records, {}):
            time_ns = int.from_bytes(record[15:23], "little")
            places.setdefault(channel, []).append((time_ns, place))
            place += len(record)
    except FileError:
        return None
    indexes = [(channel, *np.array(pairs, dtype=np.int64).T) for channel, pairs in places.items()]
    file.chunk(records, indexes)
    return sum(len(pairs) for pairs in places.values())
