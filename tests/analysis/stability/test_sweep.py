"""A sweep gives the same rows however it is cut up, and goes on where it stopped."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from farhand.analysis.stability.sweep import sweep
from farhand.errors import BadValue, FileError, Mismatch

calls = []


def square(number):
    calls.append(number)
    return {"square": number * number}


def run(numbers, **options):
    calls.clear()
    return sweep(square, numbers, str, **options)


def test_rows_come_in_the_order_of_the_items_from_one_process_or_two():
    """Who does the work does not show."""
    alone = run([3, 1, 2], workers=1)
    assert alone == [{"square": 9}, {"square": 1}, {"square": 4}]
    assert sweep(abs_row, [3, 1, 2], str, workers=2) == sweep(abs_row, [3, 1, 2], str, workers=1)


def abs_row(number):
    return {"absolute": abs(number)}


def test_what_is_done_is_not_done_again_and_a_cut_off_line_is(tmp_path):
    """A sweep that was killed in the middle of a line loses that line only."""
    done = tmp_path / "done.jsonl"
    run([1, 2, 3], done=done, workers=1)
    lines = done.read_text().splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["1", "2", "3"]
    done.write_text("\n".join([*lines[:2], lines[2][:7]]))
    assert run([1, 2, 3], done=done, workers=1) == [{"square": 1}, {"square": 4}, {"square": 9}]
    assert calls == [3]
    assert run([1, 2, 3], done=done, workers=1) and calls == []


def test_a_file_that_ends_without_a_line_end_stays_whole(tmp_path):
    """The row that comes next does not go onto the same line."""
    done = tmp_path / "done.jsonl"
    run([1], done=done, workers=1)
    done.write_text(done.read_text().rstrip("\n"))
    run([1, 2], done=done, workers=1)
    assert calls == [2]
    run([1, 2, 3], done=done, workers=1)
    assert calls == [3]


def test_a_file_of_something_else_is_refused(tmp_path):
    """It is not overwritten."""
    done = tmp_path / "notes.txt"
    done.write_text("dear diary\nnothing happened\n")
    with pytest.raises(BadValue, match="line 1 is not a row of a sweep"):
        run([1], done=done, workers=1)
    assert done.read_text().startswith("dear diary")


def test_a_device_cannot_keep_rows():
    """One that never ends would be read for ever."""
    with pytest.raises(FileError, match="not a file but a pipe or a device"):
        run([1], done=Path("/dev/zero"), workers=1)


def test_progress_counts_what_was_there_before(tmp_path):
    """The bar starts where the last one stopped."""
    done, seen = tmp_path / "done.jsonl", []
    run([1, 2], done=done, workers=1)
    run(
        [1, 2, 3],
        done=done,
        workers=1,
        progress=lambda n, total, name: seen.append((n, total, name)),
    )
    assert seen == [(3, 3, "3")]


def test_without_ray_its_flag_says_what_to_install(monkeypatch):
    """Nothing is imported that is not asked for."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(Mismatch, match=r"pip install 'farhand\[ray\]'"):
        run([1], ray="local")


@pytest.mark.slow
def test_a_real_local_ray_gives_the_same_rows():
    """Where Ray is installed."""
    pytest.importorskip("ray")
    assert sweep(json.loads, ['{"a": 3}', '{"a": 1}'], str, ray="local") == [{"a": 3}, {"a": 1}]
