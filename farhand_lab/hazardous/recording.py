"""Logging for analysis and replay: the log of a run, and the run again from the log alone: C-60."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from farhand.recording import topics
from farhand.recording.loader import Recording, load
from farhand.rigs import Options, build_rig
from farhand.running import rerun as repeating
from farhand.running.rerun import record, rerun
from farhand_lab.harness import Finding, experiment
from farhand_lab.mutation import Mutations

GROUP = "hazardous"
SECONDS = 1.0
COMMANDS = ("0.3:set hand.stiffness=250", "0.55:clutch", "0.8:declutch")
COMMANDED = (
    "leader/torque_commanded",
    "leader/wrench_commanded_in_world",
    "follower/velocity_commanded",
)


def logged(folder: Path) -> Recording:
    """A recorded run with noise, delay, loss, a changed parameter and the clutch."""
    rig = build_rig(GROUP, Options(scenario="free", seed=60, delay=20.0, jitter=2.0, loss=0.05))
    for command in COMMANDS:
        rig.session.commands.post_text(command)
    return load(record(rig, folder / "log.mcap", SECONDS))


@experiment("C-60")
def log_and_replay() -> Finding:
    """Repeats the run from the file; counts the signals that differ in any bit."""
    with TemporaryDirectory() as folder:
        recording = logged(Path(folder))
        again = rerun(recording)
        size = recording.path.stat().st_size / 1e6
    records = {name: len(stream.times_ns) for name, stream in recording.streams.items()}
    moved = [signal for signal in COMMANDED if np.ptp(recording[signal], axis=0).any()]
    whole = all(
        count == round(SECONDS * recording.streams[name].rate) for name, count in records.items()
    )
    ok = again.exact and again.missing == 0 and again.commands == 1 + len(COMMANDS) and whole
    ok = ok and len(moved) == 3
    note = (
        f"{again.records} records with {again.values} numbers and {again.commands} commands "
        f"compared, among them what both arms were commanded; {again.missing} records missing; log "
        f"of {size:.1f} MB for {SECONDS:g} s"
    )
    return Finding(len(again.differences), bool(ok), note)


_THIS = sys.modules[__name__]


MUTATIONS = Mutations()


@MUTATIONS.of(topics, "block", "C-60")
def single_precision(block, *arguments):
    """The log keeps seven digits of every number."""
    *rest, values = arguments
    return block(*rest, {name: value.astype(np.float32) for name, value in values.items()})


@MUTATIONS.of(repeating, "build_rig", "C-60")
def another_seed(build, name, options):
    """The repeat draws other noise."""
    return build(name, replace(options, seed=0))


@MUTATIONS.of(_THIS, "load", "C-60")
def a_command_missing(load, path):
    """The log does not have the clutch."""
    whole = load(path)
    return replace(whole, happened=[e for e in whole.happened if not e.text.startswith("clutch")])


@MUTATIONS.of(_THIS, "load", "C-60")
def a_command_one_tick_late(load, path):
    """The log has the change of a parameter 1 ms after it was made."""
    whole = load(path)
    late = [
        replace(e, time_ns=e.time_ns + 1_000_000) if e.text.startswith("set") else e
        for e in whole.happened
    ]
    return replace(whole, happened=late)
