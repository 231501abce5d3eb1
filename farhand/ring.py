"""A ring of records in shared memory: the writer never waits, no reader sees a torn record.

Each ring has two counters, *begun* and *done*. The writer raises *begun*, copies the record, raises
*done*. A reader reads *done*, copies, reads *begun*; record number k lies in row k mod capacity, so
its copy is whole exactly if ``begun <= k + capacity``. There is no lock, and the writer never looks
at a reader.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import platform
import tempfile
import threading
import uuid
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from farhand.errors import FileError

MAGIC = b"FARHAND1"
# [bytes], a cache line: what rings are aligned to, and the room of the two counters in front of one
LINE = 64


class Span(NamedTuple):
    """Where a ring lies in the file."""

    offset: int  #: [bytes], a multiple of :data:`LINE`
    capacity: int  #: rows
    words: int  #: 8-byte words in a row

    @property
    def end(self) -> int:
        """First byte after the ring, rounded up to a cache line."""
        return self.offset + LINE + align(8 * self.capacity * self.words)


def align(size: int) -> int:
    """``size`` [bytes] rounded up to whole cache lines."""
    return -(-size // LINE) * LINE


IN_ORDER = platform.machine() in ("x86_64", "AMD64")
"""Whether the processor keeps the order of loads and of stores by itself; ARM does not."""


class Fence:
    """A full memory barrier, made of a private lock: release it and acquire it again.

    Python offers nothing plainer. Not for two threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def __call__(self) -> None:
        """No load or store moves across this call."""
        self._lock.release()
        self._lock.acquire()


class RingWriter:
    """The one writer of a ring.

    Args:
        file: the mapped file.
        span: the ring's place in it.
    """

    def __init__(self, file: mmap.mmap, span: Span) -> None:
        first, step = span.offset + LINE, 8 * span.words
        self._bytes = memoryview(file)
        self._marks = self._bytes.cast("q")[span.offset // 8 : span.offset // 8 + 2]
        self._first, self._step, self._end = first, step, first + span.capacity * step
        self._at = first  # where the next record goes
        self._count = 0
        self._fence = None if IN_ORDER else Fence()

    @property
    def count(self) -> int:
        """How many records were appended."""
        return self._count

    def push(self, record: memoryview | bytes) -> None:
        """Append ``record``, exactly one row long, over the oldest one."""
        count, at, fence = self._count, self._at, self._fence
        end = at + self._step
        self._marks[0] = count + 1
        if fence is not None:
            fence()
        self._bytes[at:end] = record
        if fence is not None:
            fence()
        self._marks[1] = self._count = count + 1
        self._at = end if end < self._end else self._first


class RingReader:
    """One reader of a ring, with its own place in it.

    Args:
        words: the mapped file.
        span: the ring's place in it.
    """

    def __init__(self, words: NDArray[np.int64], span: Span) -> None:
        start, first = span.offset // 8, (span.offset + LINE) // 8
        self._marks = words[start : start + 2]
        self._rows = words[first : first + span.capacity * span.words].reshape(
            span.capacity, span.words
        )
        self._next = 0
        self._fence = Fence()

    @property
    def position(self) -> int:
        """How many records this reader has taken or lost; set it to go on from elsewhere."""
        return self._next

    @position.setter
    def position(self, position: int) -> None:
        self._next = position

    def skip(self) -> None:
        """Go on behind the newest record."""
        self._next = int(self._marks[1])

    def newest(self) -> NDArray[np.int64] | None:
        """A copy of the newest record, ``None`` before the first."""
        while True:
            last = int(self._marks[1]) - 1
            if last < 0:
                return None
            self._fence()
            record: NDArray[np.int64] = self._rows[last % len(self._rows)].copy()
            self._fence()
            if int(self._marks[0]) <= last + len(self._rows):
                return record

    def take(self) -> tuple[NDArray[np.int64], int]:
        """Copies of all records since the last call, and how many were overwritten unread."""
        capacity, width = self._rows.shape
        done = int(self._marks[1])
        self._fence()
        first = max(self._next, done - capacity)
        records = np.empty((done - first, width), dtype=np.int64)
        start = first % capacity
        # up to the end of the ring; the rest is at its beginning
        head = min(done - first, capacity - start)
        records[:head] = self._rows[start : start + head]
        records[head:] = self._rows[: done - first - head]
        self._fence()
        # older ones were overwritten during the copy
        whole = min(max(first, int(self._marks[0]) - capacity), done)
        lost = whole - self._next
        self._next = done
        return records[whole - first :], lost


def shared_folder() -> Path:
    """The shared-memory file system, or the folder for temporary files where there is none."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def create_file(path: Path, head: bytes, size: int, sweep: bool) -> mmap.mmap:
    """Map a new file of ``size`` bytes that begins with ``head``; it appears only when whole.

    A file left under that name by a dead process is replaced; with ``sweep``, so are all its like
    in the folder.
    """
    for stale in path.parent.glob("farhand-*.ring") if sweep else [path]:
        _remove_if_abandoned(stale, must=not sweep)
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        # signals are for the same user only
        with open(part, "x+b", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(head)
            # a full disk fails here, not as a bus error in the tick
            file.write(bytes(size - len(head)))
            file.flush()
            # the map keeps the lock, and the process's end, however it comes, ends it
            fcntl.flock(file, fcntl.LOCK_EX)
            mapped = mmap.mmap(
                file.fileno(), size, flags=mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
            )
        os.replace(part, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise FileError(
            f"cannot create the telemetry ring {path} of {size} bytes: {error.strerror}"
        ) from None
    return mapped


def remove_file(path: Path, owner: int) -> None:
    """Remove the file if this process is its ``owner`` [process id]; a forked child is not."""
    if os.getpid() == owner:
        with contextlib.suppress(OSError):
            path.unlink()


def _remove_if_abandoned(path: Path, must: bool) -> None:
    """Remove a ring whose writer is dead; with ``must``, raise if that is not possible."""
    try:
        # Everybody can write there: a pipe under that name must not keep anybody waiting
        with open(
            path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)
        ) as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise FileExistsError(0, "the file exists and is not a telemetry ring")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        if must:
            reason = (
                "another run is using it" if isinstance(error, BlockingIOError) else error.strerror
            )
            raise FileError(
                f"cannot create the telemetry ring {path}: {reason}; choose another name"
            ) from None
