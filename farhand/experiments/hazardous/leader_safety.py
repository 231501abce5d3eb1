"""Safety of the leader: the wall at its joint limits and the dead-man handle: C-53, C-54."""

from __future__ import annotations

import numpy as np

from farhand.control.impedance import CartesianImpedance
from farhand.experiments.harness import Figure, Finding, experiment, generator, shared
from farhand.experiments.hazardous.breaking import changed
from farhand.experiments.hazardous.handle import MASS, TICK, Handle
from farhand.experiments.mutation import Mutation
from farhand.safety.deadman import DeadMan
from farhand.safety.joint_wall import JointWall
from farhand.spatial import rotation_from_vector

Array = np.ndarray

GROUP = "hazardous"
RELEASE = 2.13  # [s], when the handle is fastest
UPDATES = round(1.0 / (350.0 * TICK))  # ticks between updates of the leader
IIWA = np.radians([170.0, 120.0, 170.0, 120.0, 170.0, 120.0, 175.0])
HANDLE_LEVER = 0.8  # [m], of the hand's push about the joint
INERTIA = MASS[0] * HANDLE_LEVER**2  # [kg·m²]


def _pushed(speed: float, dt: float = 1e-3) -> tuple[float, float]:
    """Smallest clearance [rad] of any joint, and largest change of wall torque in a tick [N·m].

    Every joint of the leader enters its wall at ``speed`` [rad/s] under 30 N at 0.8 m, at both ends of its range.
    """
    wall = JointWall()
    wall.watch(-IIWA, IIWA)
    ends = np.array([[1.0], [-1.0]])
    q, v = ends * (IIWA - wall.zone - 0.02), ends * np.full(7, speed)
    torque, jump, clear = np.zeros((2, 7)), 0.0, np.inf
    for _ in range(round(1.5 / dt)):
        before, torque = torque, wall.torque(q, v)
        jump = max(jump, float(np.abs(torque - before).max()))
        v = v + dt * (ends * 30.0 * HANDLE_LEVER + torque - 8.0 * HANDLE_LEVER**2 * v) / INERTIA
        q = q + dt * v
        clear = min(clear, float(wall.clearance(q).min()))
    return clear, jump


@experiment(
    "C-53",
    "Virtual wall at the leader's joint limits",
    group=GROUP,
    unit="°",
    criterion="push 30 N into a joint limit: stays ≥ 1° clear; force continuous; no protective stop",
    source="thesis L1402; 10°, 200 N·m/rad assumed",
)
def joint_wall() -> Finding:
    """Seven joints, both ends, entering at 0.25 m/s of the hand; torque steps must shrink with the tick."""
    speed = 0.25 / HANDLE_LEVER
    (clear, coarse), fine = _pushed(speed), _pushed(speed, 5e-4)[1]
    hand = [s for s in np.arange(0.25, 3.0, 0.25) if np.degrees(_pushed(s / HANDLE_LEVER)[0]) >= 1.0]
    note = (
        f"largest torque change {coarse:.2f} N·m in 1 ms, {fine:.2f} in 0.5 ms; holds 1° up to a hand speed of "
        f"{max(hand, default=0.0):.2f} m/s; at rest the closed form gives {10.0 - np.degrees(24.0 / 200.0):.1f}°"
    )
    return Finding(float(np.degrees(clear)), bool(np.degrees(clear) >= 1.0 and fine < 0.6 * coarse), note)


class HeldHandle:
    """A leader in a hand that wants ±25 mm at 2 Hz along x and gets ±20 mm, with a dead-man switch.

    Attributes:
        rows: time, x, speed, acceleration, enabled, one per tick.
    """

    def __init__(self) -> None:
        self.handle, self.spring = Handle(), CartesianImpedance()
        self.guard = DeadMan(mass=0.8 * MASS[0])  # the controller's model is a fifth too light
        self.rows: list[tuple[float, float, float, float, bool]] = []
        self._tick, self._enabled = 0, False
        self._read: Array = np.zeros(6)

    def run(self, seconds: float, gripped: bool, push: float = 0.0) -> None:
        """Go on for so long, gripped or not, with a push along x that grows within 0.3 s, [N]."""
        begin = self._tick
        for self._tick in range(begin, begin + round(seconds / TICK)):
            x, v = self.handle.x, self.handle.v
            rotation = rotation_from_vector(x[3:])
            if self._tick % UPDATES == 0:
                rate = (x - self._read) / (UPDATES * TICK)  # the device tells no velocity
                self._enabled = self.guard.step(
                    self.spring, 5.0 if gripped else 0.0, x[:3], rotation, rate, UPDATES * TICK
                )
                self._read = x.copy()
            hand = np.zeros(6)
            t = self._tick * TICK
            if gripped:
                phase = 4.0 * np.pi * t
                hand[0] = 300.0 * (0.025 * np.sin(phase) - x[0]) + 20.0 * (0.1 * np.pi * np.cos(phase) - v[0])
            hand[0] += push * min((self._tick - begin) * TICK / 0.3, 1.0)
            self.handle.step(hand + self.spring.wrench(x[:3], rotation, v))
            self.rows.append((t, x[0], v[0], (self.handle.v[0] - v[0]) / TICK, self._enabled))
        self._tick += 1


@shared
def released() -> dict[str, Array]:
    """Two seconds of motion, let go at the highest speed, pushed with 20 N, gripped again."""
    held = HeldHandle()
    held.run(RELEASE, True)
    held.run(0.3, False)
    held.run(0.6, False, 20.0)
    held.run(1.0, True)
    return dict(zip(("t", "x", "v", "a", "enabled"), np.array(held.rows).T, strict=True))


@experiment(
    "C-54",
    "Dead-man handle",
    group=GROUP,
    unit="ms",
    criterion="motion stops ≤ 100 ms, drift < 5 mm under 20 N, acceleration not above free motion, 100 re-grips work",
    source="thesis L1421–1427",
)
def dead_man() -> Finding:
    """Rest is below 5 mm/s; free motion is ±20 mm at 2 Hz, peak 0.25 m/s."""
    log = released()
    t, release = log["t"], RELEASE
    loose = (t >= release) & (t < release + 0.3)
    moving = t[loose & (np.abs(log["v"]) > 0.005)]
    stopped = float(moving[-1]) - release if len(moving) else 0.0
    rest = float(log["x"][loose][-1])
    drift = 1e3 * float(np.abs(log["x"][(t >= release + 0.3) & (t < release + 0.9)] - rest).max())
    free, spike = (float(np.abs(log["a"][part]).max()) for part in ((t > 1.0) & (t < release), loose))
    good = _regrips(100)
    note = (
        f"let go at {abs(log['v'][loose][0]):.2f} m/s, stopping path {1e3 * abs(rest - log['x'][loose][0]):.0f} mm; "
        f"drift {drift:.1f} mm; acceleration {spike:.2f} against {free:.2f} m/s² in free motion at 2 Hz "
        f"(below 1.6 Hz, ω < 10 rad/s, any stop from v within 100 ms is harder than the motion's ω v); "
        f"{good} of 100 re-grips"
    )
    plot = Figure("Let go, pushed, gripped again", lambda: _release_plot(log))
    return Finding(
        1e3 * stopped, stopped <= 0.1 and drift < 5.0 and spike <= free and good == 100, note, figures=(plot,)
    )


def _regrips(times: int) -> int:
    """How many of so many grips enabled motion that was not there before, and ended in rest when let go."""
    held, rng, good = HeldHandle(), generator("hazardous-grips"), 0
    for _ in range(times):
        start = len(held.rows)
        held.run(float(rng.uniform(0.12, 0.2)), True)
        gripped = np.array(held.rows[start:])
        held.run(0.12, False)
        loose = np.array(held.rows[start + len(gripped) :])
        moved = np.ptp(gripped[:, 1]) > 1e-3
        good += bool(moved and gripped[2 * UPDATES :, 4].all() and not loose[2 * UPDATES :, 4].any())
        good -= bool(np.abs(loose[round(0.1 / TICK) :, 2]).max() > 0.005)
    return good


def _release_plot(log: dict[str, Array]):
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    part = log["t"] > 1.0
    axes.plot(log["t"][part], 1e3 * log["x"][part])
    axes.axvspan(RELEASE, RELEASE + 0.9, alpha=0.2, label="let go; pushed with 20 N after 0.3 s")
    axes.set(xlabel="time [s]", ylabel="handle [mm]", title="Let go, the handle comes to rest and is held")
    axes.legend()
    return figure


def _no_entry(push):
    def broken(self: JointWall, depth, inward):
        return np.where(depth > 0.0, self.stiffness * depth + self.damping * np.maximum(inward, 0.0), 0.0)

    return broken


def _undamped(push):
    def broken(self: JointWall, depth, inward):
        return push(self, depth, 0.0 * inward)

    return broken


def _abrupt(hold):
    def broken(self: DeadMan, spring):
        self._twist = np.zeros(6)
        hold(self, spring)

    return broken


MUTATIONS = [
    Mutation(
        "wall entry", "the wall's damper is there at once", ("C-53",), lambda: changed(JointWall, "_push", _no_entry)
    ),
    Mutation("wall damping", "the wall has no damper", ("C-53",), lambda: changed(JointWall, "_push", _undamped)),
    Mutation("abrupt hold", "the hold brakes at once", ("C-54",), lambda: changed(DeadMan, "_hold", _abrupt)),
]
