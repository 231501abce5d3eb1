"""Files: a table is read with every mistake named by its line, and nothing is half written."""

from __future__ import annotations

import os
import socket
import stat
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from farhand.errors import BadValue, FileError
from farhand.files import read_csv, write_text


def table(tmp_path, content: str | bytes):
    """The table of a file with these contents."""
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_csv(path, ("a", "b"), "points")


@pytest.mark.parametrize(
    "content",
    [
        "a,b,c\n1,2,x\n3,4,y\n",
        "\ufeffa,b,c\r\n1,2,x\r\n3,4,y",
        ' a , "b",c\n\n 1 , "2" ,x\n\n3,4,y\n\n',
        "c,b,a\nx,2,1\ny,4,3\n",
        "# a log, of mine\na,b,c\n1,2,x\n# half\n3,4,y\n",
    ],
)
def test_the_same_numbers_in_any_spelling(tmp_path, content):
    """Order, blanks, quotes, line ends, comments and a byte order mark change nothing."""
    np.testing.assert_array_equal(
        table(tmp_path, content).numbers("a", "b"), [[1.0, 2.0], [3.0, 4.0]]
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty .need the columns a,b."),
        (" \n\n", "is empty"),
        ("a,b\n", "a header and no points"),
        ("a,c\n1,2\n", "lacks the column b "),
        ("x,y\n1,2\n", "lacks the columns a,b "),
        ("a;b;c\n1;2;3\n", "separated by semicolons, not commas"),
        ("a b c\n1 2 3\n", "separated by spaces, not commas"),
        (
            "# a,b\n1,2\n",
            "lacks the columns a,b .header: 1,2; begin the line of the header without #",
        ),
        ("# a\nx,y\n1,2\n", "lacks the columns a,b .header: x,y.$"),
        ("a,b,a\n1,2,3\n", "names a column twice"),
        ("a,b\n1,2\n3\n", "line 3 has 1 values, not 2$"),
        ("a,b\n1,5,2,5\n", "line 2 has 4 values, not 2; are these decimal commas"),
        (b"\xff\xfe", "not a text file"),
        ("a,b\n1,é\n".encode("latin-1"), "not in UTF-8"),
    ],
)
def test_what_is_no_such_table_is_refused_on_one_line(tmp_path, content, words):
    """The message says what is wrong with it."""
    with pytest.raises(BadValue, match=words) as caught:
        table(tmp_path, content)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("word", ["", "high", "nan", "-inf", "1e400", "1_000", "0x10", "1,5"])
def test_the_line_of_the_first_word_that_is_no_number_is_named(tmp_path, word):
    """As an editor counts, blank lines and lines inside quotes included."""
    found = table(tmp_path, f'a,b,c\n1,2,"two\nlines"\n\n3,"{word}",z\n5,"{word}",z\n')
    with pytest.raises(BadValue, match=r"t.csv line 5: b is not a number: .* .2 lines in all.$"):
        found.numbers("a", "b")


def test_numbers_beyond_all_use_are_refused(tmp_path):
    """Their squares would no longer be numbers."""
    with pytest.raises(BadValue, match="line 2: a is beyond 1e.12: '1e300'"):
        table(tmp_path, "a,b\n1e300,2\n").numbers("a")


def test_a_file_that_is_not_there_or_a_folder_cannot_be_read(tmp_path):
    """Another kind of error: nothing is wrong with what is in it."""
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(FileError, match="cannot read"):
            read_csv(path, ("a",))


def test_a_table_that_does_not_end_is_refused(tmp_path, monkeypatch):
    """A device, or a log of a day: memory would run out first."""
    monkeypatch.setattr("farhand.files.MAX_MB", 1)
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)

    def write():
        with suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
            while True:
                file.write(b"1,2\n" * 4096)

    endless = threading.Thread(target=write)
    endless.start()
    with pytest.raises(BadValue, match="pipe.csv is longer than 1 MB"):
        read_csv(pipe, ("a", "b"))
    endless.join()


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    """Whether that is there already or not."""
    (tmp_path / "far").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "far" / "away.txt")
    for text in ("one", "two"):
        write_text(link, text)
        assert link.is_symlink() and (tmp_path / "far" / "away.txt").read_text() == text
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["away.txt"]


def test_a_pipe_is_written_through_and_refused_where_nobody_reads(tmp_path):
    """It is never replaced by a file, and nobody waits for ever; a link to one is the same."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(FileError, match="nobody reads from it"):
            write_text(path, "text")
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        write_text(path, "text")
        assert os.read(reader, 100) == b"text"
        os.close(reader)
    assert pipe.is_fifo() and link.is_symlink() and len(list(tmp_path.iterdir())) == 2


def test_a_device_is_written_through(tmp_path):
    """One of our own that swallows everything, as the usual one does."""
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.read_bytes()
    except OSError:
        pytest.skip("only the superuser may make a device, and not everywhere")
    write_text(device, "text")
    assert device.is_char_device() and [path.name for path in tmp_path.iterdir()] == ["null"]


def test_what_is_neither_file_nor_stream_is_refused(tmp_path):
    """A socket is not replaced."""
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "s"))
        with pytest.raises(FileError, match="cannot write"):
            write_text(tmp_path / "s", "text")
        assert (tmp_path / "s").is_socket()


def test_what_this_process_has_open_is_written_where_it_stands(tmp_path):
    """As with ``--out /dev/stdout > file``: behind what is there already, and the file stays the
    same one.
    """
    with open(tmp_path / "log", "w+b") as file:
        file.write(b"before ")
        file.flush()
        write_text(Path(f"/dev/fd/{file.fileno()}"), "text")
        file.seek(0, os.SEEK_CUR)
        file.write(b" after")
    assert (tmp_path / "log").read_bytes() == b"before text after"


def test_a_text_is_written_whole_or_not_at_all(tmp_path):
    """Folders are made; a folder in the file's place stays, and nothing else is left behind."""
    write_text(tmp_path / "new" / "file.txt", "µ")
    assert (tmp_path / "new" / "file.txt").read_text(encoding="utf-8") == "µ"
    with pytest.raises(FileError, match="cannot write"):
        write_text(tmp_path / "new", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
