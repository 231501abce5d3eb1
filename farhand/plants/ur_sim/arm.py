"""The arm of the simulated controller: physics, joint servos, force sensor and limits."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from farhand.arm import Arm
from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.robots import Robot
from farhand.robots.edits import add_payload, set_armature, set_damping
from farhand.spatial import Array, rotation_from_vector, rotation_vector, skew
from farhand.world import Placed, World
from farhand.world.touches import Touch

CYCLE_NS = 2_000_000
"""Control cycle of an e-Series controller, [ns] (public data: 500 Hz)."""

CYCLE = CYCLE_NS * 1e-9
STEPS = 2
"""Physics steps in a cycle."""

NAME = "arm"
MAX_PAYLOAD_KG = 35.0
"""Largest payload that is accepted: that of the largest arm of the maker (public data), [kg]."""

ZERO_SHARE = 0.02
"""Share of a new reading in the mean to which the force sensor is zeroed, over 0.1 s; assumed."""

HISTORY_CYCLES = 2000
"""Cycles of joint positions that are kept."""


@dataclass
class UrJoints:
    """The joints and the sensor at the flange."""

    # Assumed, the armature as in a public model. The largest acceleration is that of the client.
    armature: float = parameter(0.1, "kg·m²", "rotor inertia", 0.0, 10.0)
    viscous: Array = parameter(
        (2.0, 2.0, 2.0, 0.5, 0.5, 0.5), "N·m·s/rad", "viscous friction", 0.0, 100.0
    )
    bandwidth: float = parameter(80.0, "rad/s", "of the joint servos", 1.0, 400.0)
    deceleration: float = parameter(10.0, "rad/s²", "of a stop", 0.1, 100.0)
    acceleration: float = parameter(40.0, "rad/s²", "most that a servo accepts", 0.1, 1000.0)
    # The data sheet has 3.5 N and 0.2 N·m, taken as three deviations. The bias is assumed.
    force_noise: float = parameter(1.2, "N", "deviation of the force", 0.0, 50.0)
    torque_noise: float = parameter(0.07, "N·m", "deviation of the torque", 0.0, 5.0)
    force_bias: float = parameter(1.0, "N", "force before the sensor is zeroed", 0.0, 50.0)


@dataclass
class SafetyLimits:
    """Limits whose breach is a protective stop."""

    # The force is that of the least restricted preset (public data); others are assumed.
    speed: float = parameter(1.0, "-", "fraction of the joints' speed limits", 0.0, 1.0)
    deviation: float = parameter(0.1, "rad", "between reference and joint", 0.0, 10.0)
    force: float = parameter(250.0, "N", "at the tool", 0.0, 1e4)
    saturated: float = parameter(0.05, "s", "for which torque may be missing", 0.0, 10.0)


class ServoedArm:
    r"""An arm whose joint servos follow a reference, or which exerts commanded torques.

    The servos are computed torque on the true model, limited to the torques of the joints,

    .. math:: \tau = M\,(\ddot q_r + 2\omega(\dot q_r - \dot q) + \omega^2(q_r - q))
              + c + g + D\,\dot q.

    In torque mode the controller adds the weight of its model, as the public description of direct
    torque control says: a torque of zero leaves the arm floating.

    Args:
        robot: which robot.
        rng: source of sensor noise.
        joints: and sensor at the flange.
        limits: of the safety system.
        payload: true mass at its flange, [kg].

    Attributes:
        q_target: reference of the servos, [rad].
        v_target: [rad/s].
        a_target: [rad/s²].
        torque: of the joints in the last step, [N·m].
        payload: mass in the model of the controller, [kg].
        payload_cog: its centre in flange axes, [m].
        tcp: tool centre point from the flange, as (x, y, z, rx, ry, rz), [m] and [rad].
        wrench: measured at the TCP, by the environment on the arm, base axes, [N] and [N·m].
        history: joint positions of the last cycles, newest first.
        powered: whether the brakes are open and the motors on.
        speed_scaling: share of their speed that programs move with, [-].
    """

    def __init__(
        self,
        robot: Robot,
        rng: np.random.Generator,
        joints: UrJoints | None = None,
        limits: SafetyLimits | None = None,
        payload: float = 0.0,
    ) -> None:
        self.joints, self.limits = joints or UrJoints(), limits or SafetyLimits()
        self.speed_scaling = 1.0
        edits = [set_armature(self.joints.armature), set_damping(self.joints.viscous)]
        known = robot.edited(*edits)
        self.robot = known.edited(add_payload(payload, (0.0, 0.0, 0.05))) if payload else known
        self.world = World({NAME: Placed(self.robot)}, CYCLE_NS // STEPS)
        self.port = self.world.ports[NAME]
        self.model = Arm.of(self.robot)
        self.believed = Arm.of(known)
        self.q_target, n = self.port.q.copy(), self.port.nv
        self.v_target, self.a_target, self._before = np.zeros(n), np.zeros(n), np.zeros(2 * n)
        self.torque, self._pushed = np.zeros(n), np.zeros(n)
        self.payload, self.payload_cog = 0.0, np.zeros(3)
        self.tcp = np.zeros(6)
        self.torque_mode, self.powered = False, True
        self.wrench, self.raw_wrench = np.zeros(6), np.zeros(6)
        self._rng, self._zero = rng, np.zeros(6)
        self._sigma = np.repeat([self.joints.force_noise, self.joints.torque_noise], 3)
        self._bias = rng.standard_normal(6) * np.repeat([1.0, 0.05], 3) * self.joints.force_bias
        self._mean = self._bias.copy()
        self._saturated_for = 0.0
        self.history: deque[Array] = deque(maxlen=HISTORY_CYCLES)
        self._sense()

    @property
    def q(self) -> Array:
        """Positions of the joints, [rad]."""
        return self.port.q

    @property
    def v(self) -> Array:
        """Velocities of the joints, [rad/s]."""
        return self.port.v

    def touch(self, name: str, touch: Touch) -> None:
        """Let something act on the tool."""
        self.world.touch(NAME, name, touch)

    def accelerate(self, acceleration: Array) -> None:
        """Advance the reference by one cycle at an acceleration [rad/s²], within the limit."""
        most = self.joints.acceleration
        self.torque_mode = False
        self.a_target[:] = np.minimum(np.maximum(acceleration, -most), most)
        self.v_target += CYCLE * self.a_target
        self.q_target += CYCLE * self.v_target

    def reach_velocity(self, velocity: Array) -> None:
        """Advance the reference by one cycle, to end at this velocity [rad/s]."""
        self.accelerate((velocity - self.v_target) / CYCLE)

    def place(self, q: Array, velocity: Array) -> None:
        """Set the reference [rad] and its velocity [rad/s] at the end of the cycle."""
        self.torque_mode = False
        self.a_target[:] = (velocity - self.v_target) / CYCLE
        self.v_target[:], self.q_target[:] = velocity, q

    def push(self, torque: Array) -> None:
        """Exert this torque [N·m] beside the arm's weight for one cycle."""
        self.torque_mode = True
        self._pushed[:] = torque

    def slow_down(self, deceleration: float | None = None) -> bool:
        """One cycle of a stop, all joints together; whether the reference stands still now."""
        rate = self.joints.deceleration if deceleration is None else max(deceleration, 0.1)
        most, fastest = CYCLE * rate, float(np.abs(self.v_target).max())
        slower = self.v_target * max(0.0, 1.0 - most / fastest) if fastest > 0.0 else 0.0
        self.reach_velocity(np.broadcast_to(slower, self.v_target.shape))
        if float(np.abs(self.v_target).max()) > 1e-9:
            return False
        self.v_target[:] = 0.0
        return True

    def cycle(self) -> str | None:
        """One control cycle of physics; why the arm must stop, or None."""
        before, n = self._before, self.port.nv
        before[:n] = self.q_target - CYCLE * self.v_target
        before[n:] = self.v_target - CYCLE * self.a_target
        for step in range(STEPS):
            self._act((step + 1) / STEPS)
            self.world.advance(self.world.now_ns + self.world.step_ns)
        if self.torque_mode or not self.powered:
            self.q_target[:], self.v_target[:], self.a_target[:] = self.q, self.v, 0.0
        self.history.appendleft(self.q.copy())
        self._sense()
        return self._breach() if self.powered else None

    def power(self, on: bool) -> None:
        """Close or open the brakes; the arm stays where it is."""
        self.powered, self.torque_mode = on, False
        self.q_target[:], self.v_target[:], self.a_target[:] = self.q, 0.0, 0.0
        self.port.brake(not on)

    def zero_sensor(self) -> None:
        """Zero the sensor at its present mean reading."""
        self._zero[:] = self._mean
        self._zero[2] += 9.81 * self.payload

    def carry(self, mass: float) -> None:
        """Set the payload of the controller's model, [kg]; BadValue for an impossible one."""
        if not 0.0 <= mass <= MAX_PAYLOAD_KG:
            raise BadValue(f"a payload of {mass:g} kg is outside [0, {MAX_PAYLOAD_KG:g}] kg")
        self.payload = mass

    def stop_in_place(self) -> None:
        """Set the reference to the present state of the arm."""
        self.q_target[:], self.v_target[:] = self.q, self.v
        self.torque_mode, self._saturated_for = False, 0.0

    def weight(self) -> Array:
        """Torque that holds the arm and the payload of the controller's model, [N·m]."""
        believed = self.believed
        believed.update(self.q, self.v)
        if not self.payload:
            return believed.gravity
        lever = believed.rotation @ self.payload_cog
        up = np.array([0.0, 0.0, 9.81 * self.payload])
        payload = believed.J.T @ np.concatenate([up, np.cross(lever, up)])
        torque: Array = believed.gravity + payload
        return torque

    def pose(self, q: Array) -> tuple[Array, Array]:
        """Position [m] and rotation matrix of the TCP in the base at joints ``q`` [rad]."""
        self.believed.update(q, np.zeros(len(q)))
        R = self.believed.rotation
        return self.believed.position + R @ self.tcp[:3], R @ rotation_from_vector(self.tcp[3:])

    def pose_now(self) -> tuple[Array, Array]:
        """True position [m] and rotation matrix of the TCP in the base."""
        tool = self.port.tool
        if not self.tcp.any():
            return tool.position, tool.rotation
        turn = rotation_from_vector(self.tcp[3:])
        return tool.position + tool.rotation @ self.tcp[:3], tool.rotation @ turn

    def twist_now(self) -> Array:
        """True twist of the TCP in base axes, [m/s] and [rad/s]."""
        twist = self.port.tool.twist
        if not self.tcp.any():
            return twist
        lever = self.port.tool.rotation @ self.tcp[:3]
        return np.concatenate([twist[:3] + skew(twist[3:]) @ lever, twist[3:]])

    def jacobian(self, q: Array) -> Array:
        """Twist of the TCP in base axes per joint velocity at joints ``q`` [rad], 6 × n."""
        self.believed.update(q, np.zeros(len(q)))
        J, lever = self.believed.J.copy(), self.believed.rotation @ self.tcp[:3]
        J[:3] -= skew(lever) @ J[3:]
        return J

    def _act(self, share: float) -> None:
        """Torque for the next physics step, at this share of the cycle."""
        arm, port, n = self.model, self.port, self.port.nv
        arm.update(port.q, port.v)
        limit = self.robot.limits.torque
        if not self.powered:
            # Gravity is compensated because the engine's brakes creep, unlike real ones.
            torque = arm.gravity
        elif self.torque_mode:
            torque = self._pushed + self.weight()
        else:
            w = self.joints.bandwidth
            q = self._before[:n] + share * (self.q_target - self._before[:n])
            v = self._before[n:] + share * (self.v_target - self._before[n:])
            pull = self.a_target + 2.0 * w * (v - arm.v) + w * w * (q - arm.q)
            torque = arm.M @ pull + arm.bias + arm.viscous * arm.v
        np.clip(torque, -limit, limit, out=self.torque)
        over = bool((np.abs(torque) > limit).any())
        self._saturated_for = self._saturated_for + CYCLE / STEPS if over else 0.0
        port.torque[:] = self.torque

    def _sense(self) -> None:
        """Read the flange sensor: contact, error of the payload, bias and noise."""
        port = self.port
        np.multiply(self._sigma, self._rng.standard_normal(6), out=self.raw_wrench)
        self.raw_wrench += port.wrench
        self.raw_wrench += self._bias
        self._mean += ZERO_SHARE * (self.raw_wrench - self._mean)
        np.subtract(self.raw_wrench, self._zero, out=self.wrench)
        self.wrench[2] += 9.81 * self.payload
        if self.tcp.any():
            self.wrench[3:] -= skew(port.tool.rotation @ self.tcp[:3]) @ self.wrench[:3]

    def _breach(self) -> str | None:
        """Which limit is broken, in words."""
        robot, limits = self.robot.limits, self.limits
        q, v, force = self.q, self.v, self.port.wrench[:3]
        fastest = limits.speed * robot.velocity
        margins = [q - robot.lower, robot.upper - q]
        margins += [fastest - np.abs(v), fastest - np.abs(self.v_target)]
        margins.append(limits.deviation - np.abs(self.q_target - q))
        calm = float(force @ force) <= limits.force**2 and self._saturated_for <= limits.saturated
        # The comparison is false for a state that is not a number.
        if calm and float(np.concatenate(margins).min()) >= 0.0:
            return None
        return self._which_breach()

    def _which_breach(self) -> str | None:
        robot, limits = self.robot.limits, self.limits
        fastest = limits.speed * robot.velocity
        if not (np.isfinite(self.q).all() and np.isfinite(self.v).all()):
            return "the joint state is not a number"
        for joint in np.flatnonzero((self.q < robot.lower) | (self.q > robot.upper)):
            return f"joint {joint} at {self.q[joint]:.3f} rad is outside its limits"
        fast = np.maximum(np.abs(self.v), np.abs(self.v_target))
        for joint in np.flatnonzero(fast > fastest * 1.001):
            return f"joint {joint} moves at {fast[joint]:.2f} rad/s, limit {fastest[joint]:.2f}"
        away = np.abs(self.q_target - self.q)
        for joint in np.flatnonzero(away > limits.deviation):
            limit = f"limit {limits.deviation:g}"
            return f"joint {joint} is {away[joint]:.3f} rad from its target, {limit}"
        force = math.sqrt(float(self.port.wrench[:3] @ self.port.wrench[:3]))
        if force > limits.force:
            return f"force at the tool is {force:.0f} N, limit {limits.force:g}"
        if self._saturated_for > limits.saturated:
            time_ms = 1e3 * self._saturated_for
            return f"a joint needed more than its torque limit for {time_ms:.0f} ms"
        return None


def pose_vector(position: Array, rotation: Array) -> Array:
    """A pose as the controller writes it: position [m], then rotation vector [rad]."""
    return np.concatenate([position, rotation_vector(rotation)])


def pose_of(vector: Array) -> tuple[Array, Array]:
    """Position [m] and rotation matrix of a pose as the controller writes it."""
    turn = rotation_from_vector(np.asarray(vector[3:6], dtype=float))
    return np.array(vector[:3], dtype=float), turn


def pose_times(a: Array, b: Array) -> Array:
    """Pose ``b``, given in the frame of pose ``a``, in the frame in which ``a`` is given."""
    (p, R), (q, S) = pose_of(a), pose_of(b)
    return pose_vector(p + R @ q, R @ S)
