"""Identification before sliding: torque ramps, Dahl loops, and estimation by simulation, with drive faults or not."""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure as Plot

from farhand.friction import make
from farhand.friction.fit import breakaway
from farhand.friction.fit.breakaway import (
    Bristles,
    dahl_loop,
    damping_rule,
    estimate_bristles,
    torque_ramp,
)
from farhand.friction.models.lugre import LuGre
from farhand.friction.velocity import quantised
from farhand.plants.simulated.one_joint import WHEEL_INERTIA, WHEEL_TICK, DriveFaults, OneJoint
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.mutation import Mutation, patched

Array = np.ndarray

STIFFNESS, DAMPING = 250.0, 0.127
"""σ0 [N·m/rad] and σ1 [N·m·s/rad], stated in the source as first guesses."""

OFFSET = 0.03
"""Torque below which the drive does not go, [N·m]; stated in the source as about that."""

AMPLITUDES = np.array([0.03, 0.05, 0.06, 0.07])
CYCLES, FREQUENCY, LOOP_DT, COARSE_DT = 7, 0.5, 1e-3, 4e-3
PRESLIDING_DT, PRESLIDING_STEPS = 1e-3, 50  # 1 kHz and plant steps of 20 µs, as the prototype had
SINES = (5.0, 10.0, 20.0)  # [Hz]; the source says a sine, not which
SINE = 0.05  # [N·m]
ENCODERS = {
    "ideal": 0.0,
    "655 360": 2.0 * np.pi / 655_360,
    "200 000": 2.0 * np.pi / 200_000,
    "motor 4000": WHEEL_TICK,
}
"""Encoder steps at the wheel, [rad]."""

LOOP_SLOPES = {"ideal": (248.0, 250.0), "655 360": (247.0, 250.0), "200 000": (235.0, 250.0)}
"""Slopes that the prototype found, [N·m/rad]."""


@shared
def ramp() -> tuple[Array, Array, Array]:
    """Time, true position and torque of a ramp of 2 mN·m/s from rest until the joint slides."""
    dt = 4e-3
    joint = OneJoint(make("lugre"), dt=dt)
    time, position, torque = [], [], []
    for k in range(round(50.0 / dt)):
        push = 2e-3 * k * dt
        joint.step(push)
        time.append((k + 1) * dt)
        position.append(joint.position[0])
        torque.append(push)
        if joint.velocity[0] > 1.0:
            break
    return np.array(time), np.array(position), np.array(torque)


@experiment("Y-41")
def ramp_rule() -> Finding:
    """LuGre with table 4; the first tick of the motor's encoder, 1e-4 rad, and sliding."""
    time, position, torque = ramp()
    at = torque_ramp(time, position, torque, moved=1e-4)
    tick = torque_ramp(time, np.floor(position / WHEEL_TICK) * WHEEL_TICK, torque)
    damping = float(damping_rule(1.613e-3, 250.0))
    value = 1e3 * at.first
    ok = (
        15.6 <= value <= 25.1
        and 150.0 <= at.stiffness <= 380.0
        and abs(1e3 * at.breakaway - 89.8) <= 1.0
    )
    note = (
        f"σ0 = {at.stiffness:.0f} N·m/rad; first tick at {1e3 * tick.first:.1f} mN·m; break-away at "
        f"{1e3 * at.breakaway:.1f} mN·m; σ1 = {damping:.4f} N·m·s/rad. Consistent, not independent: σ0 = 250 was read "
        "off the same ramps"
    )
    return Finding(value, ok and abs(damping - 0.127) < 5e-4, note)


@shared
def loops(offset: float, dt: float = LOOP_DT) -> tuple[Array, Array, Array]:
    """Commanded torque, real torque and true position of sub-stiction sines, each n × amplitudes."""
    joint = OneJoint(
        make("lugre", joints=len(AMPLITUDES)), faults=DriveFaults(offset=offset), dt=dt
    )
    commanded, real, position = [], [], []
    for k in range(round(CYCLES / FREQUENCY / dt)):
        push = AMPLITUDES * np.sin(2.0 * np.pi * FREQUENCY * k * dt)
        joint.step(push)
        commanded.append(push)
        real.append(joint.torque)
        position.append(joint.position)
    return np.array(commanded), np.array(real), np.array(position)


def slopes(encoder: float, dt: float = LOOP_DT) -> Array:
    """Slope at the centre of each loop as that encoder shows it, [N·m/rad]."""
    _, real, position = loops(0.0, dt)
    seen = quantised(position, encoder)
    return np.array(
        [dahl_loop(x, f, CYCLES).stiffness for x, f in zip(seen.T, real.T, strict=True)]
    )


def against_command(dt: float = LOOP_DT) -> Array:
    """Slope of the commanded torque with the drive's offset fault on, [N·m/rad]."""
    commanded, real, position = loops(OFFSET, dt)
    pairs = zip(position.T, real.T, commanded.T, strict=True)
    return np.array([dahl_loop(x, f, CYCLES, against=c).stiffness for x, f, c in pairs])


@experiment("Y-42")
def dahl_loops() -> Finding:
    """Four amplitudes below break-away, five encoders, and the drive's offset fault."""
    found = {name: slopes(step) for name, step in ENCODERS.items()}
    wheel = slopes(2.0 * np.pi / 4000)
    fine = all(
        0.95 * low <= found[name].min() and found[name].max() <= 1.05 * high
        for name, (low, high) in LOOP_SLOPES.items()
        if name != "200 000"
    )
    coarse = np.abs(found["motor 4000"] / STIFFNESS - 1.0).max()
    commanded, real, position = loops(OFFSET)
    central = sum(dahl_loop(x, f, CYCLES).central for x, f in zip(position.T, real.T, strict=True))
    faulty = against_command()
    travel = 1e3 * np.ptp(loops(0.0)[2][len(commanded) // CYCLES :], axis=0)
    words = "; ".join(f"{name} {row.min():.0f}–{row.max():.0f}" for name, row in found.items())
    note = (
        f"{words}; 4000 at the wheel {'impossible' if np.isnan(wheel).all() else 'seen'}; travel "
        f"{', '.join(f'{t:.2f}' for t in travel)} mrad; with the offset {central} central samples and "
        f"{', '.join(f'{s:.0f}' for s in faulty)} N·m/rad against the command (prototype 23, 38, 46, 54 with steps of "
        f"20 µs); at {1e3 * COARSE_DT:g} instead of {1e3 * LOOP_DT:g} ms ideal {slopes(0.0, COARSE_DT).mean():.0f}, "
        f"motor 4000 {slopes(WHEEL_TICK, COARSE_DT).min():.0f}–{slopes(WHEEL_TICK, COARSE_DT).max():.0f}; the "
        "number of "
        "cycles changes nothing, all after the first are alike"
    )
    ok = (
        fine
        and coarse > 0.1
        and np.isnan(wheel).all()
        and central == 0
        and np.all(faulty < 0.5 * STIFFNESS)
    )
    figure = Figure(
        "Loops below break-away, ideal and as the motor's encoder shows them", _loop_plot
    )
    return Finding(float(found["ideal"].mean()), bool(ok), note, figures=(figure,))


def _loop_plot() -> Plot:
    _, real, position = loops(0.0)
    last = slice(-round(1.0 / FREQUENCY / LOOP_DT), None)
    figure = Plot(figsize=(7, 4))
    axes = figure.add_subplot()
    axes.plot(1e3 * position[last], 1e3 * real[last], linewidth=0.8)
    axes.plot(
        1e3 * quantised(position[last, -1], WHEEL_TICK),
        1e3 * real[last, -1],
        color="#9aa4b1",
        linewidth=0.8,
    )
    axes.set_xlabel("position [mrad]")
    axes.set_ylabel("torque [mN·m]")
    return figure


@shared
def presliding(offset: float) -> tuple[Array, Array]:
    """Commanded torque and true position of sines below break-away, each n × frequencies."""
    t = PRESLIDING_DT * np.arange(300)[:, None]
    torque = SINE * np.sin(2.0 * np.pi * np.array(SINES) * t)
    faults = DriveFaults(offset=offset)
    joint = OneJoint(
        make("lugre", len(SINES)), faults=faults, dt=PRESLIDING_DT, substeps=PRESLIDING_STEPS
    )
    position = []
    for push in torque:
        joint.step(push)
        position.append(joint.position)
    return torque, np.array(position)


def estimated(offset: float, method: str, sine: int) -> Bristles:
    """σ0 and σ1 from one of them."""
    torque, position = (signal[:, sine] for signal in presliding(offset))
    known = make("lugre")
    names = ("coulomb", "breakaway", "stribeck_velocity", "shape", "viscous")
    curve = {name: float(getattr(known, name)[0]) for name in names}
    return estimate_bristles(torque, position, PRESLIDING_DT, WHEEL_INERTIA, curve, method)


@experiment("Y-43")
def presliding_estimation() -> Finding:
    """Simulated joints beside the recorded one, from a start that knows neither parameter, at three frequencies."""
    errors, unsure = [], 0
    for method in ("least squares", "simplex"):
        for sine in range(len(SINES)):
            one = estimated(0.0, method, sine)
            errors.append(
                [
                    100.0 * abs(one.stiffness / STIFFNESS - 1.0),
                    100.0 * abs(one.damping / DAMPING - 1.0),
                ]
            )
            unsure += not one.reliable
    worst = np.array(errors).max(axis=0)
    faulty = [estimated(OFFSET, "least squares", sine) for sine in range(len(SINES))]
    flagged = sum(not one.reliable for one in faulty)
    note = (
        f"sines of {', '.join(f'{f:g}' for f in SINES)} Hz, both methods: σ0 off by at most {worst[0]:.2g} %, σ1 by "
        f"{worst[1]:.2g} %, most of it the plant's own step (implicit Euler adds σ0·dt = 0.005 N·m·s/rad at 20 µs, the "
        "prototype's; at 50 µs it would be 10 %); with the offset "
        f"{', '.join(f'{one.stiffness:.0f}' for one in faulty)} "
        f"N·m/rad, {100.0 * min(one.residual for one in faulty):.0f} % of the motion or more not explained: "
        f"{flagged} of "
        f"{len(SINES)} flagged"
    )
    ok = worst[0] <= 5.0 and worst[1] <= 20.0 and unsure == 0 and flagged == len(SINES)
    return Finding(float(worst[0]), bool(ok), note)


_THIS = sys.modules[__name__]
_move = LuGre.move


def _soft(self: LuGre, velocity: Array, dt: float, applied: Array | None) -> tuple[Array, Array]:
    """Bristles half as stiff as the parameter says, in a plant that is not told."""
    force, state = _move(self, 0.5 * velocity, dt, applied)
    return force, state


# fmt: skip
MUTATIONS = [
    Mutation(
        "damping-rule",
        "the rule for σ1 lacks its square root",
        ("Y-41",),
        lambda: patched(
            _THIS, "damping_rule", lambda inertia, stiffness: 0.2 * inertia * stiffness
        ),
    ),
    Mutation(
        "soft-bristles",
        "bristles see half of the motion",
        ("Y-41", "Y-42"),
        lambda: patched(LuGre, "move", _soft),
    ),
    Mutation(
        "loop-edges",
        "the slope is taken over the whole loop",
        ("Y-42",),
        lambda: patched(breakaway, "CENTRE", 1.0),
    ),
    Mutation(
        "estimation-without-inertia",
        "the simulated joint has a hundredth of the inertia",
        ("Y-43",),
        lambda: patched(_THIS, "WHEEL_INERTIA", 0.01 * WHEEL_INERTIA),
    ),
    Mutation(
        "never-unreliable",
        "every estimate counts as reliable",
        ("Y-43",),
        lambda: patched(Bristles, "reliable", True),
    ),
]
