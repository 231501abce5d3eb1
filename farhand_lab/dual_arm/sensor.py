"""The force sensor and its handle, off line and in contact: D-41 to D-45 and D-52."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from farhand.arm import Arm
from farhand.control.trajectory.paths import Move
from farhand.errors import BadValue
from farhand.plants.wrappers.instrumented import InstrumentedPlant
from farhand.robots import load_robot
from farhand.sensing import (
    Conditioner,
    ForceSensor,
    Load,
    Mounting,
    Readings,
    SensorProfile,
    ToolCalibration,
    identify,
    load_handle,
    load_sensor,
)
from farhand.sensing import conditioner as conditioner_module
from farhand.sensing import identification as identification_module
from farhand.sensing import profile as profile_module
from farhand.spatial import adjoint, skew, twist_in_parent
from farhand_lab.dual_arm.signals import LAW, force, time_axes
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.mutation import Mutation, Mutations
from farhand_lab.plots import canvas
from farhand_lab.trial import Run, dual_arm, run, with_moves

Array = np.ndarray

HEX_E, HANDLE = load_sensor("optoforce-hex-e"), load_handle("dual-arm-handle")
GRIP = HANDLE.grip_position
SAMPLES = 100  # published: readings of the start-up's bias, 1 s
PUSH = 75.5  # published: where pushing stopped, [N]
FORCES = (26.0, PUSH)  # published: to move freely along x, and where pushing stopped, [N]
DRIFT_HOURS = 4.0  # after which the thesis no longer trusted a calibration
PRESS = (0.42, 0.0, 0.0)  # [m]
RELEASE = 6.0  # end of the saturating push, [s]
HANDS = (3000.0, 5000.0, 10_000.0)  # [N/m]; below 2700 the push never saturates the sensor
STILL = 1.0  # deviation of the wall's force at rest, as in D-55, [N]


@experiment("D-41")
def counts_to_si() -> Finding:
    """Full counts through the conditioner, and every level of a slow sweep of the true wrench."""
    full = measured(plain_conditioner(), HEX_E.counts, np.eye(3))
    published = np.repeat([0.1, 0.001], 3)
    error = np.abs(full - [200.0, 200.0, 200.0, 10.0, 10.0, 6.5]) / published
    steps = np.array([_step_of(axis) for axis in range(6)])
    worst = max(float(error.max()), float(np.abs(steps / published - 1.0).max()))
    note = f"steps {steps[0]:.4g} N and {steps[5]:.4g} N·m; largest deviation, in counts"
    return Finding(worst, worst < 1e-9, note)


@experiment("D-42")
def compensation() -> Finding:
    """Ten start-ups with different biases; then four hours of drift, and the bias taken again."""
    rng = generator("D-42")
    # start-up × (fresh, 4 h later, taken again) × (force, torque)
    residuals = np.array([_start_up(rng) for _ in range(10)])
    fresh, old, again = residuals.max(axis=0)
    force, torque = np.maximum(fresh, again)
    note = (
        f"torque {torque:.4f} N·m; after {DRIFT_HOURS:g} h of drift {old[0]:.2f} N "
        "until the bias is taken again"
    )
    return Finding(force, force < 0.15 and torque < 0.005, note)


@experiment("D-43")
def orientation_sweep() -> Finding:
    """Gravity along ±x, ±y, ±z for 1 s each: the bare sensor, then the sensor with the handle."""
    worst = {samples: _worst_sweep(samples) for samples in (SAMPLES // 5, SAMPLES, 4 * SAMPLES)}
    mass, com, bias = worst[SAMPLES]
    others = ", ".join(f"{samples} {m:.2f} %" for samples, (m, _, _) in worst.items())
    note = (
        f"com {com:.2f} mm, bias {bias:.3f} N; worst of 10 sweeps, internals and handle, with the "
        f"{SAMPLES} readings a pose of the published start-up; mass by readings a pose: {others}"
    )
    return Finding(mass, mass < 2.0 and com < 2.0 and bias < 0.1, note)


@experiment("D-52")
def grip_frame() -> Finding:
    """One push in the frames of twenty grips reads alike; one force at twenty grips does not.

    The pushes are the two published forces. A moment beyond the sensor's capacity must be refused,
    not read wrongly.
    """
    grips = [_grips(size) for size in FORCES]
    spread, followed = max(g.spread for g in grips), max(g.followed for g in grips)
    refused = ", ".join(f"{g.refused} at {size:g} N" for g, size in zip(grips, FORCES, strict=True))
    ok = spread < 1e-9 and followed < 0.0021 and min(g.reach for g in grips) > 1.0
    note = (
        f"forces of {FORCES[0]:g} and {FORCES[1]:g} N at twenty grips within 0.1 m follow r × f to "
        f"{1e3 * followed:.1f} mN·m (rounding); refused as beyond 95 % of capacity: {refused}"
    )
    return Finding(spread, bool(ok and all(g.correct for g in grips)), note)


class Grips(NamedTuple):
    """Twenty grips of one force."""

    spread: float  #: of the readings of one push, given in all their frames, [N] and [N·m]
    followed: float  #: how far the readings are from r × f, [N·m]
    reach: float  #: range of r × f among what is read, [N·m]
    refused: int  #: how many are beyond the sensor
    correct: bool  #: whether exactly those were refused


def _grips(size: float) -> Grips:
    """Push with ``size`` [N] at twenty grips within 0.1 m on each axis."""
    rng = generator("D-52")
    rotation = Rotation.random(rng=rng).as_matrix()
    mounting = Mounting(GRIP, Rotation.random(rng=rng).as_matrix())
    sensor = ForceSensor(HEX_E.silent(), mounting, gravity=0.0)
    # in tool axes at the tool point
    push = np.array([20.0, -12.0, 15.0, 1.0, -2.0, 0.5])
    push[:3] *= size / np.linalg.norm(push[:3])
    readings, off, moments, refused, correct = [], [], [], 0, True
    for _ in range(20):
        position = rng.uniform(-0.1, 0.1, 3)
        turn = Rotation.random(rng=rng).as_matrix()
        grip = replace(HANDLE, grip_position=position, grip_rotation=turn)
        same = adjoint(turn, position).T @ push
        readings.append(_reading(sensor, rotation, grip.wrench_in_tool(same)))
        straight = np.concatenate([turn.T @ push[:3], np.zeros(3)])
        reading = _reading(sensor, rotation, grip.wrench_in_tool(straight))
        moment = mounting.rotation.T @ np.cross(position - mounting.position, push[:3])
        true = np.concatenate([mounting.rotation.T @ push[:3], moment])
        beyond = bool((np.abs(true) >= 0.95 * HEX_E.capacity).any())
        conditioner = plain_conditioner(limit=0.95)
        kept = conditioner.update(reading / HEX_E.resolution, rotation) is not None
        correct = correct and kept != beyond
        refused += beyond
        if kept:
            off.append(np.abs(reading[3:] - moment).max())
            moments.append(moment)
    spread, reach = (float(np.ptp(rows, axis=0).max()) for rows in (readings, moments))
    return Grips(spread, float(max(off)), reach, refused, correct)


def plain_conditioner(mounting: Mounting | None = None, limit: float = 2.0) -> Conditioner:
    """A conditioner without weight and bias; ``limit`` is a share of the capacity."""
    profile = replace(HEX_E, internals=Load())
    conditioner = Conditioner(profile, mounting or Mounting(), gravity=0.0, limit=limit)
    conditioner.set_bias(np.zeros(6))
    return conditioner


def measured(conditioner: Conditioner, counts: Array, rotation: Array) -> Array:
    """What a conditioner makes of a reading that must be usable."""
    wrench = conditioner.update(counts, rotation)
    if wrench is None:
        raise BadValue(f"no measurement: {conditioner.reason}")
    return wrench.copy()


def _step_of(axis: int) -> float:
    """The step between levels of a sweep that differs most from the published one, [N] or [N·m]."""
    sensor, conditioner = ForceSensor(HEX_E.silent(), gravity=0.0), plain_conditioner()
    wrenches = np.zeros((201, 6))
    wrenches[:, axis] = np.linspace(-0.005, 0.005, 201) * HEX_E.capacity[axis]
    counts = sensor.read(wrenches, np.eye(3))
    outputs = [measured(conditioner, row, np.eye(3))[axis] for row in counts]
    steps = np.diff(np.unique(np.round(outputs, 9)))
    published = 0.1 if axis < 3 else 0.001
    return float(steps[np.argmax(np.abs(steps - published))])


def _start_up(rng: np.random.Generator) -> list[tuple[float, float]]:
    """Largest force and torque after start-up, four hours later, and with a new bias."""
    bias = rng.uniform(-1.0, 1.0, 6) * np.repeat([20.0, 0.5], 3)
    sensor = ForceSensor(HEX_E, Mounting(), HANDLE.load, bias=bias, rng=rng)
    conditioner = Conditioner(HEX_E, Mounting(), HANDLE.load)
    _take_bias(sensor, conditioner, rng)
    residuals = [_residual(sensor, conditioner, rng)]
    sensor.rest(DRIFT_HOURS * 3600.0)
    residuals.append(_residual(sensor, conditioner, rng))
    conditioner.tare()
    _take_bias(sensor, conditioner, rng)
    return [*residuals, _residual(sensor, conditioner, rng)]


def _take_bias(sensor: ForceSensor, conditioner: Conditioner, rng: np.random.Generator) -> None:
    rotation = Rotation.random(rng=rng).as_matrix()
    for counts in sensor.read(np.zeros((100, 6)), rotation):
        conditioner.update(counts, rotation)


def _residual(
    sensor: ForceSensor, conditioner: Conditioner, rng: np.random.Generator
) -> tuple[float, float]:
    """Largest mean force [N] and torque [N·m] over 50 orientations, 2 s of motion in between."""
    means = []
    for rotation in Rotation.random(50, rng=rng).as_matrix():
        sensor.rest(2.0)
        readings = sensor.read(np.zeros((20, 6)), rotation)
        wrenches = [measured(conditioner, counts, rotation) for counts in readings]
        means.append(np.mean(wrenches, axis=0))
    halves = np.split(np.array(means), 2, axis=1)
    force, torque = (np.linalg.norm(half, axis=1).max() for half in halves)
    return float(force), float(torque)


def _worst_sweep(samples: int) -> tuple[float, float, float]:
    """Of ten calibrations: error of a mass [%], of a centre of mass [mm], of the bias [N]."""
    rng = generator("D-43")
    mass, com, bias = np.array([_sweep(rng, samples) for _ in range(10)]).max(axis=0)
    return 100.0 * float(mass), 1e3 * float(com), float(bias)


def _sweep(rng: np.random.Generator, samples: int) -> tuple[float, float, float]:
    """Largest errors of one calibration: of a mass [-], a centre of mass [m], the bias [N]."""
    turns = np.array([(0, 0, 0), (2, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)])
    rotations = Rotation.from_rotvec(np.pi / 2.0 * turns).as_matrix()
    bias = rng.uniform(-1.0, 1.0, 6) * np.repeat([20.0, 0.5], 3)
    bare, full = (
        _identified(ForceSensor(HEX_E, Mounting(), load, bias=bias, rng=rng), rotations, samples)
        for load in (Load(), HANDLE.load)
    )
    pairs = (bare.load, HEX_E.internals), (full.load - bare.load, HANDLE.load)
    mass = max(abs(fitted.mass / true.mass - 1.0) for fitted, true in pairs)
    com = max(float(np.linalg.norm(fitted.com - true.com)) for fitted, true in pairs)
    off = max(float(np.linalg.norm(tool.bias_force - bias[:3])) for tool in (bare, full))
    return mass, com, off


def _identified(sensor: ForceSensor, rotations: Array, samples: int) -> ToolCalibration:
    """What hangs on a sensor, from ``samples`` readings in every orientation."""
    counts = np.concatenate([sensor.read(np.zeros((samples, 6)), R) for R in rotations])
    quaternions = np.repeat(Rotation.from_matrix(rotations).as_quat(), samples, axis=0)
    times = 0.01 * np.arange(len(counts))
    return identify(Readings(times, quaternions, counts * HEX_E.resolution)).tool


def _reading(sensor: ForceSensor, rotation: Array, wrench_in_tool: Array) -> Array:
    """What a sensor reports, [N] and [N·m], of a wrench in tool axes."""
    in_world = np.concatenate([rotation @ wrench_in_tool[:3], rotation @ wrench_in_tool[3:]])
    return sensor.read(in_world, rotation) * HEX_E.resolution


@experiment("D-44")
def saturation() -> Finding:
    """Every axis swept past its limit; then three hands that push beyond it and come back at 6 s.

    Safe means: no trip, all finite, back to 1 mm after release, and a contact at rest while the
    hand holds.
    """
    late = max(_samples_late(axis, sign) for axis in range(6) for sign in (1.0, -1.0))
    cases = [overload(stiffness) for stiffness in HANDS]
    swings = [overload(stiffness, latch=False).held[0] for stiffness in HANDS]
    used = max(float(case.shares[~case.missing].max()) for case in cases)
    after = max(
        float(case.error[case.run.times("coupling") > RELEASE + 3.0].max()) for case in cases
    )
    trips = [record.trip.kind for case in cases for record in case.run.rig.session.trips]
    listed = "; ".join(
        f"{k:.0f} N/m: {case.missing.sum()} samples refused, {case.held[0]:.0f} N and "
        f"{1e3 * case.held[1]:.0f} mm"
        for k, case in zip(HANDS, cases, strict=True)
    )
    note = (
        f"flag in time, largest reading used {100 * used:.2f} %, trips: "
        f"{', '.join(trips) or 'none'}, {1e3 * after:.2f} mm after release. The flag stays up "
        "until the next engagement: without the measurement the tie is soft, and a reading "
        "believed again as soon as the force falls keeps the contact swinging (deviation "
        f"{min(swings):.0f} to {max(swings):.0f} N). By the hand's stiffness, deviation of the "
        f"wall's force and swing of the error in the last second: {listed}"
    )
    ok = late == 0 and used < 0.95 and not trips and after < 1e-3
    ok = ok and all(
        case.missing.any() and np.isfinite(case.error).all() and case.held[0] < STILL
        for case in cases
    )
    figures = (Figure("A push beyond the sensor", lambda: _overload_plot(cases[0])),)
    return Finding(late, bool(ok), note, figures=figures)


@experiment("D-45")
def point_of_reference() -> Finding:
    """The sensor's origin is at r; its reading is about r, or about the tool point as published."""
    directions = generator("D-45").normal(size=(2000, 3))
    directions *= PUSH / np.linalg.norm(directions, axis=1, keepdims=True)
    right, wrong = (plain_conditioner(Mounting(position)) for position in (GRIP, np.zeros(3)))
    sensor = ForceSensor(HEX_E.silent(), Mounting(GRIP), gravity=0.0)
    readings = sensor.read(np.hstack([directions, np.zeros((2000, 3))]), np.eye(3))
    moments = [(_moment(right, row), _moment(wrong, row)) for row in readings]
    largest = max(float(np.linalg.norm(r - w)) for r, w in moments)
    residue = max(float(np.linalg.norm(r)) for r, _ in moments)
    contact, shifted = pressed(tuple(GRIP)), pressed((0.0, 0.0, 0.0))
    note = (
        f"moment left with the right point {residue:.4f} N·m; contact with it: {contact.summary}; "
        f"with the tool point: {shifted.summary}"
    )
    figures = (Figure("A moment about the wrong point", lambda: _point_plot(contact, shifted)),)
    ok = abs(largest - 4.4) < 0.02 and residue < 0.01 and contact.reflects
    return Finding(largest, ok, note, figures=figures)


@dataclass
class Pressed:
    """A leader with a sensor, pressed until the follower stands against the wall."""

    run: Run
    error: Array  #: ‖e_p‖ over time, [m]
    shares: Array  #: of the sensor's capacity that each reading used, [-]
    missing: Array  #: whether each reading was refused

    @property
    def held(self) -> tuple[float, float]:
        """Deviation of the wall's force [N] and range of the error [m], in the last second held."""
        force_time, error_time = self.run.times("follower"), self.run.times("coupling")
        force = self.run.signal("follower", "wrench_measured_in_world")[:, 0]
        held_force = force[(force_time >= RELEASE - 1.0) & (force_time < RELEASE)]
        held_error = self.error[(error_time >= RELEASE - 1.0) & (error_time < RELEASE)]
        return float(held_force.std()), float(np.ptp(held_error))

    @property
    def steady(self) -> tuple[float, float, float]:
        """Mean hand force and wall force [N], and penetration [mm], over the last half second."""
        hand, wall = (
            abs(float(np.nanmean(self.run.signal(side, "wrench_measured_in_world")[-500:, 0])))
            for side in ("leader", "follower")
        )
        depth = float(self.run.signal("follower", "position_tool_in_world")[-500:, 0].mean()) - 0.45
        return hand, wall, 1e3 * depth

    @property
    def apart(self) -> tuple[float, float]:
        """Mean position error [mm] and rotation error [deg] over the last half second."""
        mean = self.run.signal("coupling", "error")[-500:].mean(axis=0)
        return 1e3 * float(np.linalg.norm(mean[:3])), float(np.degrees(np.linalg.norm(mean[3:])))

    @property
    def reflects(self) -> bool:
        """D-36: equal forces within 1 %, error below 0.5 mm, penetration 14.43 ± 0.2 mm."""
        hand, wall, depth = self.steady
        return abs(hand - wall) < 0.01 * wall and self.apart[0] < 0.5 and abs(depth - 14.43) < 0.2

    @property
    def summary(self) -> str:
        """Everything in a line."""
        (hand, wall, depth), (off, turn) = self.steady, self.apart
        forces = f"hand {hand:.2f} N, wall {wall:.2f} N"
        return f"{forces}, {depth:.2f} mm deep, error {off:.2f} mm and {turn:.2f}°"


class WatchedConditioner(Conditioner):
    """A conditioner that logs the share of the capacity of each reading, and whether it failed."""

    def __post_init__(self) -> None:
        """Start an empty log."""
        super().__post_init__()
        self.log: list[tuple[float, bool]] = []

    def update(self, counts: Array, rotation_tool_in_world: Array) -> Array | None:
        """As the conditioner's, logged once the bias is taken."""
        starting = self.status == "bias"
        wrench = super().update(counts, rotation_tool_in_world)
        if not starting:
            self.log.append((float(np.abs(counts / self.profile.counts).max()), wrench is None))
        return wrench


@shared
def pressed(believed: tuple[float, float, float]) -> Pressed:
    """The published contact, sensor at the grip; the conditioner assumes it at ``believed`` [m]."""
    moves = (Move(1.5, 2.5, PRESS),)
    return _press(Mounting(GRIP), Mounting(np.array(believed)), moves, 1000.0, 8.0)


@shared
def overload(stiffness: float, latch: bool = True) -> Pressed:
    """A hand of this stiffness [N/m], three times the usual and more, back at :data:`RELEASE`."""
    moves = Move(1.5, 2.5, PRESS), Move(RELEASE, 1.0, (-0.42, 0.0, 0.0))
    return _press(Mounting(), Mounting(), moves, stiffness, 10.0, latch)


def _press(
    true: Mounting,
    believed: Mounting,
    moves: tuple[Move, ...],
    stiffness: float,
    seconds: float,
    latch: bool = True,
) -> Pressed:
    """Hands off for the sensor's first second, then the moves; law at 1 kHz, sensor at 100 Hz."""
    rig = with_moves(dual_arm(LAW, "press", ("hand.stiffness", stiffness)), *moves)
    rng = generator("press")
    bias = rng.uniform(-1.0, 1.0, 6) * np.repeat([5.0, 0.3], 3)
    sensor = ForceSensor(HEX_E, true, HANDLE.load, bias=bias, rng=rng)
    conditioner = WatchedConditioner(HEX_E, believed, HANDLE.load, latch=latch)
    leader = next(station for station in rig.session.stations if station.name == "leader")
    arm = Arm.of(load_robot("ur5e", "cb"))
    leader.plant = InstrumentedPlant(leader.plant, sensor, conditioner, arm)
    result = run(rig, seconds)
    error = np.linalg.norm(result.signal("coupling", "error")[:, :3], axis=1)
    shares, missing = (np.array(column) for column in zip(*conditioner.log, strict=True))
    return Pressed(result, error, shares, missing)


def _samples_late(axis: int, sign: float) -> int:
    """Samples from the first reading at 95 % of an axis's capacity to the first refused one."""
    sensor, conditioner = ForceSensor(HEX_E.silent(), gravity=0.0), Conditioner(HEX_E, gravity=0.0)
    conditioner.set_bias(np.zeros(6))
    wrenches = np.zeros((400, 6))
    wrenches[:, axis] = np.linspace(0.8, 1.2, 400) * sign * HEX_E.capacity[axis]
    counts = sensor.read(wrenches, np.eye(3))
    refused = [conditioner.update(row, np.eye(3)) is None for row in counts]
    due = int(np.argmax(np.abs(counts[:, axis]) >= 0.95 * HEX_E.counts[axis]))
    flagged = refused.index(True) if True in refused else len(refused)
    return flagged - due if flagged >= due and all(refused[flagged:]) else len(refused)


def _moment(conditioner: Conditioner, counts: Array) -> Array:
    return measured(conditioner, counts, np.eye(3))[3:]


def _overload_plot(pushed: Pressed):
    title = "Where the sensor saturates there is no measurement, and the tie is soft"
    figure, (axes, gap) = time_axes(title, 2, 4.2)
    t = pushed.run.times("leader")
    axes.plot(t, force(pushed.run, "leader")[:, 0], label="hand, measured")
    axes.plot(t, -force(pushed.run, "follower")[:, 0], label="wall")
    axes.axhline(0.95 * HEX_E.capacity[0], linestyle=":", label="95 % of capacity")
    axes.set(ylabel="force along x [N]")
    axes.legend()
    gap.plot(pushed.run.times("coupling"), 1e3 * pushed.error)
    gap.set(xlabel="time [s]", ylabel="position error [mm]")
    return figure


def _point_plot(right: Pressed, wrong: Pressed):
    title = "Moments about the wrong point pull the tools apart"
    figure, axes = canvas("time [s]", "position error [mm]", title)
    for push, label in ((right, "about the sensor's origin"), (wrong, "about the tool point")):
        axes.plot(push.run.times("coupling"), 1e3 * push.error, label=label)
    axes.legend()
    return figure


MUTATIONS = Mutations()


def _fields(**values: object):
    """Every new conditioner has some fields replaced."""

    def change(prepare):
        def broken(self: Conditioner) -> None:
            for name, value in values.items():
                setattr(self, name, value)
            prepare(self)

        return broken

    return change


def _thousandth(self: SensorProfile) -> Array:
    return self.capacity / self.counts / np.repeat([1.0, 1000.0], 3)


MUTATIONS += [
    Mutation("torque counts", "torques are divided by 1000 once more (E-21)", ("D-41",)).patch(
        SensorProfile, "resolution", property(_thousandth)
    ),
    Mutation("handle's weight", "the handle weighs nothing", ("D-42",)).change(
        Conditioner, "__post_init__", _fields(load=Load())
    ),
    Mutation("handle's lever", "the handle hangs from the sensor's origin", ("D-42",)).change(
        Conditioner, "__post_init__", _fields(load=replace(HANDLE.load, com=np.zeros(3)))
    ),
    Mutation("short bias", "the bias is a single reading", ("D-42",)).change(
        Conditioner, "__post_init__", _fields(samples=1)
    ),
    Mutation("cross product", "the calibration takes m g × r for r × m g", ("D-43",)).patch(
        identification_module, "skew", lambda a: -skew(a)
    ),
    Mutation("grip as twist", "the grip's wrench changes frame as a twist does", ("D-52",)).patch(
        profile_module, "wrench_in_parent", twist_in_parent
    ),
]


@MUTATIONS.of(Conditioner, "tare", "D-42")
def bias_taken_once(tare, self):
    """The bias is never taken again."""
    if not hasattr(self, "_biased"):
        self.status, self._biased, self._taken = "bias", False, 0


@MUTATIONS.of(Conditioner, "refresh", "D-44")
def no_flag(refresh, self):
    """A saturated sensor is believed."""
    self.limit = 2.0
    refresh(self)


@MUTATIONS.of(Conditioner, "_usable", "D-44")
def flag_without_latch(usable, self, share):
    """A saturated sensor is believed again at once."""
    self.latch = False
    return usable(self, share)


@MUTATIONS.of(conditioner_module, "wrench_map", "D-45")
def lever_sign(wrench_map, mounting):
    """Moments are moved the wrong way."""
    return wrench_map(Mounting(-mounting.position, mounting.rotation, mounting.sign))


@MUTATIONS.of(conditioner_module, "wrench_map", "D-45")
def wrench_as_twist(wrench_map, mounting):
    """A wrench changes frame as a twist does (E-14)."""
    return mounting.sign * adjoint(mounting.rotation, mounting.position)


@MUTATIONS.of(conditioner_module, "wrench_map", "D-45")
def sensor_sign(wrench_map, mounting):
    """The reading is taken as the reaction (E-26)."""
    return -wrench_map(mounting)
