"""The wrist load cell and its filters: F-14 to F-18, F-39, F-40, X-02 and X-03."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.control.tool.payload import Payload
from farhand.control.tool.task import DeadZone
from farhand.plants.plant import JointTorque, Plant, Sample
from farhand.plants.wrappers.filtered import FilteredPlant, Filters
from farhand.rigs import Options, build_rig
from farhand.rigs.cooperative.arms import CELL, GRIPPER, gripping_robot, mounting
from farhand.rigs.cooperative.guiding import Centred
from farhand.sensing import (
    Conditioner,
    ForceSensor,
    Load,
    Mounting,
    Readings,
    check_frame,
    load_handle,
    load_sensor,
    loads,
)
from farhand.sensing.kalman import ScalarKalman, steady_gain, time_constant
from farhand.spatial import Array
from farhand_lab.cooperative.bench import GRAVITY
from farhand_lab.cooperative.machines import job, mass_and_centre
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutations
from farhand_lab.trial import Run, refusal

OBJECT = Load(2.002, np.array([0.0286, -0.0052, 0.1087]))
"""The published estimate of the second object, in sensor axes (thesis, before Fig. 4.21)."""

DT = 0.004


class ScriptedPlant(Plant):
    """A plant whose velocities and wrench are one number that the experiment sets."""

    name, actuated, period_ns = "arm", np.ones(6, dtype=bool), 4_000_000
    accepts = frozenset({JointTorque})

    def __init__(self) -> None:
        self.value = 0.0
        self._sample = Sample(6, 6)

    def read(self, now_ns: int) -> Sample:
        """The number, on every channel."""
        self._sample.time_ns = now_ns
        self._sample.v[:] = self.value
        self._sample.set_wrench(np.full(6, self.value))
        return self._sample

    def write(self, command: object, now_ns: int) -> None:
        """Nothing moves."""


class FilterBench:
    """The rig's filters around a scripted plant, with variance r of velocity and wrench alike."""

    def __init__(self, r: float, settle: int = 0) -> None:
        self.filters = Filters(r_velocity=r, r_wrench=r)
        self._inner = ScriptedPlant()
        self._plant, self._now_ns = FilteredPlant(self._inner, 6, 6, self.filters), 0
        for _ in range(settle):
            self.step(0.0)

    def step(self, value: float) -> float:
        """A reading, filtered; velocity and wrench must agree."""
        self._now_ns += self._inner.period_ns
        self._inner.value = value
        sample = self._plant.read(self._now_ns)
        assert sample.wrench is not None and sample.wrench[2] == sample.v[0]
        return float(sample.v[0])


def filtered(z: Array, r: float) -> Array:
    """A series, n, through the filters."""
    bench = FilterBench(r)
    return np.array([bench.step(value) for value in z.tolist()])


@experiment("F-14", "X-02")
def velocity_filter() -> dict[str, Finding]:
    """Gains and step response of the rig's filters; r also changes in the middle of a run."""
    gains = [FilterBench(r, 4000).step(1.0) for r in (20.0, 500.0, 5000.0)]
    settled = FilterBench(20.0, 2000)
    rise = [settled.step(1.0) for _ in range(40)]
    reached = DT * (1 + int(np.argmax(np.array(rise) >= 1.0 - np.exp(-1.0))))
    noise = generator("filter noise").normal(size=20_000)
    left = 100.0 * float(filtered(noise, 20.0)[2000:].var())
    live = FilterBench(5000.0, 2000)
    live.filters.r_velocity = live.filters.r_wrench = 20.0
    jump = live.step(1.0)
    exact = max(abs(g - w) for g, w in zip(gains, (0.07599, 0.01569, 0.00499), strict=True))
    lag = [time_constant(steady_gain(0.125, r), DT) for r in (0.125, 20.0, 5000.0)]
    chatter = [float(filtered(noise[:5000], r)[500:].var()) for r in (0.125, 20.0, 5000.0)]
    ok = chatter[0] > 10 * chatter[1] > 10 * chatter[2] and lag[2] > 10 * lag[1]
    ok = ok and abs(gains[0] - 0.0760) < 5e-4
    ok = ok and abs(reached - 0.0506) <= DT and abs(left - 4.0) < 0.5
    note = (
        f"63 % at {1e3 * reached:.0f} ms; gains {', '.join(f'{g:.5f}' for g in gains)}; "
        f"r = 5000 lags {lag[2]:.2f} s"
    )
    live_note = (
        f"largest error of a gain {exact:.1e}; r from 5000 to 20 in mid-run: first gain {jump:.4f}"
    )
    return {
        "X-02": Finding(left, ok, note),
        "F-14": Finding(gains[0], ok and exact < 1e-4 and jump < 0.076, live_note),
    }


def readings(sensor: ForceSensor, wrench: Array, rotation: Array) -> Array:
    """Readings at one orientation, [N] and [N·m]; one row per row of ``wrench``."""
    turns = np.broadcast_to(rotation, (*wrench.shape[:-1], 3, 3))
    return sensor.read(wrench, turns) * sensor.profile.resolution


@experiment("F-15")
def load_cell() -> Finding:
    """Quanta of a sweep; measured noise; 1000 N on an axis of 660 N reads 660 N."""
    profile, rng = load_sensor(CELL), generator("load cell")
    empty, upright = Load(-0.114, np.zeros(3)), np.eye(3)
    silent = ForceSensor(profile.silent(), Mounting(), empty, gravity=GRAVITY)
    values = readings(silent, np.linspace(-2.0, 2.0, 4001)[:, None] * np.ones(6), upright)
    quanta = np.array([np.diff(np.unique(values[:, axis])).min() for axis in range(6)])
    right = np.abs(quanta - np.repeat([1 / 8, 1 / 4, 10 / 1333], [2, 1, 3])).max()
    noisy = ForceSensor(profile, Mounting(), gravity=GRAVITY, rng=rng)
    # Spread over many quanta, or their rounding would not be even
    truth = rng.uniform(-1.0, 1.0, (20_000, 6))
    rest = readings(noisy, truth, upright) - truth
    sigma = np.sqrt(rest.var(axis=0) - profile.resolution**2 / 12.0)
    full = readings(silent, np.array([1000.0, -1000.0, 3000.0, 99.0, 99.0, -99.0]), upright)
    saturated = np.abs(np.abs(full) - profile.capacity).max()
    turned = ForceSensor(profile.silent(), mounting(), empty, gravity=GRAVITY)
    side = readings(turned, np.array([10.0, 0, 0, 0, 0, 0]), upright)[:2]
    own = float(rest[:, 2].mean())
    ok = right < 1e-9 and saturated < 1e-9 and np.allclose(side, [7.125, -7.125])
    ok = ok and np.abs(sigma - 0.112).max() < 0.003 and abs(own + 0.114 * GRAVITY) < 0.01
    note = (
        f"quanta {quanta[0]:g}, {quanta[2]:g} N, {quanta[3]:.5f} N·m; 10 N along x at 45° read as "
        f"{side.tolist()} N; own weight {own:.2f} N"
    )
    return Finding(float(sigma[:3].mean()), bool(ok), note)


def _residual(sensor: ForceSensor, load: Load, rotations: Array) -> tuple[float, float]:
    """Largest mean force [N] and moment [N·m] that compensation leaves, 250 readings per pose."""
    conditioner = Conditioner(sensor.profile, mounting(), load, GRAVITY)
    conditioner.set_bias(np.zeros(6))
    left = []
    for R in rotations:
        counts = sensor.read(np.zeros((250, 6)), np.broadcast_to(R, (250, 3, 3)))
        left.append(np.mean([np.array(conditioner.update(row, R)) for row in counts], axis=0))
    sizes = [np.linalg.norm(np.array(left)[:, part], axis=1) for part in (slice(3), slice(3, 6))]
    return float(sizes[0].max()), float(sizes[1].max())


@experiment("F-16", "X-03", "F-17")
def gripper() -> dict[str, Finding]:
    """Twenty random orientations, 1 s each; the self-check uses four."""
    profile, load, rng = load_sensor(CELL), load_handle(GRIPPER).load, generator("gripper")
    sensor = ForceSensor(profile, mounting(), load, gravity=GRAVITY, rng=rng)
    turns = Rotation.random(20, rng).as_matrix()
    force, moment = _residual(sensor, load, turns)
    without, _ = _residual(sensor, load - profile.internals, turns)
    right, wrong = _frame(sensor, 0.0, rng), _frame(sensor, 45.0, rng)
    yaw = abs(float(np.degrees(wrong.yaw)))
    compensated = force < 0.3 and moment < 0.05 and without >= 1.1
    flagged = right.ok and not wrong.ok
    note = (
        f"{moment:.3f} N·m; {without:.2f} N without the internal mass; wrong frame: {wrong.message}"
    )
    return {
        "X-03": Finding(force, compensated and flagged, note),
        "F-16": Finding(force, compensated and flagged, note),
        "F-17": Finding(yaw, flagged and abs(yaw - 45.0) < 5.0, wrong.message),
    }


def _frame(sensor: ForceSensor, wrong: float, rng: np.random.Generator) -> loads.FrameCheck:
    """The self-check from four poses of 1 s; the assumed mounting is off by ``wrong`` [°]."""
    turn = Rotation.from_euler("z", -wrong, degrees=True).as_matrix()
    believed = mounting().rotation @ turn
    rows, quaternions = [], []
    for R in Rotation.random(4, rng).as_matrix():
        rows.append(readings(sensor, np.zeros((250, 6)), R))
        quaternion = Rotation.from_matrix(R @ believed).as_quat()
        quaternions.append(np.repeat(quaternion[None], 250, axis=0))
    time = DT * np.arange(1000) + np.repeat(np.arange(4.0), 250)
    return check_frame(Readings(time, np.concatenate(quaternions), np.concatenate(rows)), GRAVITY)


@experiment("F-18")
def dead_zone() -> Finding:
    """Just inside and just outside c; far inside almost nothing is left, outside all of it."""
    worst, odd, small = 0.0, 0.0, 0.0
    for force, exponent in ((1.0, 3.0), (2.5, 1.0), (0.2, 7.0)):
        zone = DeadZone()
        zone.force, zone.exponent = force, exponent
        zone.refresh()
        inner, outer = (zone.apply(zone.width * (1.0 + side * 1e-14)) for side in (-1.0, 1.0))
        worst = max(worst, float(np.abs(inner - outer).max()))
        worst = max(worst, float(np.abs(inner - zone.width).max()))
        sweep = np.linspace(-3.0, 3.0, 61)[:, None] * np.ones(6)
        odd = max(odd, float(np.abs(zone.apply(sweep) + zone.apply(-sweep)).max()))
        if exponent == 3.0:
            small = float(zone.apply(np.full(6, 0.1))[0])
            outside = float(np.abs(zone.apply(np.full(6, 2.0)) - 2.0).max())
    ok = worst < 1e-12 and odd == 0.0 and small < 2e-3 and outside == 0.0
    return Finding(worst, ok, f"0.1 N counts as {small:g} N")


def weighings(turn: float, noise: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Mean weight and moment of the object in two poses ``turn`` [°] apart, with noise [N]."""
    down, side = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
    angles = np.radians(turn) * np.arange(2)
    F = np.array([OBJECT.mass * GRAVITY * (np.cos(a) * down + np.sin(a) * side) for a in angles])
    M = np.cross(OBJECT.com, F)
    return F + noise * rng.normal(size=F.shape), M + 0.1 * noise * rng.normal(size=M.shape)


@experiment("F-39")
def grasped_object() -> Finding:
    """1000 weighings per angle with noise of 0.1 N and 0.01 N·m, 95th percentile; and X-17."""
    rng, spread, masses = generator("grasped"), {}, []
    methods = ("pairs", "least-squares")
    for turn in (12.0, 20.0, 30.0, 45.0):
        errors: dict[str, list[float]] = {method: [] for method in methods}
        for _ in range(1000):
            F, M = weighings(turn, 0.1, rng)
            for method, row in errors.items():
                load = loads.estimate(F, M, method, GRAVITY)
                row.append(1e3 * float(np.linalg.norm(load.com - OBJECT.com)))
            masses.append(abs(load.mass / OBJECT.mass - 1.0))
        spread[turn] = [float(np.percentile(errors[method], 95)) for method in methods]
    clean = weighings(30.0, 0.0, rng)
    centres = [loads.estimate(*clean, method, GRAVITY).com for method in methods]
    exact = max(float(np.abs(centre - OBJECT.com).max()) for centre in centres)
    refused = bool(refusal(loads.estimate, *weighings(8.0, 0.0, rng)))
    mass = 100.0 * float(np.percentile(masses, 95))
    rule, best = spread[30.0]
    rows = "; ".join(f"{turn:g}°: {a:.1f} and {b:.1f} mm" for turn, (a, b) in spread.items())
    note = f"rule and least squares, {rows}; 8° refused: {refused}; without noise {exact:.0e} m"
    on_rig = mass_and_centre()
    ok = rule < 5.0 and best < rule and exact < 1e-12 and refused and on_rig.ok
    note = f"{note}; mass {mass:.2f} %; on the rig (X-17) {on_rig.value:.3g} mm"
    return Finding(best, ok, note)


@experiment("F-40")
def merge() -> Finding:
    """Weighed in two poses 40° apart, merged into cell and arm; then 20 random poses, 1 s each.

    The rig's own job merges it into its controller's model and, when it lets go, takes it out.
    """
    profile, tool, mount = load_sensor(CELL), load_handle(GRIPPER).load, mounting()
    rng = generator("merge")
    sensor = ForceSensor(profile, mount, tool + OBJECT, gravity=GRAVITY, rng=rng)
    own = tool + profile.internals
    weighed = []
    for R in Rotation.from_euler("y", [[60.0], [100.0]], degrees=True).as_matrix():
        pull = (R @ mount.rotation).T @ np.array([0.0, 0.0, -own.mass * GRAVITY])
        weight = np.concatenate([pull, np.cross(own.com, pull)])
        weighed.append(readings(sensor, np.zeros((500, 6)), R).mean(axis=0) - weight)
    rows = np.array(weighed)
    load = loads.estimate(rows[:, :3], rows[:, 3:], gravity=GRAVITY)
    force, moment = _residual(sensor, tool + load, Rotation.random(20, rng).as_matrix())
    carried, apart, exact = _merged(Load(load.mass, mount.rotation @ load.com + mount.position))
    note = (
        f"{moment:.3f} N·m; {load.mass:.3f} kg at {np.round(1e3 * load.com, 1).tolist()} mm; the "
        f"arm carries up to {carried:.1f} N·m more, within {apart:.0e} N·m of Jᵀ times the weight; "
        f"model and cell restored to the bit: {exact}"
    )
    return Finding(force, force < 0.5 and moment < 0.1 and apart < 1e-9 and exact, note)


def _merged(load: Load) -> tuple[float, float, bool]:
    """What a load in tool axes adds to the rig's model, and how far that is from Jᵀw, [N·m].

    Also whether letting go restores model and cell to the bit.
    """
    rig = build_rig("cooperative", Options(scenario="centre"))
    work = job(Run(rig, {}))
    assert isinstance(work, Centred)
    arm, conditioner = work.controller.arm, work.arm.cell.conditioner
    arm.update(gripping_robot().postures["table"] + 0.1, np.zeros(6))
    before, tare, bare = arm.gravity.copy(), conditioner.load, arm.model.inertias[6].copy()
    work.found = load
    work.guide()
    added = arm.gravity - before
    weight = np.array([0.0, 0.0, -load.mass * GRAVITY])
    wrench = np.concatenate([weight, np.cross(arm.rotation @ load.com, weight)])
    apart = float(np.abs(added + wrench @ arm.J).max())
    work.let_go()
    arm.compute()
    exact = bool((arm.gravity == before).all()) and arm.model.inertias[6] == bare
    exact = exact and conditioner.load is tare
    rig.close()
    return float(np.abs(added).max()), apart, exact


MUTATIONS = Mutations()


@MUTATIONS.of(ScalarKalman, "correct", "F-14 X-02")
def covariance_not_updated(correct, self: ScalarKalman, z: Array) -> Array:
    """The filter's variance is never reduced by a reading, as printed."""
    before = np.array(self.p)
    result = correct(self, z)
    self.p = before
    return result


@MUTATIONS.of(Conditioner, "__post_init__", "X-03 F-16")
def internal_mass_ignored(prepare, self: Conditioner) -> None:
    """The conditioner does not know the mass that hangs on the gauges inside the cell."""
    self.load = self.load - self.profile.internals
    prepare(self)


@MUTATIONS.of(loads, "centre_by_least_squares", "F-39")
def moment_sign(centre, F: Array, M: Array) -> Array:
    """The moment of a grasped object has the wrong sign."""
    return -centre(F, M)


@MUTATIONS.of(Payload, "merge", "F-40")
def load_at_the_tool_point(merge, self: Payload, load: Load, inertia: Array | None = None) -> None:
    """The object's centre counts as the tool point."""
    merge(self, Load(load.mass, np.zeros(3)), inertia)


@MUTATIONS.of(Payload, "remove", "F-40")
def load_kept(remove, self: Payload) -> None:
    """The object stays in the model after the jaws have opened."""
