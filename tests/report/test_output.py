"""Files are checked before the work and written whole; progress shows only where somebody looks."""

from __future__ import annotations

import json
import os
import time

import pytest

from farhand.cli.main import main
from farhand.errors import FileError, OutOfRange
from farhand.report import output


def test_a_folder_that_does_not_exist_yet_is_fine(tmp_path):
    """It will be made when there is something to write; the check makes nothing."""
    output.check_file(tmp_path / "a" / "b.json")
    output.check_folder(tmp_path / "c" / "d")
    assert list(tmp_path.iterdir()) == []


def test_a_relative_path_is_checked_where_it_will_be_written(tmp_path, monkeypatch):
    """``--json s.json`` means the present folder."""
    monkeypatch.chdir(tmp_path)
    output.check_file(output.Path("s.json"))
    output.write_json(output.Path("s.json"), {"a": 1})
    assert (tmp_path / "s.json").read_text() == '{\n  "a": 1\n}\n'


def test_a_file_in_the_way_of_a_folder_is_refused(tmp_path):
    """The message names the file that is no folder."""
    (tmp_path / "file").write_text("precious")
    for check in (output.check_folder, output.check_file):
        with pytest.raises(FileError, match="file is not a folder"):
            check(tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "precious"


def test_a_folder_in_the_way_of_a_file_is_refused(tmp_path):
    """A result file cannot replace a folder."""
    with pytest.raises(FileError, match="it is a folder"):
        output.check_file(tmp_path)


def test_a_file_that_is_also_read_or_written_twice_is_refused(tmp_path, monkeypatch):
    """By whatever name: another spelling, a link. Standard output and pipes may be named twice."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("precious")
    (tmp_path / "link").symlink_to("a")
    for same in ("a", "./a", "link"):
        with pytest.raises(FileError, match="also reads it or writes something else"):
            output.check_files(output.Path(same), read=[tmp_path / "a"])
        with pytest.raises(FileError, match="also reads it or writes something else"):
            output.check_files(tmp_path / "a", output.Path(same), read=[])
    for same in ("page", "page/index.html"):
        with pytest.raises(FileError, match="also reads it or writes something else"):
            output.check_files(output.Path(same), report=tmp_path / "page")
    os.mkfifo(tmp_path / "pipe")
    output.check_files(
        tmp_path / "pipe", tmp_path / "pipe", output.DASH, output.DASH, None, read=[]
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(tmp_path):
    """Before the run, not after it."""
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="ermission"):
        output.check_file(tmp_path / "s.json")
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("value", [-1.0, 2.0, float("nan"), float("inf")])
def test_a_number_outside_its_range_is_refused(value):
    """NaN is outside every range."""
    with pytest.raises(OutOfRange, match=r"--loss = .* \[0, 1\]"):
        output.within("--loss", value, 0.0, 1.0)


def test_progress_is_silent_without_a_terminal(capsys, monkeypatch):
    """A log file stays free of bars."""
    monkeypatch.setattr(output, "MIN_SHOWN_S", 0.0)
    with output.counting("working") as progress:
        progress(0, 2, "one")
        progress(2, 2, "")
    assert capsys.readouterr() == ("", "")


def test_progress_on_a_terminal_names_what_comes_next(capsys, monkeypatch):
    """The bar goes to stderr, so that results can still be piped."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    bar = output.Bar("working")
    bar._began -= 10.0  # the work has been going on for a while
    bar.update(0.25, "working one")
    bar.close()
    said = capsys.readouterr()
    assert said.out == ""
    assert "working one" in said.err


def test_a_dash_for_the_json_file_leaves_nothing_else_on_stdout(capsys, tmp_path, monkeypatch):
    """So that it can be piped; the table is on stderr, and the next command has stdout back."""
    monkeypatch.chdir(tmp_path)
    assert main(["list", "--json", "-"]) == 0
    told = capsys.readouterr()
    assert (
        "dual-arm" in {rig["name"] for rig in json.loads(told.out)["rigs"]} and "Rigs" in told.err
    )
    assert not list(tmp_path.iterdir())
    assert main(["list"]) == 0
    assert "Rigs" in capsys.readouterr().out


def test_the_device_of_standard_output_is_the_dash():
    """Not tried with a command: one that went wrong would write a file over the device."""
    assert output.claim_stdout(output.Path("/dev/stdout")) == output.DASH
    assert output.claim_stdout(output.Path("s.json")) == output.Path("s.json")


def test_lines_in_a_pipe_are_not_broken_at_the_width_of_a_terminal(monkeypatch, capsys):
    """A program reads whole sentences; a person may still say how wide they should be."""
    line = "word " * 22
    monkeypatch.delenv("COLUMNS", raising=False)
    output.stdout().print(line)
    assert capsys.readouterr().out.count("\n") == 1
    monkeypatch.setenv("COLUMNS", "40")
    output.stdout().print(line)
    assert capsys.readouterr().out.count("\n") > 2


def test_progress_shows_by_itself_when_the_first_piece_takes_long(capsys, monkeypatch):
    """Nothing is silent for more than three seconds, whether or not it reports its progress."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(output, "MIN_SHOWN_S", 0.05)
    with output.Bar("thinking"):
        time.sleep(0.5)
    assert "thinking" in capsys.readouterr().err
    assert output.MIN_SHOWN_S < 3.0


def test_sentences_break_between_words_and_numbers_keep_their_units(capsys, monkeypatch):
    """On a terminal; a path stays whole, so that it can be copied."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "30")
    path = "/a/path/that/is/longer/than/the/terminal.html"
    output.say(f"  predicted to be calm: up to 600 N/m, and 100 N·s/m, see {path}")
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["  predicted to be calm: up to", "  600 N/m, and 100 N·s/m, see", f"  {path}"]
