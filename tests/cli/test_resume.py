"""Ctrl-C in the middle of long work keeps what is finished, and ``--resume`` continues it.

Each program below stands for a long command: its first pieces are quick, and one takes a minute,
or no time at all when it is run again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from farhand.errors import FileError, Mismatch
from farhand.running.resume import path_of, resumable

ROOT = Path(__file__).parents[2]

HEAD = """
import os, sys, time
from pathlib import Path

def piece(name):
    with open("pieces.txt", "a") as file:
        file.write(f"{name}\\n")
    if name.startswith("slow") and "AGAIN" not in os.environ:
        Path("waiting").touch()
        time.sleep(60.0)
"""
TAIL = """
if __name__ == "__main__":
    from farhand.cli.main import main
    sys.exit(main(sys.argv[1:]))
"""

COMPARE = """
from farhand.running import comparison

UNITS = comparison.UNITS

def measure(case):
    slow = case.law == "position-force"
    piece(("slow " if slow else "") + case.law)
    shaken = {"inertia": 1.0, "frequency": [1.0], "free": [1.0], "soft": [1.0]}
    row = {"law": case.law, "delay": case.delay, "settings": {}, "impedance": shaken, "stops": {}}
    return {**row, "metrics": dict.fromkeys(UNITS, 1.0)}

def own_inertia(rig, settings=()):
    return 1.0

comparison.measure, comparison.own_inertia = measure, own_inertia
"""
BENCH = """
from farhand_lab.benchmarks import measure as part

def suite():
    names = ("a/1", "a/2", "b/slow", "b/3")
    return {name: part.Benchmark(name, None, pair=lambda: (2.0, 1.0)) for name in names}

def measured(benchmark):
    piece("slow" if "slow" in benchmark.name else benchmark.name)
    row = {"name": benchmark.name, "value": 2.0, "unit": "µs", "floor": 1.0}
    return {**row, "ratio_to_floor": 2.0, "peers": {}}

part.suite, part.measure = suite, measured
"""
REPRODUCE = """
import farhand_lab
from farhand_lab import harness, report
from farhand_lab.commands import reproduce

folder = Path("lab/toy")
folder.mkdir(parents=True, exist_ok=True)
row = '[T-{}]\\ntitle = "A"\\ncriterion = "none"\\nunit = "mm"\\nsource = "a thesis"\\n'
(folder / "features.toml").write_text("".join(row.format(n) for n in (1, 2, 3)))
(folder / "__init__.py").write_text('''
from __main__ import piece
from farhand_lab.harness import Finding, experiment

@experiment("T-1")
def first():
    piece("T-1")
    return Finding(1.0, ok=True)

@experiment("T-2")
def second():
    piece("slow")
    return Finding(2.0, ok=True)

@experiment("T-3")
def third():
    piece("T-3")
    return Finding(3.0, ok=True)
''')
farhand_lab.__path__ = [str(folder.parent.resolve())]
"""
STABILITY = """
from farhand.running import stability_trial

def attempt(trial):
    slow = trial.stiffness > 20_000.0 and trial.delay > 90.0
    piece(("slow " if slow else "") + trial.name)
    return {"shakes": False, "delay": trial.delay, "stiffness": trial.stiffness}

stability_trial.attempt = attempt
"""

COMMANDS = {
    "compare": (COMPARE, "compare dual-arm --laws unilateral,position-position,position-force"),
    "bench": (BENCH, "bench"),
    "reproduce": (REPRODUCE, "reproduce"),
    "stability": (STABILITY, "stability dual-arm --simulate --workers 2"),
}


def start(program: Path, words: str, **variables: str) -> subprocess.Popen:
    """The program of a command, in a process group of its own as in a terminal."""
    command = [sys.executable, str(program), *words.split(), "--json", "results.json"]
    return subprocess.Popen(
        command,
        cwd=program.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell's background job ignores Ctrl-C, and so would what it starts
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_keeps_what_is_finished_and_resume_continues(name, tmp_path):
    """What was done is said, written beside the results, and not done again."""
    body, words = COMMANDS[name]
    program = tmp_path / "program.py"
    program.write_text(HEAD + body + TAIL)
    first = start(program, words)
    deadline = time.monotonic() + 240.0
    while not (tmp_path / "waiting").exists() and first.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(1.0)
    os.killpg(first.pid, signal.SIGINT)
    _, err = first.communicate(timeout=60)
    assert first.returncode == 130, err
    assert "Traceback" not in err
    assert "results.partial.jsonl; --resume continues" in err
    assert not (tmp_path / "results.json").exists()
    header, *rows = map(json.loads, (tmp_path / "results.partial.jsonl").read_text().splitlines())
    assert header["command"] == name and rows
    before = (tmp_path / "pieces.txt").read_text().splitlines()

    again = start(program, f"{words} --resume", AGAIN="yes")
    _, err = again.communicate(timeout=240)
    assert again.returncode == 0, err
    later = (tmp_path / "pieces.txt").read_text().splitlines()[len(before) :]
    results = json.loads((tmp_path / "results.json").read_text())
    total = len(results["trials"] if name == "stability" else results)
    assert any(piece.startswith("slow") for piece in later)
    assert len(rows) + len(later) == total
    assert not (tmp_path / "results.partial.jsonl").exists()


def test_what_is_kept_of_other_work_or_other_code_is_not_taken_up(tmp_path, monkeypatch):
    """The message says what differs; the kept file stays."""
    place = (tmp_path / "r.json", None)
    with pytest.raises(KeyboardInterrupt), resumable("x", {"seed": 1}, False, *place) as pieces:
        pieces.add("a", {"value": 1.5})
        raise KeyboardInterrupt
    with resumable("x", {"seed": 1}, True, *place) as pieces:
        assert pieces.rows == {"a": {"value": 1.5}}
        path_of("x", *place).touch()
    assert not path_of("x", *place).exists()
    with pytest.raises(ValueError), resumable("x", {"seed": 1}, False, *place) as pieces:
        pieces.add("a", {"value": 1.5})
        raise ValueError
    with pytest.raises(Mismatch, match="seed 1 there, 2 here"):
        resumable("x", {"seed": 2}, True, *place).__enter__()
    monkeypatch.setattr("farhand.running.resume.fingerprint", lambda: "another")
    with pytest.raises(Mismatch, match="code .* there, another here"):
        resumable("x", {"seed": 1}, True, *place).__enter__()
    assert path_of("x", *place).exists()


def test_resume_without_anything_kept_says_where_it_looked(tmp_path):
    """Rather than begin hours of work."""
    with pytest.raises(FileError, match=r"r\.partial\.jsonl: there is no such file"):
        resumable("x", {}, True, tmp_path / "r.json", None).__enter__()
