"""The runs behind the explorable: a hand pushes the dual-arm rig into a wall and holds."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import mujoco
import numpy as np

from farhand.analysis.history import History
from farhand.analysis.stability.limits import BUMP
from farhand.analysis.stability.loop import HANDS
from farhand.analysis.stability.operating_point import operating_point
from farhand.analysis.stability.spectrum import is_calm
from farhand.errors import FarhandError
from farhand.rigs import Rig
from farhand.running.comparison import Case
from farhand.running.margin import shaking
from farhand.world import ImpedanceHand

Array = np.ndarray

SCENARIO = "press"
SECONDS = 8.0
"""Length of a run, as that of the scenario, [s]."""

SAMPLE_S = 0.01
"""Time between two samples on the page, [s]."""

CHECK_S = 0.05
"""How often a run is asked whether it has tripped, [s]."""

HAND = "relaxed"
"""One of :data:`farhand.analysis.stability.loop.HANDS`, without its mass: a simulated hand has
none."""

FINER = 8
"""Delays that are tried for a prediction, between two of the page."""

FINAL_S = 2.0
"""The end of a run, in which it should have settled, [s]."""

MIN_SWING_N = 10.0
"""Change of the contact force in that time above which it has not."""

CHANNELS = (("q", 12, 2e-4), ("hand", 1, 0.05), ("contact", 1, 0.05), ("error", 1, 2e-5))
"""What is kept of a run: name, columns, and the size of one step in [rad], [N], [N] and [m].

``q`` has the joints of the leader, then of the follower. Forces are along the push: of the hand on
the leader, and of the follower on the wall.
"""

MISSING = -32768
"""Stands for a sample that is not there, such as the tracking error before the arms are coupled."""


@dataclass(frozen=True)
class Grid:
    """Every value that the page offers; the first of each is where it starts."""

    laws: tuple[str, ...] = ("position-force", "position-position", "four-channel")
    layers: tuple[str, ...] = ("none", "tdpa", "waves")
    walls: tuple[float, ...] = (6000.0, 1500.0, 0.0)  #: stiffness, [N/m]; 0 for no wall
    delays: tuple[float, ...] = (0.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)  #: one way, [ms]
    seconds: float = SECONDS  #: length of a run, [s]

    def cells(self) -> list[ExplorableRun]:
        """All of them."""
        return [
            ExplorableRun(law, layer, wall, delay, self.seconds)
            for law, wall, layer, delay in product(self.laws, self.walls, self.layers, self.delays)
        ]


@dataclass(frozen=True)
class ExplorableRun:
    """One run."""

    law: str
    layer: str
    wall: float  #: stiffness, [N/m]; 0 for no wall
    delay: float  #: one way, [ms]
    seconds: float = SECONDS  #: [s]

    @property
    def name(self) -> str:
        """What the page finds it by."""
        return f"{self.law}/{self.layer}/{self.wall:g}/{self.delay:g}"

    def build(self) -> Rig:
        """The rig, ready to run."""
        hand = HANDS[HAND]
        wall = ("wall.stiffness", self.wall) if self.wall else ("wall.present", False)
        settings = (wall, ("hand.stiffness", hand.stiffness), ("hand.damping", hand.damping))
        # The rig's delay is the round trip
        return Case("dual-arm", self.law, 2.0 * self.delay, self.layer, settings=settings).build(
            SCENARIO
        )


def record(cell: ExplorableRun) -> dict[str, Any]:
    """Run a cell until its end or its first trip.

    Returns:
        ``shakes`` in words or None, ``stopped`` (``time`` [s] and ``reason``) or None, the largest
        forces [N] and error [m], and the samples packed by :func:`pack`. A cell that the rig does
        not accept has ``refused`` instead.
    """
    try:
        rig = cell.build()
    except FarhandError as error:
        return {"refused": str(error)}
    try:
        session, metrics = rig.session, rig.metrics

        def check() -> None:
            metrics.pull()
            if session.trips:
                session.finish()

        session.run(cell.seconds, check, CHECK_S)
        stopped = None
        end = cell.seconds
        if session.trips:
            first = session.trips[0]
            end = first.trip.time_ns * 1e-9
            stopped = {"time": round(end, 3), "reason": f"{first.where}, {first.trip.reason}"}
        signals = sampled(metrics.history, end)
        # The first line is the finding; advice follows
        found = next(shaking(rig), None)
        return {
            "shakes": found.removeprefix("it shakes: ") if found else None,
            "stopped": stopped,
            "peak": {
                name: float(f"{np.nanmax(np.abs(signals[name]), initial=0.0):.4g}")
                for name in ("hand", "contact", "error")
            },
            "samples": pack(signals),
        }
    finally:
        rig.close()


def sampled(history: History, end: float) -> dict[str, Array]:
    """The channels of :data:`CHANNELS` every :data:`SAMPLE_S` until ``end`` [s]."""
    times = history.times("leader")
    every = round(SAMPLE_S / float(times[1] - times[0]))
    rows = np.flatnonzero(times <= end)[::every]
    joints = [history.signal(role, "q")[rows] for role in ("leader", "follower")]
    error = np.linalg.norm(history.signal("coupling", "error")[rows][:, :3], axis=1)
    error[history.signal("coupling", "engagement")[rows][:, 0] <= 0.0] = math.nan
    # The push goes along x: the hand pushes the leader that way, the wall the follower back
    force = {
        role: history.signal(role, "wrench_measured_in_world")[rows][:, 0]
        for role in ("leader", "follower")
    }
    return {
        "q": np.hstack(joints),
        "hand": force["leader"][:, None],
        "contact": -force["follower"][:, None],
        "error": error[:, None],
    }


def pack(signals: dict[str, Array]) -> str:
    """Samples as differences of 16-bit steps, channel by channel, deflated, in base64."""
    columns = []
    for name, _, step in CHANNELS:
        values = signals[name]
        steps = np.clip(np.round(np.nan_to_num(values) / step), MISSING + 1, -MISSING - 1)
        steps = np.where(np.isfinite(values), steps, MISSING).astype(np.int64)
        columns.append(np.diff(steps, axis=0, prepend=0).T)
    # Differences wrap round, and sums of them wrap back
    whole = np.vstack(columns).astype("<i2")
    return base64.b64encode(zlib.compress(whole.tobytes(), 9)).decode()


def unpack(text: str) -> dict[str, Array]:
    """What :func:`pack` packed, to within half a step; the page does the same."""
    flat = np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i2")
    width = sum(columns for _, columns, _ in CHANNELS)
    steps = np.cumsum(flat.reshape(width, -1), axis=1, dtype=np.int16)
    signals, first = {}, 0
    for name, columns, step in CHANNELS:
        part = steps[first : first + columns].T
        signals[name] = np.where(part == MISSING, math.nan, part * step)
        first += columns
    return signals


def predict(law: str, wall: float, delays: Sequence[float]) -> list[list[float]]:
    """Delays that are predicted to be calm, without a layer, where the rig starts.

    Args:
        law: by name.
        wall: stiffness, [N/m]; 0 for no wall.
        delays: rising, one way, [ms]; :data:`FINER` times as many are tried, and onsets found.

    Returns:
        The first and the last of each range of calm delays, one way, [ms].
    """
    rig = ExplorableRun(law, "none", wall, delays[-1]).build()
    try:
        whole = operating_point(rig.session, rig.world, rig.parts, standing=rig.standing).whole
    finally:
        rig.close()
    per_ms = 1e-3 / whole.period

    def calm(ticks: int) -> bool:
        return is_calm(replace(whole, delay=ticks), BUMP)

    pairs = list(pairwise(delays)) or [(delays[0], delays[0])]
    tried = np.unique([np.linspace(low, high, FINER + 1) * per_ms for low, high in pairs])
    ranges: list[list[int]] = []
    before = None
    for ticks in np.unique(np.round(tried).astype(int)).tolist():
        is_good = calm(ticks)
        if is_good and (before is None or not before[1]):
            ranges.append([ticks if before is None else _onset(calm, ticks, before[0]), ticks])
        elif is_good:
            ranges[-1][1] = ticks
        elif before is not None and before[1]:
            ranges[-1][1] = _onset(calm, before[0], ticks)
        before = (ticks, is_good)
    return [[round(ticks / per_ms, 3) for ticks in ends] for ends in ranges]


def _onset(calm: Callable[[int], bool], good: int, bad: int) -> int:
    """The last calm number of ticks on the way from a calm one to one that is not."""
    while abs(bad - good) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if calm(middle) else (good, middle)
    return good


def unsettled(row: dict[str, Any]) -> list[float] | None:
    """Between which contact forces [N] a run still swings at its end; None if it does not.

    ``farhand run`` looks for regular oscillations of several periods; with the longest delays a
    run is over after three.
    """
    if "samples" not in row or row["stopped"]:
        return None
    last = unpack(row["samples"])["contact"][-round(FINAL_S / SAMPLE_S) :, 0]
    low, high = float(last.min()), float(last.max())
    return [round(max(low, 0.0), 1), round(high, 1)] if high - low > MIN_SWING_N else None


def drawing() -> dict[str, Any]:
    """What is drawn and does not depend on the cell: links and shapes of the arm, hand and wall.

    Returns:
        ``bodies`` from base to tool with parent, place and joint axis; ``shapes``, rods with two
        ends in a body, radius [m] and colour; ``tool``, its place in a body; ``hand``, where the
        hand wants the tool at every sample [m]; ``wall``, its place along x [m].
    """
    rig = ExplorableRun("position-force", "none", 6000.0, 0.0).build()
    try:
        model = rig.world.placed["leader"].robot.compile()
        hand, wall = rig.parts.hand, rig.parts.wall
        start = rig.world.ports["leader"].tool.position.copy()
    finally:
        rig.close()
    assert isinstance(hand, ImpedanceHand) and wall is not None  # this rig has both
    wants = []
    for time in np.arange(0.0, SECONDS + 0.5 * SAMPLE_S, SAMPLE_S):
        hand.path.at(float(time))
        wants.append(_rounded(start + hand.path.translation))
    return {
        "bodies": [_body(model, body) for body in range(1, model.nbody)],
        "shapes": [_shape(model, geom) for geom in range(model.ngeom)],
        "tool": {"body": int(model.site_bodyid[0]) - 1, "place": _rounded(model.site_pos[0])},
        "hand": wants,
        "wall": float(wall.point[0]),
    }


def _body(model: mujoco.MjModel, body: int) -> dict[str, Any]:
    """A link; bodies count from 0, and the parent of the first is −1."""
    joint = int(model.body_jntadr[body])
    return {
        "parent": int(model.body_parentid[body]) - 1,
        "place": _rounded(model.body_pos[body]),
        "turn": _rounded(_matrix(model.body_quat[body])),
        "axis": None if joint < 0 else _rounded(model.jnt_axis[joint]),
    }


def _shape(model: mujoco.MjModel, geom: int) -> dict[str, Any]:
    """A rod from one end to the other; a ball has both in one place."""
    kind = int(model.geom_type[geom])
    axis = _matrix(model.geom_quat[geom]).reshape(3, 3)[:, 2]
    half = 0.0 if kind == mujoco.mjtGeom.mjGEOM_SPHERE else float(model.geom_size[geom][1])
    rgba = model.mat_rgba[model.geom_matid[geom]]
    return {
        "body": int(model.geom_bodyid[geom]) - 1,
        "ends": [_rounded(model.geom_pos[geom] + sign * half * axis) for sign in (-1.0, 1.0)],
        "radius": round(float(model.geom_size[geom][0]), 4),
        "round": kind != mujoco.mjtGeom.mjGEOM_CYLINDER,
        "colour": [round(255 * float(part)) for part in rgba[:3]],
    }


def _matrix(quaternion: Array) -> Array:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix


def _rounded(values: Array) -> list[float]:
    return [round(float(value), 5) + 0.0 for value in values]
