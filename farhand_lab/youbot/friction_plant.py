"""The wheel block on a bench: its free response, and what its drive and encoder do wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.friction import make
from farhand.plants.simulated import one_joint
from farhand.plants.simulated.one_joint import WHEEL_INERTIA, WHEEL_TICK, DriveFaults, OneJoint
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutation, patched

Array = np.ndarray

OFFSET = 0.03  # [N·m]


@experiment("Y-44")
def drive_faults() -> Finding:
    """Each fault alone must show in its own signal and leave the others as they are."""
    commands = np.array([-0.1, -0.02, -0.001, 0.001, 0.02, 0.1])
    clean = _signals(commands, DriveFaults())
    expected: dict[str, tuple[dict[str, Any], set[str]]] = {
        "offset": ({"offset": OFFSET}, {"torque", "measured torque", "motion"}),
        "shortfall": ({"shortfall": 0.0127}, {"torque", "measured torque", "motion"}),
        "lag": ({"lag": 0.02}, {"torque", "measured torque", "motion"}),
        "unsigned current": ({"unsigned_current": True}, {"measured torque"}),
        "torque noise": ({"torque_noise": 0.002}, {"measured torque"}),
        "velocity noise": ({"velocity_noise": 0.05}, {"measured velocity"}),
        "encoder": ({"encoder_step": WHEEL_TICK}, {"measured position", "measured velocity"}),
    }
    wrong = []
    for name, (values, touched) in expected.items():
        found = _signals(commands, DriveFaults(**values))
        changed = {signal for signal in clean if not np.array_equal(clean[signal], found[signal])}
        if changed - {"measured position", "measured velocity"} != touched - {
            "measured position",
            "measured velocity",
        }:
            wrong.append(name)
        if "motion" not in touched and changed != touched:
            wrong.append(name)
    floor = np.abs(_signals(commands, DriveFaults(offset=OFFSET))["torque"])
    right = np.allclose(floor, np.maximum(np.abs(commands), OFFSET))
    return Finding(
        len(expected) - len(set(wrong)),
        bool(not wrong and right),
        _fault_note(wrong, floor),
        unit="faults",
    )


def _fault_note(wrong: list[str], floor: Array) -> str:
    shown = ", ".join(f"{value:.3f}" for value in floor)
    return f"with offset, 0.1, 0.02, 0.001 both ways become {shown} N·m" + (
        f"; wrong: {', '.join(wrong)}" if wrong else ""
    )


def _signals(commands: Array, faults: DriveFaults) -> dict[str, Array]:
    joint = OneJoint(make("viscous", len(commands)), WHEEL_INERTIA, faults, rng=generator("Y-44"))
    for _ in range(20):
        joint.step(commands)
    return {
        "torque": joint.torque,
        "motion": joint.velocity,
        "measured torque": joint.measured_torque,
        "measured position": joint.measured_position,
        "measured velocity": joint.measured_velocity,
    }


@experiment("Y-45")
def wheel_block() -> Finding:
    """Constant torque without friction; viscous run-down; and the stop by dry friction, all against closed forms."""
    gear, rotor, wheel = 9405 / 364, 1.35e-5, 1.6e-3
    side = abs(WHEEL_INERTIA / (wheel + gear**2 * rotor) - 1.0)
    free = OneJoint(make("viscous", viscous=0.0))
    for _ in range(1000):
        free.step(0.05)
    position = abs(free.position[0] / (0.5 * 0.05 / WHEEL_INERTIA) - 1.0)
    slowing = OneJoint(make("viscous"), substeps=4)
    slowing.velocity[:] = 5.0
    stopping = OneJoint(make("coulomb"))
    stopping.velocity[:] = 5.0
    stopped = 0
    for _ in range(2000):
        slowing.step(0.0)
        stopping.step(0.0)
        stopped += int(stopping.velocity[0] > 0.0)
    decay = abs(slowing.velocity[0] / (5.0 * np.exp(-2.0 * 0.01898 / WHEEL_INERTIA)) - 1.0)
    stop = abs((stopped + 1) * 1e-3 / (5.0 * WHEEL_INERTIA / 0.03718) - 1.0)
    ok = side < 0.005 and position < 1e-9 and decay < 0.01 and stop < 0.002
    note = f"free response; run-down {100 * decay:.2g} %, stop {100 * stop:.2g} %, J {100 * side:.2g} % off"
    return Finding(100.0 * position, bool(ok), note)


def _whole_offset(self: OneJoint, command: Array) -> Array:
    return command + self.faults.offset


def _noisy(self: OneJoint, sigma: float) -> Array:
    return 1e-3 * self._rng.standard_normal(self.position.shape)


def _light(friction, velocity, dt, torque, inertia, whole=one_joint.advance):
    return whole(friction, velocity, dt, torque, inertia / (9405 / 364) ** 2)


MUTATIONS = [
    Mutation(
        "offset-added",
        "the drive adds its offset instead of never going below it",
        ("Y-44",),
        lambda: patched(OneJoint, "_driven", _whole_offset),
    ),
    Mutation(
        "noise-always-on",
        "noise is there whether it is asked for or not",
        ("Y-44",),
        lambda: patched(OneJoint, "_noise", _noisy),
    ),
    Mutation(
        "rotor-side-inertia",
        "the wheel block has the inertia seen from the rotor",
        ("Y-45",),
        lambda: patched(one_joint, "advance", _light),
    ),
]
