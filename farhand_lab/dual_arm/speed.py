"""Speed of the regulator, an arm of another make, and the compiled model against the generic one.

What is measured in time is judged here and printed nowhere: a verdict must not change from run to
run. ``farhand bench`` prints the numbers.
"""

from __future__ import annotations

import time

import numpy as np

import farhand_lab.benchmarks.kinematics
from farhand.analysis.history import History
from farhand.arm import Arm
from farhand.control.trajectory.paths import HandPath, Move
from farhand.coupling.constraint_terms import ArmTerms
from farhand.coupling.virtual_constraints import VirtualConstraints
from farhand.loop.bridges.direct import DirectBridge
from farhand.loop.session import Session
from farhand.loop.station import Station
from farhand.robots import Placement, Robot, load_robot
from farhand.robots.edits import scale_mass, set_damping
from farhand.spatial import rotation_vector
from farhand.world import ImpedanceHand, Placed, World
from farhand_lab.benchmarks.kinematics import fast, generic
from farhand_lab.benchmarks.measure import Benchmark, measure
from farhand_lab.dh import DHArm
from farhand_lab.dual_arm.pair import Pair, largest, rig_pair, states
from farhand_lab.harness import Finding, experiment, generator, shared
from farhand_lab.mutation import Mutation

Array = np.ndarray


SEED_RATE = 47.14  # of the published regulator in free space, [Hz]


@experiment("D-54")
def cycle_time() -> Finding:
    """One regulator cycle (both models, the law) in plain NumPy and as it runs in the tick; both must give one u."""
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
        "≥ 10 × 47 Hz": quick <= 0.1 / SEED_RATE,
    }
    value = ", ".join(text if yes else f"not {text}" for text, yes in met.items())
    return Finding(
        value, all(met.values()) and same < 1e-8, f"both give the same u to {same:.0e} N"
    )


@experiment("D-57")
def another_arm() -> Finding:
    """A spherical-wrist arm leads the UR5e and follows it; the oracle is an arm from each one's own DH table."""
    residual = max(_residual("elbow6", "ur5e"), _residual("ur5e", "elbow6"))
    errors = {
        leader: 1e3 * _lift(leader, follower)
        for leader, follower in (("elbow6", "ur5e"), ("ur5e", "elbow6"))
    }
    worst = max(errors.values())
    listed = ", ".join(f"{leader} leads: {error:.4f} mm" for leader, error in errors.items())
    return Finding(
        worst, residual < 1e-9 and worst < 1.0, f"{listed}; oracle row {residual:.0e} m/s²"
    )


@experiment("D-58")
def compiled_path() -> Finding:
    """Pose and body Jacobian by NumPy from the DH table and by compiled code on the robot's model."""
    slow, quick = generic(), farhand_lab.benchmarks.kinematics.fast()
    equal = 0.0
    for q, _ in states("paths", 200):
        equal = max(equal, *(largest(a - b) for a, b in zip(slow(q), quick(q), strict=True)))
    q = load_robot("ur5e").home
    works = {"generic": lambda: _ignore(slow(q))}
    times = measure(Benchmark("paths", lambda: (lambda: _ignore(quick(q)), None, works), calls=100))
    faster = times["peers"]["generic"] >= 10.0 * times["value"]
    return Finding(
        "≥ 10 ×" if faster else "< 10 ×", faster and equal < 1e-10, f"equal to {equal:.0e}"
    )


def _ignore(_: object) -> None:
    """Make a function that returns something one that does not."""


def _moving_pair() -> Pair:
    """Both arms near the start posture, moving, with a little error between them."""
    pair, rng = rig_pair(damping=0.01), generator("moving pair")
    home = load_robot("ur5e").home
    pair.put(home, np.zeros(6), home, np.zeros(6))
    pair.law.engage(pair.a, pair.b)
    pair.put(home + 0.02 * rng.normal(size=6), rng.normal(size=6), home, rng.normal(size=6))
    return pair


def _regulator(pair: Pair, motion: list[tuple[Array, Array]], wrenches: Array) -> Array:
    """The published algorithm, written down as it stands (sources/dual-arm §3.14), on generic NumPy models."""
    law, mapping = pair.law, pair.law.mapping
    bases = (0.0, 0.75)  # of the arms along y, [m]
    poses, twists, gammas, accelerations = [], [], [], []
    for (q, v), h, arm, table, base in zip(
        motion, wrenches, pair.arms, pair.tables, bases, strict=True
    ):
        model = table.terms(q, v)
        response = np.linalg.solve(model.B, model.J.T)  # B⁻¹ Jᵀ
        gammas.append(model.J @ response)
        accelerations.append(
            response.T @ (model.coriolis - model.J.T @ h + arm.viscous * v) - model.drift
        )
        twists.append(model.J @ v)
        poses.append((model.pose[:3, 3] + [0.0, base, 0.0], model.pose[:3, :3]))
    (p1, R1), (p2, R2) = poses
    turned = R2 @ (R1 @ mapping.offset_rotation).T
    e = np.concatenate([p2 - p1 - mapping.offset_position, rotation_vector(turned)])
    rhs = (
        accelerations[1]
        - accelerations[0]
        - law.derivative * (twists[1] - twists[0])
        - law.proportional * e
    )
    gamma = gammas[0] + gammas[1]
    return gamma.T @ np.linalg.solve(gamma @ gamma.T + law.damping**2 * np.eye(6), rhs)


def _robot(name: str, share: float = 1.0) -> Robot:
    """A robot with the rig's friction, and with a share of its masses."""
    return load_robot(name).edited(set_damping((2.0, 2.0, 2.0, 0.5, 0.5, 0.5)), scale_mass(share))


@shared
def _residual(leader: str, follower: str) -> float:
    """Largest ÿ + K_d ẏ + K_p e at random states within ±0.5 rad of home, moving and pushed, after some error."""
    arms = Arm.of(_robot(leader)), Arm.of(_robot(follower, 0.25), Placement((0.0, 0.75, 0.0)))
    pair = Pair(*arms, (DHArm.load(leader), DHArm.load(follower).scaled(0.25)))
    rng, worst = generator(f"{leader} leads {follower}"), 0.0
    homes = load_robot(leader).home, load_robot(follower).home
    for _ in range(50):
        (q_a, q_b), (v_a, v_b) = (
            (home + rng.uniform(-0.5, 0.5, 6) for home in homes),
            rng.normal(size=(2, 6)),
        )
        pair.put(q_a, v_a, q_b, v_b)
        pair.law.engage(pair.a, pair.b)
        pair.put(q_a + rng.normal(scale=0.02, size=6), v_a, q_b, v_b)
        pair.a.wrench, pair.b.wrench = rng.normal(scale=10.0, size=(2, 6))
        pair.multiplier()
        law = pair.law  # its error and rate are −e and −ẏ
        restoring = law.derivative * law.rate + law.proportional * law.error
        worst = max(worst, largest(pair.error_acceleration() - restoring))
    return worst


@shared
def _lift(leader: str, follower: str) -> float:
    """Largest distance between the tools, less the offset, while a hand lifts the leader by 0.2 m in 1.5 s, [m]."""
    robots = {"leader": _robot(leader), "follower": _robot(follower, 0.25)}
    places = {"leader": Placement(), "follower": Placement((0.0, 0.75, 0.0))}
    world = World({name: Placed(robots[name], places[name]) for name in robots})
    world.touch("leader", "hand", ImpedanceHand(path=HandPath([Move(0.5, 1.5, (0.0, 0.0, 0.2))])))
    one, two = (Station.of(world, name, name) for name in robots)
    session = Session([one, two], [DirectBridge(VirtualConstraints(), one, two)], [world])
    history = History(session.telemetry.path)
    session.commands.post("engage")
    session.run(2.5, lambda: _ignore(history.pull()))
    session.close()
    height = history.signal("leader", "position_tool_in_world")[:, 2]
    if session.trips or height[-1] - height[0] < 0.19:
        return float("nan")
    return float(np.linalg.norm(history.signal("coupling", "error")[:, :3], axis=1).max())


_update, _fast = ArmTerms.update, fast


def _slow_update(self: ArmTerms, arm: Arm, *known: Array | None) -> None:
    _update(self, arm, *known)
    until = time.perf_counter() + 1e-3
    while time.perf_counter() < until:
        pass


def _no_coriolis(self: ArmTerms, arm: Arm, *known: Array | None) -> None:
    bias = arm.bias.copy()
    arm.bias[:] = arm.gravity
    _update(self, arm, *known)
    arm.bias[:] = bias


def _rounded(robot: str = "ur5e"):
    path = _fast(robot)

    def evaluate(q: Array) -> tuple[Array, Array, Array]:
        position, rotation, J = path(q)
        return position, rotation, J.astype(np.float32)

    return evaluate


def _slow(robot: str = "ur5e"):
    return generic(robot)


MUTATIONS = [
    Mutation("slow law", "each arm's terms take 1 ms", ("D-54",)).patch(
        ArmTerms, "update", _slow_update
    ),
    Mutation(
        "law without Coriolis", "the law leaves the Coriolis torque out", ("D-54", "D-57")
    ).patch(ArmTerms, "update", _no_coriolis),
    Mutation("single precision", "the fast path's Jacobian has seven digits", ("D-58",)).patch(
        farhand_lab.benchmarks.kinematics, "fast", _rounded
    ),
    Mutation("no fast path", "the generic path stands in for the fast one", ("D-58",)).patch(
        farhand_lab.benchmarks.kinematics, "fast", _slow
    ),
]
