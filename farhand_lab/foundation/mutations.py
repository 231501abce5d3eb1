"""Parts broken on purpose; each must flip the verdict of the checks that watch it."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.coupling.position_force import PositionForce
from farhand.coupling.position_position import PositionPosition
from farhand.link.network import EmulatedNetwork
from farhand.loop.station import Station
from farhand.mapping import WorkspaceMapping
from farhand.plants.simulated.port import SimulatedPlant
from farhand.safety import Guard, Watchdog
from farhand.world.ledger import Ledger
from farhand.world.walls import Wall
from farhand_lab.mutation import Mutation

Array = np.ndarray


def _felt(factor: float):
    def wrong(step):
        def broken(self, a, b, dt):
            on_a, on_b = step(self, a, b, dt)
            on_a.wrench *= factor
            return on_a, on_b

        return broken

    return wrong


def _no_gravity(act):
    def broken(self: Station, now_ns: int) -> None:
        act(self, now_ns)
        self._commanded -= 0.01 * self.arm.gravity
        self.plant.write(self.controller.command, now_ns)

    return broken


def _end_velocity(after):
    def broken(self: Ledger, v: Array, constraint: Array | None) -> None:
        self._page_v[self._noted, 0] = -0.9 * v
        after(self, v, constraint)

    return broken


def _deaf(has_expired):
    def broken(self: Watchdog, silent_ns: int) -> bool:
        return False

    return broken


def _stuck_offsets(capture):
    def broken(self: WorkspaceMapping, p_a: Array, R_a: Array, p_b: Array, R_b: Array) -> None:
        if not self.offset_position.any():
            capture(self, p_a, R_a, p_b, R_b)

    return broken


def _sticky_wall(push):
    def broken(self: Wall, tool, t, wrench):
        push(self, tool, t, wrench)
        if tool.twist[0] < 0.0:
            wrench *= 0.8

    return broken


def _no_armature(of):
    def broken(robot, *rest, **named):
        arm = of(robot, *rest, **named)
        arm.model.armature = 0.5 * arm.model.armature
        return arm

    return broken


def _blind(check):
    def broken(self: Guard, sample, now_ns):
        np.nan_to_num(sample.q, copy=False)
        return check(self, sample, now_ns)

    return broken


def _instant(send):
    def broken(self: EmulatedNetwork, now_ns: int, data: bytes) -> None:
        send(self, now_ns - self.delay_ns, data)

    return broken


def _unseeded(degrade):
    def broken(self: SimulatedPlant, sample):
        self._rng = np.random.default_rng()
        degrade(self, sample)

    return broken


MUTATIONS = [
    Mutation("gravity", "the controller compensates 99 % of gravity", ("P-01",)).change(
        Station, "act", _no_gravity
    ),
    Mutation("ledger", "work is counted with the wrong velocity", ("P-02", "P-03")).change(
        Ledger, "after", _end_velocity
    ),
    Mutation("weak reflection", "the hand feels 95 %", ("P-04",)).change(
        PositionForce, "step", _felt(0.95)
    ),
    Mutation("reaction", "the leader is pulled with 97 %", ("P-05", "P-06")).change(
        PositionPosition, "step", _felt(0.97)
    ),
    Mutation("watchdog", "silence is never noticed", ("P-07",)).change(
        Watchdog, "has_expired", _deaf
    ),
    Mutation("offsets", "offsets are captured only once", ("P-08",)).change(
        WorkspaceMapping, "capture", _stuck_offsets
    ),
    Mutation("armature", "Pinocchio has half the rotor inertia", ("P-09",)).patch(
        Arm, "of", _no_armature(Arm.of)
    ),
    Mutation("nan check", "NaN is read as zero", ("P-10",)).change(Guard, "check", _blind),
    Mutation("seed", "noise ignores the seed", ("P-11",)).change(
        SimulatedPlant, "_degrade_wrench", _unseeded
    ),
    Mutation("network", "packets arrive at once", ("P-12",)).change(
        EmulatedNetwork, "send", _instant
    ),
    Mutation("wall", "the wall keeps a fifth on the way out", ("P-13",)).change(
        Wall, "push", _sticky_wall
    ),
]
