"""The ring in shared memory: whole records, in order, and a writer that waits for nobody."""

from __future__ import annotations

import mmap
import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.errors import FileError
from farhand.ring import LINE, MAGIC, RingReader, RingWriter, Span, align, create_file

WORDS = 3


def make_rings(*capacities: int) -> list[tuple[RingWriter, RingReader]]:
    """Rings side by side in anonymous memory."""
    spans = [Span(align(100), capacities[0], WORDS)]
    for capacity in capacities[1:]:
        spans.append(Span(spans[-1].end, capacity, WORDS))
    file = mmap.mmap(-1, spans[-1].end)
    words = np.frombuffer(file, dtype=np.int64)
    return [(RingWriter(file, span), RingReader(words, span)) for span in spans]


def make_ring(capacity: int) -> tuple[RingWriter, RingReader]:
    """A ring in anonymous memory, behind another one."""
    return make_rings(3, capacity)[1]


def push(writer: RingWriter, value: int) -> None:
    """One record with the same value in all its words."""
    writer.push(np.full(WORDS, value, dtype=np.int64).tobytes())


@given(st.integers(2, 9), st.lists(st.integers(0, 30), max_size=12))
def test_every_record_is_either_taken_once_in_order_or_counted_as_lost(
    capacity: int, bursts: list[int]
) -> None:
    """Bookkeeping closes for any rhythm of writing and reading: the newest ``capacity`` of each
    burst survive.
    """
    writer, reader = make_ring(capacity)
    written = 0
    for burst in bursts:
        for _ in range(burst):
            push(writer, written)
            written += 1
        records, lost = reader.take()
        kept = min(burst, capacity)
        assert lost == burst - kept
        assert records.tolist() == [[k] * WORDS for k in range(written - kept, written)]


@given(st.lists(st.integers(2, 9), min_size=2, max_size=3), st.integers(0, 30))
def test_rings_side_by_side_keep_out_of_each_others_way(capacities: list[int], count: int) -> None:
    """Each keeps its own newest records, begins at a cache line, and none is wasted in between."""
    rings = make_rings(*capacities)
    for k in range(count):
        for number, (writer, _) in enumerate(rings):
            push(writer, 100 * number + k)
    for number, (capacity, (writer, reader)) in enumerate(zip(capacities, rings, strict=True)):
        assert writer.count == count
        records, lost = reader.take()
        kept = min(count, capacity)
        assert lost == count - kept
        assert records[:, 0].tolist() == [100 * number + k for k in range(count - kept, count)]
    span = Span(LINE, capacities[0], WORDS)
    used = span.offset + LINE + 8 * WORDS * capacities[0]
    assert span.end % LINE == 0
    assert used <= span.end < used + LINE


def test_a_reader_that_looks_while_a_record_is_written_does_not_get_what_it_replaces() -> None:
    """From before the first byte until after the last: the oldest row is spoilt, the rest whole."""
    writer, reader = make_ring(4)
    for k in range(6):
        push(writer, k)
    seen = []

    def look() -> None:
        reader.position = 0
        records, lost = reader.take()
        seen.append((records[:, 0].tolist(), lost, reader.newest().tolist()))

    # where a processor that reorders stores would have its fence
    writer._fence = look
    push(writer, 6)
    assert seen == [([3, 4, 5], 3, [5] * WORDS)] * 2


def test_a_record_that_is_being_overwritten_is_not_given_out() -> None:
    """A writer stopped between its two counters has spoilt the oldest row, and only that one."""
    writer, reader = make_ring(4)
    for k in range(4):
        push(writer, k)
    writer._marks[0] = 5  # record 4 has begun, over record 0
    records, lost = reader.take()
    assert records[:, 0].tolist() == [1, 2, 3]
    assert lost == 1
    writer._marks[0] = 50  # lapped many times while the reader copied
    reader.position = 1
    records, lost = reader.take()
    assert (len(records), lost, reader.position) == (0, 3, 4)


def test_the_newest_record_survives_a_writer_that_dies_while_writing_the_next() -> None:
    """The row being written is never the row of the newest finished record."""
    writer, reader = make_ring(2)
    push(writer, 0)
    push(writer, 1)
    writer._marks[0] = 3
    newest = reader.newest()
    assert newest is not None
    assert newest.tolist() == [1] * WORDS


def test_a_newest_record_that_is_overwritten_during_the_copy_is_read_again(monkeypatch) -> None:
    """The writer laps the reader between its copy and its check; the copy, perhaps torn, is thrown
    away.
    """
    writer, reader = make_ring(2)
    push(writer, 0)
    during_each_barrier = iter([(), (1, 2, 3)])

    def barrier() -> None:
        for value in next(during_each_barrier, ()):
            push(writer, value)

    monkeypatch.setattr(reader, "_fence", barrier)
    newest = reader.newest()
    assert newest is not None
    assert newest.tolist() == [3] * WORDS


def test_an_empty_ring_has_no_newest_record() -> None:
    """Nothing is not zero."""
    _, reader = make_ring(2)
    assert reader.newest() is None
    records, lost = reader.take()
    assert records.shape == (0, WORDS)
    assert lost == 0


def test_a_file_that_is_not_a_ring_is_left_as_it_was(tmp_path) -> None:
    """A wrong path does not cost the user a file."""
    precious = tmp_path / "precious.txt"
    precious.write_text("thesis")
    with pytest.raises(FileError, match="not a telemetry ring"):
        create_file(precious, MAGIC, 4096, sweep=False)
    assert precious.read_text() == "thesis"


def test_a_folder_that_does_not_exist_is_named_in_the_error(tmp_path) -> None:
    """One line, with the path and the reason."""
    with pytest.raises(FileError, match=r"nowhere.*No such file"):
        create_file(tmp_path / "nowhere" / "a.ring", MAGIC, 4096, sweep=False)


def test_a_ring_in_use_is_refused_and_an_abandoned_one_replaced(tmp_path) -> None:
    """The lock lives exactly as long as its owner's map."""
    path = tmp_path / "a.ring"
    owner = create_file(path, MAGIC, 4096, sweep=False)
    with pytest.raises(FileError, match="another run is using it"):
        create_file(path, MAGIC, 4096, sweep=False)
    owner.close()
    create_file(path, MAGIC, 8192, sweep=False)
    assert path.stat().st_size == 8192
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_under_a_rings_name_keeps_nobody_waiting(tmp_path) -> None:
    """Everybody can put one into the shared folder; to open it is to wait for its other end."""
    pipe = tmp_path / "farhand-x.ring"
    os.mkfifo(pipe)
    waiting = threading.Thread(
        target=create_file, args=(tmp_path / "farhand-own.ring", MAGIC, 4096, True), daemon=True
    )
    waiting.start()
    waiting.join(20.0)
    assert not waiting.is_alive()
    assert pipe.exists()
