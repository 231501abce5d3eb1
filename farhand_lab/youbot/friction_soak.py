"""Soak: 1,000 s of random motion of every friction model in one piece, at a 1 ms step: no NaN, no energy created.

Y-62 shares the same time out over many joints; here each of a few joints moves for all of it. Takes
minutes a model.
"""

from __future__ import annotations

import time

import numpy as np

from farhand.friction import FRICTIONS
from farhand_lab.youbot.friction_models import light
from farhand_lab.youbot.friction_properties import dissipation

JOINTS = 4
"""Joints that move side by side, from creep to several rad/s."""

CREATED = 1e-9
"""Energy that rounding may make, [J]."""


def soak(seconds: float = 1000.0, names: list[str] | None = None) -> int:
    """Move every joint of every model for so long [s] and print what it did; the exit code, 0 if all is well."""
    failed = []
    for name in names or list(FRICTIONS):
        start = time.perf_counter()
        finite, least, _ = dissipation(
            light(name), JOINTS * seconds, np.random.default_rng(0), JOINTS
        )
        good = finite and least >= -CREATED
        failed += [] if good else [name]
        told = f"{'ok' if good else 'FAILED'} after {time.perf_counter() - start:.0f} s"
        print(
            f"{name:18} {seconds:g} s × {JOINTS} joints: least balance {least:.1e} J, {told}",
            flush=True,
        )
    print(f"{len(failed)} failed" + (f": {', '.join(failed)}" if failed else ""))
    return bool(failed)
