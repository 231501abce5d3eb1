"""Vehicle mapping: a follower's arm that rides on a base; the operator's axes turn and travel with the base."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.mapping.workspace import WorkspaceMapping
from farhand.robots import Placement
from farhand.spatial import rotation_from_quaternion, rotation_vector

Array = np.ndarray


class Vehicle:
    """Where a base stands: first four joints x, y, yaw and z of a robot placed in the world.

    Args:
        arm: the robot's model, kept up to date by whoever knows its joints.
        placement: where it was placed.
        mount: of the arm's base on the vehicle, [m].

    Attributes:
        turn: rotation of the vehicle against its placement, in world.
    """

    ORDER = np.array([0, 1, 3, 2])
    """Joints in the order x, y, z, yaw."""

    def __init__(self, arm: Arm, placement: Placement, mount: Array) -> None:
        self._arm, self._mount = arm, mount
        self._origin = np.array(placement.position)
        self._axes = rotation_from_quaternion(np.array(placement.quaternion))
        self.turn = np.eye(3)
        self.compute()

    def compute(self) -> None:
        """Take the base's joints over."""
        x, y, yaw, z = self._arm.q[:4].tolist()
        c, s = np.cos(yaw), np.sin(yaw)
        self._in_base = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        self.turn = self._axes @ self._in_base @ self._axes.T
        self._travelled = self._axes @ np.array([x, y, z])

    def carry(self, position: Array) -> Array:
        """A point that was here in world before the vehicle moved, as carried along, [m]."""
        return self._origin + self._travelled + self.turn @ (position - self._origin)

    def bring_back(self, position: Array) -> Array:
        """The opposite of :meth:`carry`."""
        return self._origin + self.turn.T @ (position - self._origin - self._travelled)

    def twist_at(self, position: Array) -> Array:
        """Twist of a point fixed to the vehicle, world axes, [m/s] and [rad/s]."""
        vx, vy, rate, vz = self._arm.v[:4].tolist()
        angular = rate * self._axes[:, 2]
        arm = position - self._origin - self._travelled
        return np.concatenate(
            [self._axes @ np.array([vx, vy, vz]) + np.cross(angular, arm), angular]
        )

    def stand(self) -> tuple[Array, Array]:
        """Position and rotation of the arm's base in world."""
        return self.carry(self._origin + self._axes @ self._mount), self.turn @ self._axes

    def joint_velocity(self, velocity: Array) -> Array:
        """Velocities of the base's joints, in their order, for x, y, z and yaw in axes that turn with the vehicle."""
        out = velocity[self.ORDER]
        out[:2] = (self._in_base @ self._axes.T)[:2, :2] @ velocity[:2]
        return out


@dataclass
class VehicleMapping(WorkspaceMapping):
    """As :class:`~farhand.mapping.workspace.WorkspaceMapping`, in the vehicle's axes.

    It also says how far the leader is from where it was engaged, which drives the base in rate
    mode.

    Attributes:
        vehicle: the base.
        offset: the leader's displacement since engagement along x, y, z and about z, [m] and [rad].
    """

    vehicle: Vehicle = field(default_factory=lambda: _missing())

    def __post_init__(self) -> None:
        """Not engaged yet."""
        super().__post_init__()
        self.offset = np.zeros(4)
        self._rest_position, self._rest_rotation = np.zeros(3), np.eye(3)

    def capture(self, p_a: Array, R_a: Array, p_b: Array, R_b: Array) -> None:
        """Choose the offsets so that a maps onto b as the vehicle stands, and rate mode starts at rest."""
        vehicle = self.vehicle
        vehicle.compute()
        super().capture(p_a, R_a, vehicle.bring_back(p_b), vehicle.turn.T @ R_b)
        self._rest_position[:], self._rest_rotation[:] = p_a, R_a

    def forward(self, p_a: Array, R_a: Array, twist_a: Array) -> None:
        """Map the leader's pose and twist, into the attributes."""
        super().forward(p_a, R_a, twist_a)
        vehicle = self.vehicle
        vehicle.compute()
        self.position[:] = vehicle.carry(self.position)
        self.rotation[:] = vehicle.turn @ self.rotation
        turned = np.concatenate([vehicle.turn @ self.twist[:3], vehicle.turn @ self.twist[3:]])
        self.twist = turned + vehicle.twist_at(self.position)
        self.offset[:3] = self._A @ (p_a - self._rest_position)
        self.offset[3] = (self._A @ rotation_vector(R_a @ self._rest_rotation.T))[2]

    def back(self, wrench_b: Array, out: Array) -> None:
        """Map a wrench in world to the leader's axes, through the vehicle's."""
        turn = self.vehicle.turn
        super().back(np.concatenate([wrench_b[:3] @ turn, wrench_b[3:] @ turn]), out)


def _missing() -> Vehicle:
    raise BadValue("a vehicle mapping needs its vehicle")
