"""The measured friction of the four wheel blocks: values, shape and asymmetry of the published curves."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Plot

from farhand.friction import make
from farhand.friction.models import wheels
from farhand_lab.harness import Figure, Finding, experiment
from farhand_lab.mutation import Mutation, patched

Array = np.ndarray

PUBLISHED: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("wheel_friction.toml").read_text()
)
NAMES = tuple(f"youbot-wheel-{k}" for k in (1, 2, 3, 4))


@experiment("Y-35")
def wheel_curves() -> Finding:
    """120 values, the jump at every boundary between segments, and the sign everywhere within ±10 rad/s."""
    table = np.array(PUBLISHED["torque"])
    v, off, jump = table[:, 0], 0.0, 0.0
    dense = np.linspace(1e-4, 10.0, 200_001)
    passive = True
    for k, name in enumerate(NAMES):
        model = make(name)
        off = max(
            off,
            np.abs(model.steady(v) - table[:, 1 + 2 * k]).max(),
            np.abs(model.steady(-v) - table[:, 2 + 2 * k]).max(),
        )
        jump = max(jump, _largest_jump(f"wheel-{k + 1}"))
        passive &= bool((model.steady(dense) > 0.0).all() and (model.steady(-dense) < 0.0).all())
    figure = Figure("Friction of the four wheels", _wheels)
    ok = off <= 1e-5 and jump <= 9.1e-4 and passive
    return Finding(
        off, bool(ok), f"largest jump {jump:.2g} N·m; F·v > 0: {passive}", figures=(figure,)
    )


def _largest_jump(wheel: str) -> float:
    """Difference across each boundary of the published ranges, [N·m]."""
    data = wheels.coefficients(wheel)
    edges = [s[0] for s in data["segments"][1:]]
    signed = np.array([*edges, *(-e for e in edges), *(limit for limit, _ in data["negative"])])
    return float(
        np.abs(wheels.curve_of(wheel, signed + 1e-9) - wheels.curve_of(wheel, signed - 1e-9)).max()
    )


def _wheels() -> Plot:
    figure = Plot(figsize=(7, 4))
    axes, v = figure.add_subplot(), np.linspace(-10.0, 10.0, 4001)
    for name in NAMES:
        axes.plot(v, make(name).steady(v), label=name)
    axes.set_xlabel("velocity [rad/s]")
    axes.set_ylabel("friction [N·m]")
    axes.legend()
    return figure


@experiment("Y-36")
def anomaly() -> Finding:
    """Least and greatest torque between 1 and 4 rad/s of all four wheels."""
    v = np.linspace(1.0, 4.0, 30_001)
    off, at = 0.0, 0.0
    for k, name in enumerate(NAMES):
        force = make(name).steady(v)
        found = np.array([[force.min(), v[force.argmin()]], [force.max(), v[force.argmax()]]])
        difference = np.abs(found - np.array([PUBLISHED["least"][k], PUBLISHED["bump"][k]]))
        off, at = max(off, difference[:, 0].max()), max(at, difference[:, 1].max())
    first = make(NAMES[0]).steady(v)
    ok = off <= 1e-5 and at <= 1e-3
    return Finding(
        float(first.min()),
        bool(ok),
        f"wheel 1's minimum; all wheels within {off:.1g} N·m and {at:.1g} rad/s",
    )


@experiment("Y-37")
def asymmetry() -> Finding:
    """The ratio of each wheel."""
    ratios = np.array(
        [-float(make(name).steady(-10.0)) / float(make(name).steady(10.0)) for name in NAMES]
    )
    off = 100.0 * float(np.abs(ratios / PUBLISHED["asymmetry"] - 1.0).max())
    return Finding(off, off <= 0.1, "ratios " + ", ".join(f"{ratio:.3f}" for ratio in ratios))


def _symmetric(wheel: str, velocity: Array, whole: Any = wheels.curve_of) -> Array:
    return whole(wheel, np.abs(velocity)) * np.sign(velocity)


def _hard_minimum(values: Array, n: float) -> Array:
    return values.min(axis=0)


MUTATIONS = [
    Mutation(
        "wheels-symmetric",
        "the curves for negative speeds are those for positive ones, mirrored",
        ("Y-35", "Y-37"),
        lambda: patched(wheels, "curve_of", _symmetric),
    ),
    Mutation(
        "hard-minimum",
        "branches are joined by a plain minimum instead of a smooth one",
        ("Y-35", "Y-36"),
        lambda: patched(wheels, "smooth_minimum", _hard_minimum),
    ),
]
