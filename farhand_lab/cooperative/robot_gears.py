"""What resists the joints: gear friction F-09, F-10 and X-04, and the balance spring's identification F-12 and X-01."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.control.tool.pose_loop import PoseLoop
from farhand.friction import GEAR_SETS, Gears, Waiboer
from farhand.friction.models.implicit import advance
from farhand.friction.models.waiboer import gear_table
from farhand.robots import load_robot
from farhand.robots.springs import CubicSpring
from farhand.world.gear_friction import GearFriction
from farhand_lab.cooperative.bench import (
    DEGREE,
    GAINS,
    GRAVITY,
    ArmBench,
    BenchLog,
    BenchSetup,
    tracked,
)
from farhand_lab.harness import Finding, experiment, shared
from farhand_lab.mutation import Mutation, changed

Array = np.ndarray


TABLE = (
    ("zengin", 1e-9, (55.32, 30.85, 40.48, 168.43, 3.77, 0.36)),
    ("zengin", 0.5, (126.29, 47.52, 39.69, 15.92, 21.67, 8.03)),
    ("akbas", 1e-9, (30.0, 10.0, 20.0, 20.0, 2.0, 1.5)),
    ("akbas", 0.1, (37.45, 4.61, 9.94, 4.04, 4.91, 2.34)),
    ("akbas", 1.0, (120.05, 50.0, 20.09, 10.0, 17.71, 7.46)),
    ("reduced", 1e-9, (18.0, 6.0, 12.0, 12.0, 1.2, 0.9)),
)
"""Set, speed of all joints [rad/s] and torques [N·m]: sources/cooperative §2.6,
derived; 0⁺ is 1e-9 rad/s there."""

NOISE = 0.05
"""Noise of the raw joint velocities where friction compensation is judged; assumed, [rad/s]."""


@experiment("F-09")
def gears() -> Finding:
    """Zengin's joint 4 falls so steeply that 0⁺ has to be named: 168.44 N·m at zero is 168.43 at 1e-9 rad/s."""
    worst = max(
        float(np.abs(Gears(set=s).steady(np.full(6, v)) - row).max()) for s, v, row in TABLE
    )
    grid = np.linspace(-3.0, 3.0, 61)
    v = np.zeros((61, 61, 6))
    v[..., 4], v[..., 5] = np.meshgrid(grid, grid)
    v[..., :4] = v[..., 4:5]
    power, odd = np.inf, 0.0
    for name in GEAR_SETS:
        model = Gears(set=name)
        power = min(power, float((model.curve(v) * v).sum(axis=-1).min()))
        odd = max(odd, float(np.abs(model.curve(v) + model.curve(-v)).max()))
    return Finding(
        worst,
        worst <= 0.01 and power >= 0.0 and odd == 0.0,
        f"least power {power:.3g} W; odd to {odd:g}",
    )


def _creep(model: str) -> float:
    """How far joint 4 wanders in 5 s without any command, [°], when the controller believes in these gears."""
    from farhand.control.tool.computed_torque import ComputedTorque

    setup = BenchSetup(gears_model=model, noise=NOISE)
    idle = PoseLoop(kp=0.0, kd=0.0, kpo=0.0, kdo=0.0)
    log = ArmBench(
        setup, ComputedTorque(setup.controllers_model(), idle, setup.controllers_gears())
    ).run(5.0)
    return float(np.abs(log.q[:, 3] - log.q[0, 3]).max()) / DEGREE


@shared
def moved(compensated: bool, oriented: bool) -> BenchLog:
    """TA.1 with or without friction compensation, with the orientation loop or, as published, without any of it.

    The published model has no rotors, so without the loop it asks the wrist for next to nothing;
    where the loop is judged the rotors are known, or it could not turn the wrist either way.
    """
    gains = GAINS["G7"] if oriented else {**GAINS["G7"], "kpo": 0.0, "kdo": 0.0}
    gears = "reduced" if compensated else ""
    return tracked("TA.1", PoseLoop(**gains), BenchSetup(gears_model=gears, rotors=oriented))


@experiment("F-10", "X-04")
def friction_compensation() -> dict[str, Finding]:
    """Noisy velocities; the value is the creep of joint 4 under too much compensation."""
    over, right = _creep("akbas"), _creep("reduced")
    still = moved(False, False)
    stuck = float(np.abs(still.q[:, 4:] - still.q[0, 4:]).max()) / DEGREE
    gain = moved(False, True).metrics[2] / moved(True, True).metrics[2]
    ok = over > 1.0 and right < 0.1 and stuck < 1.0 and gain >= 2.0
    note = f"creep {over:.2f}° with 20 N·m, {right:.3f}° with 12; joints 5, 6 move {stuck:.3f}°; error falls {gain:.1f} ×"
    return {id: Finding(over, ok, note) for id in ("F-10", "X-04")}


def _joint_2(n: int) -> Waiboer:
    """Joint 2's gear, n times."""
    table = {
        key: np.full(n, value[1]) for key, value in gear_table().items() if isinstance(value, list)
    }
    dry = {key: np.full(n, value[1]) for key, value in gear_table()["reduced"].items()}
    return Waiboer(joints=n, **table, **dry)


def _weight(q2: Array) -> Array:
    """Q₂ with the other joints at (0, ·, 90, 0, 20, 0)°, [N·m]."""
    arm, torques = Arm.of(load_robot("rx160"), gravity=GRAVITY), []
    for angle in q2:
        arm.update(np.array([0.0, angle, 90 * DEGREE, 0.0, 20 * DEGREE, 0.0]), np.zeros(6))
        torques.append(arm.gravity[1] - arm.spring[1])
    return np.array(torques)


def settled(wanted: Array, side: float) -> tuple[Array, Array]:
    """Angle and holding torque of joint 2 that came to each angle [rad] from below (−1) or above (+1) and stood 1 s.

    All stops at once, each its own joint: 47 kg·m², PD against the angle, friction solved with the
    inertia.
    """
    spring = load_robot("rx160").springs[1]
    n, dt, inertia = len(wanted), 1e-3, np.full(len(wanted), 47.0)
    gear, q, v = _joint_2(n), wanted + side * 5 * DEGREE, np.zeros(n)
    grid = np.linspace(-2.4, 2.4, 400)
    weight = _weight(grid)
    load = weight + np.array([spring.torque(a) for a in grid])
    means = np.zeros(n)
    for step in range(3000):
        goal = wanted + side * 5 * DEGREE * max(0.0, 1.0 - step * dt)
        torque = np.interp(q, grid, weight) + 4e4 * (goal - q) - 2e3 * v
        v, _ = advance(gear, v, dt, torque - np.interp(q, grid, load), inertia)
        q = q + dt * v
        if step >= 2000:
            means += torque / 1000.0
    return q, means


@experiment("F-12", "X-01")
def spring_identification() -> dict[str, Finding]:
    """41 stops, each reached from below and from above; the mean of both holding torques less the weight."""
    stops = np.arange(-100, 101, 5) * DEGREE
    (q_low, low), (q_high, high) = settled(stops, -1.0), settled(stops, 1.0)
    q = 0.5 * (q_low + q_high)
    fitted, truth = (
        CubicSpring.fit(q, 0.5 * (low + high) - _weight(q)),
        load_robot("rx160").springs[1],
    )
    assert isinstance(truth, CubicSpring)
    c, t = np.array(fitted.coefficients), np.array(truth.coefficients)
    grid = np.linspace(-100, 100, 201) * DEGREE
    worst = max(abs(fitted.torque(a) - truth.torque(a)) for a in grid)
    close = (abs(c[[1, 3]] / t[[1, 3]] - 1.0) < 0.03).all() and (
        abs(c[[0, 2]] - t[[0, 2]]) < 3.0
    ).all()
    skewed, even = _skew("unit-1"), _skew("rx160")
    note = (
        f"({c[3]:.2f}, {c[2]:.2f}, {c[1]:.2f}, {c[0]:.2f}) for ({t[3]:g}, {t[2]:g}, {t[1]:g}, {t[0]:g}); mean error of "
        f"joint 2 on a symmetric motion {skewed:.2f}° with unit 1's curve, {even:.3f}° with its own"
    )
    ok = bool(close) and worst < 10.0 and abs(skewed) > 5.0 * abs(even) and abs(skewed) > 0.02
    return {id: Finding(worst, ok, note) for id in ("F-12", "X-01")}


def _skew(model: str) -> float:
    """Mean error of joint 2 swinging ±20° under PD with a spring compensated by another unit's curve, [°]."""
    plant, known = load_robot("rx160").springs[1], load_robot("rx160", model).springs[1]
    gear, q, v, dt, errors = _joint_2(1), np.zeros(1), np.zeros(1), 2e-3, []
    for step in range(4000):
        t = step * dt
        goal, rate = 20 * DEGREE * np.sin(1.57 * t), 20 * DEGREE * 1.57 * np.cos(1.57 * t)
        torque = (
            47.0 * (100.0 * (goal - q) + 20.0 * (rate - v))
            + known.torque(float(q[0]))
            - plant.torque(float(q[0]))
        )
        v, _ = advance(gear, v, dt, torque, np.full(1, 47.0))
        q = q + dt * v
        if step >= 2000:  # one whole period
            errors.append(float(goal - q[0]))
    return float(np.mean(errors)) / DEGREE


MUTATIONS = [
    Mutation(
        "gears-not-coupled",
        "joints 5 and 6 share no gear",
        ("F-09",),
        lambda: changed(
            Gears,
            "curve",
            lambda old: lambda self, v: self.terms.curve(v @ self.directions.T)[..., :6],
        ),
    ),
    Mutation(
        "no-stiction",
        "the plant's gears resist motion but do not hold a joint at rest",
        ("X-04",),
        lambda: changed(GearFriction, "at", lambda old: lambda self, v, dry, torque: None),
    ),
    Mutation(
        "weight-left-in",
        "the arm's weight is not taken off the holding torque",
        ("X-01",),
        lambda: changed(
            CubicSpring, "fit", lambda old: lambda q, torque: old(q, torque + _weight(q))
        ),
    ),
]
"""Parts broken on purpose."""
