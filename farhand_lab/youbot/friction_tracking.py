"""Low-speed tracking of a joint with friction compensated by a model fitted to noisy data."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure as Plot

from farhand.friction import Friction, make
from farhand.friction.compensation import FrictionCompensation
from farhand.friction.fit import protocol
from farhand.friction.fit.fit import Fit, fit
from farhand.friction.velocity import StateVariableFilter
from farhand.plants.simulated.one_joint import WHEEL_INERTIA, WHEEL_TICK, DriveFaults, OneJoint
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.mutation import Mutation, patched

Array = np.ndarray

DT = 1e-3
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
"""The fitted curve is multiplied by these: a model that is wrong by so much."""
RIGHT = ERRORS.index(1.0)
LOOPS = (0.5, 1.0, 2.0)
"""Stiffness and damping of the loop are multiplied by these; each has its own run without
compensation."""


@shared
def identified() -> Fit:
    """A minute of the protocol on the joint: 2 % torque noise, 4000 ticks per motor turn, inertia not given."""
    phases = protocol.protocol(4.0, 0.3, minutes=1.0)
    log = protocol.simulate(
        phases, make("lugre", **TRUE), WHEEL_INERTIA, WHEEL_TICK, 0.02, generator("Y-61 fit")
    )
    return fit(log, "kfm")


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
    joint = OneJoint(
        make("lugre", alone + 2 * each, **TRUE), faults=DriveFaults(encoder_step=WHEEL_TICK)
    )
    models = wrong_models(np.tile(ERRORS, len(LOOPS)))
    ahead, behind = FrictionCompensation(models), FrictionCompensation(models)
    strength = np.concatenate([LOOPS, np.repeat(LOOPS, len(ERRORS)), np.repeat(LOOPS, len(ERRORS))])
    errors, held, added = [], [], []
    omega, loop = 2.0 * np.pi * 0.2, StateVariableFilter(50.0)
    for k in range(11_000):
        moving = k < 7500
        wanted = FASTEST / omega * np.sin(omega * k * DT) if moving else 0.0
        rate = FASTEST * np.cos(omega * k * DT) if moving else 0.0
        position = joint.measured_position
        asked = strength * (
            STIFFNESS * (wanted - position) + DAMPING * (rate - loop.step(position, DT))
        )
        seen = slice(alone + each, None)
        helped = ahead.torque(np.full(each, rate)), behind.measured(position[seen], DT, asked[seen])
        torque = np.concatenate([np.zeros(alone), *helped])
        joint.step(asked + torque)
        if moving and k >= 2500:
            errors.append(wanted - joint.position)
        elif k >= 9000:
            held.append(joint.position)
            added.append(torque)
    return np.array(errors), np.array(held), np.array(added)


def gains() -> tuple[Array, Array]:
    """Tracking error without [rad], by loop; and how much smaller it is, by source, loop and model error."""
    rms = np.sqrt(np.mean(tracked()[0] ** 2, axis=0))
    alone = rms[: len(LOOPS)]
    return alone, alone[:, None] / rms[len(LOOPS) :].reshape(2, len(LOOPS), len(ERRORS))


@experiment("Y-61")
def low_speed_tracking() -> Finding:
    """A sinusoid under a PD loop, then five seconds of holding; model errors, sources of velocity, and loop gains."""
    alone, better = gains()
    _, held, added = tracked()
    motion, dither = float(np.ptp(held, axis=0).max()), float(np.ptp(added, axis=0).max())
    middle = LOOPS.index(1.0)
    found = float(better[0, middle, RIGHT])
    enough = [
        [e for e, gain in zip(ERRORS, row[middle], strict=True) if gain >= 4.0] for row in better
    ]
    reach = " and ".join(
        f"{min(errors):g} to {max(errors):g}" if errors else "none" for errors in enough
    )
    sweep = "; ".join(
        f"{source}: "
        + ", ".join(
            f"{error:g} → {gain:.1f}" for error, gain in zip(ERRORS, row[middle], strict=True)
        )
        for source, row in zip(("reference velocity", "encoder velocity"), better, strict=True)
    )
    each = zip(LOOPS, *better[:, :, RIGHT], strict=True)
    loops = ", ".join(
        f"{factor:g} → {ahead:.1f} and {behind:.1f}" for factor, ahead, behind in each
    )
    values = identified().parameters
    note = (
        f"alone {1e3 * alone[middle]:.1f} mrad; 90 % of the fitted curve (Coulomb "
        f"{values['coulomb'].value:.4f}, viscous "
        f"{values['viscous'].value:.4f}) fed forward; model error → how much smaller, {sweep}; other loop "
        "gains, model as "
        f"fitted, reference and encoder: {loops}; at rest moves {1e6 * motion:.2g} µrad, torque varies "
        f"{1e3 * dither:.2g} mN·m; judged: the model as fitted, from the reference velocity; 4 × holds for "
        "model errors "
        f"of {reach}, from reference and encoder"
    )
    ok = found >= 4.0 and motion < WHEEL_TICK and dither < 1e-3
    return Finding(found, bool(ok), note, figures=(Figure("Tracking error", _errors_plot),))


def _errors_plot() -> Plot:
    errors, _, _ = tracked()
    figure = Plot(figsize=(7, 4))
    axes, t = figure.add_subplot(), DT * np.arange(len(errors))
    middle, each = LOOPS.index(1.0), len(LOOPS) * len(ERRORS)
    at = len(LOOPS) + middle * len(ERRORS) + RIGHT
    for k, label in ((middle, "alone"), (at, "reference velocity"), (at + each, "encoder")):
        axes.plot(t, 1e3 * errors[:, k], label=label)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("error [mrad]")
    axes.legend()
    return figure


def _half(self: FrictionCompensation, velocity: Array) -> Array:
    return 0.5 * self.friction.quick(velocity)


def _hammer(self: FrictionCompensation, position: Array, dt: float, asked: Array) -> Array:
    return 1.5 * np.abs(self.friction.quick(np.full(self.friction.joints, 1e-3))) * np.sign(asked)


MUTATIONS = [
    Mutation(
        "half-compensated",
        "only half of the friction is compensated",
        ("Y-61",),
        lambda: patched(FrictionCompensation, "torque", _half),
    ),
    Mutation(
        "hammering",
        "compensation jumps with the sign of the command, half as much again as the friction",
        ("Y-61",),
        lambda: patched(FrictionCompensation, "measured", _hammer),
    ),
]
