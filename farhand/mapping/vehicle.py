"""Vehicle mapping: an arm that rides on a base, and the rate mode that drives the base."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.mapping.workspace import WorkspaceMapping, missing
from farhand.parameters import parameter
from farhand.robots import Placement
from farhand.spatial import Array, rotation_vector


@dataclass
class RateMode:
    r"""Velocity from an offset, with a dead band, a smooth onset, saturation and a bounded change.

    Each offset is a share :math:`u_i = x_i / x_{i,full}` of what gives full speed. Axes that belong
    together, such as the two of a plane, form a group with one length :math:`r = |u|`, so the
    direction is kept:

    .. math:: v_i = v_{i,top}\,\phi\!\left(\frac{r - d}{1 - d}\right)\frac{u_i}{r}, \qquad
              \phi(s) = s^2 (3 - 2 s) \ \text{for}\ 0 \le s \le 1

    φ and its slope are zero at the edge of the dead band d, so nothing jumps when a hand crosses
    it. The velocity changes no faster than from rest to the top within ``rise``; letting go (an
    offset of zero) stops within the same time.

    Attributes:
        groups: numbers of the axes that belong together; the other axes stand alone.
        v: the last velocity, [m/s] or [rad/s].
    """

    full: Array = parameter((0.2, 0.2, 0.2, 0.6), "m, rad", "offset for full speed", 1e-6, 1e6)
    top: Array = parameter((0.2, 0.2, 0.1, 0.4), "m/s, rad/s", "full speed", -100.0, 100.0)
    dead_band: float = parameter(0.5, "-", "share of the full offset that moves nothing", 0.0, 0.99)
    rise: float = parameter(0.5, "s", "shortest time from rest to full speed", 1e-3, 100.0)
    groups: tuple[tuple[int, ...], ...] = ((0, 1),)

    def __post_init__(self) -> None:
        axes = len(self.top)
        if len(self.full) != axes:
            raise BadValue(f"rate mode has {len(self.full)} full offsets for {axes} top speeds")
        grouped = [axis for group in self.groups for axis in group]
        if len(set(grouped)) != len(grouped) or not set(grouped) <= set(range(axes)):
            raise BadValue(
                f"groups of rate mode must hold each axis of 0 … {axes - 1} once at most"
            )
        alone = [(axis,) for axis in range(axes) if axis not in grouped]
        self._groups = [np.array(group) for group in (*self.groups, *alone)]
        self.v = np.zeros(axes)

    def velocity(self, offset: Array) -> Array:
        """The velocity for an offset, without the bound on its change, [m/s] or [rad/s]."""
        u = np.asarray(offset, dtype=float) / self.full
        v = np.zeros(len(u))
        for group in self._groups:
            r = float(np.linalg.norm(u[group]))
            s = min((r - self.dead_band) / (1.0 - self.dead_band), 1.0)
            if s > 0.0:
                v[group] = self.top[group] * (s * s * (3.0 - 2.0 * s) / r) * u[group]
        return v

    def step(self, offset: Array | None, dt: float) -> Array:
        """Move the velocity on by ``dt`` [s] towards that of the offset; None means rest."""
        goal = np.zeros(len(self.v)) if offset is None else self.velocity(offset)
        most = np.abs(self.top) * (dt / self.rise)
        self.v = self.v + np.clip(goal - self.v, -most, most)
        return self.v


class Vehicle:
    """Where a base stands: first four joints x, y, yaw and z of a robot placed in the world.

    Args:
        arm: the robot's model, kept up to date by whoever knows its joints.
        mount: of the arm's base on the vehicle, [m].
    """

    ORDER = np.array([0, 1, 3, 2])
    """Joints in the order x, y, z, yaw."""

    def __init__(self, arm: Arm, placement: Placement, mount: Array) -> None:
        self._arm, self._mount = arm, mount
        self._origin, self._axes = placement.pose()
        self.turn = np.eye(3)  #: rotation of the vehicle against its placement, in world
        self.update()

    def update(self) -> None:
        """Read the base's joints."""
        x, y, yaw, z = self._arm.q[:4].tolist()
        c, s = np.cos(yaw), np.sin(yaw)
        self._in_base = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        self.turn = self._axes @ self._in_base @ self._axes.T
        self._travelled = self._axes @ np.array([x, y, z])

    def carry(self, position: Array) -> Array:
        """Where a world point is after the vehicle carried it from its start, [m]."""
        return self._origin + self._travelled + self.turn @ (position - self._origin)

    def bring_back(self, position: Array) -> Array:
        """The inverse of :meth:`carry`."""
        return self._origin + self.turn.T @ (position - self._origin - self._travelled)

    def twist_at(self, position: Array) -> Array:
        """Twist of a point fixed to the vehicle, world axes, [m/s] and [rad/s]."""
        vx, vy, rate, vz = self._arm.v[:4].tolist()
        angular = rate * self._axes[:, 2]
        lever = position - self._origin - self._travelled
        linear = self._axes @ np.array([vx, vy, vz]) + np.cross(angular, lever)
        return np.concatenate([linear, angular])

    def arm_base(self) -> tuple[Array, Array]:
        """Position and rotation of the arm's base in world."""
        return self.carry(self._origin + self._axes @ self._mount), self.turn @ self._axes

    def joint_velocity(self, velocity: Array) -> Array:
        """Joint velocities of the base for x, y, z and yaw in axes that turn with the vehicle."""
        out = velocity[self.ORDER]
        out[:2] = (self._in_base @ self._axes.T)[:2, :2] @ velocity[:2]
        return out


@dataclass
class VehicleMapping(WorkspaceMapping):
    """As :class:`~farhand.mapping.workspace.WorkspaceMapping`, in the vehicle's axes.

    It also knows how far the leader is from where it was engaged, which drives the base in rate
    mode.

    Attributes:
        offset: the leader's displacement since engagement along x, y, z and about z, [m] and [rad].
    """

    vehicle: Vehicle = field(default_factory=missing("a vehicle mapping", "vehicle"))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.offset = np.zeros(4)
        self._rest_position, self._rest_rotation = np.zeros(3), np.eye(3)

    def capture(self, p_a: Array, R_a: Array, p_b: Array, R_b: Array) -> None:
        """Choose the offsets so that a maps onto b as the vehicle stands; rate mode rests."""
        vehicle = self.vehicle
        vehicle.update()
        super().capture(p_a, R_a, vehicle.bring_back(p_b), vehicle.turn.T @ R_b)
        self._rest_position[:], self._rest_rotation[:] = p_a, R_a

    def forward(self, p_a: Array, R_a: Array, twist_a: Array) -> None:
        """Map the leader's pose and twist, into the attributes."""
        super().forward(p_a, R_a, twist_a)
        vehicle = self.vehicle
        vehicle.update()
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
