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

import numpy as np

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

RIGID = 5e4
"""Stiffness of a gear that does not give, for these steps, [N·m/rad]."""


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
    pull: float = 0.3  #: speed at which a hand leads the leader, 0: nobody holds it, [rad/s]


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
    """Simulate all cases, those of one rate together."""
    found: dict[int, Ended] = {}
    for rate in dict.fromkeys(case.rate for case in cases):
        numbers = [number for number, case in enumerate(cases) if case.rate == rate]
        alike = [cases[number] for number in numbers]
        found |= zip(numbers, _simulate(alike, rate, seconds), strict=True)
    return [found[number] for number in range(len(cases))]


def _simulate(cases: Sequence[Joint], rate: float, seconds: float) -> list[Ended]:
    column = {
        one.name: np.array([getattr(case, one.name) for case in cases], dtype=float)
        for one in fields(Joint)
    }
    table, ranges = published("openarm", COUNT, COUNT), frames.model("DM8009")
    K = column["stiffness"] * table["stiffness"][JOINT]
    D = column["damping"] * table["damping"][JOINT]
    dry, viscous = (column["friction"] * table[name][JOINT] for name in ("coulomb", "viscous"))
    steep = np.where(column["file"] > 0, 1.0, SLOWER) * table["steepness"][JOINT]
    fed = column["share"] * table["coulomb"][JOINT], column["share"] * table["viscous"][JOINT]
    k, half, weight = column["gear"], 0.5 * column["play"], column["weight"]
    d = 2.0 * GEAR_DAMPING * np.sqrt(k * ROTOR)
    inertia = column["inertia"] * np.stack([column["heavier"], np.ones(len(cases))])
    keep = -np.expm1(-2.0 * np.pi * column["filter"] * MOTOR_PERIOD)
    q_step, v_step = ranges.steps[:2]
    size = (2, len(cases))
    # the gear is loaded by the weight at the start
    link = np.broadcast_to(-half * np.sign(weight) - weight / k, size).copy()
    start, held = link.copy(), column["pull"] > 0.0
    theta, omega, v = np.zeros(size), np.zeros(size), np.zeros(size)
    filtered, command = np.zeros(size), np.zeros(size)
    goal, speed, feed = np.zeros(size), np.zeros(size), np.zeros(size)
    past = np.zeros((2, 5, *size))
    own, other = column["own_age"].astype(int), column["other_age"].astype(int)
    index = np.arange(len(cases))
    tick, motor = round(1.0 / rate / STEP), round(MOTOR_PERIOD / STEP)
    steps, kept = round(seconds / STEP), []
    for step in range(steps):
        if step % tick == 0:
            past = np.roll(past, 1, axis=1)
            past[0, 0], past[1, 0] = theta, omega
            past[:, 0] = np.where(
                column["quantised"] > 0,
                np.stack([_cut(theta, q_step), _cut(omega, v_step)]),
                past[:, 0],
            )
            # rows of the arms are exchanged: each chases the other
            goal, speed = (past[kind][other, ::-1, index].T for kind in (0, 1))
            seen = past[1][own, :, index].T
            feed = fed[0] * np.tanh(steep * seen) + fed[1] * seen + weight
        if step % motor == 0:
            filtered += keep * (omega - filtered)
            command = K * (goal - theta) + D * (speed - filtered) + feed
            command = np.clip(command, -ranges.torque, ranges.torque)
        away = theta - link
        beyond = away - np.clip(away, -half, half)
        gear = k * beyond + d * (omega - v) * (beyond != 0.0)
        push = -weight - np.zeros(size)
        if 0.1 < step * STEP < 0.1 + KICK_S:
            push[0] += KICK_NM
        if held.any():
            lead = column["pull"] * max(0.0, step * STEP - 0.2)
            push[0] += held * (HAND_NM * (lead + start[0] - link[0]))
            push[0] += held * HAND_NMS * ((step * STEP > 0.2) * column["pull"] - v[0])
        v += STEP / inertia * (gear + push)
        link += STEP * v
        omega = (omega + STEP / ROTOR * (command - gear)) / (1.0 + STEP * viscous / ROTOR)
        # dry friction takes what it can, and no more than stops the rotor
        omega -= np.clip(omega, -STEP * dry / ROTOR, STEP * dry / ROTOR)
        theta += STEP * omega
        np.clip(omega, -100.0, 100.0, out=omega)
        if step % 10 == 0 and step > steps - round(0.5 / STEP):
            kept.append(omega.copy())
    return _judge(np.array(kept), 10 * STEP)


def _cut(value: Array, step: float) -> Array:
    """As frames have it: zero lies between two steps."""
    cut: Array = (np.floor(value / step + 0.5) - 0.5) * step
    return cut


def _judge(speeds: Array, dt: float) -> list[Ended]:
    frequencies = np.fft.rfftfreq(len(speeds), dt)
    speeds = speeds - speeds.mean(axis=0)
    level = np.sqrt((speeds**2).mean(axis=0))
    ended = []
    for number in range(speeds.shape[2]):
        side = int(level[:, number].argmax())
        strongest = int(np.abs(np.fft.rfft(speeds[:, side, number])).argmax())
        ended.append(Ended(float(level[side, number]), float(frequencies[strongest])))
    return ended


def grid(start: Joint, **values: Iterable[float]) -> list[Joint]:
    """All combinations of these values, the rest as in ``start``."""
    return [
        replace(start, **dict(zip(values, chosen, strict=True)))
        for chosen in itertools.product(*values.values())
    ]


FILTERS = (np.inf, 300.0, 200.0, 100.0, 50.0, 30.0, 20.0, 10.0)
OLD = Joint(rate=500.0, own_age=2, other_age=4)
"""As in the report: CAN 2.0 at 500 Hz, with the oldest states that the threads allow."""

LOOSE = replace(OLD, gear=2000.0, play=0.003)
"""The same on a gear that gives and has 10 arcmin of play, upright: nothing loads it."""


def _table(
    title: str, rows: Sequence[Joint], columns: Sequence[tuple[str, dict[str, float]]]
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
    calm = [("as it is", {})]
    calm += [(f"K_d × {value:g}", {"damping": value}) for value in (2.0, 1.5, 0.7, 0.5, 0.3)]
    calm += [(f"K_p × {value:g}", {"stiffness": value}) for value in (0.7, 0.5, 0.3, 0.1)]
    calm += [(f"friction × {value:g}", {"share": value}) for value in (0.3, 0.0)]
    calm += [
        ("1 kHz", {"rate": 1000.0}),
        ("1 kHz, fresh", {"rate": 1e3, "own_age": 1, "other_age": 2}),
    ]
    _table("What calms it", grid(LOOSE, filter=FILTERS[3:]), calm)


if __name__ == "__main__":
    main()
