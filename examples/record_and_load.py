"""Record a run, read it back as named arrays with units, and prove that it repeats to the bit."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import farhand as fh
from farhand.running.rerun import record, rerun

with tempfile.TemporaryDirectory() as folder:
    rig = fh.build_rig("dual-arm", fh.Options(scenario="free", seed=3))
    path = record(rig, Path(folder) / "free.mcap", 2.0)
    recording = fh.load(path)

    wrench = recording["leader/wrench_measured_in_world"]
    unit = recording.units["leader/wrench_measured_in_world"].split(",")[0]
    print(f"hand: {np.linalg.norm(wrench[:, :3], axis=1).max():.2f} {unit} at most")
    print(f"first event: {recording.events[0]}")

    result = rerun(recording)
    print(f"repeats to the bit: {result.exact}")
