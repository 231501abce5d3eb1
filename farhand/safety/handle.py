"""Handle controller: a leader guided by a handle, with a dead-man grip and walls at its limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.haptic.impedance import CartesianImpedance, Rendering
from farhand.control.joint.loops import JointLock
from farhand.control.tool.torque import TorqueController
from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.plants.plant import Command
from farhand.spatial import Array, rotation_from_vector


@dataclass
class DeadMan:
    r"""Turn the leader into a stiff, damped spring while nobody grips the handle.

    On release the spring's target starts at the measured pose with the measured velocity and slows
    down evenly to rest within ``stop``; the force that slows down the leader's mass is fed forward.
    If the assumed mass is wrong the spring makes up for it and stretches. At rest the target
    therefore moves to where the leader has come to: a stretched spring would set it in motion
    again. On a new grip the hold fades within ``fade``. Nothing has to be restarted.

    Attributes:
        enabled: whether motion may be sent.
        holding: whether the leader is held, or the hold has yet to fade.
    """

    grip: float = parameter(2.0, "N", "grip force that enables", 0.0, 100.0)
    release: float = parameter(1.0, "N", "grip force below which the handle is let go", 0.0, 100.0)
    stiffness: float = parameter(5000.0, "N/m", "stiffness of the hold", 0.0, 1e5)
    stiffness_turn: float = parameter(300.0, "N·m/rad", "rotational stiffness", 0.0, 1e4)
    damping: float = parameter(280.0, "N·s/m", "damping of the hold", 0.0, 1e4)
    damping_turn: float = parameter(8.0, "N·m·s/rad", "rotational damping of the hold", 0.0, 1e3)
    mass: float = parameter(4.0, "kg", "mass that the leader presents to the hand", 0.0, 1000.0)
    inertia: float = parameter(0.05, "kg·m²", "inertia that it presents", 0.0, 100.0)
    stop: float = parameter(0.09, "s", "time to rest after letting go", 0.001, 1.0)
    fade: float = parameter(0.05, "s", "time in which the hold vanishes", 0.001, 1.0)

    def __post_init__(self) -> None:
        self.enabled = False
        self.holding = False
        self._position, self._rotation, self._twist = np.zeros(3), np.eye(3), np.zeros(6)
        self._since, self._stopped = 0.0, False

    def step(
        self,
        impedance: CartesianImpedance,
        grip: float,
        position: Array,
        rotation: Array,
        twist: Array,
        dt: float,
    ) -> bool:
        """Set the leader's springs for this grip; whether the operator is in control.

        Args:
            impedance: the leader's; unchanged while the handle is gripped and the hold has faded.
            grip: grip force, [N]; NaN counts as let go.
            position: of the leader's tool in world, [m].
            rotation: of it in world.
            twist: of it, world axes, [m/s] and [rad/s].
            dt: since the last step, [s].
        """
        gripped = grip > (self.release if self.enabled else self.grip)
        if gripped != self.enabled or not (gripped or self.holding):
            self.enabled, self._since = gripped, 0.0
            if not gripped:
                self.holding, self._stopped = True, False
                self._position, self._rotation = position.copy(), rotation.copy()
                self._twist = twist.copy()
        if gripped:
            self._let_go(impedance, position, rotation)
        else:
            self._hold(impedance, position, rotation)
        self._since += dt
        return gripped

    def _hold(self, impedance: CartesianImpedance, position: Array, rotation: Array) -> None:
        """Aim at where an even deceleration has led by now; then hold the pose reached."""
        share = self._since / self.stop
        impedance.stiffness = np.repeat([self.stiffness, self.stiffness_turn], 3)
        impedance.damping = np.repeat([self.damping, self.damping_turn], 3)
        if share < 1.0:
            travel = self._twist * self.stop * (share - 0.5 * share * share)
            turned = rotation_from_vector(travel[3:]) @ self._rotation
            impedance.aim(self._position + travel[:3], turned, twist=(1.0 - share) * self._twist)
            inertia = np.repeat([self.mass, self.inertia], 3)
            impedance.feedforward[:] = inertia * self._twist / -self.stop
        elif not self._stopped:
            self._stopped = True
            impedance.aim(position, rotation)

    def _let_go(self, impedance: CartesianImpedance, position: Array, rotation: Array) -> None:
        """Fade the spring, its target unchanged; then leave it alone."""
        if not self.holding:
            return
        left = 1.0 - self._since / self.fade
        if left <= 0.0:
            self.holding = False
            impedance.stiffness, impedance.damping = np.zeros(6), np.zeros(6)
            impedance.relax(position, rotation)
            return
        impedance.stiffness = left * np.repeat([self.stiffness, self.stiffness_turn], 3)
        impedance.feedforward[:] = 0.0
        impedance.damping = left * np.repeat([self.damping, self.damping_turn], 3)


@dataclass
class JointWall:
    r"""A one-sided spring and damper in a zone before every joint limit.

    It pushes the operator gently back before the machine stops itself hard. With the depth
    :math:`s = \max(q - (q_{max} - z), 0)` and the speed :math:`\dot q` towards the limit,

    .. math:: \tau = -\max\bigl(k\,s + d\,\dot q\,\min(s/s_0, 1),\ 0\bigr)

    and the mirror image at the lower limit. The damper grows in with the depth, so the torque has
    no step when a moving joint enters; it never pulls a joint into the zone.
    """

    zone: float = parameter(np.radians(10.0), "rad", "width before a joint limit", 1e-4, 3.0)
    stiffness: float = parameter(200.0, "N·m/rad", "stiffness of the wall", 0.0, 1e5)
    damping: float = parameter(40.0, "N·m·s/rad", "damping of the wall", 0.0, 1e4)
    entry: float = parameter(np.radians(2.0), "rad", "depth of full damping", 1e-4, 3.0)

    def __post_init__(self) -> None:
        self._lower, self._upper = np.zeros(0), np.zeros(0)

    def watch(self, lower: Array, upper: Array) -> None:
        """Take the joint limits, [rad]."""
        low, high = np.array(lower, dtype=float), np.array(upper, dtype=float)
        if low.shape != high.shape or not (low + 2.0 * self.zone < high).all():
            raise BadValue(f"joint limits must leave room between two walls of {self.zone:.3f} rad")
        self._lower, self._upper = low, high

    def torque(self, q: Array, v: Array) -> Array:
        """Push on the joints, [N·m]; leading axes of ``q`` [rad] and ``v`` [rad/s] are kept."""
        below, above = self._lower - q + self.zone, q - self._upper + self.zone
        # as nearly always
        if max(below.max(), above.max()) <= 0.0:
            return np.zeros(np.shape(q))
        return self._push(below, -v) - self._push(above, v)

    def clearance(self, q: Array) -> Array:
        """Distance of every joint from its nearer limit, [rad]."""
        return np.minimum(q - self._lower, self._upper - q)

    def _push(self, depth: Array, inward: Array) -> Array:
        s = np.maximum(depth, 0.0)
        damping = self.damping * inward * np.minimum(s / self.entry, 1.0)
        return np.maximum(self.stiffness * s + damping, 0.0)


@dataclass
class Handle:
    """What the operator does with the handle: a script in simulation, readings on hardware."""

    grip: float = parameter(10.0, "N", "force on the grip sensor", 0.0, 1000.0)
    ring: int = parameter(0, "-", "ring of the gripper: -1 opens, +1 closes", -1, 1)


@dataclass
class HandleParts:
    """The parts of a handle controller."""

    handle: Handle = field(default_factory=Handle)
    deadman: DeadMan = field(default_factory=DeadMan)
    wall: JointWall = field(default_factory=JointWall)
    rendering: Rendering = field(default_factory=Rendering)
    lock: JointLock = field(default_factory=JointLock)


class HandleController(TorqueController):
    """Joint torque for what the hand feels, the hold of a released handle, and the joint walls.

    The walls act on a tripped station too.
    """

    def __init__(
        self, arm: Arm, period_ns: int, made_of: HandleParts, can_brake: bool = True
    ) -> None:
        super().__init__(arm, "free", period_ns, can_brake)
        self.made_of = made_of
        self._spring = CartesianImpedance()
        self._added = np.zeros(arm.nv)

    @property
    def parts(self) -> dict[str, Any]:
        """How it holds still, and all that the handle is made of."""
        return super().parts | vars(self.made_of)

    def step(self, request: ControlRequest, now_ns: int) -> Command:
        """Torque for this tick."""
        if request.valid:
            self._render(request, now_ns)
        command = super().step(request, now_ns)
        if request.valid:
            arm, made_of = self.arm, self.made_of
            self._added[:] = made_of.wall.torque(arm.q, arm.v)
            made_of.lock.add_torque(arm.q, arm.v, self._added)
            command.value += self._added
        return command

    def _render(self, request: ControlRequest, now_ns: int) -> None:
        """Replace the effort by what the device makes of it, plus the hold of a released handle."""
        arm, made_of = self.arm, self.made_of
        deadman, pose = made_of.deadman, (arm.position, arm.rotation, arm.twist)
        effort = made_of.rendering.wrench(request.effort, *pose, now_ns, self._dt)
        deadman.step(self._spring, made_of.handle.grip, *pose, self._dt)
        request.effort[:] = effort + self._spring.wrench(*pose) if deadman.holding else effort
