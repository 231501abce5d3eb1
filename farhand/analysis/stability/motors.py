r"""Two OpenArms whose motors chase each other: whether they shake, where, why, and what calms them.

Each motor closes :math:`K (q_o - q) + D (\dot q_o - \dot q)` by itself, faster than the bus brings
the other arm's state; the program feeds friction forward. Friction does not act like a damper: here
it is one of equal energy per cycle for an oscillation whose joints all reach one ``speed``,

.. math:: b = \frac{4 F}{\pi V} + F_v, \qquad
          b_{fed} = \frac{2}{\pi V} \int_0^\pi f(V \sin\theta)\,\sin\theta\,d\theta

so the answer holds for a bump of that speed. An arm that a hand leads along is different: its dry
friction does not change its sign, and damps nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farhand.analysis.stability.loop import Contact, LoopArm, LoopDrive, WholeLoop
from farhand.analysis.stability.spectrum import largest_stable, least_damped, stable
from farhand.arm import Arm
from farhand.coupling.openarm import OpenArm
from farhand.coupling.published import published
from farhand.errors import Mismatch
from farhand.mapping.joint_map import JointMapping
from farhand.parameters import parameter
from farhand.robots import load_robot

Array = np.ndarray

JOINTS = 7
"""Joints that count; the friction of a gripper says nothing about its arm."""

STRONG = 4
"""Joints, from the first, whose motors damp so much that the other arm's velocity shakes them; the
wrist has a fifteenth of that, and a low-pass in its loop would rather shake it."""

HAND = Contact(300.0, 3.0)
"""A hand on the leader's tool, assumed."""

GEAR_DAMPING = 0.02
"""Damping ratio of a gear's spring with its rotor; assumed, [-]."""

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
    raw: bool = parameter(False, "-", "whether motors report velocity without that filter")
    sent_filter: float = parameter(
        0.0, "Hz", "of the other arm's velocity, joints 1 to 4, in the program; 0: none", 0.0, 2e4
    )
    stiffness: float = parameter(1.0, "-", "over the published one", 0.0, 100.0)
    damping: float = parameter(1.0, "-", "over the published one", 0.0, 100.0)
    friction: float = parameter(1.0, "-", "of the arms, over what the makers found", 0.0, 10.0)
    share: float = parameter(1.0, "-", "of the makers' friction that is fed forward", 0.0, 2.0)
    reading: str = parameter("code", "-", "whose steepness of it", choices=("code", "file"))
    speed: float = parameter(0.2, "rad/s", "of the bump that must die away", 1e-3, 10.0)
    held: bool = parameter(False, "-", "whether a hand holds the leader")
    led: float = parameter(0.0, "rad/s", "speed at which a hand leads the arms along", 0.0, 10.0)
    gear: float = parameter(0.0, "N·m/rad", "stiffness of the gears; 0: they do not give", 0.0, 1e6)

    def loop(self) -> WholeLoop:
        """The loop for oscillations of its speed."""
        robot, gains = load_robot("openarm"), published("openarm", 8, 8)
        arm = Arm.of(robot)
        arm.update(robot.home, np.zeros(arm.nv))
        few, none = slice(0, JOINTS), np.zeros((JOINTS, JOINTS))
        M, J = arm.M[few, few], arm.J[:, few]
        dry, viscous = (self.friction * gains[name][few] for name in ("coulomb", "viscous"))
        damping = viscous if self.led > 0.0 else viscous + 4.0 * dry / (np.pi * self.speed)
        K, D = (np.diag(gains[name][few]) for name in ("stiffness", "damping"))
        K, D, fed = self.stiffness * K, self.damping * D, np.diag(self._fed())
        springs: tuple[Array | float, Array | float] = (0.0, 0.0)
        if self.gear > 0.0:
            # Rotors, which the motors know and turn, then the links behind them.
            rotor = robot.compile().dof_armature[few]
            apart, one = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.eye(JOINTS)
            loss = 2.0 * GEAR_DAMPING * np.sqrt(self.gear * rotor)
            springs = np.kron(apart, self.gear * one), np.kron(apart, np.diag(loss))
            M = np.block([[np.diag(rotor), none], [none, M - np.diag(rotor)]])
            J = np.hstack([np.zeros_like(J), J])
            damping = np.concatenate([damping, np.zeros(JOINTS)])
            pad = np.diag([1.0, 0.0])
            K, D, fed = (np.kron(pad, gain) for gain in (K, D, fed))
        limb = LoopArm(M, J, damping, np.zeros(len(M)), np.eye(3)[0], joints=True, gear=springs)
        leader = limb
        if self.held:
            held = [np.diag([value] * 3 + [0.0] * 3) for value in (HAND.stiffness, HAND.damping)]
            leader = replace(limb, stiffness=held[0], damping=held[1])
        chased, own = np.hstack([K, D, 0.0 * K]), np.hstack([0.0 * K, fed, 0.0 * K])
        cut_off = self.sent_filter or np.inf
        drive = LoopDrive(
            K,
            D,
            1.0 / self.motor_rate,
            self.velocity_filter,
            self.late,
            raw=self.raw,
            sent=np.tile(np.where(np.arange(JOINTS) < STRONG, cut_off, np.inf), len(M) // JOINTS),
        )
        law, period = [[own, chased], [chased, own]], 1.0 / self.rate
        return WholeLoop((leader, limb), law, Contact(0.0), period, drives=(drive, drive))

    def _fed(self) -> Array:
        """Damping that the friction fed forward takes away, [N·m·s/rad]."""
        names = [f"joint{number}" for number in range(8)]
        law = OpenArm(
            mapping=JointMapping.alike(names, names, slides=[False] * 7 + [True]),
            published=True,
            reading=self.reading,
            friction_share=self.share,
        )

        def rise(middle: float, v: float) -> Array:
            found: Array = law.friction(np.full(8, middle + v)) - law.friction(
                np.full(8, middle - v)
            )
            return found[:JOINTS]

        if self.led > 0.0:
            return rise(self.led, 1e-3) / 2e-3
        sines = np.sin(np.pi * (np.arange(64) + 0.5) / 64.0)
        gain: Array = np.mean([sine * rise(0.0, self.speed * sine) for sine in sines], axis=0)
        return gain / self.speed


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
        "the other arm's velocity at joints 1 to 4": replace(pair, sent_filter=0.1),
    }
    causes = tuple(why for why, one in without.items() if one != pair and stable(one.loop()))
    cut_off = pair.sent_filter or 0.5 * pair.rate
    options = (
        ("share", pair.share, 0.01, "share fed forward ≤ {:.2g} (now {:.2g})"),
        ("stiffness", pair.stiffness, 0.05, "stiffness ≤ {:.2g} of the published (now {:.2g})"),
        ("damping", pair.damping, 0.05, "damping ≤ {:.2g} of the published (now {:.2g})"),
        ("damping", pair.damping, 10.0, "damping ≥ {:.2g} of the published (now {:.2g})"),
        ("rate", pair.rate, pair.motor_rate / pair.rate, "rate ≥ {:.3g} Hz (now {:.3g})"),
        (
            "sent_filter",
            cut_off,
            1.0 / cut_off,
            "the other arm's velocity, joints 1 to 4, below {:.2g} Hz",
        ),
    )
    changes = []
    for name, start, most, text in options:
        found = _nearest_calm(pair, name, start, most * start) if most != 1.0 and start else None
        if found is not None:
            changes.append(text.format(found, start))
    return MotorVerdict(False, joint, mode.frequency, causes, tuple(changes))


def _nearest_calm(pair: MotorPair, name: str, now: float, most: float) -> float | None:
    """The value of one number nearest to ``now``, up to ``most``, that calms a pair, or None."""
    bad = now
    for good in np.geomspace(now, most, 16)[1:].tolist():
        if stable(_with(pair, name, good).loop()):
            break
        bad = good
    else:
        return None
    for _ in range(5):
        middle = math.sqrt(good * bad)
        calm = stable(_with(pair, name, middle).loop())
        good, bad = (middle, bad) if calm else (good, middle)
    return good


def _with(pair: MotorPair, name: str, value: float) -> MotorPair:
    """A pair with another number; the time on the bus and between ticks shrinks with the ticks."""
    if name != "rate":
        changed: dict[str, Any] = {name: value}
        return replace(pair, **changed)
    return replace(pair, rate=value, late=pair.late * pair.rate / value)


def least_friction(pair: MotorPair) -> float:
    """Least friction of the arms, over what the makers found, at which the pair is calm, [-].

    Infinity if three times as much is not enough.
    """

    def make(times: float) -> WholeLoop:
        return replace(pair, friction=3.0 / times).loop()

    times = largest_stable(make, 1.0, 300.0, 0.01, 12)
    return 0.0 if times == math.inf else math.inf if times == 0.0 else 3.0 / times
