r"""Two OpenArms whose motors chase each other: whether they shake, where, why, and what calms them.

Each motor closes :math:`K (q_o - q) + D (\dot q_o - \dot q)` by itself, faster than the bus brings
the other arm's state; the program feeds friction forward. Friction does not act like a damper: here
it is one of equal energy per cycle for an oscillation whose joints all reach one ``speed``,

.. math:: b = \frac{4 F}{\pi V} + F_v, \qquad
          b_{fed} = \frac{2}{\pi V} \int_0^\pi f(V \sin\theta)\,\sin\theta\,d\theta

so the answer holds for a bump of that speed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farhand.analysis.stability.loop import Contact, LoopArm, LoopDrive, WholeLoop
from farhand.analysis.stability.spectrum import largest_stable, least_damped, stable
from farhand.arm import Arm
from farhand.coupling.openarm import OpenArm, published
from farhand.errors import Mismatch
from farhand.mapping.joint_map import JointMapping
from farhand.parameters import parameter
from farhand.robots import load_robot

Array = np.ndarray

JOINTS = 7
"""Joints that count; the friction of a gripper says nothing about its arm."""

HAND = Contact(300.0, 3.0)
"""A hand on the leader's tool, assumed."""

SLOW_HZ = 0.5
"""Frequency below which a joint moves on by itself instead of shaking, [Hz]."""


@dataclass
class MotorPair:
    """A pair of OpenArms, their motors, bus and program."""

    rate: float = parameter(1000.0, "Hz", "of the program", 50.0, 10_000.0)
    late: float = parameter(
        1.5e-3, "s", "from a state over the bus to its answer in a motor", 0.0, 0.1
    )
    motor_rate: float = parameter(2000.0, "Hz", "of the motors' own loops", 500.0, 40_000.0)
    velocity_filter: float = parameter(0.0, "Hz", "in the motors; 0: none", 0.0, 2e4)
    stiffness: float = parameter(1.0, "-", "over the published one", 0.0, 100.0)
    damping: float = parameter(1.0, "-", "over the published one", 0.0, 100.0)
    friction: float = parameter(1.0, "-", "of the arms, over what the makers found", 0.0, 10.0)
    share: float = parameter(1.0, "-", "of the makers' friction that is fed forward", 0.0, 2.0)
    reading: str = parameter("code", "-", "whose steepness of it", choices=("code", "file"))
    speed: float = parameter(0.2, "rad/s", "of the bump that must die away", 1e-3, 10.0)
    held: bool = parameter(False, "-", "whether a hand holds the leader")

    def loop(self) -> WholeLoop:
        """The loop for oscillations of its speed."""
        robot, gains = load_robot("openarm"), published("openarm", 8, 8)
        arm = Arm.of(robot)
        arm.update(robot.home, np.zeros(arm.nv))
        few, V = slice(0, JOINTS), self.speed
        M, J = arm.M[few, few], arm.J[:, few]
        dry, viscous = (self.friction * gains[name][few] for name in ("coulomb", "viscous"))
        limb = LoopArm(
            M, J, viscous + 4.0 * dry / (np.pi * V), np.zeros(JOINTS), np.eye(3)[0], joints=True
        )
        leader = limb
        if self.held:
            K, B = (np.diag([value] * 3 + [0.0] * 3) for value in (HAND.stiffness, HAND.damping))
            leader = replace(limb, stiffness=K, damping=B)
        K, D = self.stiffness * gains["stiffness"][few], self.damping * gains["damping"][few]
        none = np.zeros(JOINTS)
        chased = np.hstack([np.diag(K), np.diag(D), np.diag(none)])
        fed = np.hstack([np.diag(none), np.diag(self._fed(V)), np.diag(none)])
        period = 1.0 / self.rate
        drive = LoopDrive(
            np.diag(K), np.diag(D), 1.0 / self.motor_rate, self.velocity_filter, self.late
        )
        law = [[fed, chased], [chased, fed]]
        return WholeLoop((leader, limb), law, Contact(0.0), period, drives=(drive, drive))

    def _fed(self, speed: float) -> Array:
        """Damping that the friction fed forward takes away, [N·m·s/rad]."""
        names = [f"joint{number}" for number in range(8)]
        law = OpenArm(
            mapping=JointMapping.alike(names, names, slides=[False] * 7 + [True]),
            published=True,
            reading=self.reading,
            friction_share=self.share,
        )
        angles = np.pi * (np.arange(64) + 0.5) / 64.0
        sizes = [
            np.sin(angle) * (law.friction(np.full(8, v)) - law.friction(np.full(8, -v)))
            for angle, v in zip(angles, speed * np.sin(angles), strict=True)
        ]
        gain: Array = np.mean(sizes, axis=0)[:JOINTS] / speed
        return gain


@dataclass(frozen=True)
class MotorVerdict:
    """What a pair of OpenArms does after a bump."""

    calm: bool
    joint: int  #: that moves most in the motion that dies away last, or grows, from 1
    frequency: float  #: of it, [Hz]
    causes: tuple[str, ...]  #: what it is calm without
    changes: tuple[str, ...]  #: single changes that calm it, each with its least value

    @property
    def words(self) -> str:
        """In one line."""
        if self.calm:
            return "calm"
        if self.frequency < SLOW_HZ:
            return f"joint {self.joint} moves on by itself"
        return f"joint {self.joint} shakes at {self.frequency:.1f} Hz"


def judge_motors(pair: MotorPair) -> MotorVerdict:
    """Whether a pair shakes, where, why, and what calms it.

    Raises:
        Mismatch: its motors are slower than its program.
    """
    if pair.motor_rate < pair.rate:
        raise Mismatch(f"motors of {pair.motor_rate:g} Hz cannot serve ticks of {pair.rate:g} Hz")
    loop = pair.loop()
    mode = least_damped(loop)
    rows = [np.abs(mode.shape[start : start + JOINTS]) for start in (0, len(mode.shape) // 2)]
    joint = int(np.argmax(np.maximum(*rows))) + 1
    if stable(loop):
        return MotorVerdict(True, joint, mode.frequency, (), ())
    without = {
        "the friction that is fed forward": replace(pair, share=0.0),
        "the time on the bus and between ticks": replace(pair, late=0.0, rate=pair.motor_rate),
        "the filter in the motors": replace(pair, velocity_filter=0.0),
    }
    causes = tuple(why for why, one in without.items() if one != pair and stable(one.loop()))
    changes = [
        _least(pair, "share", "share fed forward ≤ {:.2g} (now {:.2g})", falls=True),
        _least(pair, "stiffness", "stiffness ≤ {:.2g} of the published (now {:.2g})", falls=True),
        _least(pair, "damping", "damping ≥ {:.2g} of the published (now {:.2g})", most=10.0),
        _least(pair, "rate", "rate ≥ {:.3g} Hz (now {:.3g})", most=pair.motor_rate / pair.rate),
    ]
    return MotorVerdict(
        False, joint, mode.frequency, causes, tuple(text for text in changes if text)
    )


def _least(
    pair: MotorPair, name: str, words: str, most: float = 1e3, falls: bool = False
) -> str | None:
    """The least change of one number that calms a pair, in words; None if none does."""
    now = float(vars(pair)[name])
    if now == 0.0 or most <= 1.0:
        return None

    def make(times: float) -> WholeLoop:
        value = now * times if falls else now * most / times
        return _with(pair, name, value).loop()

    low, high = (1e-3, 1.0) if falls else (1.0, most)
    times = largest_stable(make, low, high, 0.02, 12)
    if not 0.0 < times < math.inf:
        return None
    return words.format(now * times if falls else now * most / times, now)


def _with(pair: MotorPair, name: str, value: float) -> MotorPair:
    """A pair with another number; the time on the bus and between ticks shrinks with the ticks."""
    if name != "rate":
        changed: dict[str, Any] = {name: value}
        return replace(pair, **changed)
    return replace(pair, rate=value, late=pair.late * pair.rate / value)


def least_friction(pair: MotorPair) -> float:
    """Least friction of the arms, over what the makers found, at which the pair is calm, [-]."""

    def make(times: float) -> WholeLoop:
        return replace(pair, friction=3.0 / times).loop()

    times = largest_stable(make, 1.0, 300.0, 0.01, 12)
    return 0.0 if times == math.inf else math.inf if times == 0.0 else 3.0 / times
