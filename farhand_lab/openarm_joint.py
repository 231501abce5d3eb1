r"""When does the shoulder of a pair of OpenArms shake? One joint, many cases at once.

Two motors, each with a link behind a gear that may give and have play, and the loop of
``enactic/openarm_teleop`` (556ddba): the motor of either arm gets the other arm's last position and
velocity, its gains, and its own friction as a torque. Three threads run at the program's rate
without a common beat, and answers that come too late for one step are read in the next. So the
states that a step uses are some ticks old: ``own_age`` and ``other_age``.

.. math::
    J_m\,\dot\omega = \tau - F - \tau_g, \qquad I\,\dot v = \tau_g - G + h, \qquad
    \tau = K_p\,(q' - \theta) + K_d\,(\omega' - \omega_f) + \hat F(\omega) + G

:math:`\tau_g` is the torque of the gear: stiffness k beyond a play b. G is the weight that the gear
carries. Run it with ``python -m farhand_lab.openarm_joint``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from farhand.analysis.stability.cells import TOLERANCE
from farhand.analysis.stability.loop import Contact, LoopArm, LoopDrive, WholeLoop
from farhand.analysis.stability.onset import onset
from farhand.analysis.stability.spectrum import largest_stable
from farhand.coupling.openarm import SLOWER
from farhand.coupling.published import published
from farhand.plants.damiao import frames
from farhand.spatial import Array
from farhand_lab.openarm_shaking import HAND_NM, HAND_NMS, KICK_NM, KICK_S, SLOW_HZ, STILL

JOINT, COUNT = 1, 8
STEP = 50e-6
"""Of the physics, [s]."""

MOTOR_PERIOD = 250e-6
"""Of the loop in a motor, [s]; assumed, as in :mod:`farhand.plants.damiao.simulated`."""

ROTOR = 0.0081
"""Inertia of a DM8009's rotor at its output, as in the model of the robot, [kg·m²]."""

GEAR_DAMPING = 0.02
"""Damping ratio of the gear's spring with the rotor; assumed, [-]."""

KEPT = 10
"""Every how many steps one is looked at."""

FASTEST = 100.0
"""Speed at which a motor is held, as its voltage would, [rad/s]; assumed."""

RIGID = np.inf
"""Stiffness of a gear that does not give: rotor and link are one."""


@dataclass(frozen=True)
class Joint:
    """One case; where a number is not known for real arms, the doubt is in its comment."""

    rate: float = 1000.0  #: of the program, [Hz]
    own_age: int = 1  #: of the motor's own state, in ticks: 1 or 2
    other_age: int = 2  #: of the other arm's, in ticks: 2 to 4
    file: bool = False  #: whether friction is read as the file has it, not as the code computes it
    share: float = 1.0  #: of the friction fed forward, [-]
    friction: float = 1.0  #: of the arm in truth, over the file's, [-]
    stiffness: float = 1.0  #: K_p over the published one, [-]
    damping: float = 1.0  #: K_d over the published one, [-]
    filter: float = np.inf  #: cut-off of the velocity in the motor's loop, [Hz]; not published
    gear: float = RIGID  #: stiffness k, [N·m/rad]; not known
    play: float = 0.0  #: b, [rad]; not known
    weight: float = 0.0  #: G, [N·m]; 0 where the arm is upright
    inertia: float = 0.133  #: I, [kg·m²]; the model's at home, up to 0.35 in the makers' file
    heavier: float = 1.0  #: the leader's inertia over the follower's, [-]
    quantised: bool = True  #: whether frames have 16 and 12 bits
    sent: float = np.inf  #: cut-off of the other arm's velocity before it is sent, [Hz]
    pull: float = 0.3  #: speed at which a hand leads the leader, 0: nobody holds it, [rad/s]
    filtered: bool = False  #: whether the motor reports its velocity behind its filter


@dataclass(frozen=True)
class Ended:
    """What was left of the kick in the last half second, beside the motion itself."""

    speed: float  #: root mean square of the faster motor's velocity, less its mean, [rad/s]
    frequency: float  #: the strongest one, [Hz]

    @property
    def shakes(self) -> bool:
        """Whether it does, by the rule of :mod:`farhand_lab.openarm_shaking`."""
        return self.speed > STILL and self.frequency >= SLOW_HZ

    @property
    def text(self) -> str:
        """In words."""
        if self.speed <= STILL:
            return "calm"
        if not self.shakes:
            return "uneven"
        return f"shakes, {self.frequency:.0f} Hz, {self.speed:.2f} rad/s"


def run(cases: Sequence[Joint], seconds: float = 2.0) -> list[Ended]:
    """Simulate all cases."""
    numbers = np.array(
        [[float(getattr(case, one.name)) for one in fields(Joint)] for case in cases]
    )
    return [_judge(_simulate(row, _constants(), seconds)) for row in numbers]


@cache
def _constants() -> Array:
    """Published gains of the joint, and what its motor's frames can say."""
    table, ranges = published("openarm", COUNT, COUNT), frames.model("DM8009")
    names = ("stiffness", "damping", "coulomb", "viscous", "steepness")
    return np.array([*(table[name][JOINT] for name in names), *ranges.steps[:2], ranges.torque])


@njit(cache=True)
def _simulate(case: Array, constants: Array, seconds: float) -> Array:
    """Velocities of both motors in the last half second, one row every :data:`KEPT` steps."""
    rate, own, other, file, share, friction, stiffer, damper, cutoff, k, play = case[:11]
    weight, inertia, heavier, quantised, sent, pull, behind = case[11:]
    K, D, dry, viscous, steep, q_step, v_step, most = constants
    K, D = stiffer * K, damper * D
    steep *= 1.0 if file > 0.0 else SLOWER
    true_dry, true_viscous, half = friction * dry, friction * viscous, 0.5 * play
    d, keep = (
        2.0 * GEAR_DAMPING * np.sqrt(k * ROTOR),
        -np.expm1(-2.0 * np.pi * cutoff * MOTOR_PERIOD),
    )
    smooth = -np.expm1(-2.0 * np.pi * sent / rate)
    tick, motor = int(round(1.0 / rate / STEP)), int(round(MOTOR_PERIOD / STEP))
    steps = int(round(seconds / STEP))
    first = steps - int(round(0.5 / STEP))
    masses = np.array([heavier * inertia, inertia])
    # the gear is loaded by the weight at the start
    begin = -half * np.sign(weight) - weight / k if k < np.inf else 0.0
    link, v = np.full(2, begin), np.zeros(2)
    theta, omega, filtered, command = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
    goal, speed, feed = np.zeros(2), np.zeros(2), np.zeros(2)
    past = np.zeros((5, 2, 2))
    kept = np.zeros(((steps - first) // KEPT, 2))
    for step in range(steps):
        t = step * STEP
        if step % motor == 0:
            filtered += keep * (omega - filtered)
        if step % tick == 0:
            past[1:] = past[:-1].copy()
            for i in range(2):
                past[0, i, 0] = theta[i]
                past[0, i, 1] = filtered[i] if behind > 0.0 else omega[i]
                if quantised > 0.0:
                    # zero lies between two steps
                    past[0, i, 0] = (np.floor(theta[i] / q_step + 0.5) - 0.5) * q_step
                    past[0, i, 1] = (np.floor(past[0, i, 1] / v_step + 0.5) - 0.5) * v_step
            for i in range(2):
                goal[i] = past[int(other), 1 - i, 0]
                speed[i] += smooth * (past[int(other), 1 - i, 1] - speed[i])
                seen = past[int(own), i, 1]
                feed[i] = share * (dry * np.tanh(steep * seen) + viscous * seen) + weight
        for i in range(2):
            if step % motor == 0:
                asked = K * (goal[i] - theta[i]) + D * (speed[i] - filtered[i]) + feed[i]
                command[i] = min(max(asked, -most), most)
            rigid = k == np.inf
            away = theta[i] - link[i]
            beyond = away - min(max(away, -half), half)
            gear = 0.0
            if beyond != 0.0 and not rigid:
                gear = k * beyond + d * (omega[i] - v[i])
            push = -weight
            if i == 0:
                push += KICK_NM if 0.1 < t < 0.1 + KICK_S else 0.0
                if pull > 0.0:
                    moving = pull if t > 0.2 else 0.0
                    push += HAND_NM * (begin + moving * (t - 0.2) - link[0])
                    push += HAND_NMS * (moving - v[0])
            moved = ROTOR + masses[i] if rigid else ROTOR
            torque = command[i] + (push if rigid else -gear)
            now = (omega[i] + STEP / moved * torque) / (1.0 + STEP * true_viscous / moved)
            # dry friction takes what it can, and no more than stops the rotor
            taken = STEP * true_dry / moved
            now -= min(max(now, -taken), taken)
            theta[i] += STEP * now
            if rigid:
                v[i], link[i] = now, theta[i]
            else:
                v[i] += STEP / masses[i] * (gear + push)
                link[i] += STEP * v[i]
            omega[i] = min(max(now, -FASTEST), FASTEST)
        if step >= first and (step - first) % KEPT == 0 and (step - first) // KEPT < len(kept):
            kept[(step - first) // KEPT] = omega
    return kept


def _judge(speeds: Array) -> Ended:
    speeds = speeds - speeds.mean(axis=0)
    level = np.sqrt((speeds**2).mean(axis=0))
    side = int(level.argmax())
    strongest = int(np.abs(np.fft.rfft(speeds[:, side])).argmax())
    return Ended(float(level[side]), float(np.fft.rfftfreq(len(speeds), KEPT * STEP)[strongest]))


def grid(start: Joint, **values: Iterable[Any]) -> list[Joint]:
    """All combinations of these values, the rest as in ``start``."""
    return [
        replace(start, **dict(zip(values, chosen, strict=True)))
        for chosen in itertools.product(*values.values())
    ]


def loop(case: Joint) -> WholeLoop:
    """The same as matrices: a gear that gives but has no play, and the friction as it acts there.

    A hand leads both joints along, so dry friction damps nothing.
    """
    K, D, dry, viscous, steep = _constants()[:5]
    K, D, k = case.stiffness * K, case.damping * D, case.gear
    loss = 2.0 * GEAR_DAMPING * np.sqrt(k * ROTOR)
    steep *= 1.0 if case.file else SLOWER
    fed = case.share * (dry * steep / np.cosh(steep * case.pull) ** 2 + viscous)
    motor, apart = np.diag([1.0, 0.0]), np.array([[1.0, -1.0], [-1.0, 1.0]])
    follower = LoopArm(
        np.diag([ROTOR, case.inertia]),
        np.eye(6, 1) @ np.array([[0.0, 1.0]]),
        np.array([case.friction * viscous, 0.0]),
        np.zeros(2),
        np.eye(3)[0],
        joints=True,
        gear=(k * apart, loss * apart),
    )
    leader = replace(
        follower, M=np.diag([ROTOR, case.heavier * case.inertia]), grip=(HAND_NM, HAND_NMS)
    )
    tick = 1.0 / case.rate
    drive = LoopDrive(
        K * motor,
        D * motor,
        MOTOR_PERIOD,
        case.filter if case.filter < np.inf else 0.0,
        case.own_age * tick,
        raw=not case.filtered,
        sent=case.sent,
    )
    chased, own = (np.kron(np.array(row), motor) for row in ([[K, D, 0.0]], [[0.0, fed, 0.0]]))
    law = [[own, chased], [chased, own]]
    older = case.other_age - case.own_age
    return WholeLoop((leader, follower), law, Contact(0.0), tick, older, drives=(drive, drive))


FILTERS = (np.inf, 300.0, 200.0, 100.0, 50.0, 30.0, 20.0, 10.0)
OLD = Joint(rate=500.0, own_age=2, other_age=4)
"""As in the report: CAN 2.0 at 500 Hz, with the oldest states that the threads allow."""

LOOSE = replace(OLD, gear=2000.0, play=0.003)
"""The same on a gear that gives and has 10 arcmin of play, upright: nothing loads it."""


def _table(
    title: str, rows: Sequence[Joint], columns: Sequence[tuple[str, dict[str, Any]]]
) -> None:
    """Print what happens, a row for each case and a column for each change of it."""
    print(f"\n{title}\n\n| case | {' | '.join(name for name, _ in columns)} |")
    print(f"| --- |{' --- |' * len(columns)}")
    cells = [replace(row, **change) for row in rows for _, change in columns]
    found = iter(run(cells))
    for row in rows:
        print(f"| {_differs(row)} | {' | '.join(next(found).text for _ in columns)} |", flush=True)


def _differs(case: Joint) -> str:
    usual = Joint()
    names = [
        one.name for one in fields(Joint) if getattr(case, one.name) != getattr(usual, one.name)
    ]
    return ", ".join(f"{name} {getattr(case, name):g}" for name in names) or "as published"


CUT_OFFS = 2.0, 200.0
"""Where the onset of shaking is searched: cut-offs of the other arm's velocity, [Hz]."""

LASTS = 6.0
"""How long a joint is simulated whose onset is searched, [s]: near it a motion grows slowly."""


def onsets(case: Joint) -> tuple[float, float]:
    """Cut-off of the other arm's velocity from which a case shakes, predicted and simulated, [Hz].

    0 if it always shakes, infinity if it never does.
    """
    return (
        largest_stable(lambda value: loop(replace(case, sent=value)), *CUT_OFFS, points=30),
        onset(lambda value: run([replace(case, sent=value)], LASTS)[0].shakes, *CUT_OFFS),
    )


def _close(predicted: float, simulated: float) -> bool:
    if predicted == simulated:
        return True
    return simulated < np.inf and abs(predicted - simulated) <= TOLERANCE * simulated


def _onsets(cases: Sequence[Joint]) -> None:
    """Print predicted and simulated onsets of every case, and how many agree."""
    print("\nCut-off of the other arm's velocity from which it shakes [Hz]\n")
    print(
        "| case | predicted | simulated | without steps in the frames |\n| --- | --- | --- | --- |"
    )
    within = []
    for case in cases:
        predicted, simulated = onsets(case)
        smooth = onsets(replace(case, quantised=False))[1]
        pairs = (simulated, smooth)
        within.append([_close(predicted, one) for one in pairs])
        row = " | ".join(f"{one:.3g}" for one in (predicted, *pairs))
        print(f"| {_differs(case)} | {row} |", flush=True)
    stepped, plain = np.sum(within, axis=0)
    print(f"\nwithin {TOLERANCE:.0%}: {stepped} of {len(cases)}, {plain} without steps", flush=True)


def main() -> None:
    """Print every table."""
    filters = [("none" if f == np.inf else f"{f:g} Hz", {"filter": f}) for f in FILTERS]
    _table("Cut-off of the velocity in the motors", [Joint(), OLD], filters)
    rates = [
        (f"{rate:g} Hz", {"rate": rate}) for rate in (1000.0, 500.0, 250.0, 125.0, 100.0, 50.0)
    ]
    older = [Joint(), Joint(own_age=2, other_age=4), Joint(own_age=2, other_age=4, quantised=False)]
    _table("Rate of the program, and the age of what it knows", older, rates)
    gears = grid(OLD, gear=(RIGID, 5000.0, 2000.0, 1000.0, 500.0), play=(0.0, 0.001, 0.003))
    _table("Gears that give and have play, upright (no weight)", gears, filters)
    loads = grid(LOOSE, weight=(0.0, 0.2, 0.5, 1.0, 3.0))
    _table("Weight that the gear carries", loads, filters)
    readings = grid(LOOSE, file=(False, True), friction=(1.0, 0.5, 0.0))
    _table("Both readings of the friction term, and less friction in truth", readings, filters)
    heavy = grid(LOOSE, heavier=(1.0, 1.5, 2.0), inertia=(0.133, 0.35))
    _table("A heavier leader", heavy, filters)
    calm: list[tuple[str, dict[str, Any]]] = [("as it is", {})]
    calm += [(f"K_d × {value:g}", {"damping": value}) for value in (2.0, 0.7, 0.5, 0.3)]
    calm += [(f"K_p × {value:g}", {"stiffness": value}) for value in (0.5, 0.1)]
    calm += [(f"friction × {value:g}", {"share": value}) for value in (0.3, 0.0)]
    calm += [(f"v' at {value:g} Hz", {"sent": value}) for value in (50.0, 30.0, 14.3, 5.0)]
    calm += [
        ("1 kHz", {"rate": 1000.0}),
        ("1 kHz, fresh", {"rate": 1e3, "own_age": 1, "other_age": 2}),
    ]
    loose = grid(LOOSE, filter=FILTERS[3:]) + grid(replace(LOOSE, weight=3.0), filter=FILTERS[3:])
    _table("What calms it", loose, calm)
    firm = grid(
        OLD, filtered=(False, True), gear=(5e3, 2e3, 1e3), filter=(200.0, 100.0, 50.0, 20.0)
    )
    _onsets([*firm, *(replace(case, rate=1000.0) for case in firm)])


if __name__ == "__main__":
    main()
