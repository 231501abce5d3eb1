"""``farhand compare``: what it refuses, and what its table shows."""

from __future__ import annotations

import json
import math
import multiprocessing
import re
import signal
import time
from itertools import pairwise

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
    "unknown style": (("dual-arm", "--style", "poster"), "unknown style 'poster'"),
    "style of nothing": (("dual-arm", "--style", "paper"), "draws nothing without --pictures"),
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
        "stops": {},
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


OF_JOINTS = ("free_joint_error_rms", "hard_contact_torque")


def stopped(law: str, delay: float, *tasks: str) -> dict:
    """A row of a law that a guard stopped in these tasks, and that touched with 0 N otherwise."""
    values = dict.fromkeys(UNITS, 2.967e-31) | dict.fromkeys(OF_JOINTS)
    if "hard" in tasks:
        values |= dict.fromkeys(name for name in UNITS if name.startswith("hard"))
    trip = {"where": "follower", "time": 2.345, "reason": "elbow at 3.2 rad/s (limit 3.1 rad/s)"}
    impedance = {"frequency": [1.0, 2.0], "free": [10.0, 40.0], "soft": [500.0, 510.0]}
    return {
        "law": law,
        "delay": delay,
        "metrics": {name: {"value": values[name], "unit": unit} for name, unit in UNITS.items()},
        "impedance": impedance,
        "stops": dict.fromkeys(tasks, trip),
    }


def test_a_trip_is_told_in_the_terminal_and_in_the_report(tmp_path, capsys):
    """With task, time, place and reason; its cells are no numbers."""
    rows = [stopped("admittance", 20.0, "hard")]
    command.show_comparison(rows)
    said = capsys.readouterr().out
    stop = "follower stopped at 2.3 s: elbow at 3.2 rad/s (limit 3.1 rad/s)"
    assert f"admittance at 20 ms, at the hard wall: {stop}" in " ".join(said.split())
    page = command.write_page("dual-arm", rows, tmp_path).read_text(encoding="utf-8")
    assert page.count('<td class="stopped">stopped at 2.3 s</td>') == 3
    assert "<td>elbow at 3.2 rad/s (limit 3.1 rad/s)</td>" in page
    assert "e-31" not in page + said and '<td class="number">&lt; 0.001</td>' in page


def test_coupled_joints_are_compared_in_their_own_units(tmp_path, capsys):
    """Table, page and picture: mrad and N·m beside what is measured at the tools."""
    row = stopped("position-position", 0.0)
    for name, value in zip(OF_JOINTS, (0.0123, 0.45), strict=True):
        row["metrics"][name]["value"] = value
    command.show_comparison([row])
    said = " ".join(capsys.readouterr().out.split())
    assert "mrad" in said and "N·m" in said and "The law couples the joints" in said
    page = command.write_page("pair", [row], tmp_path).read_text(encoding="utf-8")
    assert "<th>joints [mrad]</th><th>torque [N·m]</th>" in page and ">12.3<" in page
    labels = [axes.get_ylabel() for axes in command.delay_figure([row], "screen").axes]
    assert labels == ["free-motion error of the joints, rms [mrad]", "hard contact torque [N·m]"]


@pytest.mark.parametrize("style", ["screen", "paper"])
def test_a_trip_is_a_cross_in_the_figure_and_never_zero_newton(style):
    """The curve ends where the last run ended well, and the title names what was stopped."""
    rows = [stopped("admittance", 0.0), stopped("admittance", 20.0, "hard")]
    rows[0]["metrics"]["hard_contact_force"]["value"] = 86.0
    _, axes = command.delay_figure(rows, style).axes
    curve, cross = axes.get_lines()
    assert curve.get_ydata()[0] == 86.0 and math.isnan(curve.get_ydata()[1])
    assert cross.get_marker() == "x" and list(cross.get_xdata()) == [20.0]
    assert {"2.3 s", "admittance ✕ stopped"} <= {text.get_text() for text in axes.texts}
    title = " ".join(axes.get_title(loc="left").split())
    assert title == "At the hard wall a guard stops admittance at 20 ms"


def test_two_laws_that_stop_at_one_delay_have_two_crosses():
    """One above the other, so that neither hides the other or its time."""
    rows = [stopped(law, 20.0, "hard") for law in ("admittance", "four-channel")]
    axes = command.delay_figure(rows, "screen").axes[1]
    crosses = [line for line in axes.get_lines() if line.get_marker() == "x"]
    heights = [float(cross.get_ydata()[0]) for cross in crosses]
    assert len(heights) == 2 and heights[0] - heights[1] > 0.05


def test_names_at_the_ends_of_curves_do_not_overlap():
    """Three laws that press alike have three names, one below the other and inside the figure."""
    from matplotlib.text import Text

    rows = [stopped(law, 0.0) for law in ("one-law", "another-law", "third-law")]
    figure = command.delay_figure(rows, "paper")
    figure.draw_without_rendering()
    names = [text for text in figure.axes[1].texts if text.get_text().endswith("-law")]
    boxes = sorted((Text.get_window_extent(name) for name in names), key=lambda box: box.y0)
    assert len(boxes) == 3
    assert all(low.y1 <= high.y0 + 1.0 for low, high in pairwise(boxes))
    assert all(box.x1 < figure.bbox.x1 for box in boxes)


def test_pictures_for_a_paper_are_a_column_wide_and_also_pdf(tmp_path):
    """85 mm, and the same bytes every time."""
    rows = [stopped("admittance", 0.0)]
    for folder in ("a", "b"):
        command.write_pictures(rows, tmp_path / folder, "paper")
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == [
        f"laws-{what}.{kind}" for what in ("delay", "impedance") for kind in ("pdf", "svg")
    ]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    width = float(re.search(r'width="([\d.]+)pt"', (tmp_path / "a/laws-delay.svg").read_text())[1])
    assert width == pytest.approx(85.0 / 25.4 * 72.0, abs=0.01)


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
