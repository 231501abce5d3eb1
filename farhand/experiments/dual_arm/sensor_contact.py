"""The force sensor in contact: a push beyond its capacity, and the point its moments are about."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.control.trajectory import Move, Path
from farhand.experiments.dual_arm.sensor import GRIP, GROUP, HANDLE, HEX_E, measured, plain_conditioner
from farhand.experiments.harness import Figure, Finding, experiment, generator, shared
from farhand.experiments.mutation import Mutation, patched
from farhand.experiments.trial import Run, dual_arm, run
from farhand.plants.instrumented import InstrumentedPlant
from farhand.robots import load_robot
from farhand.sensing import Conditioner, ForceSensor, Mounting
from farhand.sensing import conditioner as conditioner_module
from farhand.spatial import adjoint

Array = np.ndarray

PUSH = 75.5  # [N], where the published pushing stopped
UNTIL = 6.0  # [s], end of the saturating push


@experiment(
    "D-44",
    "Saturation flag and fall-back",
    group=GROUP,
    unit="sample",
    criterion="flag at ≥ 95 % capacity within one sample; law falls back safely",
    source="seed L948 names the flag as missing",
)
def saturation() -> Finding:
    """Every axis swept past its limit; then a hand that would push with 201 N until it comes back at 6 s."""
    late = max(_samples_late(axis, sign) for axis in range(6) for sign in (1.0, -1.0))
    pushed = overload()
    t, error = pushed.run.times("coupling"), pushed.error
    used = pushed.shares[~pushed.missing]
    held = [float(np.ptp(error[(t >= a) & (t < a + 1.0)])) for a in (UNTIL - 2.0, UNTIL - 1.0)]
    after = float(error[t > UNTIL + 3.0].max())
    trips = [record.trip.kind for record in pushed.run.rig.session.trips]
    safe = not trips and bool(np.isfinite(error).all()) and held[1] < 1.5 * held[0] + 1e-3 and after < 1e-3
    note = (
        f"push: no measurement in {pushed.missing.sum()} samples, largest reading used {100 * used.max():.1f} %, "
        f"peak error {1e3 * error.max():.0f} mm; while held the tie is soft and stiff in turn and the error swings by "
        f"{1e3 * held[0]:.0f}, a second later by {1e3 * held[1]:.0f} mm; "
        f"{1e3 * after:.2f} mm after release, trips: {', '.join(trips) or 'none'}"
    )
    ok = late == 0 and bool(pushed.missing.any()) and float(used.max()) < 0.95 and safe
    return Finding(late, ok, note, figures=(Figure("A push beyond the sensor", lambda: _overload_plot(pushed)),))


@experiment(
    "D-45",
    "The point moments are about",
    group=GROUP,
    unit="N·m",
    criterion="difference for 75.5 N at r = (0, −0.03, 0.05) m up to 4.4 N·m; with the right choice D-36 holds",
    source="seed L486, L1058–1064 calls it small; 75.5 N from L956",
)
def point_of_reference() -> Finding:
    """The sensor's origin is at r; its reading is taken about it, or about the tool point as the seed did."""
    directions = generator("D-45").normal(size=(2000, 3))
    directions *= PUSH / np.linalg.norm(directions, axis=1, keepdims=True)
    right, wrong = (plain_conditioner(Mounting(position)) for position in (GRIP, np.zeros(3)))
    readings = ForceSensor(HEX_E.silent(), Mounting(GRIP), gravity=0.0).read(
        np.hstack([directions, np.zeros((2000, 3))]), np.eye(3)
    )
    largest = max(float(np.linalg.norm(_moment(right, row) - _moment(wrong, row))) for row in readings)
    residue = max(float(np.linalg.norm(_moment(right, row))) for row in readings)
    contact, astray = pressed(tuple(GRIP)), pressed((0.0, 0.0, 0.0))
    note = (
        f"moment left with the right point {residue:.4f} N·m; contact with it: {contact.text}; "
        f"with the tool point: {astray.text}"
    )
    figures = (Figure("A moment about the wrong point", lambda: _point_plot(contact, astray)),)
    return Finding(largest, abs(largest - 4.4) < 0.02 and residue < 0.01 and contact.reflects, note, figures=figures)


@dataclass
class Pressed:
    """A leader with a sensor, pressed until the follower stands against the wall."""

    run: Run
    error: Array
    shares: Array
    missing: Array

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
        """The criterion of D-36: equal forces within 1 %, error below 0.5 mm, penetration 14.43 ± 0.2 mm."""
        hand, wall, depth = self.steady
        return abs(hand - wall) < 0.01 * wall and self.apart[0] < 0.5 and abs(depth - 14.43) < 0.2

    @property
    def text(self) -> str:
        """Everything in a line."""
        (hand, wall, depth), (off, turn) = self.steady, self.apart
        return f"hand {hand:.2f} N, wall {wall:.2f} N, {depth:.2f} mm deep, error {off:.2f} mm and {turn:.2f}°"


class Watched(Conditioner):
    """A conditioner that remembers how far each reading was from the capacity and whether it was used."""

    def __post_init__(self) -> None:
        """Nothing seen yet."""
        super().__post_init__()
        self.seen: list[tuple[float, bool]] = []

    def update(self, counts: Array, rotation_tool_in_world: Array) -> Array | None:
        """As the conditioner's, remembered once the bias is taken."""
        starting = self.status == "bias"
        wrench = super().update(counts, rotation_tool_in_world)
        if not starting:
            self.seen.append((float(np.abs(counts / self.profile.counts).max()), wrench is None))
        return wrench


@shared
def pressed(believed: tuple[float, float, float]) -> Pressed:
    """The published contact with the sensor's origin at the grip; the conditioner believes it to be at ``believed``."""
    return _press(Mounting(GRIP), Mounting(np.array(believed)), (Move(1.5, 2.5, (0.42, 0.0, 0.0)),), 1000.0, 8.0)


@shared
def overload() -> Pressed:
    """A hand three times as stiff, which comes back at :data:`UNTIL`."""
    there, back = (0.42, 0.0, 0.0), (-0.42, 0.0, 0.0)
    return _press(Mounting(), Mounting(), (Move(1.5, 2.5, there), Move(UNTIL, 1.0, back)), 3000.0, 10.0)


def _press(true: Mounting, believed: Mounting, moves: tuple[Move, ...], stiffness: float, seconds: float) -> Pressed:
    """Hands off for the sensor's first second, then the moves; virtual constraints at 1 kHz, the sensor at 100 Hz."""
    rig = dual_arm("virtual-constraints", "press", ("hand.stiffness", stiffness))
    rig.session.parameters["hand"].path = Path(moves)
    rng = generator("press")
    bias = rng.uniform(-1.0, 1.0, 6) * np.repeat([5.0, 0.3], 3)
    sensor = ForceSensor(HEX_E, true, HANDLE.load, bias=bias, rng=rng)
    conditioner = Watched(HEX_E, believed, HANDLE.load)
    leader = next(station for station in rig.session.stations if station.name == "leader")
    leader.plant = InstrumentedPlant(leader.plant, sensor, conditioner, Arm.of(load_robot("ur5e", "cb")))
    result = run(rig, seconds)
    error = np.linalg.norm(result.signal("coupling", "error")[:, :3], axis=1)
    shares, missing = (np.array(column) for column in zip(*conditioner.seen, strict=True))
    return Pressed(result, error, shares, missing)


def _samples_late(axis: int, sign: float) -> int:
    """Samples between the first reading at 95 % of an axis's capacity and the first that is refused (early: −1)."""
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
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7, 4.2), layout="constrained")
    force, gap = figure.subplots(2, sharex=True)
    t = pushed.run.times("leader")
    force.plot(t, pushed.run.signal("leader", "wrench_measured_in_world")[:, 0], label="hand, measured")
    force.plot(t, -pushed.run.signal("follower", "wrench_measured_in_world")[:, 0], label="wall")
    force.axhline(0.95 * HEX_E.capacity[0], linestyle=":", label="95 % of capacity")
    force.set(
        ylabel="force along x [N]", title="Where the sensor saturates there is no measurement, and the tie is soft"
    )
    force.legend()
    gap.plot(pushed.run.times("coupling"), 1e3 * pushed.error)
    gap.set(xlabel="time [s]", ylabel="position error [mm]")
    return figure


def _point_plot(right: Pressed, wrong: Pressed):
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    for pressed, label in ((right, "about the sensor's origin"), (wrong, "about the tool point")):
        axes.plot(pressed.run.times("coupling"), 1e3 * pressed.error, label=label)
    axes.set(
        xlabel="time [s]", ylabel="position error [mm]", title="Moments about the wrong point pull the tools apart"
    )
    axes.legend()
    return figure


def _map(change: str):
    """The conditioner's wrench map, broken."""
    whole = conditioner_module.wrench_map

    def broken(mounting: Mounting) -> Array:
        return {
            "adjoint": mounting.sign * adjoint(mounting.rotation, mounting.position),
            "lever": whole(Mounting(-mounting.position, mounting.rotation, mounting.sign)),
            "reaction": -whole(mounting),
        }[change]

    return patched(conditioner_module, "wrench_map", broken)


@contextlib.contextmanager
def _no_flag() -> Iterator[None]:
    refresh = Conditioner.refresh

    def broken(self: Conditioner) -> None:
        self.limit = 2.0
        refresh(self)

    with patched(Conditioner, "refresh", broken):
        yield


MUTATIONS = [
    Mutation("no flag", "a saturated sensor is believed", ("D-44",), _no_flag),
    Mutation("lever sign", "moments are moved the wrong way", ("D-45",), lambda: _map("lever")),
    Mutation("adjoint", "a wrench changes frame as a twist does (E-14)", ("D-45",), lambda: _map("adjoint")),
    Mutation("sensor sign", "the reading is taken as the reaction (E-26)", ("D-45",), lambda: _map("reaction")),
]
"""Parts broken on purpose."""
