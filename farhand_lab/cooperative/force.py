"""Direct force control of one arm on the ideal plant: F-26, F-34, F-49 and S-03 to S-06."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.tool.direct_force import DirectForce, ForceLoop
from farhand.control.tool.pose_loop import PoseLoop
from farhand.robots import load_robot
from farhand.robots.edits import add_payload
from farhand_lab.cooperative.bench import GRAVITY, TABLE, BenchLog, path
from farhand_lab.cooperative.control import noisy
from farhand_lab.cooperative.ideal import Leash, ScriptedPush, ideal
from farhand_lab.harness import Finding, experiment, generator, shared
from farhand_lab.mutation import Mutation, changed

Array = np.ndarray


NOISE = float(np.sqrt(5e-5 / 0.004))
"""Of the simulated cell, forces and moments alike: thesis Fig. 3.12, [N] and
[N·m]."""

C3 = {
    "S-03": (39.0, 73.0, 4.8, 8.7, 14.7),
    "S-04": (1.8, 4.0, 0.21, 0.39, 0.81),
    "S-05": (1.5, 3.4, 0.58, 1.1, 0.68),
}
"""Pre-check C-3 (sources/cooperative §4.3) with rotors: position RMS and max [mm], angle RMS and
max [°], spring force [N]."""


def quiet(force: ForceLoop, loop: PoseLoop | None = None) -> DirectForce:
    """A follower with a model of its own and no dead zone."""
    arm = load_robot("rx160").edited(add_payload(2.291, (0.0, 0.0, 0.07), (0.006, 0.006, 0.003)))
    controller = DirectForce(Arm.of(arm, gravity=GRAVITY), force, loop)
    controller.zone.force = controller.zone.moment = 0.0
    controller.zone.refresh()
    return controller


@shared
def leashed(case: str, noise: bool = False) -> BenchLog:
    """The published follower alone on T3.2, its leader an ideal spring's end; S-03, S-04 or S-05."""
    low = case == "S-03"
    kp, kd = (9.0, 6.0) if low else (100.0, 20.0)
    mode = "hold-moment" if case == "S-05" else "compliance"  # the pre-check damps all axes
    force = ForceLoop(kp=kp, kd=kd, kd_moment=kd, mode=mode, selection="task")
    controller = quiet(force, PoseLoop(kpo=100.0, kdo=20.0, kio=0.0))
    leash = Leash(path("T3.2"), 200.0, 0.0 if case == "S-05" else 5.0)
    rows = generator("cell noise").normal(size=(751, 6)) * NOISE if noise else None
    return ideal(controller, TABLE, 3.0, leash, rows)


def measured(log: BenchLog) -> tuple[float, float, float, float, float]:
    """Position RMS and max [mm], angle RMS and max [°], largest force [N]."""
    away, angle = 1e3 * np.linalg.norm(log.error, axis=1), np.linalg.norm(log.turn, axis=1)
    angle = np.degrees(np.arcsin(np.minimum(angle, 1.0)))
    force = np.linalg.norm(log.wrench[:, :3], axis=1).max()
    rms = [float(np.sqrt(np.mean(x**2))) for x in (away, angle)]
    return rms[0], float(away.max()), rms[1], float(angle.max()), float(force)


def _words(m: tuple[float, ...]) -> str:
    return f"position {m[0]:.1f} RMS, {m[1]:.1f} mm max; angle {m[2]:.2f} RMS, {m[3]:.2f}° max; force {m[4]:.2f} N"


@experiment("S-03", "S-04", "S-05", "F-34")
def follower_alone() -> dict[str, Finding]:
    """Ideal plant in continuous time, no filters; 2.291 kg on the flange, tool point at the flange, rotors in."""
    found = {case: measured(leashed(case)) for case in ("S-03", "S-04", "S-05")}
    low, high, held = (found[case] for case in ("S-03", "S-04", "S-05"))
    late = np.degrees(np.linalg.norm(leashed("S-03").turn[-100:], axis=1).max())
    off = max(
        abs(o / c - 1.0)
        for case in ("S-03", "S-04")
        for o, c in zip(found[case], C3[case], strict=True)
    )
    ratio = min(low[0] / high[0], low[1] / high[1])
    return {
        "S-03": Finding(
            low[1],
            20.0 <= low[1] <= 80.0 and low[2] > 2.0 and late > 1.0,
            f"{_words(low)}; at the end {late:.1f}°",
        ),
        "S-04": Finding(
            high[4],
            high[4] < 1.0 and high[1] < 5.0 and ratio >= 10.0,
            f"{_words(high)}; {ratio:.0f} × better",
        ),
        "S-05": Finding(held[3], 0.5 < held[1] / high[1] < 2.0 and held[3] < 3.0, _words(held)),
        "F-34": Finding(100.0 * off, off < 0.2, "largest deviation of ten numbers"),
    }


@experiment("S-06", "F-49")
def cell_noise() -> dict[str, Finding]:
    """S-05 with σ = 0.112 N and N·m on the measured wrench, a new value every 4 ms."""
    clean, shaken = leashed("S-05"), leashed("S-05", True)
    added = 1e3 * abs(shaken.rms - clean.rms)
    side = [1e3 * float(np.sqrt(np.mean(log.error[:, 1] ** 2))) for log in (clean, shaken)]
    note = f"along y {side[0]:.4f} mm without, {side[1]:.3f} mm with noise"
    ok = added < 5.0 and side[1] > side[0]
    fine = noisy(20.0).trip is None and noisy(0.0).trip is None
    return {
        "S-06": Finding(added, ok, note),
        "F-49": Finding(added, ok and fine, f"{note}; S-02 ran without a trip"),
    }


@experiment("F-26")
def force_law() -> Finding:
    """1 N along each axis, k_pf = 10, k_df = 1000, 2 s. What pushes acts itself too: the speed is (1 + k_pf) F/k_df."""
    off, printed, along = 0.0, 0.0, True
    for axis in range(3):
        push = np.zeros(6)
        push[axis] = 1.0
        controller = quiet(ForceLoop(kp=10.0, kd=1000.0, kd_moment=20.0))
        log = ideal(controller, load_robot("rx160").home, 2.0, ScriptedPush(push))
        speed = (log.position[-1, axis] - log.position[-26, axis]) / 0.1
        along &= bool(speed > 0.0)
        off, printed = max(off, abs(speed / 0.011 - 1.0)), max(printed, abs(speed / 0.01 - 1.0))
    note = f"against the printed k_pf F/k_df {100 * printed:.1f} %, which leaves out the push itself; docs/errata.md, F-26"
    return Finding(100.0 * off, along and off < 0.02, note, corrected=True)


def _reversed(original: Callable[..., Array]) -> Callable[..., Array]:
    """The force law with the measured wrench of the other sign."""

    def effort(self: DirectForce, asked: ControlRequest) -> Array:
        wrench = asked.wrench
        asked.wrench = None if wrench is None else -wrench
        try:
            return original(self, asked)
        finally:
            asked.wrench = wrench

    return effort


MUTATIONS = [
    Mutation(
        "force-sign",
        "the follower moves against what pushes it",
        ("F-26", "S-04"),
        lambda: changed(DirectForce, "effort", _reversed),
    )
]
"""Parts broken on purpose."""
