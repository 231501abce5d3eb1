"""Files: a table is read with every mistake named by its line, and nothing is half written."""

from __future__ import annotations

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
    np.testing.assert_array_equal(table(tmp_path, content).numbers("a", "b"), [[1.0, 2.0], [3.0, 4.0]])


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
        ("a,b,a\n1,2,3\n", "names a column twice"),
        ("a,b\n1,2\n3\n", "line 3 has 1 values, not 2"),
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


def test_a_text_is_written_whole_or_not_at_all(tmp_path):
    """Folders are made; a folder in the file's place stays, and nothing else is left behind."""
    write_text(tmp_path / "new" / "file.txt", "µ")
    assert (tmp_path / "new" / "file.txt").read_text(encoding="utf-8") == "µ"
    with pytest.raises(FileError, match="cannot write"):
        write_text(tmp_path / "new", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
