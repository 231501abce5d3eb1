"""``farhand doctor``: a verdict per rate, a picture, and one line where an option makes no
sense.
"""

from __future__ import annotations

import json

import pytest

from farhand.cli.main import main


def test_doctor_writes_its_findings_and_a_picture(tmp_path, capsys):
    """The JSON that programs rely on, and a line for people."""
    out, picture = tmp_path / "doctor.json", tmp_path / "jitter.png"
    assert main(["doctor", "--seconds", "0.2", "--json", str(out), "--picture", str(picture)]) == 0
    found = json.loads(out.read_text())
    assert set(found["lateness"]) == {"p50", "p99", "p999", "max"}
    assert set(found["verdicts"]) == {"250", "500", "1000", "4000"}
    assert set(found["verdicts"].values()) <= {"ok", "marginal", "no"}
    assert found["scheduler"]
    assert sum(count for _, _, count in found["histogram"]) == found["ticks"] == 200
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "1000 Hz" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--seconds", "0"], "--seconds = 0 is outside [0.1, 3600] s"),
        (["--seconds", "nan"], "--seconds = nan is outside"),
        (["--picture", "jitter.gif"], ".png, .svg, .pdf"),
        (["--core", "4000"], "--core 4000"),
        (["--json", "/proc/no/such/folder/x.json"], "cannot write"),
    ],
)
def test_an_option_that_makes_no_sense_is_one_line(options, words, capsys):
    """Exit code 2, before anything is measured."""
    assert main(["doctor", *options]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
