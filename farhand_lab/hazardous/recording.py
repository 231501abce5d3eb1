"""Logging for analysis and replay: the log of a run, and the run again from the log alone: C-60."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from farhand.recording import topics
from farhand.recording.loader import Recording, load
from farhand.rigs import Options, build_rig
from farhand.running import rerun as repeating
from farhand.running.rerun import record, rerun
from farhand_lab.harness import Finding, experiment
from farhand_lab.mutation import Mutation, patched

GROUP = "hazardous"
SECONDS = 1.0
COMMANDS = ("0.3:set hand.stiffness=250", "0.55:clutch", "0.8:declutch")
COMMANDED = (
    "leader/torque_commanded",
    "leader/wrench_commanded_in_world",
    "follower/velocity_commanded",
)


def logged(folder: Path) -> Recording:
    """A run with sensor noise, a link that delays and loses, a changed parameter and the clutch, as its log has it."""
    rig = build_rig(GROUP, Options(scenario="free", seed=60, delay=20.0, jitter=2.0, loss=0.05))
    for command in COMMANDS:
        rig.session.commands.post_text(command)
    return load(record(rig, folder / "log.mcap", SECONDS))


@experiment("C-60")
def log_and_replay() -> Finding:
    """Everything the repeat needs comes from the file; the value is how many signals are not equal to the bit."""
    with TemporaryDirectory() as folder:
        recording = logged(Path(folder))
        again = rerun(recording)
        size = recording.path.stat().st_size / 1e6
    records = {name: len(stream.times_ns) for name, stream in recording.streams.items()}
    moved = [signal for signal in COMMANDED if np.ptp(recording[signal], axis=0).any()]
    whole = all(
        count == round(SECONDS * recording.streams[name].rate) for name, count in records.items()
    )
    ok = (
        again.exact
        and again.missing == 0
        and again.commands == 1 + len(COMMANDS)
        and whole
        and len(moved) == 3
    )
    note = (
        f"{again.records} records with {again.values} numbers and {again.commands} commands compared, among them what "
        f"both arms were commanded; {again.missing} records missing; log of {size:.1f} MB for {SECONDS:g} s"
    )
    return Finding(len(again.differences), bool(ok), note)


def _single_precision(block: Callable[..., bytes]) -> Callable[..., bytes]:
    def broken(*arguments: Any) -> bytes:
        *rest, values = arguments
        return block(*rest, {name: value.astype(np.float32) for name, value in values.items()})

    return broken


def _other_seed(build: Callable[..., Any]) -> Callable[..., Any]:
    return lambda name, options: build(name, replace(options, seed=0))


_load = load  # the honest one


def _without(wanted: Callable[[Any], bool]) -> Callable[[str | Path], Recording]:
    """A loader that does not see some of the events."""

    def broken(path: str | Path) -> Recording:
        whole = _load(path)
        return replace(whole, happened=[event for event in whole.happened if not wanted(event)])

    return broken


def _late(path: str | Path) -> Recording:
    whole = _load(path)
    late = [
        replace(e, time_ns=e.time_ns + 1_000_000) if e.text.startswith("set") else e
        for e in whole.happened
    ]
    return replace(whole, happened=late)


_THIS = sys.modules[__name__]

MUTATIONS = [
    Mutation(
        "single precision",
        "the log keeps seven digits of every number",
        ("C-60",),
        lambda: patched(topics, "block", _single_precision(topics.block)),
    ),
    Mutation(
        "another seed",
        "the repeat draws other noise",
        ("C-60",),
        lambda: patched(repeating, "build_rig", _other_seed(repeating.build_rig)),
    ),
    Mutation(
        "a command missing",
        "the log does not have the clutch",
        ("C-60",),
        lambda: patched(_THIS, "load", _without(lambda event: event.text.startswith("clutch"))),
    ),
    Mutation(
        "a command one tick late",
        "the log has the change of a parameter 1 ms after it was made",
        ("C-60",),
        lambda: patched(_THIS, "load", _late),
    ),
]
