"""On a narrow terminal every word of every command stays whole."""

from __future__ import annotations

import importlib
import itertools
import json
import re
from importlib.metadata import entry_points

import numpy as np
import pytest

from farhand.cli import main
from farhand.friction import make
from farhand.friction.fit.data import write_recording
from farhand.friction.fit.protocol import protocol, simulate
from farhand.report import comparison as paper
from farhand.running.comparison import UNITS

doctor = importlib.import_module("farhand.cli.doctor")

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
RUN = "run dual-arm --headless --scenario free --seconds 0.5"


VARYING = {"ok", "marginal", "no", "overrun", "overruns", "tick", "ticks", "behind"}
"""Words that depend on the moment, on a wall clock."""


def words_of(text: str) -> set[str]:
    """The words of a text; half a word would be another one."""
    return set(re.findall(r"[^\W\d_]{2,}", text))


def check(width: int, shown: str, whole: str) -> None:
    """Every word is one of the whole output, none was cut off, and no line is too long."""
    assert words_of(shown) <= words_of(whole) | VARYING
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width


@pytest.fixture
def at_width(monkeypatch, farhand_command):
    """Call a command on a terminal of that many columns."""

    def call(width: int, *words: object):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", str(width))
        said = farhand_command(*words)
        assert said.code == 0, said.err
        return ANSI.sub("", said.out)

    return call


@pytest.mark.parametrize(
    "command",
    [
        "list",
        "list laws",
        "list parameters dual-arm",
        RUN,
        f"{RUN} --clock wall",
        "stability dual-arm --law position-force --delay 100",
    ],
)
def test_no_command_breaks_a_word(command, at_width):
    """At 80 and 60 columns it says what it says at 200, and no line is too long."""
    whole = at_width(200, *command.split())
    for width in (80, 60):
        check(width, at_width(width, *command.split()), whole)


def test_recordings_and_fits_break_no_word_either(at_width, tmp_path, monkeypatch):
    """Info, replay, the force sensor's and the friction's tables."""
    monkeypatch.chdir(tmp_path)
    at_width(80, *RUN.split(), "--record", "r.mcap")
    phases = protocol(1.0, 1.0, 3.0, minutes=0.5)
    joint = make("coulomb-viscous", coulomb=0.3, viscous=0.1)
    write_recording(
        tmp_path / "log.csv", simulate(phases, joint, 0.05, 1e-4, 0.01, np.random.default_rng(0))
    )
    for command in (
        "info r.mcap",
        "replay r.mcap --rerun",
        "friction fit log.csv --model coulomb-viscous --out f.json",
    ):
        whole = at_width(200, *command.split())
        for width in (80, 60):
            check(width, at_width(width, *command.split()), whole)


def test_what_the_doctor_says_breaks_no_word(monkeypatch, capsys, farhand_command, tmp_path):
    """One measurement, shown three times."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert farhand_command("doctor", "--seconds", "0.2", "--json", tmp_path / "d.json").code == 0
    result = json.loads((tmp_path / "d.json").read_text())
    shown = {}
    for width in (200, 80, 60):
        monkeypatch.setenv("COLUMNS", str(width))
        doctor._show(result)
        shown[width] = ANSI.sub("", capsys.readouterr().out)
    for width in (80, 60):
        check(width, shown[width], shown[200])


def test_a_comparison_that_does_not_fit_is_told_in_sentences(monkeypatch, capsys):
    """Rather than cut off at both ends of every column."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    metrics = {name: {"value": 1.0, "unit": unit} for name, unit in UNITS.items()}
    row = {"law": "four-channel-sensorless", "delay": 20.0, "metrics": metrics, "stops": {}}
    paper.show_comparison([row])
    shown = ANSI.sub("", capsys.readouterr().out)
    assert shown.startswith("four-channel-sensorless\n  delay 20 ms") and "…" not in shown
    assert "hard 1 N/m" in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 60


def helps(words: list[str], command) -> list[list[str]]:
    """The words of a command and of every one below it."""
    return [words] + [
        found
        for name, inner in getattr(command, "commands", {}).items()
        for found in helps([*words, name], inner)
    ]


@pytest.mark.parametrize("name", sorted(point.name for point in entry_points(group=main.COMMANDS)))
def test_a_paragraph_of_help_is_filled_to_the_edge(name, monkeypatch, farhand_command):
    """At 80 columns a line ends where the next word has no room, not where the source ends one."""
    monkeypatch.setenv("COLUMNS", "80")
    for words in helps([name], main.load_command(name)):
        prose = ANSI.sub("", farhand_command(*words, "--help").out).split("╭")[0].split("\n")
        for line, following in itertools.pairwise(text.strip() for text in prose):
            if line and following and "Usage:" not in line:
                assert len(line) + 1 + len(following.split()[0]) > 77, (words, line, following)
