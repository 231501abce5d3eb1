"""Assists: torques added beside a torque controller, against friction or for calm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from farhand.arm import Arm
from farhand.friction import make
from farhand.friction.compensation import FrictionCompensation
from farhand.parameters import parameter
from farhand.plants.simulated.mecanum import LinkMap, along_chord, turned
from farhand.spatial import Array


class Assist(Protocol):
    """Adds a joint torque that no coupling requested; every class in this file implements it."""

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """Torque to add, [N·m].

        Args:
            arm: the controller's model at the present state.
            commanded: joint torque without gravity, [N·m].
            wrench: measured on the tool, [N] and [N·m]; None without a measurement.
        """


@dataclass
class FrictionOffset:
    r"""Add a share of every joint's dry friction, along its motion or, at rest, along its load.

    .. math:: s_v = \tanh(\dot q / v_0), \quad s_\tau = \tanh\bigl((\tau + J^\top h)/\tau_0\bigr),
              \qquad \tau_{fc} = \alpha\,\tau_C \odot \bigl(s_v + (1 - |s_v|)\,s_\tau\bigr)

    :math:`\tau` is the commanded torque without gravity and h the measured wrench. At rest both
    count: a law that ties two arms answers the hand with a torque *against* it, so the command
    alone points the wrong way (docs/errata.md, D-50). A share near 1 over-compensates wherever the
    true friction is lower, and the joint then creeps by itself.
    """

    coulomb: Array = parameter((0.0,) * 6, "N·m", "dry friction to help against", 0.0, 100.0)
    share: float = parameter(0.7, "-", "share of it that is compensated", 0.0, 1.0)
    speed: float = parameter(0.02, "rad/s", "speed that gives a direction of motion", 1e-6, 10.0)
    threshold: float = parameter(0.5, "N·m", "torque that gives a direction of push", 1e-6, 100.0)
    feels_hand: bool = parameter(True, "-", "whether the measured wrench counts at rest")

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """The offset, [N·m]."""
        moving = np.tanh(arm.v / self.speed)
        load = commanded
        if wrench is not None and self.feels_hand:
            load = commanded + wrench.dot(arm.J)
        direction = moving + (1.0 - np.abs(moving)) * np.tanh(load / self.threshold)
        return self.share * self.coulomb * direction


@dataclass
class JointDamping:
    r"""A torque against every joint's velocity, :math:`\tau = -B\,\dot q`; calms a free device."""

    damping: float = parameter(0.0, "N·s/m, N·m·s/rad", "drag on every joint", 0.0, 1e3)

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """The drag, [N·m] or [N]."""
        return -self.damping * arm.v


@dataclass
class FrictionFeedForward:
    """Feed forward the friction that a fitted model predicts for every joint, by its encoder.

    Attributes:
        model: friction of the joints, and how much of it is fed forward.
        period: time between ticks, [s].
    """

    model: FrictionCompensation
    period: float = 1e-3

    def __post_init__(self) -> None:
        self.model.filter.prepare(self.period)

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """The torque to add, [N·m]."""
        return self.model.measured(arm.q, self.period, commanded)


@dataclass
class WheelCompensation:
    r"""Feed forward the friction of four wheels, estimated from the counts of their encoders.

    .. math:: \tau_i = (B^\top W)_i + \hat F_i(\hat v_i)

    The angles of the wheels follow from the odometry's pose.

    Attributes:
        wheels: estimate of the four wheels' friction, and how much of it is fed forward.
        added: torque added at the wheels at the last tick, [N·m].
    """

    wheels: FrictionCompensation = field(
        default_factory=lambda: FrictionCompensation(make("youbot-wheels", 4))
    )
    link: LinkMap = field(default_factory=LinkMap)
    period: float = 1e-3

    def __post_init__(self) -> None:
        self.added = np.zeros(4)
        self._angle = np.zeros(4)
        self._pose: Array | None = None

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """Force to add on the base's three joints, world axes, [N] and [N·m]."""
        pose, turn = arm.q[:3], turned(-arm.q[2])
        before = pose if self._pose is None else self._pose
        self._angle = self._angle + self.link.speeds(along_chord(pose - before, pose[2]))
        self._pose = pose.copy()
        drive = self.link.torques(turn @ commanded[:3])
        self.added = self.wheels.measured(self._angle, self.period, drive)
        force = np.zeros(arm.nv)
        force[:3] = turn.T @ self.link.wrench(self.added)
        return force


class WallTorque(Protocol):
    """Pushes joints off their limits; :class:`farhand.safety.handle.JointWall` implements it."""

    def torque(self, q: Array, v: Array) -> Array:
        """At these joint positions and velocities, [N·m]."""


class WallAssist:
    """A wall before the limits of an arm's joints from ``first`` on."""

    def __init__(self, wall: WallTorque, first: int = 0) -> None:
        self.wall, self._first = wall, first

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """The wall's push, [N·m]."""
        push = np.zeros(arm.nv)
        push[self._first :] = self.wall.torque(arm.q[self._first :], arm.v[self._first :])
        return push


def settings_of(assist: Assist) -> Any:
    """The object whose parameters a user may set: wall, friction model, or the assist itself."""
    if isinstance(assist, FrictionFeedForward):
        return assist.model
    return assist.wall if isinstance(assist, WallAssist) else assist
