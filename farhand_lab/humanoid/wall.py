"""Stale state at a limit: chatter over the zone's width and the state's age, coupled and decoupled: H-18, H-29."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.control.haptic.haptic_objects import LimitForce
from farhand.plants.servo_bus.simulated_bus import BusTiming, VirtualLine
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.humanoid.bus_bench import bench
from farhand_lab.mutation import Mutation

Array = np.ndarray

STEP, SECONDS = 1e-4, 4.0
MASS, DAMPING, STIFFNESS = 0.195, 4.0, 200.0
"""Hand of 0.15 kg with a tip of 45 g, [kg], [N·s/m], [N/m]; sources/humanoid §4."""

PEAK, BEHIND, FRICTION, SLIP = 3.3, 1000.0, 0.26, 2e-3
START, REACH, SPEED = 0.060, -0.015, 0.3
"""From 60 mm inside to 15 mm beyond the limit at 0.3 m/s."""

TREMOR, TREMBLES = 5e-4, 9.0
"""Amplitude [m] and frequency [Hz]."""

MEASURED = 2.0
"""Statistics begin here, [s]."""


@dataclass(frozen=True)
class Chatter:
    """What a hand at the limit does, one entry per case.

    Attributes:
        wander: standard deviation of the position, [m].
        ripple: peak-to-peak force, [N].
        depth: largest penetration, [m].
    """

    wander: Array
    ripple: Array
    depth: Array


def press(zone: Array, period: Array, age: Array) -> Chatter:
    """Reach beyond a limit with a force set every ``period`` [s] from a state ``age`` [s] old; all cases at once."""
    zone, period, age = (np.ravel(v) for v in np.broadcast_arrays(zone, period, age))
    every, late = np.rint(period / STEP).astype(int), np.rint(age / STEP).astype(int)
    groups: list[Any] = []
    for n in np.unique(every):
        cases = np.flatnonzero(every == n)
        law: Any = LimitForce(peak=PEAK, wall=BEHIND)
        law.zone = zone[cases]  # one zone per case
        groups.append((n, cases, late[cases], law))
    steps = round(SECONDS / STEP)
    x, v, force = np.full(zone.size, START), np.zeros(zone.size), np.zeros(zone.size)
    past, shown = np.empty((steps, zone.size)), np.empty((steps, zone.size))
    for k in range(steps):
        past[k] = x
        for n, cases, back, law in groups:
            if k % n == 0:
                force[cases] = np.minimum(law.magnitude(past[np.maximum(k - back, 0), cases]), PEAK)
        shown[k] = force
        aim, rate = _reference(k * STEP)
        push = STIFFNESS * (aim - x) + DAMPING * (rate - v) + force - FRICTION * np.tanh(v / SLIP)
        v = v + STEP * push / MASS
        x = x + STEP * v
    tail = round(MEASURED / STEP)
    return Chatter(past[tail:].std(0), np.ptp(shown[tail:], axis=0), -past.min(0))


def _reference(t: float) -> tuple[float, float]:
    """Where the hand wants to be, [m], and how fast, [m/s]."""
    reached = START - SPEED * t <= REACH
    phase = 2.0 * np.pi * TREMBLES * t
    aim = max(START - SPEED * t, REACH) + TREMOR * np.sin(phase)
    return aim, (0.0 if reached else -SPEED) + TREMOR * 2.0 * np.pi * TREMBLES * np.cos(phase)


ROWS = (
    (0.030, 0.001, 0.0),
    (0.030, 0.04, 0.04),
    (0.005, 0.001, 0.0),
    (0.005, 0.001, 0.04),
    (0.005, 0.04, 0.04),
    (0.001, 0.04, 0.0),
)
"""Zone [m], period and age [s] of the cases that are judged."""


@shared
def judged() -> Chatter:
    """The cases of :data:`ROWS`."""
    return press(*np.array(ROWS).T)


def case(*row: float) -> tuple[float, float, float]:
    """Standard deviation [mm], ripple [N] and penetration [mm] of one judged case."""
    index, found = ROWS.index(row), judged()
    return (
        1e3 * float(found.wander[index]),
        float(found.ripple[index]),
        1e3 * float(found.depth[index]),
    )


@experiment("H-18")
def stale_state() -> Finding:
    """A hand that reaches beyond a limit; the force from a state of 40 ms, or from where the limb was sent."""
    made = bench(timing=BusTiming(read_back=False))
    driver = made.driver
    rate = made.rate(lambda: driver.command(driver.sent))
    coupled, decoupled = case(0.005, 0.04, 0.04)[1], case(0.005, 0.001, 0.0)[1]
    ratio = coupled / decoupled
    note = (
        f"{coupled:.2f} N against {decoupled:.3f} N peak to peak; {rate:.1f} commands/s without read-back; standard "
        f"deviation {case(0.005, 0.04, 0.04)[0]:.2f} mm against {case(0.005, 0.001, 0.0)[0]:.3f} mm (ref. 7.64, 0.010)"
    )
    figure = Figure(
        "Chatter at a limit over the width of its zone and the age of the state", _figure
    )
    return Finding(ratio, rate >= 83.0 and ratio >= 10.0, note, figures=(figure,))


@experiment("H-29")
def approach_zone() -> Finding:
    """The same hand; the wide zone also with a state of 40 ms."""
    wide = max(case(0.030, 0.001, 0.0)[0], case(0.030, 0.04, 0.04)[0])
    narrow = case(0.001, 0.04, 0.0)[0]
    beyond = case(0.001, 0.04, 0.0)[2]
    note = f"1 mm zone at 40 ms: {narrow:.2f} mm (ref. 4.68); it goes {beyond:.1f} mm beyond the limit (ref. 10.1)"
    return Finding(wide, wide <= 0.05 and narrow >= 1.0, note)


ZONES = np.array([1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0])
AGES = np.array([0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0])
"""Axes of the figure, [mm] and [ms]."""


@shared
def swept() -> dict[str, Array]:
    """Peak-to-peak force [N] over zone and age: coupled to the bus, at 1 kHz from the old state, and decoupled."""
    d, age = (v.ravel() for v in np.meshgrid(1e-3 * ZONES, 1e-3 * AGES, indexing="ij"))
    shape, tick = (len(ZONES), len(AGES)), 1e-3
    coupled = press(d, np.maximum(age, tick), age).ripple.reshape(shape)
    stale = press(d, np.full(d.size, tick), age).ripple.reshape(shape)
    fresh = press(1e-3 * ZONES, np.full(len(ZONES), tick), np.zeros(len(ZONES))).ripple
    return {
        "coupled to the bus": coupled,
        "1 kHz, old state": stale,
        "decoupled": np.repeat(fresh[:, None], shape[1], 1),
    }


def _figure():
    from matplotlib.figure import Figure as Plot

    plot = Plot(figsize=(10, 3.6), layout="constrained")
    axes = plot.subplots(1, 3, sharey=True)
    for axis, (name, ripple) in zip(axes, swept().items(), strict=True):
        image = axis.imshow(
            ripple, origin="lower", aspect="auto", vmin=0.0, vmax=3.3, cmap="viridis"
        )
        axis.set_xticks(range(len(AGES)), [f"{age:g}" for age in AGES])
        axis.set_yticks(range(len(ZONES)), [f"{zone:g}" for zone in ZONES])
        axis.set_xlabel("age of the limb's state [ms]")
        axis.set_title(name)
    axes[0].set_ylabel("approach zone [mm]")
    plot.colorbar(image, ax=axes, label="force, peak to peak [N]")
    return plot


def _slower(whole):
    def send(self: VirtualLine, frame: Any, wants: bool, now_ns: int) -> None:
        whole(self, frame, wants, now_ns)
        self.free_ns += (self.free_ns - now_ns) // 10

    return send


def _narrow(whole):
    def magnitude(self: LimitForce, s: Array) -> Array:
        return whole(LimitForce(1e-3, self.peak, self.wall), s)

    return magnitude


MUTATIONS = [
    Mutation(
        "jumping-limit",
        "the limit pushes with all its force from the edge of the zone on",
        ("H-18",),
    ).change(
        LimitForce, "magnitude", lambda whole: lambda self, s: np.where(s < self.zone, 3.3, 0.0)
    ),
    Mutation("slow-line", "the line takes a tenth longer for every frame", ("H-18",)).change(
        VirtualLine, "send", _slower
    ),
    Mutation("no-approach-zone", "every zone is a millimetre wide", ("H-29",)).change(
        LimitForce, "magnitude", _narrow
    ),
]
