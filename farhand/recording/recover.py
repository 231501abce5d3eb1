"""What a crash, a full disk or a broken copy left of a recording, as a whole file."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from farhand.errors import FileError
from farhand.files import real_file
from farhand.recording.growing import GrowingFile
from farhand.recording.loader import described
from farhand.recording.recorder import END_NAME, ENDED, IN_ORDER, METADATA_NAME
from farhand.recording.scan import UNREADABLE, Chunk, ScannedFile, messages, scan


@dataclass(frozen=True)
class Recovered:
    """What could be saved."""

    path: Path  # the new file
    messages: int  # how many are in it
    damaged: int  # chunks that had to be left out
    unread: int  # bytes that belong to no whole record
    altered: bool  # whether something beside the chunks was changed, such as a parameter
    ended: str  # how the run ended, as the new file says it

    @property
    def whole(self) -> bool:
        """Whether there was nothing to repair but the index."""
        return not (self.damaged or self.unread or self.altered)


def recover(source: Path, destination: Path) -> Recovered:
    """Write everything that can be read of a recording to a new file, with a new index.

    The new file says how the run ended. That is in order only if the old one said so and nothing of
    it is missing.

    Raises:
        FileError: nothing can be read, it is not a recording of Farhand's, or the new file cannot
            be written.
    """
    found = scan(source, salvage=True)
    sizes = _repair(source, found)
    real = real_file(destination)
    part = real.with_name(f".{real.name}.{os.getpid()}")
    try:
        file = GrowingFile(part)
        for name, content in found.metadata.items():
            if name != END_NAME:
                file.metadata(name, content)
        for attachment in found.attachments.values():
            file.attachment(attachment.name, attachment.media_type, attachment.data)
        for channel in sorted(found.channels.values(), key=lambda c: c.id):
            schema = found.schemas[channel.schema_id]
            file.channel(channel.topic, schema.name, schema.data.decode(), channel.metadata)
        counts = [_copy(chunk, file, sizes) for chunk in found.chunks]
        if counts and not any(counts):
            raise FileError(f"{source} is damaged in every chunk: nothing can be saved")
        saved = _account(destination, found, counts)
        file.metadata(END_NAME, _end(found, saved))
        file.finish()
        os.replace(part, real)
    except OSError as error:
        raise FileError(f"cannot write {destination}: {error.strerror}") from None
    except UNREADABLE:
        raise _hopeless(source, "describes itself") from None
    finally:
        with suppress(OSError):
            part.unlink()
    return saved


def _repair(source: Path, found: ScannedFile) -> dict[int, int | None]:
    """Make sure that the new file will describe its channels and streams.

    Returns:
        how long a message of each channel is with its head, [bytes]; None if they differ.
    """
    try:
        topics = described(source, found)[1]
    except FileError as error:
        texts = found.metadata.get(METADATA_NAME)
        if texts is None or "is damaged" not in str(error):
            raise
        found.matches = False
        try:
            metadata = [channel.metadata for channel in found.channels.values()]
            layouts = [json.loads(own.get("farhand", "{}")) for own in metadata]
            rows = [row for row in layouts if row and not row["derived"]]
            texts["streams"] = json.dumps({row["stream"]: {"rate": row["rate"]} for row in rows})
            topics = described(source, found)[1]
        except (FileError, *UNREADABLE):
            raise _hopeless(source, "describes itself") from None
    if sorted(found.channels) != list(range(1, len(found.channels) + 1)):
        raise _hopeless(source, "lists its channels")
    return {key: topics[key].kind.itemsize if key in topics else None for key in found.channels}


def _hopeless(source: Path, where: str) -> FileError:
    return FileError(f"{source} is damaged where it {where}: nothing can be saved")


def _account(destination: Path, found: ScannedFile, counts: list[int | None]) -> Recovered:
    """What was saved and what is missing."""
    kept = [count for count in counts if count is not None]
    damaged = len(counts) - len(kept)
    # Missing data explain a wrong checksum; otherwise something was changed
    altered = not found.matches and not (damaged or found.unread or found.mended)
    missing = [f"{damaged} damaged chunks"] if damaged else []
    missing += [f"{found.unread} bytes of no whole record"] if found.unread else []
    finished = found.indexed or END_NAME in found.metadata
    before = found.metadata.get(END_NAME, {}).get(ENDED, IN_ORDER if finished else "")
    if missing:
        ended = f"damaged, and recovered without {' and '.join(missing)}"
    elif altered:
        ended = "damaged, and recovered with an altered description"
    else:
        ended = before or "broken off, and recovered"
    return Recovered(destination, sum(kept), damaged, found.unread, altered, ended)


def _end(found: ScannedFile, saved: Recovered) -> dict[str, str]:
    """The last metadata: those of the old file, with how it ended and that it was recovered."""
    counts = {"messages": saved.messages, "damaged": saved.damaged, "unread_bytes": saved.unread}
    recovered = json.dumps(counts | {"altered": saved.altered})
    return found.metadata.get(END_NAME, {}) | {ENDED: saved.ended, "recovered": recovered}


def _copy(chunk: Chunk, file: GrowingFile, sizes: dict[int, int | None]) -> int | None:
    """Copy one chunk with a new index; None if it is damaged or its messages are unknown."""
    try:
        records = chunk.records()
        places: dict[int, list[tuple[int, int]]] = {}
        place = 0
        for channel, record in messages(records, {}):
            if channel not in sizes or sizes[channel] not in (None, len(record)):
                return None
            time_ns = int.from_bytes(record[15:23], "little")
            places.setdefault(channel, []).append((time_ns, place))
            place += len(record)
    except FileError:
        return None
    indexes = [(channel, *np.array(pairs, dtype=np.int64).T) for channel, pairs in places.items()]
    file.chunk(records, indexes)
    return sum(len(pairs) for pairs in places.values())
