"""Parts of the robot and of the rig broken on purpose; the ids that watch them must notice."""

from __future__ import annotations

from typing import Any

import numpy as np

import farhand.plants.simulated.link_map
from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.joint.assists import JointDamping
from farhand.control.tool.torque import TorqueController
from farhand.control.tool.whole_body import WholeBodyController
from farhand.friction.compensation import FrictionCompensation
from farhand.mapping.axis_map import AxisMap
from farhand.mapping.pen import PenMapping
from farhand.plants.plant import Command, Sample
from farhand.plants.simulated.link_map import LinkMap
from farhand.plants.simulated.port import SimulatedPlant
from farhand.plants.simulated.rigid import RigidPlant
from farhand.world import ImpedanceHand
from farhand_lab.mutation import Mutation, patched
from farhand_lab.youbot.motor import WheelMotors

Array = np.ndarray

_torque_step, _whole_step = TorqueController.step, WholeBodyController.step
_account, _drive = WheelMotors._account, WheelMotors._drive
_read, _push, _back = SimulatedPlant.read, ImpedanceHand.push, PenMapping.back
_compensate = FrictionCompensation.measured


def _lighter(self: TorqueController, asked: ControlRequest, now_ns: int) -> Command:
    command = _torque_step(self, asked, now_ns)
    command.value -= 0.01 * self.arm.gravity
    return command


def _without_coriolis(self: RigidPlant, q: Array, v: Array, t: float) -> Array:
    self.arm.update(q, v)
    return np.linalg.solve(self.arm.M, self.torque - self.arm.gravity)


def _base_doubled(self: WholeBodyController, asked: ControlRequest, now_ns: int) -> Command:
    command = _whole_step(self, asked, now_ns)
    command.value[:3] *= 2.0
    return command


def _never_off(self: WholeBodyController, asked: ControlRequest, now_ns: int) -> Command:
    enabled, self.base.enabled = self.base.enabled, True
    command = _whole_step(self, asked, now_ns)
    self.base.enabled = enabled
    return command


def _one_wheel_backwards(self: LinkMap, wrench: Array) -> Array:
    return (wrench @ self.B) * np.array([1.0, 1.0, -1.0, 1.0])


def _without_heading(pose: Array, moved: Array) -> None:
    pose += moved


def _before_the_gear(
    self: WheelMotors, i: Array, omega: Array, resisting: Array, load: Array, h: float
) -> None:
    _account(self, i, omega, self.data.gear * resisting, load, h)


def _unlimited(self: WheelMotors, reference: Array, h: float) -> None:
    limit, self.data.voltage_limit = self.data.voltage_limit, 1e3
    _drive(self, reference, h)
    self.data.voltage_limit = limit


def _restless(self: SimulatedPlant, now_ns: int) -> Sample:
    sample = _read(self, now_ns)
    sample.q += 1e-9 * np.random.default_rng().normal(size=len(sample.q))
    return sample


def _generous(self: ImpedanceHand, tool: Any, t: float, wrench: Array) -> None:
    _push(self, tool, t, wrench)
    wrench[:3] += 2.0 * self.damping * tool.twist[:3]


def _full_force(self: PenMapping, wrench_b: Array, out: Array) -> None:
    _back(self, wrench_b, out)
    out /= self.force_scale


def _mirrored(self: AxisMap, force_robot: Array) -> Array:
    return np.array(force_robot, dtype=float)


def _driving_on(self: JointDamping, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
    return 0.2 * self.damping * arm.v


def _against(
    self: FrictionCompensation, position: Array, dt: float, asked: Array | None = None
) -> Array:
    return -_compensate(self, position, dt, asked)


MUTATIONS = [
    Mutation(
        "gravity-1-percent",
        "the controller carries 99 % of the arm's weight",
        ("Y-15",),
        lambda: patched(TorqueController, "step", _lighter),
    ),
    Mutation(
        "no-coriolis",
        "the arm's dynamics forget Coriolis and centrifugal torque",
        ("Y-16",),
        lambda: patched(RigidPlant, "acceleration", _without_coriolis),
    ),
    Mutation(
        "base-doubled",
        "the base gets twice its share of a wrench",
        ("Y-17",),
        lambda: patched(WholeBodyController, "step", _base_doubled),
    ),
    Mutation(
        "base-never-off",
        "the switch of the base does nothing",
        ("Y-17",),
        lambda: patched(WholeBodyController, "step", _never_off),
    ),
    Mutation(
        "one-wheel-backwards",
        "the rear left wheel turns the other way",
        ("Y-17", "Y-18"),
        lambda: patched(LinkMap, "torques", _one_wheel_backwards),
    ),
    Mutation(
        "no-heading",
        "odometry adds up the base's own displacements without turning them",
        ("Y-19",),
        lambda: patched(farhand.plants.simulated.link_map, "move_along_arc", _without_heading),
    ),
    Mutation(
        "gear-without-speed",
        "friction is charged at the rotor's torque and the wheel's speed",
        ("Y-46",),
        lambda: patched(WheelMotors, "_account", _before_the_gear),
    ),
    Mutation(
        "no-voltage-limit",
        "the drive has any voltage",
        ("Y-46",),
        lambda: patched(WheelMotors, "_drive", _unlimited),
    ),
    Mutation(
        "restless-encoder",
        "the encoders' noise is not seeded",
        ("Y-01",),
        lambda: patched(SimulatedPlant, "read", _restless),
    ),
    Mutation(
        "generous-hand",
        "the passive operator's damping has the wrong sign",
        ("Y-54",),
        lambda: patched(ImpedanceHand, "push", _generous),
    ),
    Mutation(
        "no-force-scale",
        "the pen shows the robot's force in full",
        ("Y-56",),
        lambda: patched(PenMapping, "back", _full_force),
    ),
    Mutation(
        "force-map-not-dual",
        "forces come back in the robot's axes",
        ("Y-58",),
        lambda: patched(AxisMap, "back", _mirrored),
    ),
    Mutation(
        "damping-drives",
        "what should damp the pen drives it on a little",
        ("Y-57",),
        lambda: patched(JointDamping, "torque", _driving_on),
    ),
    Mutation(
        "compensation-against",
        "the wheels' compensation has the wrong sign",
        ("Y-63",),
        lambda: patched(FrictionCompensation, "measured", _against),
    ),
]
