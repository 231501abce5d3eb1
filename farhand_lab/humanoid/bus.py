"""Servo bus, servos and what goes wrong with them: H-14 to H-16, H-19, H-20, H-46."""

from __future__ import annotations

import math

import numpy as np

from farhand.control.joint.limb import MotionDeadBand
from farhand.errors import LinkError, OutOfRange
from farhand.plants.servo_bus import frames
from farhand.plants.servo_bus.battery import Battery
from farhand.plants.servo_bus.driver import ServoDriver
from farhand.plants.servo_bus.joints import BusJoint
from farhand.plants.servo_bus.plant import BusParts
from farhand.plants.servo_bus.simulated_bus import BusFaults, BusTiming, SimulatedBus
from farhand.plants.simulated.servo import ServoLoop, Servos
from farhand.rigs import Options, build_rig
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.humanoid.bus_bench import (
    ARM,
    STEP_NS,
    ArmOnBus,
    BusBench,
    all_joints,
    bench,
    on_pseudo_terminal,
)
from farhand_lab.mutation import Mutation, patched
from farhand_lab.trial import run

Array = np.ndarray

TRIES = 3
"""How often the wall-clock part is tried: another program may hold the processor for a moment."""


@experiment("H-14")
def bus_timing() -> Finding:
    """The same driver on a virtual line and, through pyserial, on a pseudo-terminal in wall time."""
    exact = (
        frames.move(44, 0x05DC).encode() == bytes.fromhex("802c05dc730000")
        and frames.checksum(0x80, 0, 0) == 0
    )
    exact &= frames.read(44).encode() == bytes.fromhex("80e92cff6c0000") and _resynchronises()
    wire, loaded = _rate(BusTiming(latency=0.0)), _rate(BusTiming())
    only, short = _rate(BusTiming(), read=False), _rate(BusTiming(wait_bytes=5), read=False)
    scan = 1.0 / (20 * 1e-9 * frames.FRAME_NS)
    walls = []
    for _ in range(TRIES):
        walls.append(on_pseudo_terminal())
        if abs(1.0 / walls[-1].cycle - 25.0) <= 1.0 and walls[-1].missed == 0:
            break
    said = all(wall.raw[: 7 * 5] == _expected() for wall in walls) and walls[-1].missed == 0
    ok = exact and said and abs(wire - 41.6) < 0.1 and abs(loaded - 25.0) <= 1.0
    ok = (
        ok
        and abs(only - 83.1) < 0.2
        and abs(short - 116.0) < 1.0
        and abs(1.0 / walls[-1].cycle - 25.0) <= 1.0
    )
    seen = ", ".join(
        f"{1.0 / wall.cycle:.1f} ({1.0 / (6.0 * wall.transaction):.1f})" for wall in walls
    )
    note = (
        f"wire {wire:.1f} Hz, position-only {only:.1f} Hz, 5-byte wait {short:.0f} Hz, 20 servos {scan:.1f} Hz; on a "
        f"pseudo-terminal in wall time {seen} Hz by the median cycle (transaction) of each try, {walls[-1].missed} "
        f"answers lost{'' if ok else '; other programs on this machine delay the threads at both ends'}"
    )
    return Finding(loaded, ok, note)


def _rate(timing: BusTiming, read: bool = True) -> float:
    made = bench(timing=timing)
    driver, wanted = made.driver, made.driver.sent.copy()
    return made.rate(lambda: driver.refresh(wanted) if read else driver.command(wanted))


def _expected() -> bytes:
    """The first five frames on the line: three readings of the scan, then the first servo's command and reading."""
    made = bench()
    first = ARM[0]
    said = [frames.read(joint.id) for joint in ARM]
    said += [frames.move(first.id, int(made.driver.sent[0])), frames.read(first.id)]
    return b"".join(frame.encode() for frame in said)


def _resynchronises() -> bool:
    """Whether a frame behind noise and half a frame is still found, and a wrong checksum is not taken."""
    frame = frames.move(23, 1500)
    damaged = bytearray(frame.encode())
    damaged[4] ^= 1
    try:
        frames.decode(bytes(damaged))
        return False
    except LinkError:
        return frames.Splitter().feed(b"\x80\x11\x80\x03" + bytes(damaged) + frame.encode()) == [
            frame
        ]


@experiment("H-15")
def servo_plant() -> Finding:
    """The elbow of the simulated arm, with its weight, at three speeds; then a new target halfway."""
    slopes = {speed: _slope(speed) for speed in (40, 128, 220)}
    off = 100.0 * max(
        abs(slope / (263.12 * speed / 255.0) - 1.0) for speed, slope in slopes.items()
    )
    slowest = _replanned()
    servos = Servos(all_joints(), np.full(20, 1500.0))
    ends = float(max(np.abs(servos.error(np.full(20, at))).max() for at in (600.0, 1500.0, 2400.0)))
    errors = np.array([servos.error(np.full(20, at)) for at in np.linspace(600.0, 2400.0, 181)])
    alike = float(
        min(np.abs(errors[:, i] - errors[:, j]).max() for i in range(20) for j in range(i))
    )
    largest = np.abs(errors).max(0) / 10.0
    ok = (
        off <= 1.0
        and slowest > 0.9
        and ends < 1e-9
        and alike > 1.0
        and 0.9 < largest.min()
        and largest.max() <= 2.01
    )
    note = (
        f"slowest during replanning: {slowest:.2f} of the commanded speed; read-back errs by {largest.min():.1f}–"
        f"{largest.max():.1f}° between {ends:.0e} counts at the ends, two units differ by {alike / 10:.1f}° or more"
    )
    return Finding(
        off,
        ok,
        note,
        figures=(Figure("Read-back error of twenty servos", lambda: _errors_figure(errors)),),
    )


def _slope(speed: int) -> float:
    """Speed of the elbow in the middle of a long move, [°/s]."""
    arm = ArmOnBus()
    arm.run(0.2)
    arm.plant.servos.speed[2] = speed
    patch = patched(
        frames, "read", lambda servo, _speed=0xFF: frames.Frame(frames.SET_SPEED, servo, speed)
    )
    with patch:
        q = np.degrees(
            arm.run(60.0 * 255.0 / speed / 263.12 + 0.4, lambda t: np.radians([30.0, 40.0, 115.0]))[
                :, 2
            ]
        )
    middle = (q > 75.0) & (q < 105.0)
    return float(np.polyfit(1e-3 * np.flatnonzero(middle), q[middle], 1)[0])


def _replanned() -> float:
    """Slowest share of the commanded speed while a target is replaced by a further one in mid-move, [-]."""
    arm = ArmOnBus()
    arm.run(0.2)
    q = np.degrees(
        arm.run(0.3, lambda t: np.radians([30.0, 40.0, 90.0 if t < 0.28 else 115.0]))[:, 2]
    )
    speed = np.diff(q[(q > 68.0) & (q < 108.0)]) * 1000.0
    return float(speed.min() / 263.12)


def _errors_figure(errors: Array):
    from matplotlib.figure import Figure as Plot

    plot = Plot(figsize=(7, 3.2))
    axes = plot.subplots()
    axes.plot(np.linspace(-90.0, 90.0, len(errors)), errors / 10.0, lw=0.8)
    axes.set_xlabel("shaft [°]")
    axes.set_ylabel("read-back error [°]")
    return plot


@experiment("H-16")
def counts() -> Finding:
    """Every joint over the travel that its servo reaches, and a degree beyond on both sides."""
    worst, rejected, short = 0.0, 0, []
    for joint in all_joints():
        low, high = joint.limits
        for angle in np.linspace(low, high, 501):
            worst = max(
                worst,
                abs(
                    joint.exact_counts(joint.angle(joint.counts(angle))) - joint.exact_counts(angle)
                ),
            )
        rejected += _rejects(joint, math.radians(joint.travel[0] - 1.0)) + _rejects(
            joint, math.radians(joint.travel[1] + 1.0)
        )
        short += (
            []
            if math.isclose(high - low, math.radians(joint.travel[1] - joint.travel[0]))
            else [joint.name]
        )
    unique = len({joint.id for joint in all_joints()}) == 20
    note = f"{rejected} of 40 ends rejected; the published maps leave 600…2400 for {' and '.join(short)}, cut there"
    return Finding(
        worst, worst <= 0.5 + 1e-9 and rejected == 40 and unique and len(short) == 2, note
    )


def _rejects(joint: BusJoint, angle: float) -> bool:
    try:
        joint.counts(angle)
    except OutOfRange:
        return True
    return False


@shared
def lossy() -> BusBench:
    """Three servos commanded and read for 500 cycles while 30 % of the answers are lost."""
    made = bench(faults=BusFaults(drop=0.3))
    driver, start = made.driver, made.driver.sent.copy()
    for step in range(500):
        made.run(driver.refresh(start + 50.0 * math.sin(0.1 * step) // 1))
    return made


@experiment("H-19")
def fallback() -> Finding:
    """500 cycles with losses; then a servo that dies, on the bench and under the rig."""
    made = lossy()
    driver, bus = made.driver, made.bus
    share = driver.missed / (driver.missed + driver.answers)
    fallen = _falls_back()
    dead = bench(faults=BusFaults(dead=41, dead_from=60))
    for _ in range(40):
        dead.run(dead.driver.refresh(dead.driver.sent))
    heard = dead.bus.heard
    dead.run(dead.driver.refresh(dead.driver.sent))
    stopped = (
        dead.driver.fault is not None
        and dead.bus.heard == heard
        and np.isfinite(dead.driver.angles(dead.driver.heard)).all()
    )
    longest = 1e-6 * max(made.longest_ns, dead.longest_ns)
    felt, kept = _rig_without_elbow()
    ok = (
        longest <= 1000.0
        and abs(share - 0.3) < 0.05
        and driver.fault is None
        and fallen
        and stopped
        and felt
        and kept
    )
    note = (
        f"{100 * share:.0f} % lost in {bus.heard} frames, none of the servos given up; a dead one stops commands after "
        "10 silences; in the rig the hand still feels the limits and the posture is still known"
    )
    return Finding(longest, bool(ok), note)


def _falls_back() -> bool:
    """Whether a lost reading leaves what was sent, and says so."""
    made = bench(faults=BusFaults(drop=1.0))
    wanted = made.driver.sent + 37.0
    made.run(made.driver.refresh(wanted))
    return bool(
        np.array_equal(made.driver.heard, wanted)
        and made.driver.assumed.all()
        and made.driver.fault is None
    )


@shared
def dead_servo():
    """The rig while the elbow's servo dies under way."""
    return run(build_rig("humanoid", Options(scenario="dead-servo")), 3.5)


def _rig_without_elbow() -> tuple[bool, bool]:
    """Whether the pen still feels a force, and whether the limb stands where it was last sent."""
    result = dead_servo()
    trips = [record.trip.kind for record in result.rig.session.trips]
    force = np.linalg.norm(result.signal("leader", "force_synthetic_in_world"), axis=1)
    sent = result.signal("follower", "q_sent")
    still = bool(
        np.ptp(sent[-500:], axis=0).max() == 0.0
        and np.isfinite(result.signal("follower", "q")).all()
    )
    return "plant" in trips and bool(force[-500:].min() > 0.4), still


@experiment("H-20")
def dead_band() -> Finding:
    """A hand that trembles at 9 Hz, scaled by two, in front of a bus that takes positions only."""
    commands, _ = _tremble(1e-3)
    every, busy = _tremble(0.0)
    ok = commands == 0 and busy > 0.9
    return Finding(
        commands,
        ok,
        f"without the dead band {every} commands in 5 s and the bus {100 * busy:.0f} % busy",
    )


def _tremble(width: float) -> tuple[int, float]:
    """Commands passed on to the bus in 5 s after the first, and the share of time the bus is busy."""
    made, band = bench(), MotionDeadBand(width)
    rng = np.random.default_rng(5)
    commands, phases = -1, rng.uniform(0.0, 2.0 * np.pi, 3)
    for tick in range(5000):
        place = 2.0 * 0.2e-3 * np.sin(2.0 * np.pi * 9.0 * 1e-3 * tick + phases)
        if made.now_ns > tick * STEP_NS or not band.step(place):
            continue
        commands += 1
        if commands:  # the first says where the limb is
            made.now_ns = tick * STEP_NS
            made.run(made.driver.command(made.driver.sent))
    return commands, made.busy_ns / 5e9


@experiment("H-46")
def battery() -> Finding:
    """An arm that swings on an almost empty battery; then a supply that falls away at once."""
    cell = Battery(charge=0.1, capacity=0.08)
    arm = ArmOnBus(BusParts(battery=cell))
    warned, stopped, q = _swing_until_empty(arm, cell)
    held = arm.run(1.0, lambda t: arm.start + 0.3)
    moved = float(np.degrees(np.abs(held[300:] - held[300]).max()))
    speed = float(np.degrees(np.abs(np.diff(q[-5:], axis=0)).max())) * 1000.0
    silent = _browns_out()
    ok = (
        abs(warned - cell.alarm) < 0.02
        and abs(stopped - cell.stop) < 0.02
        and moved < 0.5
        and silent
        and speed > 5.0
    )
    note = f"warning at {warned:.2f} V, stop at {stopped:.2f} V at {speed:.0f} °/s; then {moved:.2f}° in 1 s; {silent}"
    return Finding(warned, bool(ok), note)


def _swing_until_empty(arm: ArmOnBus, cell: Battery) -> tuple[float, float, Array]:
    """Voltages at the first warning and at the stop, [V], and the motion before it, [rad]."""
    warned, rows = math.nan, []
    for _ in range(20_000):
        rows.append(arm.run(1e-3, lambda t: arm.start + 0.3 * math.sin(3.0 * t))[-1])
        if math.isnan(warned) and cell.warning:
            warned = cell.voltage
        if arm.plant.fault is not None:
            return warned, cell.voltage, np.array(rows)
    return warned, math.nan, np.array(rows)


def _browns_out() -> str:
    """What the driver says of a supply below what servos need."""
    arm = ArmOnBus(BusParts(battery=Battery(used=False), loop=ServoLoop(voltage=4.0)))
    arm.run(1.0)
    return arm.plant.fault or ""


def _keeps_old(whole):
    def note(self: ServoDriver, index: int, position: int | None) -> None:
        whole(self, index, position)
        if position is None:
            self.sent[index] = self.heard[index]

    return note


MUTATIONS = [
    Mutation("unmasked-checksum", "the checksum forgets the start byte", ("H-14",)).change(
        frames, "checksum", lambda whole: lambda c, a, b: (whole(c, a, b) + 0x80) & 0xFF
    ),
    Mutation("slow-bytes", "a frame takes a tenth longer on the line", ("H-14",)).patch(
        BusTiming,
        "answer_ns",
        property(lambda self: round(1.1 * frames.FRAME_NS + 1.1e9 * self.latency)),
    ),
    Mutation("fast-ramp", "servos move two per cent faster than told", ("H-15",)).change(
        Servos, "advance", lambda whole: lambda self, dt: whole(self, 1.02 * dt)
    ),
    Mutation("coarse-counts", "counts are rounded to even numbers", ("H-16",)).change(
        BusJoint, "counts", lambda whole: lambda self, angle: whole(self, angle) // 2 * 2
    ),
    Mutation("forgets-sent", "a lost reading leaves the reading before it", ("H-19",)).change(
        ServoDriver, "_note", _keeps_old
    ),
    Mutation("deaf-dead-band", "the dead band lets everything through", ("H-20",)).patch(
        MotionDeadBand, "step", lambda self, place: True
    ),
    Mutation("no-low-voltage-stop", "an empty battery stops nothing", ("H-46",)).patch(
        Battery, "fault", property(lambda self: None)
    ),
    Mutation("dead-servo-answers", "a dead servo still answers", ("H-19",)).patch(
        SimulatedBus, "_index", lambda self, number: self.numbers.index(number)
    ),
]
