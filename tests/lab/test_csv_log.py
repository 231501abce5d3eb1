"""CSV log: what was added is what is read back, and a damaged file is refused by its row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.errors import BadValue, FileError
from farhand_lab.youbot.messages import WHEELS, CsvLog, load_csv


@given(arrays(float, (5, 13), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_a_log_reads_back_to_the_same_bits(tmp_path_factory, rows):
    """Whatever the numbers."""
    log = CsvLog()
    for row in rows:
        log.add(*row)
    path = tmp_path_factory.mktemp("log") / "wheels.csv"
    log.save(path)
    table = load_csv(path, WHEELS)
    np.testing.assert_array_equal(np.array([table[name] for name in WHEELS]).T, rows)


def test_a_log_grows_beyond_its_first_room():
    """More rows than were allocated."""
    log = CsvLog(("time", "x"))
    for k in range(3000):
        log.add(float(k), 2.0 * k)
    assert len(log.rows) == 3000 and log.column("x")[-1] == 5998.0


def test_vectors_are_put_side_by_side_and_a_wrong_width_is_refused():
    """Thirteen numbers per row of the published log."""
    log = CsvLog()
    log.add(0.0, np.zeros(4), np.ones(4), np.full(4, 2.0))
    assert log.rows[0].tolist() == [0.0] * 5 + [1.0] * 4 + [2.0] * 4
    with pytest.raises(BadValue, match="13 numbers"):
        log.add(0.0, np.zeros(4))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("time,x\n", "no rows"),
        ("time,x\n0,1\n1\n", "line 3 has 1 values, not 2"),
        ("time,x\n0,one\n", "line 2: x is not a number"),
        ("time,x\n0,nan\n", "line 2: x is not a number"),
        ("time,time\n0,1\n", "a column twice"),
        ("t,x\n0,1\n", "lacks the column time"),
    ],
)
def test_a_damaged_file_is_refused_on_one_line(tmp_path, text, message):
    """The row or the header is named."""
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(BadValue, match=message):
        load_csv(path, ("time",))


def test_a_file_that_cannot_be_written_or_read_says_why(tmp_path):
    """And a file that was there stays."""
    with pytest.raises(FileError, match="cannot read"):
        load_csv(tmp_path / "none.csv")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="cannot write"):
        CsvLog(("time",)).save(tmp_path / "folder")
