"""The growing file: every index in it leads to what it names, and every moment of its growth is a
whole file.
"""

from __future__ import annotations

import struct
from io import BytesIO

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.records import Chunk, MessageIndex
from mcap.stream_reader import StreamReader

from farhand.recording.growing import MAGIC


def record_at(data: bytes, place: int, kind: int) -> ReadDataStream:
    """The content of the record at a place, which must be of that kind."""
    opcode, length = struct.unpack_from("<BQ", data, place)
    assert opcode == kind
    return ReadDataStream(BytesIO(data[place + 9 : place + 9 + length]))


def test_every_index_leads_to_what_it_names(demo_path):
    """Chunk indexes to chunks, message indexes to messages of that channel and time, group offsets
    to groups.
    """
    data = demo_path.read_bytes()
    with open(demo_path, "rb") as file:
        reader = make_reader(file, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None and summary.statistics is not None
        assert {record.name for record in reader.iter_metadata()} >= {
            "farhand",
            "farhand/options",
            "farhand/end",
        }
        assert [a.name for a in reader.iter_attachments()] == ["leader.xml", "follower.xml"]
    counted = 0
    for index in summary.chunk_indexes:
        chunk = Chunk.read(record_at(data, index.chunk_start_offset, Opcode.CHUNK))
        records = zstandard.ZstdDecompressor().decompress(
            chunk.data, max_output_size=chunk.uncompressed_size
        )
        assert data[index.chunk_start_offset + index.chunk_length] == Opcode.MESSAGE_INDEX
        for channel, place in index.message_index_offsets.items():
            table = MessageIndex.read(record_at(data, place, Opcode.MESSAGE_INDEX))
            assert table.channel_id == channel
            for time_ns, offset in table.records:
                opcode, _, found, _, log_time, _ = struct.unpack_from("<BQHIQQ", records, offset)
                assert (opcode, found, log_time) == (Opcode.MESSAGE, channel, time_ns)
                assert index.message_start_time <= time_ns <= index.message_end_time
                counted += 1
    assert counted == summary.statistics.message_count > 10_000


def test_the_groups_of_the_summary_are_where_they_should_be(demo_path):
    """The offsets at the end partition the summary by kind."""
    data = demo_path.read_bytes()
    start, offsets = struct.unpack_from("<QQ", data, len(data) - 28)
    place, expected = offsets, start
    while data[place] == Opcode.SUMMARY_OFFSET:
        kind, begin, length = struct.unpack_from("<BQQ", data, place + 9)
        assert (data[begin], begin) == (kind, expected)
        expected, place = begin + length, place + 26
    assert expected == offsets and data[place] == Opcode.FOOTER
    assert data.startswith(MAGIC) and data.endswith(MAGIC)


def test_the_official_stream_reader_agrees_with_the_index(demo_path):
    """Reading from front to back gives as many messages as the statistics say."""
    with open(demo_path, "rb") as file:
        kinds = [type(record).__name__ for record in StreamReader(file, validate_crcs=True).records]
    with open(demo_path, "rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None and summary.statistics is not None
    assert kinds.count("Message") == summary.statistics.message_count
