"""The same tasks under several laws and delays: what each does to motion, force, energy and the hand."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farhand.analysis.shaking import Probe, Shaker, shake
from farhand.analysis.two_port import Signals, components
from farhand.errors import FarhandError
from farhand.rigs import Options, Rig, build_rig
from farhand.rigs.rig import scenarios_of

Array = np.ndarray
Progress = Callable[[int, int, str], None]

SOFT = 500.0
"""Stiffness of the soft wall, [N/m]; the hard one is the rig's own."""

FREQUENCIES = np.array([0.5, 1.0, 2.0, 3.0, 5.0, 8.0])
"""At which the leader is shaken, [Hz]."""

COUPLED = ("law.", "layer.", "link.")
"""Parameters that the leader by itself does not have."""

INERTIA_BAND = (1.0, 3.0)
"""Over which felt inertia is judged, [Hz]."""

HOLDING = (50.0, 20.0)
"""Spring and damper that hold the shaken leader, [N/m] and [N·s/m]: what the start sets off on them
is gone in 2 s."""

HOLD = 2.5
"""How long a hand that stays presses before the contact is judged, [s]."""

STEADY = 0.5
"""Length of the window in which a contact counts as steady, [s]."""

UNITS = {
    "free_error_rms": "m",
    "free_error_max": "m",
    "soft_wall_stiffness": "N/m",
    "soft_contact_force": "N",
    "soft_force_error": "-",
    "soft_felt_stiffness": "N/m",
    "soft_settling": "s",
    "hard_wall_stiffness": "N/m",
    "hard_contact_force": "N",
    "hard_force_error": "-",
    "hard_felt_stiffness": "N/m",
    "hard_settling": "s",
    "felt_inertia": "kg",
    "energy_created": "J",
    "trips": "-",
}
"""Every metric with its unit."""


@dataclass(frozen=True)
class Case:
    """One row of the comparison.

    Attributes:
        rig: which system.
        law: which law.
        delay: round trip, [ms].
        layer: passivity layer.
        seed: of every random number.
        settings: parameter paths and values, before those that make the tasks: a soft wall is soft
            on any rig.
    """

    rig: str
    law: str
    delay: float = 0.0
    layer: str = "none"
    seed: int = 0
    settings: tuple[tuple[str, object], ...] = ()

    def build(self, scenario: str, *settings: tuple[str, object]) -> Rig:
        """The rig under this law and delay."""
        chosen = [*self.settings, *settings]
        return build_rig(
            self.rig,
            Options(self.law, self.layer, scenario, self.seed, self.delay, settings=chosen),
        )


def compare(
    cases: Sequence[Case], progress: Progress | None = None, workers: int | None = None
) -> list[dict[str, Any]]:
    """Every case's metrics, over the machine's cores, in the order of the cases.

    Returns:
        Rows ``{rig, law, layer, delay, settings: {path: value}, metrics: {name: {value, unit}},
            impedance: {...}}``; a
        law that the rig refuses has ``refused`` instead of metrics.
    """
    workers = workers or os.cpu_count() or 1
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(max_workers=min(workers, len(cases))) as pool:
        rigs = dict.fromkeys((case.rig, case.settings) for case in cases)
        own = {rig: pool.submit(own_impedance, *rig) for rig in rigs}
        found = [pool.submit(measure, case) for case in cases]
        for number, (case, future) in enumerate(zip(cases, found, strict=True)):
            if progress is not None:
                progress(number, len(cases), f"{case.law}, {case.delay:g} ms")
            row = future.result()
            rows.append(
                row
                if "refused" in row
                else _subtract_own(row, own[case.rig, case.settings].result())
            )
    if progress is not None:
        progress(len(cases), len(cases), "")
    return rows


def measure(case: Case) -> dict[str, Any]:
    """One row, without the leader's own inertia taken off yet."""
    row: dict[str, Any] = {
        "rig": case.rig,
        "law": case.law,
        "layer": case.layer,
        "delay": case.delay,
    }
    row["settings"] = dict(case.settings)
    try:
        values = _free(case)
        walls: dict[str, list[tuple[str, object]]] = {
            "soft": [("wall.stiffness", SOFT), ("wall.damping", 1.0)],
            "hard": [],
        }
        for name, wall in walls.items():
            values |= {
                f"{name}_{key}" if key in _PER_WALL else key: v
                for key, v in contact(case, wall).items()
            }
            values["energy_created"] = max(values["energy_created"], values.pop("created"))
            values["trips"] += values.pop("tripped")
        row["metrics"] = values
        free, soft = impedance(case), impedance(case, SOFT)
        row["impedance"] = {
            "frequency": FREQUENCIES.tolist(),
            "free": np.abs(free).tolist(),
            "soft": np.abs(soft).tolist(),
            "inertia": inertia(free),
        }
    except FarhandError as error:
        row["refused"] = str(error)
    return row


def own_impedance(rig: str, settings: tuple[tuple[str, object], ...] = ()) -> float:
    """Inertia of the leader by itself, uncoupled, along the direction into the wall, [kg]."""
    alone = tuple(pair for pair in settings if not pair[0].startswith(COUPLED))
    return inertia(impedance(Case(rig, "none", settings=alone)))


def check(cases: Sequence[Case]) -> None:
    """Refuse settings that no case can be built with, before anything is run.

    One that only some laws have is a reason of the other laws' rows.

    Raises:
        FarhandError: what the first case that is able to run without the settings says to them.
    """
    said: FarhandError | None = None
    for case in cases:
        able = False
        try:
            replace(case, settings=()).build("free").close()
            able = True
            case.build("free").close()
            return
        except FarhandError as error:
            said = error if able and said is None else said
    if said is not None:
        raise said


def _subtract_own(row: dict[str, Any], own: float) -> dict[str, Any]:
    values = row["metrics"]
    values["felt_inertia"] = row["impedance"].pop("inertia") - own
    row["metrics"] = {
        name: {"value": _plain(values[name]), "unit": unit} for name, unit in UNITS.items()
    }
    return row


_PER_WALL = ("wall_stiffness", "contact_force", "force_error", "felt_stiffness", "settling")


def _free(case: Case) -> dict[str, float]:
    """Tracking in free motion, and what went wrong."""
    rig = case.build("free", ("wall.present", False))
    _run(rig, min(scenarios_of(case.rig)["free"].seconds, 6.0))
    history = rig.metrics.history
    engaged = history.signal("coupling", "engagement")[:, 0] > 0.99
    error = np.linalg.norm(history.signal("coupling", "error")[engaged][:, :3], axis=1)
    rms, largest = (
        (float(np.sqrt((error**2).mean())), float(error.max()))
        if len(error)
        else (math.nan, math.nan)
    )
    return {
        "free_error_rms": rms,
        "free_error_max": largest,
        "energy_created": _created(rig),
        "trips": float(len(rig.session.trips)),
    }


def contact(case: Case, wall: list[tuple[str, object]]) -> dict[str, float]:
    """Pressing on a wall: force at the contact and at the hand, felt stiffness, and how soon the force settles."""
    name = "press" if "press" in scenarios_of(case.rig) else "wall"
    rig = case.build(name, *wall)
    probe = Probe(rig.world, *directions(rig).items())
    rig.session.add(probe.step, after="physics")
    moves = scenarios_of(case.rig)[name].moves
    # the last of several comes back
    _run(rig, moves[-1].start if len(moves) > 1 else moves[-1].end + HOLD)
    seen = probe.signals()
    steady = slice(-round(STEADY / seen.dt), None)
    pressed, hand = (
        float(seen.force_environment[steady].mean()),
        float(seen.force_hand[steady].mean()),
    )
    mapping = rig.session.bridges[0].laws[0].mapping
    expected = pressed * mapping.force_scale * mapping.motion_scale
    touched = seen.force_environment > 0.02 * max(pressed, 1e-9)
    start = int(np.argmax(touched)) if touched.any() else len(touched) - 1
    moved = float(seen.position_hand[steady].mean() - seen.position_hand[start])
    return {
        "wall_stiffness": rig.session.parameters["wall"].stiffness,
        "contact_force": pressed,
        "force_error": abs(hand - expected) / expected if expected > 1e-6 else math.nan,
        "felt_stiffness": hand / moved if moved > 1e-4 else math.nan,
        "settling": _settling(seen, start, pressed),
        "created": _created(rig),
        "tripped": float(len(rig.session.trips)),
    }


def _settling(seen: Signals, start: int, steady: float) -> float:
    """Time after touch from which the contact force stays within a tenth of its steady value; NaN if it never does."""
    off = np.abs(seen.force_environment[start:] - steady) > 0.1 * abs(steady)
    if not len(off) or off[-round(STEADY / seen.dt) :].any():
        return math.nan
    last = len(off) - 1 - int(np.argmax(off[::-1])) if off.any() else 0
    return last * seen.dt


def impedance(case: Case, stiffness: float = 0.0) -> Array:
    """F_h/x_h at the leader, shaken by a small force, with a spring [N/m] at the follower or none, per frequency."""
    rig = case.build("free", ("wall.present", False), ("hand.open", True))
    along = directions(rig)
    (leader, to), (follower, into) = along.items()
    size = 2.0 if rig.session.bridges[0].laws[0].mapping.force_scale > 0.5 else 0.3
    shakers = {leader: Shaker(FREQUENCIES, size / len(FREQUENCIES) ** 0.5, to, *HOLDING)}
    if stiffness:
        shakers[follower] = Shaker(FREQUENCIES, 0.0, into, stiffness=stiffness)
    seen = shake(rig.session, rig.world, shakers, along, 6.0).after(2.0)
    return components(seen.force_hand, FREQUENCIES, seen.dt) / components(
        seen.position_hand, FREQUENCIES, seen.dt
    )


def inertia(answer: Array) -> float:
    """Mass that explains F_h/x_h = −m ω² + … over the band, [kg]."""
    low, high = INERTIA_BAND
    band = (low <= FREQUENCIES) & (high >= FREQUENCIES)
    omega = 2.0 * np.pi * FREQUENCIES[band]
    return float((-answer[band].real @ omega**2) / (omega**2 @ omega**2))


def directions(rig: Rig) -> dict[str, Array]:
    """Unit vectors into the wall at both tools, the leader's as the mapping turns it."""
    into = -np.asarray(rig.session.parameters["wall"].normal, dtype=float)
    into /= np.linalg.norm(into)
    back = rig.session.bridges[0].laws[0].mapping.matrix[:3, :3].T @ into
    return {"leader": back / np.linalg.norm(back), "follower": into}


def _run(rig: Rig, seconds: float) -> None:
    rig.session.run(seconds, rig.metrics.pull)


def _created(rig: Rig) -> float:
    """Most energy that the coupling had given out beyond what was put in, at any time, [J]."""
    net = rig.metrics.history.signal("coupling", "port_energy").sum(axis=1)
    return float(max(0.0, -net.min())) if len(net) else 0.0


def _plain(value: float) -> float | None:
    return None if not math.isfinite(value) else float(value)
