"""Speed of the regulator, an arm of another make, and the compiled model against the generic one.

Measured times are judged and not printed, since a value must not change from run to run;
``farhand bench`` prints them.
"""

from __future__ import annotations

import time

import numpy as np

import farhand_lab.benchmarks.kinematics
from farhand.arm import Arm
from farhand.coupling import virtual_constraints
from farhand.robots import Robot, load_robot
from farhand.robots.edits import scale_mass, set_damping
from farhand.spatial import adjoint, rotation_vector
from farhand_lab.benchmarks.kinematics import generic
from farhand_lab.benchmarks.measure import Benchmark, measure
from farhand_lab.dh import DHArm
from farhand_lab.dual_arm.mutations import FOLLOWER, LEADER
from farhand_lab.dual_arm.pair import PLACES, REST, VISCOUS, CoupledArms, largest, rig_pair, states
from farhand_lab.dual_arm.signals import coupled_rig, position_error
from farhand_lab.harness import Finding, experiment, generator, shared
from farhand_lab.mutation import Mutation, Mutations
from farhand_lab.trial import run

MEASURES_TIME = True
"""Whether these experiments read the wall clock."""

Array = np.ndarray

PUBLISHED_RATE = 47.14  # of the regulator in free space, [Hz]


@experiment("D-54")
def cycle_time() -> Finding:
    """One cycle (both models, the law) in plain NumPy and as it runs in the tick: one u."""
    pair, wrenches = _moving_pair(), generator("cycle").normal(size=(2, 6))
    pair.a.wrench, pair.b.wrench = wrenches
    motion = [(arm.q.copy(), arm.v.copy()) for arm in pair.arms]

    def compiled() -> None:
        for arm, (q, v) in zip(pair.arms, motion, strict=True):
            arm.update(q, v)
        pair.law.step(pair.a, pair.b, 1e-3)

    def plain() -> None:
        _regulator(pair, motion, wrenches)

    same = largest(_regulator(pair, motion, wrenches) - pair.multiplier())
    times = measure(Benchmark("cycle", lambda: (compiled, None, {"NumPy": plain}), calls=25))
    slow, quick = 1e-6 * times["peers"]["NumPy"], 1e-6 * times["value"]  # [s]
    met = {
        "NumPy ≤ 2 ms": slow <= 2e-3,
        "compiled ≤ 1 ms": quick <= 1e-3,
        "≥ 10 × 47 Hz": quick <= 0.1 / PUBLISHED_RATE,
    }
    value = ", ".join(text if yes else f"not {text}" for text, yes in met.items())
    ok = all(met.values()) and same < 1e-8
    return Finding(value, ok, f"both give the same u to {same:.0e} N")


@experiment("D-57")
def another_arm() -> Finding:
    """An arm with a spherical wrist leads the UR5e and follows it, judged by the DH tables."""
    pairs = ("elbow6", "ur5e"), ("ur5e", "elbow6")
    residual = max(_residual(*pair) for pair in pairs)
    errors = {leader: 1e3 * _lift(leader, follower) for leader, follower in pairs}
    worst = max(errors.values())
    listed = ", ".join(f"{leader} leads: {error:.4f} mm" for leader, error in errors.items())
    note = f"{listed}; residual by the tables {residual:.0e} m/s²"
    return Finding(worst, residual < 1e-9 and worst < 1.0, note)


@experiment("D-58")
def compiled_path() -> Finding:
    """Pose and body Jacobian by NumPy from the DH table, by compiled code, and of the rig's arm."""
    slow, quick = generic(), farhand_lab.benchmarks.kinematics.fast()
    arm, equal = Arm.of(load_robot("ur5e")), 0.0
    for q, v in states("paths", 200):
        arm.update(q, v)
        in_tool = adjoint(arm.rotation, np.zeros(3)).T
        for path in (quick(q), (arm.position, arm.rotation, in_tool @ arm.J)):
            equal = max(equal, *(largest(a - b) for a, b in zip(slow(q), path, strict=True)))
    q = load_robot("ur5e").home
    peers = {"generic": lambda: _ignore(slow(q))}
    times = measure(Benchmark("paths", lambda: (lambda: _ignore(quick(q)), None, peers), calls=100))
    faster = times["peers"]["generic"] >= 10.0 * times["value"]
    value = "≥ 10 ×" if faster else "< 10 ×"
    return Finding(value, faster and equal < 1e-10, f"equal to {equal:.0e}")


def _ignore(_: object) -> None:
    """Make a function that returns something one that does not."""


def _moving_pair() -> CoupledArms:
    """Both arms near the start posture, moving, with a little error between them."""
    pair, rng = rig_pair(damping=0.01), generator("moving pair")
    home = load_robot("ur5e").home
    pair.set_state(home, REST, home, REST)
    pair.law.engage(pair.a, pair.b)
    pair.set_state(home + 0.02 * rng.normal(size=6), rng.normal(size=6), home, rng.normal(size=6))
    return pair


def _regulator(pair: CoupledArms, motion: list[tuple[Array, Array]], wrenches: Array) -> Array:
    """The published algorithm as written (sources/dual-arm §3.14), on generic NumPy models."""
    law, mapping = pair.law, pair.law.mapping
    bases = (0.0, 0.75)  # of the arms along y, [m]
    poses, twists, gammas, accelerations = [], [], [], []
    arms = zip(motion, wrenches, pair.arms, pair.tables, bases, strict=True)
    for (q, v), h, arm, table, base in arms:
        model = table.terms(q, v)
        response = np.linalg.solve(model.B, model.J.T)  # B⁻¹ Jᵀ
        gammas.append(model.J @ response)
        load = model.coriolis - model.J.T @ h + arm.viscous * v
        accelerations.append(response.T @ load - model.drift)
        twists.append(model.J @ v)
        poses.append((model.pose[:3, 3] + [0.0, base, 0.0], model.pose[:3, :3]))
    (p1, R1), (p2, R2) = poses
    turned = R2 @ (R1 @ mapping.offset_rotation).T
    e = np.concatenate([p2 - p1 - mapping.offset_position, rotation_vector(turned)])
    rhs = accelerations[1] - accelerations[0]
    rhs = rhs - law.derivative * (twists[1] - twists[0]) - law.proportional * e
    gamma = gammas[0] + gammas[1]
    return gamma.T @ np.linalg.solve(gamma @ gamma.T + law.damping**2 * np.eye(6), rhs)


def _robot(name: str, share: float = 1.0) -> Robot:
    """A robot with the rig's friction, and with a share of its masses."""
    return load_robot(name).edited(set_damping(VISCOUS), scale_mass(share))


@shared
def _residual(leader: str, follower: str) -> float:
    """Largest ÿ + K_d ẏ + K_p e at random moving, pushed states within ±0.5 rad of home."""
    arms = Arm.of(_robot(leader)), Arm.of(_robot(follower, 0.25), PLACES["follower"])
    pair = CoupledArms(*arms, (DHArm.load(leader), DHArm.load(follower).scaled(0.25)))
    rng, worst = generator(f"{leader} leads {follower}"), 0.0
    homes = load_robot(leader).home, load_robot(follower).home
    for _ in range(50):
        # the order of these two draws keeps the recorded value: speeds, then postures
        v_a, v_b = rng.normal(size=(2, 6))
        q_a, q_b = (home + rng.uniform(-0.5, 0.5, 6) for home in homes)
        pair.set_state(q_a, v_a, q_b, v_b)
        pair.law.engage(pair.a, pair.b)
        pair.set_state(q_a + rng.normal(scale=0.02, size=6), v_a, q_b, v_b)
        pair.a.wrench, pair.b.wrench = rng.normal(scale=10.0, size=(2, 6))
        pair.multiplier()
        # the law's error and rate are −e and −ẏ
        law = pair.law
        restoring = law.derivative * law.rate + law.proportional * law.error
        worst = max(worst, largest(pair.error_acceleration() - restoring))
    return worst


@shared
def _lift(leader: str, follower: str) -> float:
    """Largest position error while the rig's hand lifts the leader by 0.2 m in 1.5 s, [m]."""
    robots = ("rig.leader_robot", leader), ("rig.follower_robot", follower)
    result = run(coupled_rig("free", *robots, ("rig.mass_scale", 0.25)), 2.5)
    height = result.signal("leader", "position_tool_in_world")[:, 2]
    if result.rig.session.trips or height[-1] - height[0] < 0.19:
        return float("nan")
    return 1e-3 * float(position_error(result).max())


MUTATIONS = Mutations(
    [
        Mutation("no fast path", "the generic path replaces the fast one", ("D-58",)).patch(
            farhand_lab.benchmarks.kinematics, "fast", generic
        )
    ]
)


@MUTATIONS.of(virtual_constraints, "constraint_force", "D-54")
def slow_law(constraint_force, *known):
    """The law takes 2 ms."""
    constraint_force(*known)
    until = time.perf_counter() + 2e-3
    while time.perf_counter() < until:
        pass


@MUTATIONS.of(virtual_constraints, "constraint_force", "D-54 D-57")
def law_without_coriolis(constraint_force, *known):
    """The law leaves the Coriolis torque out."""
    for at in (LEADER, FOLLOWER):
        state, n = known[at].copy(), len(known[at + 3])
        bias, gravity, *_ = np.split(state[-3 * n - 6 :], [n, 2 * n])
        bias[:] = gravity
        known = (*known[:at], state, *known[at + 1 :])
    constraint_force(*known)


@MUTATIONS.of(farhand_lab.benchmarks.kinematics, "fast", "D-58")
def single_precision(fast, robot="ur5e"):
    """The fast path's Jacobian has seven digits."""
    path = fast(robot)

    def evaluate(q: Array) -> tuple[Array, Array, Array]:
        position, rotation, J = path(q)
        return position, rotation, J.astype(np.float32)

    return evaluate
