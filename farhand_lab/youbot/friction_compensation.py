"""Friction compensation on the wheel block: what is left of friction, the oscillation test, and break-away."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Plot

from farhand.friction import make
from farhand.friction.compensation import FrictionCompensation
from farhand.friction.velocity import StateVariableFilter
from farhand.plants.simulated.one_joint import WHEEL_INERTIA, WHEEL_TICK, DriveFaults, OneJoint
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.mutation import Mutation, patched

Array = np.ndarray

DT = 1e-3
ENCODER = DriveFaults(encoder_step=WHEEL_TICK)
GAINS, SHARES, INERTIAS = (
    (0.02, 0.05, 0.1),
    (0.0, 0.5, 0.8, 0.9, 1.0, 1.05),
    (WHEEL_INERTIA, 1.6e-3),
)

PUSHES = (0.0594, -0.0594)  # [N·m]
SINES = tuple(itertools.product((1.0, 3.0, 6.0, 10.0), (0.05, 0.2, 0.5)))  # [rad/s], [Hz]


def observer(name: str, joints: int, cutoff: float = 20.0) -> FrictionCompensation:
    """The published observer: the wheel's curve at the filtered velocity, all of it; its own slope is its smoothing."""
    return FrictionCompensation(
        make(name, joints),
        gain=1.0,
        over=True,
        speed=1e-6,
        rest=0.0,
        filter=StateVariableFilter(cutoff),
    )


@shared
def residuals() -> dict[str, float]:
    """What is left of friction while sliding, the worst of four wheels, root mean square [mN·m], by motion.

    Springs are those of the oscillation test (X10), let go 2 rad away; pushes are that of the
    break-away test (X11) and its opposite, until 10 rad/s; sines are followed by a soft velocity
    loop. Six seconds each, all at once.
    """
    names = [f"spring {gain:g}" for gain in GAINS] + [f"push {push:+g}" for push in PUSHES]
    names += [f"sine {height:g}, {rate:g}" for height, rate in SINES]
    n = 4 * len(names)
    spring, push, height, rate = np.zeros((4, n))
    spring[: 4 * len(GAINS)] = np.repeat(GAINS, 4)
    push[4 * len(GAINS) : 4 * (len(GAINS) + len(PUSHES))] = np.repeat(PUSHES, 4)
    height[-4 * len(SINES) :], rate[-4 * len(SINES) :] = np.repeat(SINES, 4, axis=0).T
    joint, helped = OneJoint(make("youbot-wheels", n), faults=ENCODER), observer("youbot-wheels", n)
    joint.position[spring > 0.0] = 2.0
    squares, counts = np.zeros((2, n))
    for k in range(6000):
        estimate = helped.measured(joint.measured_position, DT)
        follow = (
            0.2
            * (height * np.sin(2.0 * np.pi * rate * k * DT) - helped.filter.velocity)
            * (height > 0.0)
        )
        joint.step(estimate + push - spring * joint.measured_position + follow)
        slides = (np.abs(joint.velocity) > 0.05) & (np.abs(joint.velocity) < 10.5)
        squares += np.where(slides, (joint.resistance - estimate) ** 2, 0.0)
        counts += slides
    mean = np.divide(squares, counts, out=np.full(n, np.nan), where=counts > 0.0)
    left = 1e3 * np.sqrt(mean).reshape(-1, 4).max(axis=1)
    return dict(zip(names, left.tolist(), strict=True))


@experiment("Y-47")
def per_wheel() -> Finding:
    """The two motions with compensation whose settings the list gives are judged; others show how it goes on."""
    left = residuals()
    judged = max(left[f"spring {GAINS[0]:g}"], left[f"push {PUSHES[0]:+g}"])
    table = "; ".join(f"{name}: {value:.1f}" for name, value in left.items())
    note = (
        f"worst wheel; springs of X10 [N·m/rad], pushes of X11 [N·m], sines [rad/s, Hz]: {table} mN·m. What is left is "
        "the filter's lag of 16 ms times acceleration times slope of the curve: the list names no motion, and beyond "
        "about 8 rad/s² more than 5 mN·m is left"
    )
    return Finding(judged, bool(judged < 5.0), note)


@shared
def oscillations() -> tuple[Array, Array]:
    """Every Kp, α and J at once: settings (cases × 3) and position minus target (steps × cases), [rad]."""
    cases = np.array(list(itertools.product(GAINS, SHARES, INERTIAS)))
    gain, share, inertia = cases.T
    joint = OneJoint(make("youbot-wheel-1", len(cases)), inertia, ENCODER)
    joint.position[:] = 2.0
    helped = observer("youbot-wheel-1", len(cases))
    path = np.empty((20_000, len(cases)))
    for k in range(len(path)):
        estimate = helped.measured(joint.measured_position, DT)
        joint.step(share * estimate - gain * joint.measured_position)
        path[k] = joint.position
    return cases, path


def swings(path: Array) -> Array:
    """Extreme positions of a motion about zero, one between each two crossings, after the release, [rad]."""
    crossings = np.flatnonzero(np.diff(np.sign(path)) != 0)
    parts = np.split(path, crossings + 1)[1:]
    # still under way; what is left of a stop creeps a little
    if parts and abs(path[-1] - path[-200]) > 1e-3:
        parts.pop()
    return np.array([part[np.abs(part).argmax()] for part in parts if len(part) > 20])


@experiment("Y-48")
def oscillation() -> Finding:
    """A wheel let go 2 rad from its target, by 36 settings; peaks after each crossing of the target."""
    cases, path = oscillations()
    found = {tuple(case): swings(path[:, k]) for k, case in enumerate(cases)}
    main = {share: found[0.02, share, WHEEL_INERTIA] for share in SHARES}
    eight = np.abs(main[1.0][:8])
    drift = 100.0 * float(np.abs(eight / 2.0 - 1.0).max()) if len(eight) == 8 else np.nan
    decays = all(_decaying(peaks) for (_, share, _), peaks in found.items() if share == 0.9)
    grows = all(
        len(peaks) > 2 and abs(peaks[-1]) > 2.0
        for (_, share, _), peaks in found.items()
        if share == 1.05
    )
    ok = len(main[0.0]) == 0 and decays and drift < 1.0
    swung = ", ".join(f"{peak:+.2f}" for peak in main[0.9][:3])
    note = f"drift at Kp 0.02; α = 0.9: {swung} rad; {_table(found)}; α = 1.05 grows everywhere: {grows} (not judged)"
    return Finding(
        drift, bool(ok), note, figures=(Figure("Oscillation test, Kp = 0.02", _oscillation_plot),)
    )


def _decaying(peaks: Array) -> bool:
    return bool((np.diff(np.abs(peaks)) < 0.0).all()) if len(peaks) > 1 else True


def _table(found: dict[tuple[float, ...], Array]) -> str:
    """Swings in 20 s for each Kp and J, one number per α."""
    rows = []
    for gain, inertia in itertools.product(GAINS, INERTIAS):
        counts = "/".join(str(len(found[gain, share, inertia])) for share in SHARES)
        rows.append(f"Kp {gain:g} J {inertia:g}: {counts}")
    return "swings for α = " + "/".join(f"{share:g}" for share in SHARES) + ": " + ", ".join(rows)


def _oscillation_plot() -> Plot:
    cases, path = oscillations()
    figure = Plot(figsize=(7, 4))
    axes, t = figure.add_subplot(), DT * np.arange(len(path))
    for k, (gain, share, inertia) in enumerate(cases):
        if gain == 0.02 and inertia == WHEEL_INERTIA:
            axes.plot(t, path[:, k] + 2.0, label=f"α = {share:g}")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("position [rad]")
    axes.legend()
    return figure


@shared
def breakaways() -> dict[tuple[float, float], tuple[float, float]]:
    """Travel [rad] and end speed [rad/s] after 3 s at 0.0594 N·m, by inertia and cut-off [Hz]; 0: not helped."""
    found = {}
    inertias = np.array([WHEEL_INERTIA, 2.76e-2])
    for cutoff in (0.0, 5.0, 10.0, 20.0, 50.0):
        joint = OneJoint(make("lugre", 2), inertias, ENCODER)
        helped = observer("youbot-wheel-1", 2, cutoff or 20.0)
        for _ in range(3000):
            estimate = helped.measured(joint.measured_position, DT)
            joint.step(0.0594 + (estimate if cutoff else 0.0))
        for k, inertia in enumerate(inertias):
            found[float(inertia), cutoff] = float(joint.position[k]), float(joint.velocity[k])
    return found


@experiment("Y-49")
def base_breakaway() -> Finding:
    """LuGre wheel under a torque below stiction, alone and with the base's inertia, with and without the observer."""
    found = breakaways()
    off = max(travel for (_, cutoff), (travel, _) in found.items() if not cutoff)
    on = {key: value for key, value in found.items() if key[1]}
    least = min(travel for travel, _ in on.values())
    shown = ", ".join(
        f"{cutoff:g} Hz {travel:.1f} rad"
        for (J, cutoff), (travel, _) in on.items()
        if J == WHEEL_INERTIA
    )
    speeds = f"{min(v for _, v in on.values()):.1f}–{max(v for _, v in on.values()):.1f} rad/s"
    note = f"least travel with; without {1e3 * off:.2f} mrad; {shown}; end speed {speeds}, not slow as in the thesis"
    return Finding(least, bool(off < 2e-3 and least > 7.0), note)


def _backwards(self: FrictionCompensation, velocity: Array) -> Array:
    return -self.gain * self.friction.quick(velocity)


def _sluggish(
    self: StateVariableFilter, dt: float, whole: Any = StateVariableFilter._prepare
) -> None:
    cutoff, self.cutoff = self.cutoff, self.cutoff / 20.0
    whole(self, dt)
    self.cutoff = cutoff


def _double(self: FrictionCompensation, velocity: Array) -> Array:
    return 1.15 * self.friction.quick(velocity)


MUTATIONS = [
    Mutation(
        "compensation-sign",
        "the friction estimate is subtracted instead of added",
        ("Y-47", "Y-48", "Y-49"),
        lambda: patched(FrictionCompensation, "torque", _backwards),
    ),
    Mutation(
        "sluggish-velocity",
        "the velocity filter's cut-off is twenty times lower than it is set",
        ("Y-47", "Y-48"),
        lambda: patched(StateVariableFilter, "_prepare", _sluggish),
    ),
    Mutation(
        "over-compensated",
        "15 % more friction is compensated than there is",
        ("Y-47", "Y-48"),
        lambda: patched(FrictionCompensation, "torque", _double),
    ),
]
