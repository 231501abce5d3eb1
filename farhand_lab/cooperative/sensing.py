"""The wrist load cell and its filters: F-14 to F-18, F-38 to F-40, X-02 and X-03."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.arm import Arm
from farhand.control.tool.dead_zone import DeadZone
from farhand.control.tool.payload import Payload
from farhand.errors import BadValue
from farhand.robots import load_robot
from farhand.sensing import (
    Conditioner,
    ForceSensor,
    Load,
    Mounting,
    Readings,
    check_frame,
    grasped,
    load_handle,
    load_sensor,
)
from farhand.sensing.kalman import ScalarKalman, steady_gain, time_constant
from farhand_lab.cooperative.bench import GRAVITY, gripping
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutation, changed

Array = np.ndarray


CELL = "ati-delta-si-660-60"
OBJECT = Load(2.002, np.array([0.0286, -0.0052, 0.1087]))
"""The published estimate of the second object, in sensor axes (thesis, before
Fig. 4.21)."""

DT = 0.004


def mounting(turn: float = 45.0) -> Mounting:
    """The cell on the flange, turned about its axis by this many degrees; the tool point is 0.144 m beyond it."""
    return Mounting(
        np.array([0.0, 0.0, -0.144]), Rotation.from_euler("z", turn, degrees=True).as_matrix()
    )


def filtered(z: Array, r: float) -> Array:
    """A series, n × 1, through the published filter: q = 0.125, started at zero."""
    kalman = ScalarKalman(np.array([0.125]), np.array([r]), np.zeros(1), np.zeros(1))
    return np.array([np.array(kalman.step(row)) for row in z])


@experiment("F-14", "X-02")
def kalman() -> dict[str, Finding]:
    """Gains and step from the filter itself, not from the formula; r is changed in mid-run too."""
    gains = []
    for r in (20.0, 500.0, 5000.0):
        kalman = ScalarKalman(np.array([0.125]), np.array([r]), np.zeros(1), np.zeros(1))
        for _ in range(4000):
            kalman.step(np.zeros(1))
        gains.append(float(kalman.step(np.ones(1))[0]))  # type: ignore[index]
    settled = ScalarKalman(np.array([0.125]), np.array([20.0]), np.zeros(1), np.zeros(1))
    for _ in range(2000):
        settled.step(np.zeros(1))
    rise = [float(settled.step(np.ones(1))[0]) for _ in range(40)]  # type: ignore[index]
    reached = DT * (1 + int(np.argmax(np.array(rise) >= 1.0 - np.exp(-1.0))))
    noise = generator("filter noise").normal(size=(20_000, 1))
    left = 100.0 * float(filtered(noise, 20.0)[2000:].var())
    live = ScalarKalman(np.array([0.125]), np.array([5000.0]), np.zeros(1), np.zeros(1))
    for _ in range(2000):
        live.step(np.zeros(1))
    live.retune(np.array([0.125]), np.array([20.0]))
    jump = float(live.step(np.ones(1))[0])  # type: ignore[index]
    exact = max(abs(g - w) for g, w in zip(gains, (0.07599, 0.01569, 0.00499), strict=True))
    lag = [time_constant(steady_gain(0.125, r), DT) for r in (0.125, 20.0, 5000.0)]
    chatter = [float(filtered(noise[:5000], r)[500:].var()) for r in (0.125, 20.0, 5000.0)]
    sweep = chatter[0] > 10 * chatter[1] > 10 * chatter[2] and lag[2] > 10 * lag[1]
    note = f"63 % at {1e3 * reached:.0f} ms; gains {', '.join(f'{g:.5f}' for g in gains)}; r = 5000 lags {lag[2]:.2f} s"
    ok = (
        abs(gains[0] - 0.0760) < 5e-4
        and abs(reached - 0.0506) <= DT
        and abs(left - 4.0) < 0.5
        and sweep
    )
    return {
        "X-02": Finding(left, ok, note),
        "F-14": Finding(
            gains[0],
            ok and exact < 1e-4 and jump < 0.076,
            f"largest error of a gain {exact:.1e}; r from 5000 to 20 in mid-run: first gain {jump:.4f}",
        ),
    }


@experiment("F-15")
def load_cell() -> Finding:
    """Readings of a sweep are counted; the noise is measured; 1000 N on an axis of 660 N reads 660 N."""
    profile, rng = load_sensor(CELL), generator("load cell")
    sweep = np.linspace(-2.0, 2.0, 4001)[:, None] * np.ones(6)
    silent = ForceSensor(profile.silent(), Mounting(), Load(-0.114, np.zeros(3)), gravity=GRAVITY)
    values = silent.read(sweep, np.broadcast_to(np.eye(3), (4001, 3, 3))) * profile.resolution
    quanta = np.array([np.diff(np.unique(values[:, axis])).min() for axis in range(6)])
    right = np.abs(quanta - np.repeat([1 / 8, 1 / 4, 10 / 1333], [2, 1, 3])).max()
    noisy = ForceSensor(profile, Mounting(), gravity=GRAVITY, rng=rng)
    # spread over many quanta, or their rounding would not be even
    truth = rng.uniform(-1.0, 1.0, (20_000, 6))
    rest = (
        noisy.read(truth, np.broadcast_to(np.eye(3), (20_000, 3, 3))) * profile.resolution - truth
    )
    sigma = np.sqrt(rest.var(axis=0) - profile.resolution**2 / 12.0)
    full = (
        silent.read(np.array([1000.0, -1000.0, 3000.0, 99.0, 99.0, -99.0]), np.eye(3))
        * profile.resolution
    )
    saturated = np.abs(np.abs(full) - profile.capacity).max()
    turned = ForceSensor(profile.silent(), mounting(), Load(-0.114, np.zeros(3)), gravity=GRAVITY)
    side = (turned.read(np.array([10.0, 0, 0, 0, 0, 0]), np.eye(3)) * profile.resolution)[:2]
    own = float(rest[:, 2].mean())
    ok = (
        right < 1e-9
        and np.abs(sigma - 0.112).max() < 0.003
        and abs(own + 0.114 * GRAVITY) < 0.01
        and saturated < 1e-9
        and np.allclose(side, [7.125, -7.125])
    )
    note = f"quanta {quanta[0]:g}, {quanta[2]:g} N, {quanta[3]:.5f} N·m; 10 N along x at 45° read as {side.tolist()} N; "
    note += f"own weight {own:.2f} N"
    return Finding(float(sigma[:3].mean()), bool(ok), note)


def _residual(
    load: Load, sensor: ForceSensor, rotations: Array, mount: Mounting, cell: bool = True
) -> tuple[float, float]:
    """Largest mean force [N] and moment [N·m] that compensation leaves over orientations, 250 readings each."""
    profile = load_sensor(CELL)
    known = load if cell else Load(load.mass, load.com) - profile.internals
    conditioner = Conditioner(profile, mount, known, GRAVITY)
    conditioner.set_bias(np.zeros(6))
    left = []
    for R in rotations:
        counts = sensor.read(np.zeros((250, 6)), np.broadcast_to(R, (250, 3, 3)))
        left.append(np.mean([np.array(conditioner.update(row, R)) for row in counts], axis=0))
    forces, moments = (
        np.linalg.norm(np.array(left)[:, :3], axis=1),
        np.linalg.norm(np.array(left)[:, 3:], axis=1),
    )
    return float(forces.max()), float(moments.max())


@experiment("F-16", "X-03", "F-17")
def gripper() -> dict[str, Finding]:
    """Twenty random orientations, 1 s each; the self-check sees four of them."""
    profile, load, mount = load_sensor(CELL), load_handle("rx160-gripper").load, mounting()
    rng = generator("gripper")
    sensor = ForceSensor(profile, mount, load, gravity=GRAVITY, rng=rng)
    turns = Rotation.random(20, rng)
    force, moment = _residual(load, sensor, turns.as_matrix(), mount)
    without, _ = _residual(load, sensor, turns.as_matrix(), mount, cell=False)
    found = {wrong: _frame(sensor, mount, wrong, rng) for wrong in (0.0, 45.0)}
    flagged, quiet = not found[45.0].ok, found[0.0].ok
    yaw = float(np.degrees(found[45.0].yaw))
    ok = force < 0.3 and moment < 0.05 and without >= 1.1 and flagged and quiet
    note = f"{moment:.3f} N·m; {without:.2f} N without the internal mass; wrong frame: {found[45.0].message}"
    return {
        "X-03": Finding(force, ok, note),
        "F-16": Finding(force, force < 0.3 and moment < 0.05 and without >= 1.1, note),
        "F-17": Finding(
            abs(yaw), flagged and quiet and abs(abs(yaw) - 45.0) < 5.0, found[45.0].message
        ),
    }


def _frame(
    sensor: ForceSensor, mount: Mounting, wrong: float, rng: np.random.Generator
) -> grasped.FrameCheck:
    """The self-check from four poses of 1 s, with an orientation that leaves ``wrong`` degrees out."""
    tools = Rotation.random(4, rng)
    believed = mount.rotation @ Rotation.from_euler("z", -wrong, degrees=True).as_matrix()
    rows, quaternions = [], []
    for R in tools.as_matrix():
        rows.append(
            sensor.read(np.zeros((250, 6)), np.broadcast_to(R, (250, 3, 3)))
            * sensor.profile.resolution
        )
        quaternions.append(
            np.repeat(Rotation.from_matrix(R @ believed).as_quat()[None], 250, axis=0)
        )
    time = DT * np.arange(1000) + np.repeat(np.arange(4.0), 250)
    return check_frame(Readings(time, np.concatenate(quaternions), np.concatenate(rows)), GRAVITY)


@experiment("F-18")
def dead_zone() -> Finding:
    """Just inside and just outside c; far inside it leaves next to nothing, outside it changes nothing."""
    worst, odd, small = 0.0, 0.0, 0.0
    for force, exponent in ((1.0, 3.0), (2.5, 1.0), (0.2, 7.0)):
        zone = DeadZone()
        for name, value in (("force", force), ("exponent", exponent)):
            setattr(zone, name, value)
        zone.refresh()
        edge = zone.apply(zone.width * (1.0 - 1e-14)), zone.apply(zone.width * (1.0 + 1e-14))
        worst = max(
            worst, float(np.abs(edge[0] - edge[1]).max()), float(np.abs(edge[0] - zone.width).max())
        )
        sweep = np.linspace(-3.0, 3.0, 61)[:, None] * np.ones(6)
        odd = max(odd, float(np.abs(zone.apply(sweep) + zone.apply(-sweep)).max()))
        if exponent == 3.0:
            small = float(zone.apply(np.full(6, 0.1))[0])
            outside = float(np.abs(zone.apply(np.full(6, 2.0)) - 2.0).max())
    return Finding(
        worst,
        worst < 1e-12 and odd == 0.0 and small < 2e-3 and outside == 0.0,
        f"0.1 N counts as {small:g} N",
    )


def weighings(
    turn: float, noise: float, rng: np.random.Generator, n: int = 2
) -> tuple[Array, Array]:
    """Mean weight and moment of the object in n poses, ``turn`` [°] apart, with this residual [N] per axis."""
    down, side = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
    angles = np.radians(turn) * np.arange(n)
    forces = [OBJECT.mass * GRAVITY * (np.cos(a) * down + np.sin(a) * side) for a in angles]
    F = np.array(forces)
    M = np.cross(OBJECT.com, F)
    return F + noise * rng.normal(size=F.shape), M + 0.1 * noise * rng.normal(size=M.shape)


@experiment("F-38", "F-39")
def grasped_object() -> dict[str, Finding]:
    """1000 weighings per angle with 0.1 N and 0.01 N·m of residual; the value is the 95th percentile at 30°."""
    rng, spread, masses = generator("grasped"), {}, []
    for turn in (12.0, 20.0, 30.0, 45.0):
        errors: dict[str, list[float]] = {"pairs": [], "least-squares": []}
        for _ in range(1000):
            F, M = weighings(turn, 0.1, rng)
            for method, row in errors.items():
                found = grasped.estimate(F, M, method, GRAVITY)
                row.append(1e3 * float(np.linalg.norm(found.com - OBJECT.com)))
            masses.append(abs(found.mass / OBJECT.mass - 1.0))
        spread[turn] = {method: float(np.percentile(row, 95)) for method, row in errors.items()}
    clean = weighings(30.0, 0.0, rng)
    exact = max(
        float(np.abs(grasped.estimate(*clean, m, GRAVITY).com - OBJECT.com).max())
        for m in ("pairs", "least-squares")
    )
    refused = _refuses(lambda: grasped.estimate(*weighings(8.0, 0.0, rng)))
    mass = 100.0 * float(np.percentile(masses, 95))
    rule, best = spread[30.0]["pairs"], spread[30.0]["least-squares"]
    note = "; ".join(
        f"{t:g}°: {s['pairs']:.1f} and {s['least-squares']:.1f} mm" for t, s in spread.items()
    )
    ok = rule < 5.0 and best < rule and exact < 1e-12 and refused
    return {
        "F-38": Finding(mass, mass < 1.0, "95th percentile"),
        "F-39": Finding(
            best,
            ok,
            f"rule and least squares, {note}; 8° refused: {refused}; without noise {exact:.0e} m",
        ),
    }


def _refuses(call: Callable[[], object]) -> bool:
    try:
        call()
    except BadValue:
        return True
    return False


@experiment("F-40")
def merge() -> Finding:
    """Weighed in two poses 40° apart, merged into cell and arm; then 20 random poses, 1 s each."""
    profile, tool, mount, rng = (
        load_sensor(CELL),
        load_handle("rx160-gripper").load,
        mounting(),
        generator("merge"),
    )
    sensor = ForceSensor(profile, mount, tool + OBJECT, gravity=GRAVITY, rng=rng)
    conditioner = Conditioner(profile, mount, tool, GRAVITY)
    conditioner.set_bias(np.zeros(6))
    turns = Rotation.from_euler("y", [[60.0], [100.0]], degrees=True).as_matrix()
    weighed = []
    for R in turns:
        R_s = R @ mount.rotation
        counts = sensor.read(np.zeros((500, 6)), np.broadcast_to(R, (500, 3, 3)))
        own = tool + profile.internals
        pull = R_s.T @ np.array([0.0, 0.0, -own.mass * GRAVITY])
        weighed.append(
            (counts * profile.resolution).mean(axis=0)
            - np.concatenate([pull, np.cross(own.com, pull)])
        )
    rows = np.array(weighed)
    found = grasped.estimate(rows[:, :3], rows[:, 3:], gravity=GRAVITY)
    conditioner.mount(tool + found)
    force, moment = _residual(tool + found, sensor, Rotation.random(20, rng).as_matrix(), mount)
    arm = Arm.of(gripping(), gravity=GRAVITY)
    arm.update(load_robot("rx160").home, np.zeros(6))
    before = arm.gravity.copy()
    payload = Payload(arm, 20.0)
    payload.merge(Load(found.mass, mount.rotation @ found.com + mount.position))
    arm.compute()
    carried = float(np.abs(arm.gravity - before).max())
    payload.remove()
    arm.compute()
    exact = bool((arm.gravity == before).all())
    note = f"{moment:.3f} N·m; {found.mass:.3f} kg at {np.round(1e3 * found.com, 1).tolist()} mm; the arm carries "
    note += f"{carried:.1f} N·m more; restored to the bit: {exact}"
    return Finding(force, force < 0.5 and moment < 0.1 and exact and carried > 5.0, note)


def _without_internals(original: Callable[[Conditioner], None]) -> Callable[[Conditioner], None]:
    def prepare(self: Conditioner) -> None:
        self.load = self.load - self.profile.internals
        original(self)

    return prepare


def _without_update(original: Callable[..., Array]) -> Callable[..., Array]:
    def correct(self: ScalarKalman, z: Array) -> Array:
        before = np.array(self.p)
        result = original(self, z)
        self.p = before
        return result

    return correct


MUTATIONS = [
    Mutation(
        "covariance-not-updated",
        "the filter's variance is never reduced by a reading, as printed",
        ("F-14", "X-02"),
        lambda: changed(ScalarKalman, "correct", _without_update),
    ),
    Mutation(
        "internal-mass-ignored",
        "the conditioner does not know what hangs on the gauges inside the cell",
        ("X-03", "F-16"),
        lambda: changed(Conditioner, "__post_init__", lambda old: _without_internals(old)),
    ),
    Mutation(
        "moment-sign",
        "the moment of a grasped object has the wrong sign",
        ("F-39",),
        lambda: changed(grasped, "centre_by_least_squares", lambda old: lambda F, M: -old(F, M)),
    ),
]
"""Parts broken on purpose."""
