"""The scan: no flipped bit passes for data, ends in a traceback, or costs more than the record it
is in.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest
import zstandard
from mcap.opcode import Opcode

from farhand.errors import FileError
from farhand.recording.growing import FOOT
from farhand.recording.loader import Recording, load
from farhand.recording.recover import recover
from farhand.recording.scan import MAX_CHUNK_BYTES, Chunk, scan

HEAD = 60_000  # [bytes] in which the set-up, the models and the channels stand
END = struct.Struct("<BQI")


def data_end(whole: bytes) -> int:
    """Where the data of a finished file end."""
    return struct.unpack_from("<Q", whole, len(whole) - 28)[0] - END.size


def early(whole: bytes) -> bytes:
    """The same file without a checksum of its data, as early versions wrote it."""
    end = data_end(whole)
    return whole[:end] + END.pack(Opcode.DATA_END, 4, 0) + whole[end + END.size :]


def killed(whole: bytes) -> bytes:
    """An early file whose recorder was killed at the very end: without an index."""
    return whole[: data_end(whole)] + END.pack(Opcode.DATA_END, 4, 0) + FOOT


def numbers_are_those_of(found: Recording, original: Recording) -> bool:
    """Whether every record there is equals that of the same time in the original."""
    for name, stream in found.streams.items():
        places = np.searchsorted(original.streams[name].times_ns, stream.times_ns)
        # nothing tells that a bit of a name is wrong in a file without checksums
        for channel in stream.channels.keys() & original.streams[name].channels.keys():
            values = stream.channels[channel]
            if not np.array_equal(
                values, original.streams[name].channels[channel][places], equal_nan=True
            ):
                return False
    return True


def flipped(whole: bytes, place: int, bit: int) -> bytes:
    """One bit turned over."""
    damaged = bytearray(whole)
    damaged[place] ^= 1 << bit
    return bytes(damaged)


@pytest.mark.parametrize("kind", [bytes, early, killed])
def test_a_flipped_bit_in_the_head_is_one_line_and_what_is_saved_can_be_read(
    demo_path, demo, tmp_path, kind
):
    """Twenty-five bits at random, in files with a checksum, without one, and without an index."""
    whole, path = kind(demo_path.read_bytes()), tmp_path / "bad.mcap"
    chance = np.random.default_rng(7)
    for _ in range(25):
        path.write_bytes(flipped(whole, int(chance.integers(8, HEAD)), int(chance.integers(8))))
        try:
            found = load(path)
            assert kind is not bytes and numbers_are_those_of(found, demo)
        except FileError as error:
            assert "\n" not in str(error)
        try:
            saved = recover(path, tmp_path / "saved.mcap")
            assert numbers_are_those_of(load(saved.path), demo)
            assert kind is not bytes or not load(saved.path).complete
        except FileError as error:
            assert "\n" not in str(error) and kind is not bytes
        assert {entry.name for entry in tmp_path.iterdir()} <= {"bad.mcap", "saved.mcap"}


def chunk_places(whole: bytes) -> list[int]:
    """Where the chunks begin."""
    places, at = [], 0
    while (at := whole.find(b"\x04\x00\x00\x00zstd", at + 1)) >= 0:
        places += [at - 37] if whole[at - 37] == Opcode.CHUNK else []
    return [place for place in places if place < data_end(whole)]


@pytest.mark.parametrize("kind", [bytes, killed])
@pytest.mark.parametrize(("offset", "lost"), [(0, 0), (2, 0), (6, 0), (46, 0), (41, 1)])
def test_damage_to_one_chunk_costs_that_chunk_at_most(
    demo_path, demo, tmp_path, kind, offset, lost
):
    """In its kind or one of its lengths nothing is lost; in the name of its compression it is, and
    no other.
    """
    whole = demo_path.read_bytes()
    place = chunk_places(whole)[1]
    (tmp_path / "bad.mcap").write_bytes(flipped(kind(whole), place + offset, 4))
    with pytest.raises(FileError, match="damaged.* farhand recover"):
        load(tmp_path / "bad.mcap")
    saved = recover(tmp_path / "bad.mcap", tmp_path / "saved.mcap")
    found = load(saved.path)
    assert numbers_are_those_of(found, demo) and saved.whole == (not lost)
    steps = np.flatnonzero(np.diff(found.streams["leader"].times_ns) > 1_500_000)
    assert len(steps) == lost and found.streams["leader"].times_ns[-1] == 799_000_000


def test_damage_between_two_records_of_the_head_costs_no_other_record(demo_path, tmp_path):
    """Without an index the next record is found by its looks: only the metadata whose length is
    wrong is gone.
    """
    whole = killed(demo_path.read_bytes())
    place = whole.index(b"\x11\x00\x00\x00farhand/libraries") - 9
    (tmp_path / "bad.mcap").write_bytes(flipped(whole, place + 2, 0))
    before, after = scan(demo_path), scan(tmp_path / "bad.mcap", salvage=True)
    assert before.metadata.keys() - after.metadata.keys() == {"farhand/libraries"}
    assert (after.channels, after.attachments.keys()) == (
        before.channels,
        before.attachments.keys(),
    )
    assert len(after.chunks) == len(before.chunks) and after.unread and not after.whole


def test_a_changed_number_in_the_set_up_is_noticed(demo_path, tmp_path):
    """Nothing but the checksum of all data can tell; a recovered file says that something is not as
    it was.
    """
    whole = demo_path.read_bytes()
    (tmp_path / "bad.mcap").write_bytes(whole.replace(b'"seed": 0', b'"seed": 1', 1))
    with pytest.raises(FileError, match="its data do not match their checksum; farhand recover"):
        load(tmp_path / "bad.mcap")
    saved = recover(tmp_path / "bad.mcap", tmp_path / "saved.mcap")
    assert saved.altered and saved.damaged == 0 and not load(saved.path).complete


def test_a_pipe_is_refused_before_anybody_waits_for_it(tmp_path):
    """Recordings are files."""
    os.mkfifo(tmp_path / "pipe.mcap")
    with pytest.raises(FileError, match="it is a pipe or a device"):
        scan(Path(tmp_path / "pipe.mcap"))


@pytest.mark.parametrize("size", [4 << 20, MAX_CHUNK_BYTES + 1])
def test_a_chunk_that_claims_more_than_any_has_takes_no_memory(size, monkeypatch):
    """A few kB may stand for gigabytes; it is refused before it is unpacked."""
    packed = zstandard.ZstdCompressor().compress(bytes(size))
    chunk = Chunk(0, 0, size, 0, "zstd", memoryview(packed))
    monkeypatch.setattr(zstandard, "ZstdDecompressor", Unpacker)
    with pytest.raises(FileError, match=f"claims {size} bytes"):
        chunk.records()
    assert not chunk.fits()


class Unpacker:
    """Fails the test that unpacks anything."""

    def decompressobj(self) -> Unpacker:
        """Itself."""
        return self

    def decompress(self, *_: object, **__: object) -> bytes:
        """Nothing may come here."""
        raise AssertionError("memory was taken")
