"""The arm measures itself: friction of all joints from steady motion there and back, B-05."""

from __future__ import annotations

import sys

import numpy as np
from scipy.optimize import least_squares

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.friction import Gears, Waiboer
from farhand.rigs.cooperative.arms import gripping_robot
from farhand.spatial import Array
from farhand.world.joints import GearFriction
from farhand.world.world import Placed, World
from farhand_lab.cooperative.bench import DEGREE, GRAVITY, PLANT_NS
from farhand_lab.harness import Finding, experiment, generator, shared
from farhand_lab.mutation import Mutation

WRIST = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
"""How terms a, b and c turn with joints 5 and 6."""

MIN_SPEEDS = 6
"""One more than the parameters of a term."""

LOW = np.array([1e-3, 1e-3, 0.2, 1e-3, -0.6])
HIGH = np.array([1e3, 3.0, 2.0, 1e3, 0.9])
START = np.array([1.0, 0.08, 0.7, 1.0, 0.3])
"""Bounds and start of a term: dry part, its speed [rad/s] and shape, drag and its shape; dry part
and drag as shares of the friction."""


def there_and_back(there: Array, back: Array) -> Array:
    """Friction of joints that pass one posture at equal speeds both ways, [N·m].

    It is half the difference of the torques: weight, springs and centrifugal terms cancel.
    """
    return 0.5 * (np.asarray(there, dtype=float) - np.asarray(back, dtype=float))


def fit_gears(velocity: Array, friction: Array) -> Gears:
    """Fit gear terms to the friction [N·m] of all joints at steady speeds [rad/s], both n × 6.

    Joints 1 to 4 have a term each. Joints 5 and 6 have one each and share one that turns with the
    sum of their speeds; the data separates the three only if the ratio of the two speeds changes.
    The term of joint 6 has the form of the others: below a few rad/s its film acts as a drag.
    """
    v, F = np.asarray(velocity, dtype=float), np.asarray(friction, dtype=float)
    if v.shape != F.shape or v.ndim != 2 or v.shape[1] != 6 or len(v) < MIN_SPEEDS:
        shapes = f"{v.shape} and {F.shape}"
        raise BadValue(f"gears need n × 6 speeds and torques with n ≥ {MIN_SPEEDS}, not {shapes}")
    rows = [_fit(v[:, [j]], F[:, [j]], np.eye(1)) for j in range(4)]
    rows.append(_fit(v[:, 4:], F[:, 4:], WRIST))
    gears = Gears()
    gears.terms = terms_of(np.vstack(rows))
    return gears


def terms_of(rows: Array) -> Waiboer:
    """Terms from rows of dry part, its speed and shape, drag and its shape."""
    names = ("asperity", "asperity_speed", "asperity_shape", "viscous", "viscous_shape")
    return Waiboer(joints=len(rows), **{name: rows[:, k] for k, name in enumerate(names)})


def _fit(v: Array, F: Array, directions: Array) -> Array:
    """Terms that turn with ``directions`` @ v, one row of five parameters each."""
    u, scale, count = v @ directions.T, np.abs(F).max(axis=0), len(directions)
    size = float(scale.max())

    def unpacked(x: Array) -> Array:
        rows = x.reshape(count, 5).copy()
        rows[:, [0, 3]] *= size
        return rows

    def residual(x: Array) -> Array:
        return ((terms_of(unpacked(x)).curve(u) @ directions - F) / scale).ravel()

    start = np.tile(START * [1.0 / count, 1.0, 1.0, 1.0 / count, 1.0], count)
    bounds = np.tile(LOW * [1.0 / size, 1, 1, 1.0 / size, 1], count), np.tile(HIGH, count)
    return unpacked(least_squares(residual, start, bounds=bounds, x_scale="jac", max_nfev=400).x)


POSTURE = np.array([0.0, -20.0, 90.0, 20.0, 40.0, 0.0]) * DEGREE
"""Passed at every speed, there and back, [rad]."""

SPEEDS = np.geomspace(0.01, 1.0, 10)
"""Of joints 1 to 5, [rad/s]."""

RATIOS = (1.0, 0.4, -0.6)
"""Speed of joint 6 over that of joint 5; three, to separate the gear they share, [-]."""

UNSEEN_RATIO = -0.2
"""A ratio that is not measured, [-]."""

LEAD, WINDOW = 0.3, 0.4
"""Time to settle at a speed, and time over which the torque is averaged, [s]."""

SERVO_FREQUENCY = 300.0
"""Natural frequency of the joint servos; a lower one sticks at falling friction, [rad/s]."""

NOISE = 0.002
"""Noise of the torque reading as a share of the joint's limit; assumed, [-]."""


def passed(velocity: Array) -> Array:
    """Mean torque of all joints through the posture at a steady velocity [rad/s], [N·m]."""
    robot = gripping_robot()
    begin = POSTURE - velocity * (LEAD + 0.5 * WINDOW)
    world = World({"arm": Placed(robot, q=begin)}, PLANT_NS, GRAVITY)
    world.add_friction("arm", GearFriction(Gears(set="reduced")))
    arm = Arm.of(robot, gravity=GRAVITY)
    arm.update(POSTURE, np.zeros(6))
    port, inertia, h = world.ports["arm"], np.diag(arm.M), PLANT_NS * 1e-9
    port.v[:] = velocity
    torque, total, w = port.torque, np.zeros(6), SERVO_FREQUENCY
    settle, steps = round(LEAD / h), round((LEAD + WINDOW) / h)
    for step in range(steps):
        goal = begin + velocity * (step * h)
        servo = w**2 * (goal - port.q) + 2.0 * w * (velocity - port.v)
        torque[:] = arm.gravity + inertia * servo
        world.advance((step + 1) * PLANT_NS)
        if step >= settle:
            total += torque
    return total / (steps - settle)


@shared
def measured() -> tuple[Array, Array]:
    """Velocities and friction of all joints, n × 6, [rad/s] and [N·m]."""
    rng, noise = generator("torque noise"), NOISE * gripping_robot().limits.torque
    velocities = np.array([[v, v, v, v, v, ratio * v] for v in SPEEDS for ratio in RATIOS])
    torques = [np.array([passed(sign * v) for v in velocities]) for sign in (1.0, -1.0)]
    there, back = (
        torque + rng.normal(size=torque.shape) * noise / np.sqrt(WINDOW / 0.004)
        for torque in torques
    )
    return velocities, there_and_back(there, back)


@experiment("B-05")
def friction_of_the_arm() -> Finding:
    """One posture at ten speeds, there and back, with three ratios of the wrist's speeds."""
    velocities, friction = measured()
    fit, truth = fit_gears(velocities, friction), Gears(set="reduced")
    grid = np.geomspace(0.02, 1.0, 40)[:, None]
    worst = np.zeros(6)
    for ratio in (1.0, UNSEEN_RATIO):
        v = grid * np.array([1.0, 1.0, 1.0, 1.0, 1.0, ratio])
        true = truth.curve(v)
        off = 100.0 * np.abs(fit.curve(v) - true).max(axis=0) / np.abs(true).max(axis=0)
        worst = np.maximum(worst, off)
    shares = np.abs(friction - truth.curve(velocities)) / np.abs(friction).max(axis=0)
    note = (
        f"joints 1 to 6: {', '.join(f'{share:.2f}' for share in worst)} %; "
        f"single readings {100.0 * float(shares.max()):.2f} % off at most"
    )
    return Finding(float(worst.max()), float(worst.max()) <= 3.0, note)


_HERE = sys.modules[__name__]
MUTATIONS = [
    Mutation(
        "one-way-only", "friction is read on the way there alone, with weight and spring", ("B-05",)
    ).patch(_HERE, "there_and_back", lambda there, back: there),
    Mutation("shared-gear-forgotten", "the shared gear turns with joint 5 alone", ("B-05",)).patch(
        _HERE, "WRIST", np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    ),
]
