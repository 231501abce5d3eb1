"""The force sensor in contact: a push beyond its capacity, and the point its moments are about."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.control.trajectory.paths import HandPath, Move
from farhand.plants.wrappers.instrumented import InstrumentedPlant
from farhand.robots import load_robot
from farhand.sensing import Conditioner, ForceSensor, Mounting
from farhand.sensing import conditioner as conditioner_module
from farhand.spatial import adjoint
from farhand_lab.dual_arm.sensor import GRIP, HANDLE, HEX_E, measured, plain_conditioner
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.mutation import Mutation, patched
from farhand_lab.trial import Run, dual_arm, run

Array = np.ndarray

PUSH = 75.5  # [N], where the published pushing stopped
UNTIL = 6.0  # [s], end of the saturating push
HANDS = (3000.0, 5000.0, 10_000.0)  # [N/m]; below 2700 the push never saturates the sensor
STILL = 1.0  # deviation of the wall's force at rest, as where rates are compared (D-55), [N]


@experiment("D-44")
def saturation() -> Finding:
    """Every axis swept past its limit; then hands of three stiffnesses that push beyond it and come back at 6 s.

    Safe means: no trip, all finite, back to 1 mm after release, and a contact at rest while the
    hand holds.
    """
    late = max(_samples_late(axis, sign) for axis in range(6) for sign in (1.0, -1.0))
    cases = {stiffness: overload(stiffness) for stiffness in HANDS}
    shakes = {stiffness: _held(case) for stiffness, case in cases.items()}
    used = max(float(case.shares[~case.missing].max()) for case in cases.values())
    after = max(
        float(case.error[case.run.times("coupling") > UNTIL + 3.0].max()) for case in cases.values()
    )
    trips = [record.trip.kind for case in cases.values() for record in case.run.rig.session.trips]
    listed = "; ".join(
        f"{k:.0f} N/m: {cases[k].missing.sum()} samples refused, {force:.0f} N and {1e3 * swing:.0f} mm"
        for k, (force, swing) in shakes.items()
    )
    whole = (
        not trips and all(np.isfinite(case.error).all() for case in cases.values()) and after < 1e-3
    )
    still = all(force < STILL for force, _ in shakes.values())
    note = (
        f"flag in time, largest reading used {100 * used:.2f} %, trips: {', '.join(trips) or 'none'}, "
        f"{1e3 * after:.2f} mm after release. The flag stays up until the next engagement: without the measurement the "
        f"tie is soft, and a reading believed again as soon as the force falls would keep the contact swinging (14 to "
        f"34 N). By the hand's stiffness, deviation of the wall's force and swing of the error in the last second: "
        f"{listed}"
    )
    ok = (
        late == 0
        and all(case.missing.any() for case in cases.values())
        and used < 0.95
        and whole
        and still
    )
    figures = (Figure("A push beyond the sensor", lambda: _overload_plot(cases[HANDS[0]])),)
    return Finding(late, bool(ok), note, figures=figures)


def _held(pushed: Pressed) -> tuple[float, float]:
    """Deviation of the wall's force [N] and range of the error [m] in the last second before the hand comes back."""
    found = []
    for stream in ("follower", "coupling"):
        t = pushed.run.times(stream)
        found.append((t >= UNTIL - 1.0) & (t < UNTIL))
    force = pushed.run.signal("follower", "wrench_measured_in_world")[found[0], 0]
    return float(force.std()), float(np.ptp(pushed.error[found[1]]))


@experiment("D-45")
def point_of_reference() -> Finding:
    """The sensor's origin is at r; its reading is taken about it, or about the tool point as the thesis did."""
    directions = generator("D-45").normal(size=(2000, 3))
    directions *= PUSH / np.linalg.norm(directions, axis=1, keepdims=True)
    right, wrong = (plain_conditioner(Mounting(position)) for position in (GRIP, np.zeros(3)))
    readings = ForceSensor(HEX_E.silent(), Mounting(GRIP), gravity=0.0).read(
        np.hstack([directions, np.zeros((2000, 3))]), np.eye(3)
    )
    largest = max(
        float(np.linalg.norm(_moment(right, row) - _moment(wrong, row))) for row in readings
    )
    residue = max(float(np.linalg.norm(_moment(right, row))) for row in readings)
    contact, astray = pressed(tuple(GRIP)), pressed((0.0, 0.0, 0.0))
    note = (
        f"moment left with the right point {residue:.4f} N·m; contact with it: {contact.text}; "
        f"with the tool point: {astray.text}"
    )
    figures = (Figure("A moment about the wrong point", lambda: _point_plot(contact, astray)),)
    return Finding(
        largest,
        abs(largest - 4.4) < 0.02 and residue < 0.01 and contact.reflects,
        note,
        figures=figures,
    )


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
    return _press(
        Mounting(GRIP),
        Mounting(np.array(believed)),
        (Move(1.5, 2.5, (0.42, 0.0, 0.0)),),
        1000.0,
        8.0,
    )


@shared
def overload(stiffness: float) -> Pressed:
    """A hand of this stiffness [N/m], three times the usual and more, which comes back at :data:`UNTIL`."""
    there, back = (0.42, 0.0, 0.0), (-0.42, 0.0, 0.0)
    return _press(
        Mounting(), Mounting(), (Move(1.5, 2.5, there), Move(UNTIL, 1.0, back)), stiffness, 10.0
    )


def _press(
    true: Mounting, believed: Mounting, moves: tuple[Move, ...], stiffness: float, seconds: float
) -> Pressed:
    """Hands off for the sensor's first second, then the moves; virtual constraints at 1 kHz, the sensor at 100 Hz."""
    rig = dual_arm("virtual-constraints", "press", ("hand.stiffness", stiffness))
    rig.session.parameters["hand"].path = HandPath(moves)
    rng = generator("press")
    bias = rng.uniform(-1.0, 1.0, 6) * np.repeat([5.0, 0.3], 3)
    sensor = ForceSensor(HEX_E, true, HANDLE.load, bias=bias, rng=rng)
    conditioner = Watched(HEX_E, believed, HANDLE.load)
    leader = next(station for station in rig.session.stations if station.name == "leader")
    leader.plant = InstrumentedPlant(
        leader.plant, sensor, conditioner, Arm.of(load_robot("ur5e", "cb"))
    )
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
    force.plot(
        t, pushed.run.signal("leader", "wrench_measured_in_world")[:, 0], label="hand, measured"
    )
    force.plot(t, -pushed.run.signal("follower", "wrench_measured_in_world")[:, 0], label="wall")
    force.axhline(0.95 * HEX_E.capacity[0], linestyle=":", label="95 % of capacity")
    force.set(
        ylabel="force along x [N]",
        title="Where the sensor saturates there is no measurement, and the tie is soft",
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
        xlabel="time [s]",
        ylabel="position error [mm]",
        title="Moments about the wrong point pull the tools apart",
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


def _no_flag() -> contextlib.AbstractContextManager[object]:
    refresh = Conditioner.refresh

    def broken(self: Conditioner) -> None:
        self.limit = 2.0
        refresh(self)

    return patched(Conditioner, "refresh", broken)


def _no_latch() -> contextlib.AbstractContextManager[object]:
    usable = Conditioner._usable

    def broken(self: Conditioner, share: Array) -> bool:
        self.latch = False
        return usable(self, share)

    return patched(Conditioner, "_usable", broken)


MUTATIONS = [
    Mutation("no flag", "a saturated sensor is believed", ("D-44",), _no_flag),
    Mutation(
        "flag comes down", "a saturated sensor is believed again at once", ("D-44",), _no_latch
    ),
    Mutation("lever sign", "moments are moved the wrong way", ("D-45",), lambda: _map("lever")),
    Mutation(
        "adjoint",
        "a wrench changes frame as a twist does (E-14)",
        ("D-45",),
        lambda: _map("adjoint"),
    ),
    Mutation(
        "sensor sign",
        "the reading is taken as the reaction (E-26)",
        ("D-45",),
        lambda: _map("reaction"),
    ),
]
