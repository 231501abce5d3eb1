"""The same tasks under several laws and delays: motion, force, energy and feel of each."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farhand.analysis.metrics import coupled_joints
from farhand.analysis.shaking import Probe, Shaker, shake
from farhand.analysis.stability.operating_point import force_back
from farhand.analysis.two_port import PortSignals, components
from farhand.errors import FarhandError, Mismatch
from farhand.loop.interrupts import end_with_parent, ignoring_interrupts
from farhand.rigs import Options, Rig, build_rig
from farhand.rigs.rig import scenarios_of
from farhand.running.resume import FinishedPieces
from farhand.world import Wall

Array = np.ndarray
Progress = Callable[[int, int, str], None]
Stop = dict[str, Any]
"""A trip: ``where``, ``time`` [s] and ``reason``."""

SOFT_STIFFNESS = 500.0
"""Of the soft wall, [N/m]; the hard one is the rig's own."""

FREQUENCIES = np.array([0.5, 1.0, 2.0, 3.0, 5.0, 8.0])
"""At which the leader is shaken, [Hz]."""

COUPLED = ("law.", "layer.", "link.")
"""Parameters that the leader by itself does not have."""

INERTIA_BAND_HZ = (1.0, 3.0)
"""Over which felt inertia is judged."""

HOLDING = (50.0, 20.0)
"""Spring and damper that hold the shaken leader, [N/m] and [N·s/m]; their transient takes 2 s."""

PRESS_S = 2.5
"""How long the hand presses before the contact is judged."""

STEADY_S = 0.5
"""Length of the window in which a contact counts as steady."""

_PER_WALL = {
    "wall_stiffness": "N/m",
    "contact_force": "N",
    "force_error": "-",
    "felt_stiffness": "N/m",
    "settling": "s",
}
UNITS = {
    **{"free_error_rms": "m", "free_error_max": "m", "free_joint_error_rms": "rad"},
    **{f"{wall}_{name}": unit for wall in ("soft", "hard") for name, unit in _PER_WALL.items()},
    **{"hard_contact_torque": "N·m", "felt_inertia": "kg", "energy_created": "J", "trips": "-"},
}
"""Every metric with its unit. Those of joints are None where tools are coupled."""


@dataclass(frozen=True)
class Case:
    """One row of the comparison."""

    rig: str
    law: str
    delay: float = 0.0  #: round trip, [ms]
    layer: str = "none"
    seed: int = 0
    #: parameter paths and values, before those of the tasks
    settings: tuple[tuple[str, object], ...] = ()

    @property
    def name(self) -> str:
        """What tells it from the other rows."""
        return f"{self.law} at {self.delay:g} ms"

    def build(self, scenario: str, *settings: tuple[str, object]) -> Rig:
        """The rig under this law and delay."""
        options = Options(self.law, self.layer, scenario, self.seed, self.delay)
        options.settings = [*self.settings, *settings]
        return build_rig(self.rig, options)


def compare(
    cases: Sequence[Case],
    progress: Progress | None = None,
    workers: int | None = None,
    finished: FinishedPieces | None = None,
) -> list[dict[str, Any]]:
    """The metrics of every case, computed on all cores, in the order of the cases.

    Args:
        cases: what to compare.
        progress: called with how many are done, of how many, and the name of the next.
        workers: processes; one per core by default.
        finished: rows that need not be computed; new ones are added as they come.

    Returns:
        Rows with ``rig``, ``law``, ``layer``, ``delay``, ``settings`` by path, ``metrics`` by name
        (value and unit), ``impedance``, and ``stops``: where, when and why a guard ended a task,
        whose metrics are then None. A law that the rig refuses has ``refused`` instead.
    """
    finished = FinishedPieces() if finished is None else finished
    left = [case for case in cases if case.name not in finished.rows]
    workers = min(workers or os.cpu_count() or 1, max(len(left), 1))
    with ProcessPoolExecutor(workers, initializer=end_with_parent) as pool:
        rigs = dict.fromkeys((case.rig, case.settings) for case in left)
        # The workers start here, and leave Ctrl-C to the process that started them.
        with ignoring_interrupts():
            own = {rig: pool.submit(own_inertia, *rig) for rig in rigs}
            futures = [pool.submit(measure, case) for case in left]
        for case, future in zip(left, futures, strict=True):
            if progress is not None:
                progress(len(finished.rows), len(cases), f"{case.law}, {case.delay:g} ms")
            row = future.result()
            if "refused" not in row:
                row = _subtract_own(row, own[case.rig, case.settings].result())
            finished.add(case.name, row)
    if progress is not None:
        progress(len(cases), len(cases), "")
    return [finished.rows[case.name] for case in cases]


def measure(case: Case) -> dict[str, Any]:
    """One row, still with the leader's own inertia."""
    row: dict[str, Any] = {"rig": case.rig, "law": case.law, "layer": case.layer}
    row |= {"delay": case.delay, "settings": dict(case.settings)}
    soft_wall = {"wall.stiffness": SOFT_STIFFNESS, "wall.damping": 1.0}
    stops: dict[str, Stop | None] = {}
    try:
        values, stops["free"] = _free(case)
        for name, wall in (("soft", soft_wall), ("hard", {})):
            pressed, stops[name] = contact(case, wall)
            values["energy_created"] = max(values["energy_created"], pressed.pop("created"))
            values["trips"] += pressed.pop("trips")
            torque = pressed.pop("contact_torque")
            values |= {f"{name}_{key}": value for key, value in pressed.items()}
        values["hard_contact_torque"] = torque
        row["metrics"] = values
        free, stops["shaken"] = impedance(case)
        soft, stops["shaken on a spring"] = impedance(case, SOFT_STIFFNESS)
        row["impedance"] = {
            "frequency": FREQUENCIES.tolist(),
            "free": _finite(free),
            "soft": _finite(soft),
            "inertia": inertia(free),
        }
        row["stops"] = {task: stop for task, stop in stops.items() if stop is not None}
    except FarhandError as error:
        row["refused"] = str(error)
    return row


def _finite(response: Array) -> list[float | None]:
    """Sizes, None where nothing was measured."""
    return [float(size) if math.isfinite(size) else None for size in np.abs(response)]


def own_inertia(rig: str, settings: tuple[tuple[str, object], ...] = ()) -> float:
    """Inertia of the leader by itself, uncoupled, along the direction into the wall, [kg]."""
    alone = tuple(pair for pair in settings if not pair[0].startswith(COUPLED))
    return inertia(impedance(Case(rig, "none", settings=alone))[0])


def check(cases: Sequence[Case]) -> None:
    """Refuse settings that no case can be built with, before anything is run.

    A setting that only some laws have is the reason in the other laws' rows.

    Raises:
        FarhandError: the first refusal by a case that can run without the settings.
    """
    refusal: FarhandError | None = None
    for case in cases:
        able = False
        try:
            replace(case, settings=()).build("free").close()
            able = True
            case.build("free").close()
            return
        except FarhandError as error:
            refusal = error if able and refusal is None else refusal
    if refusal is not None:
        raise refusal


def _subtract_own(row: dict[str, Any], own: float) -> dict[str, Any]:
    values = row["metrics"]
    values["felt_inertia"] = row["impedance"].pop("inertia") - own
    finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
    row["metrics"] = {name: {"value": finite[name], "unit": unit} for name, unit in UNITS.items()}
    return row


def _free(case: Case) -> tuple[dict[str, float], Stop | None]:
    """Tracking in free motion, energy and trips."""
    rig = case.build("free", ("wall.present", False))
    _run(rig, min(scenarios_of(case.rig)["free"].seconds, 6.0))
    history, stop = rig.metrics.history, _stop(rig)
    engaged = history.signal("coupling", "engagement")[:, 0] > 0.99
    error = np.linalg.norm(history.signal("coupling", "error")[engaged][:, :3], axis=1)
    values = dict.fromkeys(("free_error_rms", "free_error_max", "free_joint_error_rms"), math.nan)
    if joints := coupled_joints(rig.session.bridges[0].laws[0]):
        # the error is one of angles; how far the tool is off is among the metrics
        found, arm = rig.metrics.values(), [name != "gripper" for name in joints]
        angles = history.signal("coupling", "error")[engaged][:, arm]
        if len(angles) and stop is None:
            values["free_joint_error_rms"] = float(np.sqrt((angles**2).sum(axis=1).mean()))
        for kind in ("rms", "max") if stop is None else ():
            values[f"free_error_{kind}"] = found[f"tracking_error_{kind}"][0] or math.nan
    elif len(error) and stop is None:
        values["free_error_rms"] = float(np.sqrt((error**2).mean()))
        values["free_error_max"] = float(error.max())
    trips = float(len(rig.session.trips))
    return {**values, "energy_created": _created(rig), "trips": trips}, stop


def contact(case: Case, wall: dict[str, float]) -> tuple[dict[str, float], Stop | None]:
    """Pressing on a wall: forces, felt stiffness, settling, energy created and trips."""
    name = "press" if "press" in scenarios_of(case.rig) else "wall"
    rig = case.build(name, *wall.items())
    probe = Probe(rig.world, *directions(rig).items())
    back = float(np.linalg.norm(force_back(rig.session, rig.world, directions(rig)["follower"])))
    rig.session.add(probe.step, after="physics")
    moves = scenarios_of(case.rig)[name].moves
    # The last of several moves comes back
    _run(rig, moves[-1].start if len(moves) > 1 else moves[-1].end + PRESS_S)
    values = {
        "wall_stiffness": _wall(rig).stiffness,
        "created": _created(rig),
        "trips": float(len(rig.session.trips)),
    }
    stop = _stop(rig)
    if stop is not None:
        # The force of an arm that was stopped is not the law's
        unknown = dict.fromkeys({*_PER_WALL, "contact_torque"} - values.keys(), math.nan)
        return values | unknown, stop
    signals = probe.signals()
    steady = slice(-round(STEADY_S / signals.dt), None)
    pressed = float(signals.force_environment[steady].mean())
    hand = float(signals.force_hand[steady].mean())
    scale = rig.session.bridges[0].laws[0].mapping.force_scale
    expected = pressed * scale * back
    touched = signals.force_environment > 0.02 * max(pressed, 1e-9)
    start = int(np.argmax(touched)) if touched.any() else len(touched) - 1
    moved = float(signals.position_hand[steady].mean() - signals.position_hand[start])
    values |= {
        "contact_force": pressed,
        "force_error": abs(hand - expected) / expected if expected > 1e-6 else math.nan,
        "felt_stiffness": hand / moved if moved > 1e-4 else math.nan,
        "settling": _settling(signals, start, pressed),
        "contact_torque": rig.metrics.values().get("contact_torque_max", (None, ""))[0] or math.nan,
    }
    return values, None


def _settling(signals: PortSignals, start: int, steady: float) -> float:
    """Time after touch until the contact force stays within a tenth of its steady value; or NaN."""
    off = np.abs(signals.force_environment[start:] - steady) > 0.1 * abs(steady)
    if not len(off) or off[-round(STEADY_S / signals.dt) :].any():
        return math.nan
    last = len(off) - 1 - int(np.argmax(off[::-1])) if off.any() else 0
    return last * signals.dt


def impedance(case: Case, stiffness: float = 0.0) -> tuple[Array, Stop | None]:
    """F_h/x_h of the shaken leader per frequency, with a spring [N/m] at the follower or none.

    NaN if a guard stopped the run: what was measured then is not the law.
    """
    rig = case.build("free", ("wall.present", False), ("hand.open", True))
    along = directions(rig)
    (leader, to), (follower, into) = along.items()
    size = 2.0 if rig.session.bridges[0].laws[0].mapping.force_scale > 0.5 else 0.3
    shakers = {leader: Shaker(FREQUENCIES, size / len(FREQUENCIES) ** 0.5, to, *HOLDING)}
    if stiffness:
        shakers[follower] = Shaker(FREQUENCIES, 0.0, into, stiffness=stiffness)
    signals = shake(rig.session, rig.world, shakers, along, 6.0).after(2.0)
    stop = _stop(rig)
    if stop is not None:
        return np.full(len(FREQUENCIES), np.nan), stop
    force = components(signals.force_hand, FREQUENCIES, signals.dt)
    return force / components(signals.position_hand, FREQUENCIES, signals.dt), None


def inertia(response: Array) -> float:
    """Mass m of F_h/x_h = −m ω² + … over the band, [kg]."""
    low, high = INERTIA_BAND_HZ
    band = (low <= FREQUENCIES) & (high >= FREQUENCIES)
    omega = 2.0 * np.pi * FREQUENCIES[band]
    return float((-response[band].real @ omega**2) / (omega**2 @ omega**2))


def directions(rig: Rig) -> dict[str, Array]:
    """Unit vectors into the wall at both tools, the leader's through the mapping."""
    into = -np.asarray(_wall(rig).normal, dtype=float)
    into /= np.linalg.norm(into)
    back = force_back(rig.session, rig.world, into)
    return {"leader": back / np.linalg.norm(back), "follower": into}


def _wall(rig: Rig) -> Wall:
    if rig.parts.wall is None:
        raise Mismatch(f"rig {rig.name!r} has no wall to compare laws at")
    return rig.parts.wall


def _run(rig: Rig, seconds: float) -> None:
    rig.session.run(seconds, rig.metrics.pull)


def _stop(rig: Rig) -> Stop | None:
    """The first trip of a run."""
    if not rig.session.trips:
        return None
    first = min(rig.session.trips, key=lambda record: record.trip.time_ns)
    when = first.trip.time_ns / 1e9
    return {"where": first.where, "time": when, "reason": first.trip.reason}


def _created(rig: Rig) -> float:
    """Largest energy that the coupling gave out beyond what went in, [J]."""
    net = rig.metrics.history.signal("coupling", "port_energy").sum(axis=1)
    return float(max(0.0, -net.min())) if len(net) else 0.0
