"""Friction offset: a torque that helps a joint over its dry friction, in the direction it moves or is about to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farhand.arm import Arm
from farhand.friction import make
from farhand.friction.compensation import FrictionCompensation
from farhand.parameters import parameter
from farhand.plants.simulated.link_map import LinkMap
from farhand.plants.simulated.mecanum import along_chord, turned

Array = np.ndarray


@dataclass
class FrictionOffset:
    r"""Add a share of every joint's dry friction, along its motion or, at rest, along what pushes it.

    .. math:: s_v = \tanh(\dot q / v_0), \quad s_\tau = \tanh\bigl((\tau + J^\top h)/\tau_0\bigr), \qquad
              \tau_{fc} = \alpha\,\tau_C \odot \bigl(s_v + (1 - |s_v|)\,s_\tau\bigr)

    :math:`\tau` is the commanded torque without gravity and h the measured wrench. At rest both
    count: a law that ties two arms answers the hand with a torque *against* it, so the command
    alone points the wrong way (docs/errata.md, D-50). A share near 1 over-compensates wherever the
    true friction is lower, and the joint then creeps by itself.
    """

    coulomb: Array = parameter((0.0,) * 6, "N·m", "dry friction to help against", 0.0, 100.0)
    share: float = parameter(0.7, "-", "share of it that is compensated", 0.0, 1.0)
    speed: float = parameter(
        0.02, "rad/s", "speed from which the direction of motion counts", 1e-6, 10.0
    )
    threshold: float = parameter(
        0.5, "N·m", "torque from which the direction of the push counts", 1e-6, 100.0
    )
    feels_hand: bool = parameter(True, "-", "whether the measured wrench counts at rest")

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """The offset, [N·m].

        Args:
            arm: the controller's model at the present state.
            commanded: joint torque without gravity, [N·m].
            wrench: measured on the tool, [N] and [N·m]; None when there is no measurement.
        """
        moving = np.tanh(arm.v / self.speed)
        pushed = (
            commanded if wrench is None or not self.feels_hand else commanded + wrench.dot(arm.J)
        )
        return (
            self.share
            * self.coulomb
            * (moving + (1.0 - np.abs(moving)) * np.tanh(pushed / self.threshold))
        )


# Joint damping: a drag on every joint, whatever else it is told; calms a device that nobody
# holds.


@dataclass
class JointDamping:
    r"""A torque against every joint's velocity, :math:`\tau = -B\,\dot q`; usable beside any torque controller."""

    damping: float = parameter(0.0, "N·s/m, N·m·s/rad", "drag on every joint", 0.0, 1e3)

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """The drag, [N·m] or [N]."""
        return -self.damping * arm.v


# Wheel compensation: each wheel is helped by what its own friction is thought to be at its own
# speed.


@dataclass
class WheelCompensation:
    r"""Feed forward the friction of four wheels, estimated from the counts of their encoders.

    .. math:: \tau_i = (B^\top W)_i + \hat F_i(\hat v_i)

    The wheels' angles are those that the odometry's pose stands for.

    Attributes:
        wheels: estimate of the four wheels' friction, and how much of it is fed forward.
        link: their geometry.
        period: between ticks, [s].
        added: torque added at the wheels at the last tick, [N·m].
    """

    wheels: FrictionCompensation = field(
        default_factory=lambda: FrictionCompensation(make("youbot-wheels", 4))
    )
    link: LinkMap = field(default_factory=LinkMap)
    period: float = 1e-3

    def __post_init__(self) -> None:
        """Not moved yet."""
        self.added, self._angle = np.zeros(4), np.zeros(4)
        self._pose: Array | None = None

    def torque(self, arm: Arm, commanded: Array, wrench: Array | None) -> Array:
        """Force to add on the base's three joints, world axes, [N] and [N·m]."""
        pose, turn, force = arm.q[:3], turned(-arm.q[2]), np.zeros(arm.nv)
        before = pose if self._pose is None else self._pose
        self._angle = self._angle + self.link.speeds(along_chord(pose - before, pose[2]))
        self._pose = pose.copy()
        self.added = self.wheels.measured(
            self._angle, self.period, self.link.torques(turn @ commanded[:3])
        )
        force[:3] = turn.T @ self.link.wrench(self.added)
        return force
