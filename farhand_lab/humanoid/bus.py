"""Servo bus, servos and their faults: H-14 to H-16, H-19, H-20, H-46."""

from __future__ import annotations

import math

import numpy as np

from farhand.control.joint.limb import MotionDeadBand
from farhand.errors import LinkError, OutOfRange
from farhand.plants.servo_bus import frames
from farhand.plants.servo_bus.driver import ServoDriver
from farhand.plants.servo_bus.joints import BusJoint
from farhand.plants.servo_bus.plant import Battery, BusParts
from farhand.plants.servo_bus.simulated_bus import (
    BusFaults,
    BusTiming,
    ServoLoop,
    Servos,
    SimulatedBus,
)
from farhand.rigs import Options, build_rig
from farhand_lab.harness import Figure, Finding, experiment
from farhand_lab.humanoid.bus_bench import (
    ARM,
    STEP_NS,
    ArmOnBus,
    all_joints,
    bench,
    on_pseudo_terminal,
)
from farhand_lab.mutation import Mutation, Mutations, patched
from farhand_lab.plots import canvas
from farhand_lab.trial import run

Array = np.ndarray

TOP_SPEED = 263.12  # of the elbow's servo, [°/s]
TRIES = 3  # of the wall-clock part: another program may hold the processor for a moment


@experiment("H-14")
def bus_timing() -> Finding:
    """One driver on a virtual line and, through pyserial, on a pseudo-terminal in wall time."""
    exact = frames.move(44, 0x05DC).encode() == bytes.fromhex("802c05dc730000")
    exact &= frames.checksum(0x80, 0, 0) == 0
    exact &= frames.read(44).encode() == bytes.fromhex("80e92cff6c0000") and _resynchronises()
    wire, loaded = _rate(BusTiming(latency=0.0)), _rate(BusTiming())
    only, short = _rate(BusTiming(), read=False), _rate(BusTiming(wait_bytes=5), read=False)
    scan = 1.0 / (20 * 1e-9 * frames.FRAME_NS)
    tries = []
    for _ in range(TRIES):
        tries.append(on_pseudo_terminal())
        last = tries[-1]
        on_time = abs(1.0 / last.cycle - 25.0) <= 1.0 and last.missed == 0
        if on_time:
            break
    exact &= all(one.raw[: 7 * 5] == _expected_bytes() for one in tries)
    ok = exact and on_time and abs(wire - 41.6) < 0.1 and abs(loaded - 25.0) <= 1.0
    ok = ok and abs(only - 83.1) < 0.2 and abs(short - 116.0) < 1.0
    rates = [f"{1.0 / one.cycle:.1f} ({1.0 / (6.0 * one.transaction):.1f})" for one in tries]
    note = (
        f"wire {wire:.1f} Hz, position-only {only:.1f} Hz, 5-byte wait {short:.0f} Hz, 20 servos "
        f"{scan:.1f} Hz; on a pseudo-terminal in wall time {', '.join(rates)} Hz by the median "
        f"cycle (transaction) of each try, {last.missed} answers lost"
    )
    if not ok:
        note += "; other programs on this machine delay the threads at both ends"
    return Finding(loaded, ok, note)


def _rate(timing: BusTiming, read: bool = True) -> float:
    made = bench(timing=timing)
    driver, target = made.driver, made.driver.sent.copy()
    return made.rate(lambda: driver.refresh(target) if read else driver.command(target))


def _expected_bytes() -> bytes:
    """The first five frames: three readings of the scan, the first servo's command and reading."""
    made = bench()
    first = ARM[0]
    sent = [frames.read(joint.id) for joint in ARM]
    sent += [frames.move(first.id, int(made.driver.sent[0])), frames.read(first.id)]
    return b"".join(frame.encode() for frame in sent)


def _resynchronises() -> bool:
    """Whether a frame behind noise and half a frame is found, and a wrong checksum refused."""
    frame = frames.move(23, 1500)
    damaged = bytearray(frame.encode())
    damaged[4] ^= 1
    try:
        frames.decode(bytes(damaged))
    except LinkError:
        noisy = b"\x80\x11\x80\x03" + bytes(damaged) + frame.encode()
        return frames.Splitter().feed(noisy) == [frame]
    return False


@experiment("H-15")
def servo_plant() -> Finding:
    """The elbow of the simulated arm with its weight at three speeds; a new target halfway."""
    slopes = {speed: _slope(speed) for speed in (40, 128, 220)}
    relative = [slope / (TOP_SPEED * speed / 255.0) - 1.0 for speed, slope in slopes.items()]
    off = 100.0 * max(abs(error) for error in relative)
    slowest = _replanned()
    servos = Servos(all_joints(), np.full(20, 1500.0))
    ends = float(max(np.abs(servos.error(np.full(20, at))).max() for at in (600.0, 1500.0, 2400.0)))
    errors = np.array([servos.error(np.full(20, at)) for at in np.linspace(600.0, 2400.0, 181)])
    pairs = [(i, j) for i in range(20) for j in range(i)]
    alike = float(min(np.abs(errors[:, i] - errors[:, j]).max() for i, j in pairs))
    largest = np.abs(errors).max(0) / 10.0
    ok = off <= 1.0 and slowest > 0.9 and ends < 1e-9 and alike > 1.0
    ok = ok and largest.min() > 0.9 and largest.max() <= 2.01
    note = (
        f"slowest during replanning: {slowest:.2f} of the commanded speed; read-back errs by "
        f"{largest.min():.1f}–{largest.max():.1f}° between {ends:.0e} counts at the ends, two "
        f"units differ by {alike / 10:.1f}° or more"
    )
    plot = Figure("Read-back error of twenty servos", lambda: _errors_figure(errors))
    return Finding(off, ok, note, figures=(plot,))


def _slope(speed: int) -> float:
    """Speed of the elbow in the middle of a long move, [°/s]."""
    arm = ArmOnBus()
    arm.run(0.2)
    arm.plant.servos.speed[2] = speed

    # the driver reads by setting the full speed; here it keeps this one
    def read(servo: int, _speed: int = 0xFF) -> frames.Frame:
        return frames.Frame(frames.SET_SPEED, servo, speed)

    seconds = 60.0 * 255.0 / speed / TOP_SPEED + 0.4
    with patched(frames, "read", read):
        q = np.degrees(arm.run(seconds, lambda t: np.radians([30.0, 40.0, 115.0]))[:, 2])
    middle = (q > 75.0) & (q < 105.0)
    return float(np.polyfit(1e-3 * np.flatnonzero(middle), q[middle], 1)[0])


def _replanned() -> float:
    """Slowest share of the commanded speed while a further target replaces one in mid-move, [-]."""
    arm = ArmOnBus()
    arm.run(0.2)
    rows = arm.run(0.3, lambda t: np.radians([30.0, 40.0, 90.0 if t < 0.28 else 115.0]))
    q = np.degrees(rows[:, 2])
    speed = np.diff(q[(q > 68.0) & (q < 108.0)]) * 1000.0
    return float(speed.min() / TOP_SPEED)


def _errors_figure(errors: Array):
    figure, axes = canvas("shaft [°]", "read-back error [°]")
    axes.plot(np.linspace(-90.0, 90.0, len(errors)), errors / 10.0, lw=0.8)
    return figure


@experiment("H-16")
def counts() -> Finding:
    """Every joint over the travel that its servo reaches, and a degree beyond on both sides."""
    worst, rejected, short = 0.0, 0, []
    for joint in all_joints():
        low, high = joint.limits
        for angle in np.linspace(low, high, 501):
            back = joint.exact_counts(joint.angle(joint.counts(angle)))
            worst = max(worst, abs(back - joint.exact_counts(angle)))
        begin, end = joint.travel
        rejected += _rejects(joint, math.radians(begin - 1.0))
        rejected += _rejects(joint, math.radians(end + 1.0))
        if not math.isclose(high - low, math.radians(end - begin)):
            short.append(joint.name)
    unique = len({joint.id for joint in all_joints()}) == 20
    note = (
        f"{rejected} of 40 ends rejected; the published maps leave 600…2400 for "
        f"{' and '.join(short)}, limited there"
    )
    ok = worst <= 0.5 + 1e-9 and rejected == 40 and unique and len(short) == 2
    return Finding(worst, ok, note)


def _rejects(joint: BusJoint, angle: float) -> bool:
    try:
        joint.counts(angle)
    except OutOfRange:
        return True
    return False


@experiment("H-19")
def fallback() -> Finding:
    """500 cycles with 30 % losses; then a servo that dies, on the bench and under the rig."""
    made = bench(faults=BusFaults(drop=0.3))
    driver, start = made.driver, made.driver.sent.copy()
    for step in range(500):
        made.run(driver.refresh(start + 50.0 * math.sin(0.1 * step) // 1))
    share = driver.missed / (driver.missed + driver.answers)
    fallen = _falls_back()
    dead = bench(faults=BusFaults(dead=41, dead_from=60))
    for _ in range(40):
        dead.run(dead.driver.refresh(dead.driver.sent))
    heard = dead.bus.heard
    dead.run(dead.driver.refresh(dead.driver.sent))
    stopped = dead.driver.fault is not None and dead.bus.heard == heard
    stopped &= bool(np.isfinite(dead.driver.angles(dead.driver.heard)).all())
    longest = 1e-6 * max(made.longest_ns, dead.longest_ns)
    felt, kept = _rig_without_elbow()
    ok = longest <= 1000.0 and abs(share - 0.3) < 0.05 and driver.fault is None
    ok = ok and fallen and stopped and felt and kept
    note = (
        f"{100 * share:.0f} % lost in {made.bus.heard} frames, none of the servos given up; a dead "
        "one stops commands after 10 missing answers; in the rig the hand still feels the limits "
        "and the posture is still known"
    )
    return Finding(longest, bool(ok), note)


def _falls_back() -> bool:
    """Whether a lost reading leaves what was sent, marked as assumed."""
    made = bench(faults=BusFaults(drop=1.0))
    driver, target = made.driver, made.driver.sent + 37.0
    made.run(driver.refresh(target))
    same = np.array_equal(driver.heard, target)
    return bool(same and driver.assumed.all() and driver.fault is None)


def _rig_without_elbow() -> tuple[bool, bool]:
    """Whether the pen still feels a force, and whether the limb stands where it was last sent."""
    result = run(build_rig("humanoid", Options(scenario="dead-servo")), 3.5)
    trips = [record.trip.kind for record in result.rig.session.trips]
    force = np.linalg.norm(result.signal("leader", "force_synthetic_in_world"), axis=1)
    still = np.ptp(result.signal("follower", "q_sent")[-500:], axis=0).max() == 0.0
    finite = np.isfinite(result.signal("follower", "q")).all()
    return "plant" in trips and bool(force[-500:].min() > 0.4), bool(still and finite)


@experiment("H-20")
def dead_band() -> Finding:
    """A hand that trembles at 9 Hz, scaled by two, in front of a bus that takes positions only."""
    commands, _ = _tremble(1e-3)
    every, busy = _tremble(0.0)
    note = f"without the dead band {every} commands in 5 s and the bus {100 * busy:.0f} % busy"
    return Finding(commands, commands == 0 and busy > 0.9, note)


def _tremble(width: float) -> tuple[int, float]:
    """Commands to the bus in 5 s after the first, and the share of time the bus is busy."""
    made, band = bench(), MotionDeadBand(width)
    rng = np.random.default_rng(5)
    commands, phases = -1, rng.uniform(0.0, 2.0 * np.pi, 3)
    for tick in range(5000):
        place = 2.0 * 0.2e-3 * np.sin(2.0 * np.pi * 9.0 * 1e-3 * tick + phases)
        if made.now_ns > tick * STEP_NS or not band.step(place):
            continue
        commands += 1
        # the first one only says where the limb is
        if commands:
            made.now_ns = tick * STEP_NS
            made.run(made.driver.command(made.driver.sent))
    return commands, made.busy_ns / 5e9


@experiment("H-46")
def battery() -> Finding:
    """An arm that swings on an almost empty battery; then a supply that fails at once."""
    cell = Battery(charge=0.1, capacity=0.08)
    arm = ArmOnBus(BusParts(battery=cell))
    warned, stopped, q = _swing_until_empty(arm, cell)
    held = arm.run(1.0, lambda t: arm.start + 0.3)
    moved = float(np.degrees(np.abs(held[300:] - held[300]).max()))
    speed = float(np.degrees(np.abs(np.diff(q[-5:], axis=0)).max())) * 1000.0
    fault = _browns_out()
    ok = abs(warned - cell.alarm) < 0.02 and abs(stopped - cell.stop) < 0.02
    ok = ok and moved < 0.5 and speed > 5.0 and bool(fault)
    note = (
        f"warning at {warned:.2f} V, stop at {stopped:.2f} V at {speed:.0f} °/s; "
        f"then {moved:.2f}° in 1 s; {fault}"
    )
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
    """The driver's fault with a supply below what servos need."""
    arm = ArmOnBus(BusParts(battery=Battery(used=False), loop=ServoLoop(voltage=4.0)))
    arm.run(1.0)
    return arm.plant.fault or ""


MUTATIONS = Mutations()
MUTATIONS += [
    Mutation("unmasked-checksum", "the checksum leaves the start byte out", ("H-14",)).change(
        frames, "checksum", lambda whole: lambda c, a, b: (whole(c, a, b) + 0x80) & 0xFF
    ),
    Mutation("slow-bytes", "a frame takes a tenth longer on the line", ("H-14",)).patch(
        BusTiming, "answer_ns", property(lambda b: round(1.1 * frames.FRAME_NS + 1.1e9 * b.latency))
    ),
    Mutation("fast-ramp", "servos move 2 % faster than commanded", ("H-15",)).change(
        Servos, "advance", lambda whole: lambda self, dt: whole(self, 1.02 * dt)
    ),
    Mutation("coarse-counts", "counts are rounded to even numbers", ("H-16",)).change(
        BusJoint, "counts", lambda whole: lambda self, angle: whole(self, angle) // 2 * 2
    ),
    Mutation("no-dead-band", "the dead band lets everything through", ("H-20",)).patch(
        MotionDeadBand, "step", lambda self, place: True
    ),
    Mutation("no-low-voltage-stop", "an empty battery stops nothing", ("H-46",)).patch(
        Battery, "fault", property(lambda self: None)
    ),
    Mutation("dead-servo-answers", "a dead servo still answers", ("H-19",)).patch(
        SimulatedBus, "_index", lambda self, number: self.numbers.index(number)
    ),
]


@MUTATIONS.of(ServoDriver, "_note", "H-19")
def keeps_old_reading(note, self, index, position):
    """A lost reading leaves the reading before it."""
    note(self, index, position)
    if position is None:
        self.sent[index] = self.heard[index]
