r"""Pairs of servo arms on simulated buses, in virtual time: contact, feel, and the smallest force.

``python -m farhand_lab.servo_pairs`` prints both tables of docs/so101.md.

*Contact*: a hand of 300 N/m takes the leader's tool 60 mm ahead; a wall of 1000 N/m stands 20 mm
ahead of the follower's. Contact and felt force are means of the last 0.3 s along the push. The
*jump* is the largest change of the hand's force within 10 ms, from the first contact on.

*Smallest force felt*, by a rule that was fixed before the first run: the hand holds the leader
still. After 1.5 s a force on the follower's tool, against the push, grows by 1 N/s up to 8 N. The
force at the hand, averaged over 0.1 s, has a mean and a standard deviation σ in the 0.5 s before.
The smallest force felt is the one that pushes when three averages in a row have left that mean by
more than the larger of 3σ and 0.05 N. A person feels at best 0.05 N at the finger tips: assumed.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import numpy as np

from farhand import plugins
from farhand.loop.clock import VirtualClock
from farhand.plants.plant import Plant
from farhand.plants.servo_arm.description import load_arm
from farhand.plants.servo_arm.simulated_arm import BusFaults, SimulatedArm, SimulatedServoBus
from farhand.plants.servo_arm.virtual import VirtualServoPlant
from farhand.rigs import Options, Rig, build_rig
from farhand.spatial import Array
from farhand.world.touches import Tool

PAIRS = {"so101": ("so101-leader", "so101"), "koch": ("koch-leader", "koch")}
LAWS = ("position-position", "input-gated", "position-force", "four-channel-sensorless")
RAMP_START, RAMP_RATE, RAMP_END = 1.5, 1.0, 8.0
LEAST_FELT, STEPS_IN_A_ROW = 0.05, 3
JUMP_TICKS = 10


class VirtualWallClock(VirtualClock):
    """Wall time that waits for nothing, because the buses have no wall time either."""

    name = "wall"


class Ramp:
    """A force on a tool along −x that grows from a time on."""

    stored = 0.0
    force = 0.0

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Write the wrench."""
        self.force = min(max(0.0, RAMP_RATE * (t - RAMP_START)), RAMP_END)
        wrench[:] = 0.0
        wrench[0] = -self.force


class BusArm(Plant):
    """An arm on its simulated bus: a hand holds the leader, a wall or a ramp meets the follower."""

    address_hint = "ARM"
    faults: ClassVar[BusFaults] = BusFaults()
    #: way of the hand and of the wall, [m]; no wall but a ramp for a hand that does not move
    reach: ClassVar[tuple[float, float]] = (0.06, 0.02)

    @classmethod
    def open(cls, address: str, *, name: str, gravity: float, **_: Any) -> VirtualServoPlant:
        """The driver of a simulated arm."""
        arm = SimulatedArm(load_arm(address), np.random.default_rng(1), gravity=gravity)
        hand, wall = cls.reach
        if name == "leader":
            arm.put_hand(hand, pause=0.3)
        elif hand:
            arm.put_wall(wall)
        else:
            arm.world.touch("arm", "ramp", Ramp())
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
    BusArm.faults, BusArm.reach = BusFaults(**faults), reach
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
class Contact:
    """What came of a push against the wall."""

    contact: float  #: [N]
    felt: float  #: [N]
    jump: float  #: [N]
    rates: tuple[float, float]  #: cycles of both buses per second
    lag: float  #: largest lag of a joint before the contact, [rad]
    trips: tuple[str, ...]


def push(rig: Rig, seconds: float = 2.6) -> Contact:
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
    return Contact(
        float(np.mean(wall[-300:])),
        float(np.mean(hand[-300:])),
        float(jump),
        (leader.worker.calls / len(hand) * 1e3, follower.worker.calls / len(hand) * 1e3),
        max(lags),
        tuple(record.trip.reason for record in rig.session.trips),
    )


def smallest_force(rig: Rig) -> float | None:
    """The smallest force felt by the rule above, [N]; None if none up to the end of the ramp."""
    leader, follower = plants_of(rig)
    found = (touch for _, touch, _ in follower.simulated.port.touches if isinstance(touch, Ramp))
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
    parser.add_argument("--table", choices=["contact", "smallest", "both"], default="both")
    chosen = parser.parse_args()
    if chosen.table != "smallest":
        print("| pair | law | faults | contact | felt | jump | lag | bus cycles | trips |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for pair in chosen.pairs:
            for law in chosen.laws:
                for share in (0.0, 0.01):
                    found = push(build_pair(*PAIRS[pair], law, drop=share, corrupt=share))
                    faults = "1 % + 1 %" if share else "none"
                    rates = " and ".join(f"{rate:.0f}" for rate in found.rates)
                    print(
                        f"| {pair} | `{law}` | {faults} | {found.contact:.2f} N | "
                        f"{found.felt:.2f} N | {found.jump:.2f} N | {1e3 * found.lag:.0f} mrad | "
                        f"{rates} /s | {'; '.join(found.trips) or 'none'} |",
                        flush=True,
                    )
    if chosen.table != "contact":
        print("\n| pair | law | smallest force felt |")
        print("| --- | --- | --- |")
        for pair in chosen.pairs:
            for law in chosen.laws:
                smallest = smallest_force(build_pair(*PAIRS[pair], law, reach=(0.0, 0.0)))
                shown = "none up to 8 N" if smallest is None else f"{smallest:.1f} N"
                print(f"| {pair} | `{law}` | {shown} |", flush=True)


if __name__ == "__main__":
    main()
