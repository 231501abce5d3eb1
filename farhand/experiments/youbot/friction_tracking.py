"""Low-speed tracking of a joint with friction compensated by a model fitted to noisy data."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure as Plot
from scipy.optimize import least_squares

from farhand.experiments.harness import Figure, Finding, experiment, generator, shared
from farhand.experiments.mutation import Mutation, patched
from farhand.friction import Friction, make
from farhand.friction.compensation import Compensation
from farhand.friction.velocity import StateVariableFilter
from farhand.plants.one_joint import WHEEL_TICK, DriveFaults, OneJoint

Array = np.ndarray

GROUP = "youbot"
DT = 1e-3
TRUE: dict[str, Any] = {"coulomb": 0.045, "breakaway": 0.078, "stribeck_velocity": 0.12, "viscous": 0.025, "shape": 1.3}
"""The joint's own friction, other than any default, [N·m], [rad/s], [N·m·s/rad], [-]."""
STIFFNESS, DAMPING = 2.0, 0.15  # of the position loop [N·m/rad], [N·m·s/rad]
FASTEST = 0.05  # [rad/s]
ERRORS = (0.7, 0.8, 0.9, 1.0, 1.1)
"""The fitted curve is multiplied by these: a model that is wrong by so much."""


@shared
def fitted() -> Friction:
    """KFM fitted to steady torques of the joint, 2 % noise, encoder of 4000 ticks per motor turn."""
    rng = generator("Y-61 fit")
    speeds = np.concatenate([np.geomspace(0.02, 4.0, 30), -np.geomspace(0.02, 4.0, 30)])
    seconds = 3.0
    seen = np.round(speeds * seconds / WHEEL_TICK) * WHEEL_TICK / seconds
    torque = make("lugre", **TRUE).steady(speeds) * (1.0 + 0.02 * rng.standard_normal(len(speeds)))
    names = ("coulomb", "viscous", "stribeck_velocity", "shape")

    def model(x: Array) -> Friction:
        return make("kfm", **dict(zip(names, x[:4], strict=True)), breakaway=x[0] + x[4])

    start, low, high = [0.05, 0.01, 0.1, 1.5, 0.03], [1e-3, 0.0, 0.01, 0.5, 0.0], [1.0, 1.0, 2.0, 3.0, 1.0]
    found = least_squares(lambda x: (model(x).steady(seen) - torque) / np.abs(torque), start, bounds=(low, high))
    return model(found.x)


def wrong_models() -> Friction:
    """The fitted model, one joint for each error."""
    model = fitted()
    values = {name: np.full(len(ERRORS), getattr(model, name)[0]) for name in TRUE}
    for name in ("coulomb", "breakaway", "viscous"):
        values[name] *= ERRORS
    return make("kfm", len(ERRORS), **values)


@shared
def tracked() -> tuple[Array, Array, Array]:
    """Errors (steps × joints, [rad]) while moving, then positions and added torques while holding.

    The joints: uncompensated, then compensated by each wrong model from the reference, then from the encoder.
    """
    n = len(ERRORS)
    joint = OneJoint(make("lugre", 1 + 2 * n, **TRUE), faults=DriveFaults(encoder_step=WHEEL_TICK))
    ahead, behind = Compensation(wrong_models()), Compensation(wrong_models())
    errors, held, added = [], [], []
    omega, loop = 2.0 * np.pi * 0.2, StateVariableFilter(50.0)
    for k in range(11_000):
        moving = k < 7500
        wanted = FASTEST / omega * np.sin(omega * k * DT) if moving else 0.0
        rate = FASTEST * np.cos(omega * k * DT) if moving else 0.0
        position = joint.measured_position
        asked = STIFFNESS * (wanted - position) + DAMPING * (rate - loop.step(position, DT))
        help_ahead, help_behind = ahead.torque(np.full(n, rate)), behind.measured(position[1 + n :], DT, asked[1 + n :])
        torque = np.concatenate([[0.0], help_ahead, help_behind])
        joint.step(asked + torque)
        if moving and k >= 2500:
            errors.append(wanted - joint.position)
        elif k >= 9000:
            held.append(joint.position)
            added.append(torque)
    return np.array(errors), np.array(held), np.array(added)


@experiment(
    "Y-61",
    "Low-speed tracking of a joint with fitted compensation",
    group=GROUP,
    unit="×",
    criterion="RMS tracking error at ≤ 0.05 rad/s at least 4 × smaller with compensation fitted from noisy data, no "
    "limit cycle at rest, over a sweep of model error",
    source="step 4 of the project, must show; the base at 0.05 m/s: Y-50",
)
def low_speed_tracking() -> Finding:
    """A sinusoid under a PD loop, then five seconds of holding; each model error with both sources of velocity."""
    errors, held, added = tracked()
    rms = np.sqrt(np.mean(errors**2, axis=0))
    better = (rms[0] / rms[1:]).reshape(2, len(ERRORS))
    right = ERRORS.index(1.0)
    motion = float(np.ptp(held, axis=0).max())
    dither = float(np.ptp(added, axis=0).max())
    ok = better[0, right] >= 4.0 and better.min() > 1.5 and motion < WHEEL_TICK and dither < 1e-3
    sweep = "; ".join(
        f"{source}: " + ", ".join(f"{error:g} → {gain:.1f}" for error, gain in zip(ERRORS, gains, strict=True))
        for source, gains in zip(("reference velocity", "encoder velocity"), better, strict=True)
    )
    rest = f"at rest moves {1e6 * motion:.2g} µrad, torque varies {1e3 * dither:.2g} mN·m"
    note = f"alone {1e3 * rms[0]:.1f} mrad; model error → how much smaller, {sweep}; {rest}"
    return Finding(float(better[0, right]), bool(ok), note, figures=(Figure("Tracking error", _errors_plot),))


def _errors_plot() -> Plot:
    errors, _, _ = tracked()
    figure = Plot(figsize=(7, 4))
    axes, t = figure.add_subplot(), DT * np.arange(len(errors))
    for k, label in (
        (0, "alone"),
        (1 + ERRORS.index(1.0), "reference velocity"),
        (1 + len(ERRORS) + ERRORS.index(1.0), "encoder"),
    ):
        axes.plot(t, 1e3 * errors[:, k], label=label)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("error [mrad]")
    axes.legend()
    return figure


def _half(self: Compensation, velocity: Array) -> Array:
    return 0.5 * self.friction.quick(velocity)


def _hammer(self: Compensation, position: Array, dt: float, asked: Array) -> Array:
    return 1.5 * np.abs(self.friction.quick(np.full(self.friction.joints, 1e-3))) * np.sign(asked)


MUTATIONS = [
    Mutation(
        "half-compensated",
        "only half of the friction is compensated",
        ("Y-61",),
        lambda: patched(Compensation, "torque", _half),
    ),
    Mutation(
        "hammering",
        "compensation jumps with the sign of the command, half as much again as the friction",
        ("Y-61",),
        lambda: patched(Compensation, "measured", _hammer),
    ),
]
