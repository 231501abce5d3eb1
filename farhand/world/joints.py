"""What acts on the joints of a robot in the world beside its motors: pushes and friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import mujoco
import numpy as np

from farhand.errors import ModelError
from farhand.friction.models.implicit import advance
from farhand.friction.models.model import Friction
from farhand.friction.models.waiboer import Gears
from farhand.parameters import parameter
from farhand.spatial import Array

if TYPE_CHECKING:
    from farhand.world.touches import ImpedanceHand
    from farhand.world.world import Port, World

ONSET_SPEED = 1e-3
"""Speed below which a joint counts as at rest, where a term helps instead of resisting; assumed,
[rad/s]."""

REST_SPEED = 1e-6
"""Speed below which static friction holds a joint, [rad/s]."""


class Pushes(Protocol):
    """Something that pushes on the joints of a robot beside its motors."""

    @property
    def now(self) -> Array:
        """Joint torques at the last :meth:`at`, [N·m]."""

    def at(self, t: float) -> None:
        """Write the torques at time ``t`` [s] into ``now``."""


@dataclass
class JointPush:
    """A joint torque that someone exerts on an arm's links for a while.

    Attributes:
        torque: while it lasts, one per joint, [N·m].
        start: when it begins, [s].
        duration: how long it lasts, [s].
        now: at the last :meth:`at`, [N·m]; a law that must know the push reads this array.
    """

    torque: Array
    start: float = 0.0
    duration: float = 1.0

    def __post_init__(self) -> None:
        self.now = np.zeros(len(self.torque))

    def at(self, t: float) -> None:
        """Write the torque at time ``t`` [s] into ``now``."""
        self.now[:] = self.torque if self.start <= t < self.start + self.duration else 0.0


@dataclass
class Fingers:
    r"""The operator's fingers on a leader's gripper: a spring about an opening that moves.

    .. math:: \tau = k\,(q_r - q) - d\,\dot q

    The opening :math:`q_r` goes from where the gripper starts towards ``closed`` as they squeeze. A
    hand that lets go takes the fingers with it; they take hold again where the gripper then is.

    Args:
        port: the world's side of the leader.
        stiffness: k, [N·m/rad] (or [N/m] for a slide).
        damping: d, [N·m·s/rad].
        closed: where the gripper is shut, [rad] or [m].
        hand: that they belong to.
    """

    port: Port
    stiffness: float
    damping: float
    closed: float
    hand: ImpedanceHand | None = None
    squeeze: float = parameter(0.0, "-", "how far the fingers close, from 0 to 1", 0.0, 1.0)
    time: float = parameter(1.0, "s", "how long they take from open to closed", 0.01, 100.0)

    def __post_init__(self) -> None:
        self.now = np.zeros(self.port.nv)
        self._open, self._share, self._last = float(self.port.q[-1]), self.squeeze, 0.0

    def at(self, t: float) -> None:
        """Write the torque at time ``t`` [s] into ``now``."""
        if self.hand is not None and self.hand.open:
            self.now[-1] = 0.0
            self._open, self._share, self._last = float(self.port.q[-1]), 0.0, t
            return
        most = max(0.0, t - self._last) / self.time
        self._share += min(max(self.squeeze - self._share, -most), most)
        self._last = t
        wanted = self._open + self._share * (self.closed - self._open)
        pull = self.stiffness * (wanted - float(self.port.q[-1]))
        self.now[-1] = pull - self.damping * float(self.port.v[-1])


@dataclass
class HeldObject:
    r"""A soft object between a follower's jaws, which it pushes apart and never pulls together.

    .. math:: \tau = \max(0,\; k\,\delta + d\,\dot\delta), \qquad \delta = s - q > 0

    Larger positions open the gripper.

    Args:
        port: the world's side of the follower.
    """

    port: Port
    size: float = parameter(0.0, "rad", "where the gripper begins to touch it", -10.0, 10.0)
    stiffness: float = parameter(10.0, "N·m/rad", "stiffness", 0.0, 1e6)
    damping: float = parameter(0.0, "N·m·s/rad", "damping", 0.0, 1e4)
    present: bool = parameter(True, "-", "whether there is an object")

    def __post_init__(self) -> None:
        self.now, self.force = np.zeros(self.port.nv), 0.0

    def at(self, t: float) -> None:
        """Write the torque into ``now``."""
        depth, rate = self.size - float(self.port.q[-1]), -float(self.port.v[-1])
        pushed = max(0.0, self.stiffness * depth + self.damping * rate)
        self.now[-1] = self.force = pushed if self.present and depth > 0.0 else 0.0


class GearFriction:
    """The RX160's gears in MuJoCo: dry friction whose size follows the speed of the last step.

    The engine solves for dry friction together with the dynamics of all joints, so a stuck joint is
    held by just what balances it, and starts when that exceeds the term at rest. The shared gear is
    a tendon of joints 5 and 6.
    """

    def __init__(self, gears: Gears, tendon: str = "gear_56") -> None:
        self.gears, self._tendon = gears, tendon
        self._shared = np.zeros(1)

    def join(self, model: mujoco.MjModel, robot: str) -> None:
        """Act on a robot of this world."""
        tendon = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_TENDON, f"{robot}/{self._tendon}")
        if tendon < 0:
            gear = "the gear that joints 5 and 6 share"
            raise ModelError(f"{robot} has no tendon {self._tendon!r} for {gear}")
        self._shared = model.tendon_frictionloss[tendon : tendon + 1]

    def at(self, velocity: Array, dry: Array, torque: Array) -> None:
        """Write the ``dry`` friction at a velocity [rad/s], add terms that help along, [N·m]."""
        gears = self.gears
        u = gears.directions.dot(velocity)
        size = gears.terms.level(np.abs(u))
        np.maximum(size[:6], 0.0, out=dry)
        self._shared[0] = max(float(size[6]), 0.0)
        if size.min() < 0.0:
            torque -= (np.tanh(u / ONSET_SPEED) * np.minimum(size, 0.0)).dot(gears.directions)


class JointFriction:
    """A friction model in MuJoCo, on top of the dry friction in the robot's own file.

    A model that jumps at zero becomes the engine's own dry friction, as large as its curve at the
    present speed: the engine solves for it together with all joints, so that a stuck joint is held
    exactly. A continuous one is solved against each joint's inertia, which keeps a stiff bristle
    stable at the world's step.

    Args:
        friction: the model, of as many joints as the robot.
        world: where the robot stands.
        robot: its name there.
    """

    def __init__(self, friction: Friction, world: World, robot: str) -> None:
        self.friction = friction
        model, self._data, self._dt = world.model, world.data, world.step_ns * 1e-9
        joints = mujoco.mjtObj.mjOBJ_JOINT
        # the free joint of a loose object has no name
        names = [mujoco.mj_id2name(model, joints, k) or "" for k in range(model.njnt)]
        first = next(k for k, name in enumerate(names) if name.startswith(f"{robot}/"))
        start = int(model.jnt_dofadr[first])
        self._slice = slice(start, start + friction.joints)
        self._inertia = 1.0 / model.dof_invweight0[self._slice]
        self._own = world.placed[robot].robot.compile().dof_frictionloss.copy()
        self._resistance = np.zeros(friction.joints)
        # with the engine's defaults a joint below its dry friction creeps
        if friction.hold is not None:
            model.dof_solref[self._slice, 0] = 0.002
            model.dof_solimp[self._slice, :2] = 0.9999

    def join(self, model: mujoco.MjModel, robot: str) -> None:
        """Act on a robot of this world: nothing to look up."""

    def at(self, velocity: Array, dry: Array, torque: Array) -> None:
        """Write the ``dry`` friction at a velocity [rad/s], or add to ``torque``, both [N·m]."""
        friction, hold = self.friction, self.friction.hold
        if hold is not None:
            sliding = np.abs(friction.quick(velocity))
            static = np.maximum(-hold[0], hold[1])
            size = np.where(np.abs(velocity) < REST_SPEED, static, sliding)
            np.add(self._own, size, out=dry)
            return
        dry[:] = self._own
        # all forces of the last step: weight, motors and pushes
        drive = self._data.qfrc_smooth[self._slice]
        drive = drive + self._resistance
        _, self._resistance = advance(friction, velocity, self._dt, drive, self._inertia)
        torque -= self._resistance
