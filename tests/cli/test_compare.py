"""``farhand compare``: what it refuses, and what its table shows."""

from __future__ import annotations

import json
import multiprocessing
import signal
import time

import pytest

from farhand.report import comparison as command
from farhand.running import comparison
from farhand.running.comparison import UNITS

BAD = {
    "unknown rig": (("nosuch",), "unknown rig 'nosuch'"),
    "unknown law": (("dual-arm", "--laws", "telepathy"), "unknown law 'telepathy'"),
    "no law": (("dual-arm", "--laws", ","), "names none"),
    "no number": (("dual-arm", "--delay", "soon"), "not a list of milliseconds"),
    "negative": (("dual-arm", "--delay=-5"), "outside [0, 2000] ms"),
    "no wall": (("cooperative",), "has no wall"),
    "unknown layer": (("dual-arm", "--layer", "magic"), "unknown layer 'magic'"),
    "unknown parameter": (
        ("dual-arm", "--laws", "unilateral", "--set", "wal.stiffness=9"),
        "unknown parameter 'wal.stiffness' (did you mean",
    ),
    "no value": (("dual-arm", "--set", "wall.stiffness"), "is not of the form PATH=VALUE"),
    "outside": (
        ("dual-arm", "--laws", "unilateral", "--set", "wall.stiffness=-5"),
        "wall.stiffness = -5 is outside [0, 1e+06] N/m",
    ),
}


@pytest.mark.parametrize(("words", "hint"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_code_2(words, hint, farhand_command):
    """Before anything is run."""
    said = farhand_command("compare", *words)
    assert (said.code, said.out) == (2, "")
    assert hint in said.err and said.err.count("\n") == 1


def test_rows_become_a_table_a_page_and_json(monkeypatch, tmp_path, farhand_command):
    """One law that ran and one that was refused."""
    metrics = {name: {"value": 1.0, "unit": unit} for name, unit in UNITS.items()}
    impedance = {"frequency": [1.0, 2.0], "free": [10.0, 40.0], "soft": [500.0, 510.0]}
    ran = {
        "rig": "dual-arm",
        "law": "unilateral",
        "layer": "none",
        "delay": 0.0,
        "metrics": metrics,
        "impedance": impedance,
    }
    refused = {
        "rig": "dual-arm",
        "law": "admittance",
        "layer": "none",
        "delay": 0.0,
        "refused": "needs a sensor",
    }
    monkeypatch.setattr(comparison, "compare", lambda cases, progress, finished: [ran, refused])
    said = farhand_command(
        "compare",
        "dual-arm",
        "--json",
        str(tmp_path / "c.json"),
        "--report",
        str(tmp_path / "page"),
    )
    assert said.code == 0
    assert "unilateral" in said.out and "admittance: needs a sensor" in said.out
    assert [row["law"] for row in json.loads((tmp_path / "c.json").read_text())] == [
        "unilateral",
        "admittance",
    ]
    assert "needs a sensor" in (tmp_path / "page" / "index.html").read_text()


def test_settings_reach_every_case_and_the_page_names_them(monkeypatch, tmp_path, farhand_command):
    """As ``farhand run`` takes them, for every law and delay."""
    asked = []

    def compare(cases, progress, finished):
        asked.extend(cases)
        return [
            {"law": case.law, "delay": case.delay, "settings": dict(case.settings), "refused": "no"}
            for case in cases
        ]

    monkeypatch.setattr(comparison, "compare", compare)
    words = (
        "--set",
        "wall.stiffness=3000",
        "--set",
        "hand.stiffness=500",
        "--report",
        str(tmp_path),
    )
    said = farhand_command(
        "compare", "dual-arm", "--laws", "position-position,unilateral", "--delay", "0,20", *words
    )
    assert said.code == 0
    assert {case.settings for case in asked} == {
        (("wall.stiffness", "3000"), ("hand.stiffness", "500"))
    }
    assert len(asked) == 4
    assert (
        "Set: wall.stiffness = 3000, hand.stiffness = 500." in (tmp_path / "index.html").read_text()
    )


@pytest.mark.parametrize(
    ("value", "text"), [(0.0001, "0"), (0.00912, "0.009"), (86.48, "86.48"), (10615.2, "10615")]
)
def test_numbers_take_no_more_room_than_they_need(value, text):
    """Six characters at most."""
    assert command.number(value) == text


def test_ctrl_c_does_not_wait_for_the_workers(monkeypatch, farhand_command):
    """They are ended with what they do; what waits for them is not begun."""

    def stuck(cases, progress, finished):
        worker = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60.0,))
        worker.start()
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            worker.join(30.0)
            assert worker.exitcode == -signal.SIGTERM

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(comparison, "compare", stuck)
    said = farhand_command("compare", "dual-arm")
    assert (said.code, said.out, said.err) == (130, "", "farhand: interrupted\n")
    assert signal.getsignal(signal.SIGINT) is before
