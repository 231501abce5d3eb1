r"""Pairs of servo arms on simulated buses, in virtual time: contact, feel, and the smallest force.

``python -m farhand_lab.servo_pairs`` prints both tables of docs/so101.md. ``--table wall`` runs the
contacts on two pseudo-terminals in wall time, each simulated arm in a process of its own, and
``--table bus`` one arm alone, for the cycles of its bus.

*Contact*: a hand of 300 N/m takes the leader's tool 60 mm ahead; a wall of 1000 N/m stands 20 mm
ahead of the follower's. Contact and felt force are means of the last 0.3 s along the push. The
*jump* is the largest change of the hand's force within 10 ms, from the first contact on.

*Smallest force felt*, by a rule that was fixed before the first run: the hand holds the leader
still. After 1.5 s a force on the follower's tool, against the push, grows by 1 N/s up to 8 N. The
force at the hand, averaged over 0.1 s, has a mean and a standard deviation σ in the 0.5 s before.
The smallest force felt is the one that pushes when three averages in a row have left that mean by
more than the larger of 3σ and 0.05 N. A person feels at best 0.05 N at the finger tips: assumed.

*Limit of a bus*: the bits of one cycle, commands, question and answers, without any pause between
them. The driver's cycles per second are compared with it, so its own time, that of the simulator
and that of the pseudo-terminal count against it.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from farhand import plugins
from farhand.loop.clock import VirtualClock, WallClock
from farhand.plants.drivers.worker import urgent
from farhand.plants.plant import JointTorque, Plant
from farhand.plants.servo_arm.description import ServoArm, load_arm
from farhand.plants.servo_arm.plant import DynamixelPlant, FeetechPlant
from farhand.plants.servo_arm.simulated_arm import (
    ArmBusFaults,
    ServoTerminal,
    SimulatedArm,
    SimulatedServoBus,
)
from farhand.plants.servo_arm.virtual import VirtualServoPlant
from farhand.realtime import real_time
from farhand.rigs import Options, Rig, build_rig
from farhand.robots import Placement, load_robot
from farhand.running import fill_cache
from farhand.spatial import Array
from farhand.world.touches import Tool

PAIRS = {
    "so101": ("so101-leader", "so101"),
    "koch": ("koch-leader", "koch"),
    "vx300s": ("vx300s", "vx300s"),
    "gello": ("gello", "vx300s"),
}
"""Leader and follower; GELLO's servos are set to 1 Mbaud, with 57600 a cycle takes 40 ms."""

SETTINGS: dict[str, tuple[tuple[str, object], ...]] = {"gello": (("rig.space", "tool"),)}
"""GELLO has the shape of a Franka: joint by joint, the ViperX's tool goes down, not ahead."""

LAWS = ("position-position", "input-gated", "position-force", "four-channel-sensorless")
RAMP_START, RAMP_RATE, RAMP_END = 1.5, 1.0, 8.0
LEAST_FELT, STEPS_IN_A_ROW = 0.05, 3
JUMP_TICKS = 10


class VirtualWallClock(VirtualClock):
    """Wall time that waits for nothing, because the buses have no wall time either."""

    name = "wall"


class PushRamp:
    """A force on a tool along −x that grows from a time on."""

    stored = 0.0
    force = 0.0

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Write the wrench."""
        self.force = min(max(0.0, RAMP_RATE * (t - RAMP_START)), RAMP_END)
        wrench[:] = 0.0
        wrench[0] = -self.force


def described(name: str) -> ServoArm:
    """The arm of this name with its servos at 1 Mbaud."""
    return replace(load_arm(name), baud=1_000_000)


class BusArm(Plant):
    """An arm on its simulated bus: a hand holds the leader, a wall or a ramp meets the follower."""

    address_hint = "ARM"
    faults: ClassVar[ArmBusFaults] = ArmBusFaults()
    #: way of the hand and of the wall, [m]; no wall but a ramp for a hand that does not move
    reach: ClassVar[tuple[float, float]] = (0.06, 0.02)

    @classmethod
    def open(cls, address: str, *, name: str, gravity: float, **_: Any) -> VirtualServoPlant:
        """The driver of a simulated arm."""
        arm = SimulatedArm(described(address), np.random.default_rng(1), gravity=gravity)
        hand, wall = cls.reach
        if name == "leader":
            arm.put_hand(hand, pause=0.3)
        elif hand:
            arm.put_wall(wall)
        else:
            arm.world.touch("arm", "ramp", PushRamp())
        rng = np.random.default_rng(len(name))
        return VirtualServoPlant(name, SimulatedServoBus(arm, replace(cls.faults), rng))


def build_pair(
    leader: str,
    follower: str,
    law: str | None = None,
    settings: tuple[tuple[str, object], ...] = (),
    reach: tuple[float, float] = (0.06, 0.02),
    **faults: Any,
) -> Rig:
    """The pair rig with two arms on simulated buses, by the names of their descriptions."""
    BusArm.faults, BusArm.reach = ArmBusFaults(**faults), reach
    point = EntryPoint("bus-arm", f"{__name__}:BusArm", "farhand.plants")
    plugins.found("farhand.plants")["bus-arm"] = point
    chosen = [
        ("rig.leader_plant", f"bus-arm:{leader}"),
        ("rig.follower_plant", f"bus-arm:{follower}"),
        ("rig.leader_robot", load_arm(leader).robot),
        ("rig.follower_robot", load_arm(follower).robot),
    ]
    every = [*chosen, *settings]
    return build_rig("pair", Options(law=law, settings=every, clock=VirtualWallClock()))


def plants_of(rig: Rig) -> list[VirtualServoPlant]:
    """The drivers of leader and follower."""
    return [station.plant.plant for station in rig.session.stations]  # type: ignore[attr-defined]


@dataclass(frozen=True)
class WallContact:
    """What came of a push against the wall."""

    contact: float  #: [N]
    felt: float  #: [N]
    jump: float  #: [N]
    rates: tuple[float, float]  #: cycles of both buses per second
    lag: float  #: largest lag of a joint before the contact, [rad]
    trips: tuple[str, ...]


def push(rig: Rig, seconds: float = 2.6) -> WallContact:
    """Run a pair against its wall."""
    leader, follower = plants_of(rig)
    hand, wall, lags = [], [], [0.0]
    for _ in range(round(1000 * seconds)):
        rig.session.run(0.001)
        forces = [
            next(float(w[0]) for name, _, w in plant.simulated.port.touches if name == touch)
            for plant, touch in ((leader, "hand"), (follower, "wall"))
        ]
        hand.append(forces[0])
        wall.append(-forces[1])
        if not any(wall) and len(wall) > 300:
            lags.append(float(np.abs(rig.session.bridges[0].laws[0].error).max()))
        if rig.session.trips:
            break
    first = next((k for k, force in enumerate(wall) if force > 0.0), 0)
    force = np.array(hand[first:])
    jump = np.abs(force[JUMP_TICKS:] - force[:-JUMP_TICKS]).max(initial=0.0)
    return WallContact(
        float(np.mean(wall[-300:])),
        float(np.mean(hand[-300:])),
        float(jump),
        (leader.worker.calls / len(hand) * 1e3, follower.worker.calls / len(hand) * 1e3),
        max(lags),
        tuple(record.trip.reason for record in rig.session.trips),
    )


class LoggedArm(SimulatedArm):
    """An arm that keeps the force of its hand or wall along x in every step."""

    def _log(self) -> None:
        self.log: list[tuple[int, float]] = getattr(self, "log", [])
        force = sum(float(wrench[0]) for _, _, wrench in self.port.touches)
        self.log.append((time.monotonic_ns(), force))


def _simulate(name: str, role: str, link: Path, share: float, ends: Connection) -> None:
    """One arm on its terminal, in a process of its own, until it is asked for its log."""
    arm = LoggedArm(described(name), np.random.default_rng(1))
    hand, wall = BusArm.reach
    if role == "leader":
        arm.put_hand(hand, pause=1.0)
    elif role == "follower":
        arm.put_wall(wall)
    bus = SimulatedServoBus(arm, ArmBusFaults(share, share), np.random.default_rng(len(role)))
    with urgent(), ServoTerminal(bus, link) as terminal:
        ends.send(None)
        # the other end is closed when nobody needs the arm any more
        with suppress(EOFError):
            ends.recv()
            ends.send((arm.log, terminal.error))
            ends.recv()


@contextmanager
def arms_on_terminals(
    names: Mapping[str, str], share: float = 0.0
) -> Iterator[tuple[dict[str, str], Callable[[], dict[str, Array]]]]:
    """Addresses of simulated arms by role, and what gives their forces over time."""
    processes, ends = {}, {}
    spawn = multiprocessing.get_context("spawn")
    with TemporaryDirectory() as folder:
        for role, name in names.items():
            ends[role], other = spawn.Pipe()
            words = name, role, Path(folder) / role, share, other
            processes[role] = spawn.Process(target=_simulate, args=words)
            processes[role].start()
        for end in ends.values():
            end.recv()

        def logs() -> dict[str, Array]:
            found = {}
            for role, end in ends.items():
                end.send(None)
                rows, error = end.recv()
                if error is not None:
                    raise error
                found[role] = np.array(rows)
            return found

        kinds = {role: load_arm(name).family.protocol.name for role, name in names.items()}
        try:
            yield {role: f"{kind}:{folder}/{role}" for role, kind in kinds.items()}, logs
        finally:
            for role, process in processes.items():
                ends[role].close()
                process.join(5.0)
                process.kill()


def push_on_terminals(pair: str, law: str, share: float = 0.0, seconds: float = 5.0) -> WallContact:
    """Run a pair against its wall in wall time, on two pseudo-terminals."""
    names = dict(zip(("leader", "follower"), PAIRS[pair], strict=True))
    # what a tick calls is compiled before the arms are there
    fill_cache.at_once()
    warm = build_pair(*PAIRS[pair], law, SETTINGS.get(pair, ()))
    warm.session.run(0.3)
    warm.close()
    with arms_on_terminals(names, share) as (addresses, logs):
        chosen = list(SETTINGS.get(pair, ()))
        for role, name in names.items():
            chosen.append((f"rig.{role}_plant", addresses[role]))
            chosen.append((f"rig.{role}_robot", load_arm(name).robot))
        rig = build_rig("pair", Options(law=law, settings=chosen, clock=WallClock()))
        errors: list[tuple[int, float]] = []
        coupling = rig.session.bridges[0].laws[0]
        rig.session.add(
            lambda _: errors.append((time.monotonic_ns(), float(np.abs(coupling.error).max()))),
            after="law",
        )
        began = time.monotonic()
        with real_time():
            rig.session.run(seconds)
        took = time.monotonic() - began
        drivers = [station.plant.plant for station in rig.session.stations]  # type: ignore[attr-defined]
        rates = [driver.worker.calls / took for driver in drivers]
        found = logs()
        trips = tuple(record.trip.reason for record in rig.session.trips)
        rig.close()
    hand, wall = found["leader"], found["follower"]
    pressed = wall[:, 1] < 0.0
    first_ns = wall[np.argmax(pressed), 0] if pressed.any() else math.inf
    felt = hand[hand[:, 0] >= first_ns, 1]
    lags = [0.0, *(lag for when, lag in errors[300:] if when < first_ns)]
    return WallContact(
        float(-np.mean(wall[-300:, 1])),
        float(np.mean(hand[-300:, 1])),
        float(np.abs(felt[JUMP_TICKS:] - felt[:-JUMP_TICKS]).max(initial=0.0)),
        (rates[0], rates[1]),
        max(lags),
        trips,
    )


def bus_rate(name: str, seconds: float = 5.0) -> tuple[float, float]:
    """Cycles per second of one arm's driver on a pseudo-terminal, and the limit of the bits."""
    with arms_on_terminals({"alone": name}) as (addresses, _):
        kind, _, path = addresses["alone"].partition(":")
        plant = {"feetech": FeetechPlant, "dynamixel": DynamixelPlant}[kind].open(
            path,
            name="follower",
            robot=load_robot(load_arm(name).robot),
            placement=Placement(),
            gravity=9.81,
        )
        sent: list[int] = []
        begin = plant.bus.begin
        command = JointTorque(len(plant.actuated))

        def run(duration: float) -> float:
            calls, began = plant.worker.calls, time.monotonic()
            while time.monotonic() < began + duration:
                plant.write(command, 0)
                plant.read(0)
                time.sleep(0.002)
            return (plant.worker.calls - calls) / (time.monotonic() - began)

        def spy(*packets: bytes) -> None:
            sent.append(sum(map(len, packets)))
            begin(*packets)

        run(1.0)
        plant.bus.begin = spy  # type: ignore[method-assign]
        run(0.5)
        plant.bus.begin = begin  # type: ignore[method-assign]
        rate = run(seconds)
        answers = len(plant.servos) * (plant.bus.protocol.overhead + plant._words.size)
        plant.close()
    return rate, 1e9 / ((max(sent) + answers) * plant.bus.byte_ns)


def smallest_force(rig: Rig) -> float | None:
    """The smallest force felt by the rule above, [N]; None if none up to the end of the ramp."""
    leader, follower = plants_of(rig)
    found = (
        touch for _, touch, _ in follower.simulated.port.touches if isinstance(touch, PushRamp)
    )
    ramp = next(found)
    before: list[float] = []
    streak = 0
    for tenth in range(round(10 * (RAMP_START + RAMP_END / RAMP_RATE))):
        rig.session.run(0.1)
        if rig.session.trips:
            return None
        felt = leader.simulated.forces["hand"][-1]
        if 0.1 * (tenth + 1) <= RAMP_START + 1e-9:
            before = [*before, felt][-5:]
            continue
        away = abs(felt - float(np.mean(before)))
        streak = streak + 1 if away > max(3.0 * float(np.std(before)), LEAST_FELT) else 0
        if streak == STEPS_IN_A_ROW:
            return ramp.force
    return None


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", nargs="*", default=list(PAIRS), choices=list(PAIRS))
    parser.add_argument("--laws", nargs="*", default=list(LAWS))
    tables = ["contact", "smallest", "both", "wall", "bus"]
    parser.add_argument("--table", choices=tables, default="both")
    chosen = parser.parse_args()
    if chosen.table == "bus":
        for name in dict.fromkeys(PAIRS[pair][1] for pair in chosen.pairs):
            rate, limit = bus_rate(name)
            share = 100.0 * rate / limit
            print(f"{name}: {rate:.0f} of {limit:.0f} cycles/s, {share:.0f} %", flush=True)
        return
    if chosen.table != "smallest":
        print("| pair | law | faults | contact | felt | jump | lag | bus cycles | trips |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for pair in chosen.pairs:
            for law in chosen.laws:
                for share in (0.0, 0.01):
                    if chosen.table == "wall":
                        found = push_on_terminals(pair, law, share)
                    else:
                        more = SETTINGS.get(pair, ())
                        rig = build_pair(*PAIRS[pair], law, more, drop=share, corrupt=share)
                        found = push(rig)
                    faults = "1 % + 1 %" if share else "none"
                    rates = " and ".join(f"{rate:.0f}" for rate in found.rates)
                    print(
                        f"| {pair} | `{law}` | {faults} | {found.contact:.2f} N | "
                        f"{found.felt:.2f} N | {found.jump:.2f} N | {1e3 * found.lag:.0f} mrad | "
                        f"{rates} /s | {'; '.join(found.trips) or 'none'} |",
                        flush=True,
                    )
    if chosen.table in ("smallest", "both"):
        print("\n| pair | law | smallest force felt |")
        print("| --- | --- | --- |")
        for pair in chosen.pairs:
            for law in chosen.laws:
                rig = build_pair(*PAIRS[pair], law, SETTINGS.get(pair, ()), reach=(0.0, 0.0))
                smallest = smallest_force(rig)
                shown = "none up to 8 N" if smallest is None else f"{smallest:.1f} N"
                print(f"| {pair} | `{law}` | {shown} |", flush=True)


if __name__ == "__main__":
    main()
