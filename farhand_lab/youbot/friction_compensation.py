"""Friction compensation of a wheel and of a slow joint: Y-47 to Y-49, Y-61."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from farhand.friction import Friction, make
from farhand.friction.compensation import FrictionCompensation
from farhand.friction.fit import protocol
from farhand.friction.fit.fit import Fit, fit
from farhand.friction.velocity import StateVariableFilter
from farhand.plants.simulated.one_joint import WHEEL_INERTIA, WHEEL_TICK, DriveFaults, OneJoint
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas

Array = np.ndarray

DT = 1e-3
ENCODER = DriveFaults(encoder_step=WHEEL_TICK)
GAINS = (0.02, 0.05, 0.1)
SHARES = (0.0, 0.5, 0.8, 0.9, 1.0, 1.05)
INERTIAS = (WHEEL_INERTIA, 1.6e-3)

PUSHES = (0.0594, -0.0594)  # [N·m]
SINES = tuple(itertools.product((1.0, 3.0, 6.0, 10.0), (0.05, 0.2, 0.5)))  # [rad/s], [Hz]


def observer(name: str, joints: int, cutoff: float = 20.0) -> FrictionCompensation:
    """The published observer: the wheel's whole curve at the filtered velocity."""
    # Almost no smoothing of its own: the slope of the curve is enough
    whole: dict[str, Any] = {"gain": 1.0, "over": True, "speed": 1e-6, "rest": 0.0}
    return FrictionCompensation(make(name, joints), filter=StateVariableFilter(cutoff), **whole)


@shared
def residuals() -> dict[str, float]:
    """Friction left while sliding, worst of four wheels, RMS [mN·m], by motion.

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
        sine = height * np.sin(2.0 * np.pi * rate * k * DT)
        follow = 0.2 * (sine - helped.filter.velocity) * (height > 0.0)
        joint.step(estimate + push - spring * joint.measured_position + follow)
        slides = (np.abs(joint.velocity) > 0.05) & (np.abs(joint.velocity) < 10.5)
        squares += np.where(slides, (joint.resistance - estimate) ** 2, 0.0)
        counts += slides
    mean = np.divide(squares, counts, out=np.full(n, np.nan), where=counts > 0.0)
    left = 1e3 * np.sqrt(mean).reshape(-1, 4).max(axis=1)
    return dict(zip(names, left.tolist(), strict=True))


@experiment("Y-47")
def per_wheel() -> Finding:
    """Every motion counts: the criterion names none."""
    left = residuals()
    judged = max(left.values())
    listed = max(left[f"spring {GAINS[0]:g}"], left[f"push {PUSHES[0]:+g}"])
    fine = sum(value < 5.0 for value in left.values())
    table = "; ".join(f"{name}: {value:.1f}" for name, value in left.items())
    note = (
        f"worst wheel; springs of X10 [N·m/rad], pushes of X11 [N·m], sines [rad/s, Hz]: {table} "
        f"mN·m; {fine} of {len(left)} stay below 5, the two of X10 and X11 as listed at "
        f"{listed:.1f}. What is left is the lag of the 20 Hz velocity filter times acceleration "
        "times slope of the curve"
    )
    return Finding(judged, bool(judged < 5.0), note)


@shared
def oscillations() -> tuple[Array, Array]:
    """All settings at once (cases × 3) and distance from the target, steps × cases, [rad]."""
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
    """The peak between each two crossings of zero, after the release, [rad]."""
    crossings = np.flatnonzero(np.diff(np.sign(path)) != 0)
    parts = np.split(path, crossings + 1)[1:]
    # still under way; what is left of a stop creeps a little
    if parts and abs(path[-1] - path[-200]) > 1e-3:
        parts.pop()
    return np.array([part[np.abs(part).argmax()] for part in parts if len(part) > 20])


@experiment("Y-48")
def oscillation() -> Finding:
    """A wheel released 2 rad from its target with 36 settings; peaks after each crossing."""
    cases, path = oscillations()
    peaks = {tuple(case): swings(path[:, k]) for k, case in enumerate(cases)}
    main = {share: peaks[0.02, share, WHEEL_INERTIA] for share in SHARES}
    eight = np.abs(main[1.0][:8])
    drift = 100.0 * float(np.abs(eight / 2.0 - 1.0).max()) if len(eight) == 8 else np.nan
    decays = all(_decaying(row) for (_, share, _), row in peaks.items() if share == 0.9)
    over = [row for (_, share, _), row in peaks.items() if share == 1.05]
    grows = all(len(row) > 2 and abs(row[-1]) > 2.0 for row in over)
    ok = len(main[0.0]) == 0 and decays and drift < 1.0
    swung = ", ".join(f"{peak:+.2f}" for peak in main[0.9][:3])
    note = (
        f"drift at Kp 0.02; α = 0.9: {swung} rad; {_table(peaks)}; α = 1.05 grows everywhere: "
        f"{grows} (not judged)"
    )
    figures = (Figure("Oscillation test, Kp = 0.02", _oscillation_plot),)
    return Finding(drift, bool(ok), note, figures=figures)


def _decaying(peaks: Array) -> bool:
    return bool((np.diff(np.abs(peaks)) < 0.0).all()) if len(peaks) > 1 else True


def _table(peaks: dict[tuple[float, ...], Array]) -> str:
    """Swings in 20 s for each Kp and J, one number per α."""
    rows = []
    for gain, inertia in itertools.product(GAINS, INERTIAS):
        counts = "/".join(str(len(peaks[gain, share, inertia])) for share in SHARES)
        rows.append(f"Kp {gain:g} J {inertia:g}: {counts}")
    return "swings for α = " + "/".join(f"{share:g}" for share in SHARES) + ": " + ", ".join(rows)


def _oscillation_plot():
    figure, axes = canvas("time [s]", "position [rad]", height=4.0)
    cases, path = oscillations()
    t = DT * np.arange(len(path))
    for k, (gain, share, inertia) in enumerate(cases):
        if gain == 0.02 and inertia == WHEEL_INERTIA:
            axes.plot(t, path[:, k] + 2.0, label=f"α = {share:g}")
    axes.legend()
    return figure


@shared
def breakaways() -> dict[tuple[float, float], tuple[float, float]]:
    """Travel [rad] and end speed [rad/s] after 3 s, by inertia and cut-off [Hz]; 0: none."""
    ends = {}
    inertias = np.array([WHEEL_INERTIA, 2.76e-2])
    for cutoff in (0.0, 5.0, 10.0, 20.0, 50.0):
        joint = OneJoint(make("lugre", 2), inertias, ENCODER)
        helped = observer("youbot-wheel-1", 2, cutoff or 20.0)
        for _ in range(3000):
            estimate = helped.measured(joint.measured_position, DT)
            joint.step(0.0594 + (estimate if cutoff else 0.0))
        for k, inertia in enumerate(inertias):
            ends[float(inertia), cutoff] = float(joint.position[k]), float(joint.velocity[k])
    return ends


@experiment("Y-49")
def base_breakaway() -> Finding:
    """A torque below stiction, on the wheel alone and with the base, with and without help."""
    ends = breakaways()
    off = max(travel for (_, cutoff), (travel, _) in ends.items() if not cutoff)
    on = {key: end for key, end in ends.items() if key[1]}
    least = min(travel for travel, _ in on.values())
    alone = {cutoff: travel for (J, cutoff), (travel, _) in on.items() if J == WHEEL_INERTIA}
    shown = ", ".join(f"{cutoff:g} Hz {travel:.1f} rad" for cutoff, travel in alone.items())
    speeds = [speed for _, speed in on.values()]
    note = (
        f"least travel with; without {1e3 * off:.2f} mrad; {shown}; end speed "
        f"{min(speeds):.1f}–{max(speeds):.1f} rad/s, not slow as in the thesis"
    )
    return Finding(least, bool(off < 2e-3 and least > 7.0), note)


TRUE: dict[str, Any] = {
    "coulomb": 0.045,
    "breakaway": 0.078,
    "stribeck_velocity": 0.12,
    "viscous": 0.025,
    "shape": 1.3,
}
"""The joint's own friction, other than any default, [N·m], [rad/s], [N·m·s/rad], [-]."""
STIFFNESS, DAMPING = 2.0, 0.15  # of the position loop [N·m/rad], [N·m·s/rad]; assumed
FASTEST = 0.05  # [rad/s]
ERRORS = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
"""Factors on the fitted curve: models that are wrong by this much."""
RIGHT = ERRORS.index(1.0)
LOOPS = (0.5, 1.0, 2.0)
"""Factors on the loop's stiffness and damping; each has its own run without compensation."""


@shared
def identified() -> Fit:
    """Fit to a minute of the protocol: 2 % torque noise, encoder counts, inertia unknown."""
    phases, rng = protocol.protocol(4.0, 0.3, minutes=1.0), generator("Y-61 fit")
    joint = make("lugre", **TRUE)
    return fit(protocol.simulate(phases, joint, WHEEL_INERTIA, WHEEL_TICK, 0.02, rng), "kfm")


def wrong_models(errors: Array) -> Friction:
    """The fitted model, one joint for each error."""
    model = identified().friction
    values = {name: np.full(len(errors), getattr(model, name)[0]) for name in TRUE}
    for name in ("coulomb", "breakaway", "viscous"):
        values[name] *= errors
    return make("kfm", len(errors), **values)


@shared
def tracked() -> tuple[Array, Array, Array]:
    """Errors (steps × joints, [rad]) while moving, then positions and added torques while holding.

    The joints: uncompensated, one for each loop; then for each loop and model error compensated
    from the reference; then likewise from the encoder.
    """
    alone, each = len(LOOPS), len(LOOPS) * len(ERRORS)
    joint = OneJoint(make("lugre", alone + 2 * each, **TRUE), faults=ENCODER)
    models = wrong_models(np.tile(ERRORS, len(LOOPS)))
    ahead, behind = FrictionCompensation(models), FrictionCompensation(models)
    strength = np.concatenate([LOOPS, np.repeat(LOOPS, len(ERRORS)), np.repeat(LOOPS, len(ERRORS))])
    errors, held, added = [], [], []
    omega, loop = 2.0 * np.pi * 0.2, StateVariableFilter(50.0)
    for k in range(11_000):
        moving = k < 7500
        target = FASTEST / omega * np.sin(omega * k * DT) if moving else 0.0
        rate = FASTEST * np.cos(omega * k * DT) if moving else 0.0
        position = joint.measured_position
        damping = DAMPING * (rate - loop.step(position, DT))
        loop_torque = strength * (STIFFNESS * (target - position) + damping)
        last = slice(alone + each, None)
        from_reference = ahead.torque(np.full(each, rate))
        from_encoder = behind.measured(position[last], DT, loop_torque[last])
        torque = np.concatenate([np.zeros(alone), from_reference, from_encoder])
        joint.step(loop_torque + torque)
        if moving and k >= 2500:
            errors.append(target - joint.position)
        elif k >= 9000:
            held.append(joint.position)
            added.append(torque)
    return np.array(errors), np.array(held), np.array(added)


def gains() -> tuple[Array, Array]:
    """Error without help [rad], by loop; its ratio to that with help, by source and loop."""
    rms = np.sqrt(np.mean(tracked()[0] ** 2, axis=0))
    alone = rms[: len(LOOPS)]
    return alone, alone[:, None] / rms[len(LOOPS) :].reshape(2, len(LOOPS), len(ERRORS))


@experiment("Y-61")
def low_speed_tracking() -> Finding:
    """A slow sine, then rest; over model errors, sources of velocity and loop gains."""
    alone, better = gains()
    _, held, added = tracked()
    motion, dither = float(np.ptp(held, axis=0).max()), float(np.ptp(added, axis=0).max())
    middle = LOOPS.index(1.0)
    ratio = float(better[0, middle, RIGHT])
    by_error = [dict(zip(ERRORS, row[middle], strict=True)) for row in better]
    enough = [[error for error, gain in row.items() if gain >= 4.0] for row in by_error]
    reach = " and ".join(f"{min(row):g} to {max(row):g}" if row else "none" for row in enough)
    tables = [", ".join(f"{e:g} → {gain:.1f}" for e, gain in row.items()) for row in by_error]
    sweep = f"reference velocity: {tables[0]}; encoder velocity: {tables[1]}"
    each = zip(LOOPS, *better[:, :, RIGHT], strict=True)
    loops = ", ".join(f"{factor:g} → {a:.1f} and {b:.1f}" for factor, a, b in each)
    values = identified().parameters
    note = (
        f"alone {1e3 * alone[middle]:.1f} mrad; 90 % of the fitted curve (Coulomb "
        f"{values['coulomb'].value:.4f}, viscous {values['viscous'].value:.4f}) fed forward; model "
        f"error → how much smaller, {sweep}; other loop gains, model as fitted, reference and "
        f"encoder: {loops}; at rest moves {1e6 * motion:.2g} µrad, torque varies "
        f"{1e3 * dither:.2g} mN·m; judged: the model as fitted, from the reference velocity; 4 × "
        f"holds for model errors of {reach}, from reference and encoder"
    )
    ok = ratio >= 4.0 and motion < WHEEL_TICK and dither < 1e-3
    return Finding(ratio, bool(ok), note, figures=(Figure("Tracking error", _errors_plot),))


def _errors_plot():
    figure, axes = canvas("time [s]", "error [mrad]", height=4.0)
    errors, _, _ = tracked()
    t = DT * np.arange(len(errors))
    middle, each = LOOPS.index(1.0), len(LOOPS) * len(ERRORS)
    at = len(LOOPS) + middle * len(ERRORS) + RIGHT
    for k, label in ((middle, "alone"), (at, "reference velocity"), (at + each, "encoder")):
        axes.plot(t, 1e3 * errors[:, k], label=label)
    axes.legend()
    return figure


MUTATIONS = Mutations()


@MUTATIONS.of(FrictionCompensation, "torque", "Y-48 Y-49")
def compensation_sign(_, self, velocity):
    """The friction estimate is subtracted instead of added."""
    return -self.gain * self.friction.quick(velocity)


@MUTATIONS.of(StateVariableFilter, "prepare", "Y-48")
def sluggish_velocity(whole, self, dt):
    """The velocity filter's cut-off is twenty times lower than it is set."""
    cutoff, self.cutoff = self.cutoff, self.cutoff / 20.0
    whole(self, dt)
    self.cutoff = cutoff


@MUTATIONS.of(FrictionCompensation, "torque", "Y-48")
def over_compensated(_, self, velocity):
    """15 % more friction is compensated than there is."""
    return 1.15 * self.friction.quick(velocity)


@MUTATIONS.of(FrictionCompensation, "torque", "Y-61")
def half_compensated(_, self, velocity):
    """Only half of the friction is compensated."""
    return 0.5 * self.friction.quick(velocity)


@MUTATIONS.of(FrictionCompensation, "measured", "Y-61")
def hammering(_, self, position, dt, commanded):
    """Compensation jumps with the sign of the command, half as much again as the friction."""
    return (
        1.5 * np.abs(self.friction.quick(np.full(self.friction.joints, 1e-3))) * np.sign(commanded)
    )
