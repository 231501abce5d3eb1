"""Whole body: inverse dynamics of a humanoid that stands on one foot, with its centre of gravity and of pressure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

import numpy as np
import pinocchio as pin

from farhand.errors import UnknownName
from farhand.robots import Robot, load_robot
from farhand.robots.springs import JointSpring

Array = np.ndarray

SIDES = ("left", "right")
Curve = Callable[[float], tuple[Array, Array, Array]]
"""Joint positions, velocities and accelerations at a time [s], each of shape (27,)."""


@dataclass(frozen=True)
class BodyLoad:
    """What a motion takes at one moment; along a curve, one row per moment.

    Attributes:
        torque: at every joint, bands not counted, [N·m]; for a joint that stands still it is its
            holding torque.
        motor: what is left for the motors where bands help, [N·m].
        ground: wrench of the ground on the support foot at its sole point, world axes, [N] and
            [N·m].
        cog: centre of gravity, [m].
        cog_velocity: [m/s].
        cog_acceleration: [m/s²].
        cop: centre of pressure on the sole, x and y in world, [m].
        energy: kinetic and potential, [J].
        power: of all joints, [W].
    """

    torque: Array
    motor: Array
    ground: Array
    cog: Array
    cog_velocity: Array
    cog_acceleration: Array
    cop: Array
    energy: Array
    power: Array


class WholeBody:
    r"""A free-floating tree one of whose feet is welded to the ground.

    The foot's rest gives the base its motion, :math:`J_b v_b = -J_j v_j` and
    :math:`J_b \dot v_b = -J_j \dot v_j - \dot J v`. Newton–Euler on the free tree asks for a wrench
    on the base that nobody gives; the ground gives it at the foot instead:

    .. math:: w = J_b^{-\top} \tau_b, \qquad \tau = \tau_j - J_j^\top w

    The published simulator welds the tip of the foot; its toes are no joints, so any point of the
    foot is the same.

    Args:
        robot: a free-floating humanoid with sites ``left_sole`` and ``right_sole``; PHUA by
            default.
        support: which foot stands.
        bands: springs beside the motors, by joint.
        gravity: downward acceleration, [m/s²].

    Attributes:
        joints: names of the joints, in the order of all joint arrays.
    """

    def __init__(
        self,
        robot: Robot | None = None,
        support: str = "right",
        bands: Mapping[str, JointSpring] | None = None,
        gravity: float = 9.81,
    ) -> None:
        if support not in SIDES:
            raise UnknownName("foot", support, SIDES)
        self.robot = robot or load_robot("phua")
        self.model = self.robot.pinocchio(gravity=gravity)
        self.data = self.model.createData()
        self.joints = list(self.model.names)[2:]
        self.sole = self.model.getFrameId(f"{support}_sole", pin.FrameType.OP_FRAME)
        self._place: pin.SE3 = self._placement(np.zeros(len(self.joints)), pin.SE3.Identity())
        # flat on the ground
        self._place = pin.SE3(np.eye(3), self._place.translation * [1.0, 1.0, 0.0])
        self.bands = {self.index(name): spring for name, spring in (bands or {}).items()}

    def index(self, joint: str) -> int:
        """Number of a joint."""
        if joint not in self.joints:
            raise UnknownName("joint", joint, self.joints)
        return self.joints.index(joint)

    def _placement(self, q: Array, base: pin.SE3) -> pin.SE3:
        """Where the support sole is, for a base."""
        full = np.concatenate([pin.SE3ToXYZQUAT(base), q])
        pin.forwardKinematics(self.model, self.data, full)
        return pin.updateFramePlacement(self.model, self.data, self.sole).copy()

    def configuration(self, q: Array) -> Array:
        """Base and joints with the support sole in its place; joint angles [rad]."""
        base = self._place * self._placement(q, pin.SE3.Identity()).inverse()
        return np.concatenate([pin.SE3ToXYZQUAT(base), q])

    def at(self, q: Array, v: Array | None = None, a: Array | None = None) -> BodyLoad:
        """The load of joint angles [rad], velocities and accelerations; at rest where they are left out."""
        model, data, local = self.model, self.data, pin.LOCAL
        v, a = np.zeros(len(q)) if v is None else v, np.zeros(len(q)) if a is None else a
        full = self.configuration(q)
        J = pin.computeFrameJacobian(model, data, full, self.sole, local)
        base, rest = np.linalg.inv(J[:, :6]), J[:, 6:]
        speed = np.concatenate([-base @ rest @ v, v])
        pin.forwardKinematics(model, data, full, speed, np.zeros(model.nv))
        growth = np.concatenate([-base @ (rest @ a + self._drift()), a])
        free = pin.rnea(model, data, full, speed, growth)
        foot = base.T @ free[:6]  # on the foot, in its own axes
        torque = free[6:] - self._carried(rest, foot)
        energy = pin.computeKineticEnergy(model, data, full, speed) + pin.computePotentialEnergy(
            model, data, full
        )
        cog = pin.centerOfMass(model, data, full, speed, growth).copy()
        place = pin.updateFramePlacement(model, data, self.sole)
        ground = np.concatenate([place.rotation @ foot[:3], place.rotation @ foot[3:]])
        cop = place.translation[:2] + np.array([-ground[4], ground[3]]) / ground[2]
        motor = torque.copy()
        for joint, band in self.bands.items():
            motor[joint] += band.torque(float(q[joint]))
        motion = data.vcom[0].copy(), data.acom[0].copy()
        return BodyLoad(
            torque, motor, ground, cog, *motion, cop, np.array(energy), np.array(torque @ v)
        )

    def _drift(self) -> Array:
        """Acceleration of the sole when no velocity grows, [m/s²] and [rad/s²]."""
        return pin.getFrameAcceleration(self.model, self.data, self.sole, pin.LOCAL).vector

    @staticmethod
    def _carried(rest: Array, foot: Array) -> Array:
        """What the ground's wrench does at the joints, [N·m]."""
        return rest.T @ foot

    def along(self, curve: Curve, times: Array) -> BodyLoad:
        """The load at every time of a curve, as arrays with one row per time."""
        loads = [self.at(*curve(float(t))) for t in times]
        return BodyLoad(
            **{
                f.name: np.stack([getattr(load, f.name) for load in loads])
                for f in fields(BodyLoad)
            }
        )
