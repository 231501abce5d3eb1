"""The arm measures itself: friction of all its joints from steady motion there and back, B-05."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.friction import Gears
from farhand.world.gear_friction import GearFriction
from farhand.world.world import Placed, World
from farhand_lab.cooperative import fit_gears
from farhand_lab.cooperative.bench import DEGREE, GRAVITY, PLANT_NS, gripping
from farhand_lab.harness import Finding, experiment, generator, shared
from farhand_lab.mutation import Mutation, patched

Array = np.ndarray


POSTURE = np.array([0.0, -20.0, 90.0, 20.0, 40.0, 0.0]) * DEGREE
"""Through which the arm passes at every speed, there and back, [rad]."""

SPEEDS = np.geomspace(0.01, 1.0, 10)
"""Of joints 1 to 5, [rad/s]."""

RATIOS = (1.0, 0.4, -0.6)
"""Speed of joint 6 over that of joint 5: three, so that the gear they share can be told from their
own, [-]."""

FRESH = -0.2
"""A ratio that is not measured, [-]."""

LEAD, WINDOW = 0.3, 0.4
"""Time to settle at a speed, and time over which the torque is averaged about the posture, [s]."""

STIFF = 300.0
"""Natural frequency of the joint servos, high enough that friction which falls with speed does not
stick, [rad/s]."""

NOISE = 0.002
"""Of the torque reading as a share of the joint's limit; assumed, [-]."""


def passed(velocity: Array) -> Array:
    """Mean torque of all joints on the way through the posture at a steady velocity [rad/s], [N·m]."""
    robot = gripping()
    begin = POSTURE - velocity * (LEAD + 0.5 * WINDOW)
    world = World({"arm": Placed(robot, q=begin)}, PLANT_NS, GRAVITY)
    world.add_friction("arm", GearFriction(Gears(set="reduced")))
    arm = Arm.of(robot, gravity=GRAVITY)
    arm.update(POSTURE, np.zeros(6))
    port, inertia, h = world.ports["arm"], np.diag(arm.M), PLANT_NS * 1e-9
    port.v[:] = velocity
    torque, total, settle = port.torque, np.zeros(6), round(LEAD / h)
    steps = round((LEAD + WINDOW) / h)
    for step in range(steps):
        goal = begin + velocity * (step * h)
        torque[:] = arm.gravity + inertia * (
            STIFF**2 * (goal - port.q) + 2.0 * STIFF * (velocity - port.v)
        )
        world.advance((step + 1) * PLANT_NS)
        if step >= settle:
            total += torque
    return total / (steps - settle)


@shared
def measured() -> tuple[Array, Array]:
    """Velocities and friction of all joints, n × 6, [rad/s] and [N·m]."""
    rng, noise = generator("torque noise"), NOISE * gripping().limits.torque
    velocities = np.array(
        [np.array([v, v, v, v, v, ratio * v]) for v in SPEEDS for ratio in RATIOS]
    )
    there, back = (np.array([passed(sign * v) for v in velocities]) for sign in (1.0, -1.0))
    read = [
        torque + rng.normal(size=torque.shape) * noise / np.sqrt(WINDOW / 0.004)
        for torque in (there, back)
    ]
    return velocities, fit_gears.there_and_back(*read)


@experiment("B-05")
def friction_of_the_arm() -> Finding:
    """The whole arm passes one posture at ten speeds, there and back, with three ratios of the wrist's speeds."""
    velocities, friction = measured()
    found, truth = fit_gears.fit_gears(velocities, friction), Gears(set="reduced")
    grid = np.geomspace(0.02, 1.0, 40)[:, None]
    worst = np.zeros(6)
    for ratio in (1.0, FRESH):
        v = grid * np.array([1.0, 1.0, 1.0, 1.0, 1.0, ratio])
        ours, true = found.curve(v), truth.curve(v)
        worst = np.maximum(
            worst, 100.0 * np.abs(ours - true).max(axis=0) / np.abs(true).max(axis=0)
        )
    raw = 100.0 * float(
        (np.abs(friction - truth.curve(velocities)) / np.abs(friction).max(axis=0)).max()
    )
    names = ", ".join(f"{share:.2f}" for share in worst)
    note = f"joints 1 to 6: {names} %; single readings {raw:.2f} % off at most"
    return Finding(float(worst.max()), float(worst.max()) <= 3.0, note)


MUTATIONS = [
    Mutation(
        "one-way-only",
        "friction is read on the way there alone, with weight and spring in it",
        ("B-05",),
        lambda: patched(fit_gears, "there_and_back", lambda there, back: there),
    ),
    Mutation(
        "shared-gear-forgotten",
        "the fit lets joints 5 and 6 share a gear that turns with joint 5 alone",
        ("B-05",),
        lambda: patched(fit_gears, "WRIST", np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])),
    ),
]
"""Parts broken on purpose."""
