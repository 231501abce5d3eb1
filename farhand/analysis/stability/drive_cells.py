"""Compare prediction and simulation where motors close loops of their own, on a second grid.

Two equal joints chase each other as OpenArms do: a host sends each motor the other's position and
velocity and the friction to feed forward; each motor closes a loop around its own state, faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np

from farhand.analysis.stability.cells import TOLERANCE
from farhand.analysis.stability.loop import Contact, LoopArm, LoopDrive, WholeLoop, filter_share
from farhand.analysis.stability.onset import STEADY_RATIO, onset, solution
from farhand.analysis.stability.spectrum import largest_stable

Array = np.ndarray

MOTORS = "chasing motors"
"""Name of the law of these cells."""

INERTIA, VISCOUS = 0.1, 0.1
"""Of a joint, [kg·m²] and [N·m·s/rad]."""

STEPS = 3.8e-4, 0.022
"""Steps of position and velocity in a frame, [rad] and [rad/s]: 16 bits of ±12.5 rad, 12 bits of
±45 rad/s, as a DM8009 has them."""

BUMP, CYCLE = 0.076, (5.0 * STEPS[0], 3.0 * STEPS[1])
"""Size of the bump at the leader, [rad], and size and speed of the smallest limit cycle that counts
as shaking, [rad] and [rad/s]: such frames hardly tell a smaller or slower motion from rest."""

FRICTION = 0.3, 1.0, 0.05
"""What is fed forward: F_c [N·m], its steepness [s/rad], and F_v [N·m·s/rad]."""

WINDOW_S, LONGEST_S = 1.0, 30.0
"""Time over which swings are compared, and the longest run."""

RANGES = {
    "stiffness": (5.0, 1e4),
    "damping": (0.05, 1e3),
    "late": (5e-4, 0.2),
    "period": (5e-4, 0.1),
    "share": (0.01, 20.0),
}
"""Where an onset is searched, in the units of the cell."""

Question = Literal["stiffness", "damping", "late", "period", "share"]


@dataclass(frozen=True)
class DriveCell:
    """Two joints with motors, and what grows until they shake."""

    question: Question
    stiffness: float = 100.0  #: K of the motors, [N·m/rad]
    damping: float = 2.0  #: D of the motors, [N·m·s/rad]
    period: float = 1e-3  #: of the host, [s]
    motor: float = 2.5e-4  #: period of the motors, [s]
    late: float = 1e-3  #: from a state over the bus to its answer in a motor, [s]
    cut_off: float = 0.0  #: of the velocity in the motors, [Hz]; 0: none
    steps: float = 1.0  #: of the frames, in :data:`STEPS`
    share: float = 0.0  #: of :data:`FRICTION` that is fed forward, [-]
    dry: float = 0.0  #: true dry friction, [N·m]
    hand: float = 20.0  #: stiffness on the leader, [N·m/rad]; its damping is a hundredth
    wall: float = 50.0  #: stiffness on the follower, [N·m/rad]; its damping is a hundredth

    @property
    def name(self) -> str:
        """All fields in one word."""
        values = asdict(self).values()
        return "/".join(f"{v:g}" if isinstance(v, float) else v for v in values)

    def at(self, value: float) -> DriveCell:
        """The cell at a value of what grows; times are whole steps of the motors."""
        if self.question in ("late", "period"):
            value = max(1, round(value / self.motor)) * self.motor
        changed: dict[str, Any] = {self.question: value}
        return replace(self, **changed)

    def loop(self) -> WholeLoop:
        """The same as matrices."""
        lever, one = np.eye(6, 1), np.eye(1)
        limb = LoopArm(
            INERTIA * one,
            lever,
            np.array([VISCOUS]),
            np.array([self.dry]),
            np.eye(3)[0],
            joints=True,
        )
        held = limb.touching(self.hand, 0.01 * self.hand)
        K, D = self.stiffness * one, self.damping * one
        drive = LoopDrive(K, D, self.motor, self.cut_off, self.late)
        chased = np.array([[self.stiffness, self.damping, 0.0]])
        fed = np.array([[0.0, self.share * (FRICTION[0] * FRICTION[1] + FRICTION[2]), 0.0]])
        law, wall = [[fed, chased], [chased, fed]], Contact(self.wall, 0.01 * self.wall)
        limbs, drives = (held, limb), (drive, drive)
        steps = CYCLE[1] / STEPS[1] / self.steps
        return WholeLoop(limbs, law, wall, self.period, drives=drives, speed_steps=steps)

    def shakes(self) -> bool:
        """Whether a limit cycle remains after a bump, by simulation."""
        contact = (self.hand, self.wall)
        modes = np.array([solution(INERTIA, VISCOUS + 0.01 * k, k, self.motor) for k in contact])
        share = filter_share(self.cut_off, self.motor) if self.cut_off > 0.0 else 1.0
        gains = np.array([self.stiffness, self.damping, self.share, share, self.dry, BUMP])
        steps = np.array(STEPS) * self.steps
        counts = [round(time / self.motor) for time in (self.period, self.late)]
        times = [round(time / self.motor) for time in (WINDOW_S, LONGEST_S)]
        return bool(
            _compiled()(modes, gains, steps, np.array(CYCLE), np.array(FRICTION), *counts, *times)
        )


def grid() -> list[DriveCell]:
    """All cells."""
    one, rates, motor, filters, steps = [1.0], (1e-3, 3e-3), [2.5e-4], (0.0, 80.0), (0.1, 1.0)
    K, D, hands, none = (80.0, 200.0), (1.2, 2.5), (8.0, 40.0), [0.0]
    # In the order of the cell's fields, from the question on.
    tables: list[tuple[Any, ...]] = [
        (["stiffness"], one, D, rates, motor, (5e-4, 2.5e-3, 7e-3), filters, steps, none, none),
        (["late"], K, D, (1e-3, 2e-3), motor, none, filters, one, none, none, hands),
        (["share"], K, [2.0], rates, motor, (1e-3, 4e-3), none, steps, none, none, hands, none),
        (["share"], [100.0], [2.0], [1e-3], motor, (1e-3, 4e-3), none, [0.1], none, (0.02, 0.05)),
        (["period"], K, D, one, motor, (1e-3, 3e-3), filters, steps, none, none),
        (["damping"], [100.0], one, rates, (2.5e-4, 1e-3), (1e-3, 3e-3), filters, steps),
    ]
    tables[3] += hands, none
    return [DriveCell(*row) for table in tables for row in product(*table)]


def judge(cell: DriveCell) -> dict[str, Any]:
    """Predict and simulate one cell: its fields, both onsets, their ratio, if within tolerance."""
    ends = RANGES[cell.question]

    def make(value: float) -> WholeLoop:
        return cell.at(value).loop()

    # Of a bump at one of two like arms, each of their two motions gets half.
    bump = 0.5 * BUMP if cell.dry > 0.0 else 0.0
    quanta = CYCLE[0] / STEPS[0] / cell.steps
    limits = (
        largest_stable(make, *ends, points=20, bump=bump, quanta=quanta),
        onset(lambda value: cell.at(value).shakes(), *ends),
    )
    predicted, simulated = (value if math.isfinite(value) else None for value in limits)
    ratio = predicted / simulated if predicted is not None and simulated else None
    agree = predicted is simulated is None or (ratio is not None and abs(ratio - 1.0) <= TOLERANCE)
    numbers = {"predicted": predicted, "simulated": simulated, "ratio": ratio, "within": agree}
    return {"law": MOTORS, **asdict(cell), **numbers}


def _compiled() -> Callable[..., bool]:
    global _fast
    if _fast is None:
        import numba

        _fast = numba.njit(cache=True)(_simulate)
    return _fast


_fast: Callable[..., bool] | None = None


def _simulate(
    modes: Array,
    gains: Array,
    steps: Array,
    cycle: Array,
    friction: Array,
    tick: int,
    late: int,
    window: int,
    most: int,
) -> bool:
    """Both joints from a bump to the end; see :meth:`DriveCell.shakes`."""
    K, D, fed, share, dry, bump = gains
    x, v, w, torque = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
    x[0] = bump
    waiting = np.zeros((late // tick + 2, 2))
    low, high, fast, was = np.full(2, np.inf), np.full(2, -np.inf), 0.0, np.inf
    for k in range(most):
        if k % tick == 0:
            slot = (k // tick) % len(waiting)
            for i in range(2):
                # Frames cut off; zero lies between two steps of a velocity.
                q_o = steps[0] * (math.floor(x[1 - i] / steps[0] + 0.87) - 0.37)
                v_o = steps[1] * (math.floor(w[1 - i] / steps[1] + 0.5) - 0.5)
                own = steps[1] * (math.floor(w[i] / steps[1] + 0.5) - 0.5)
                curve = friction[0] * math.tanh(friction[1] * own) + friction[2] * own
                waiting[slot, i] = K * q_o + D * v_o + fed * curve
        if k >= late and (k - late) % tick == 0:
            torque[:] = waiting[((k - late) // tick) % len(waiting)]
        for i in range(2):
            f = torque[i] - K * x[i] - D * w[i]
            mode = modes[i]
            after = mode[2] * x[i] + mode[3] * v[i] + mode[5] * f
            rub = min(max(-after / mode[5], -dry), dry)
            x[i] = mode[0] * x[i] + mode[1] * v[i] + mode[4] * (f + rub)
            v[i] = after + mode[5] * rub
            w[i] += share * (v[i] - w[i])
            low[i], high[i], fast = min(low[i], x[i]), max(high[i], x[i]), max(fast, abs(v[i]))
            if abs(x[i]) > 1e4 * bump:
                return True
        if (k + 1) % window == 0:
            swing = max(high[0] - low[0], high[1] - low[1]) / 2.0
            if swing <= cycle[0] or fast <= cycle[1]:
                return False
            if swing >= STEADY_RATIO * was:
                return True
            was, fast = swing, 0.0
            low[:], high[:] = np.inf, -np.inf
    return False
