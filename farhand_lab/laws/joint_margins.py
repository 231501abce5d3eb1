"""Where pairs coupled joint by joint begin to shake: predicted, and tried on the rig itself.

``python -m farhand_lab.laws.joint_margins third F.jsonl FOLDER`` tries the cells of a grid, keeps
the rows in that file and writes a page; an interrupted run goes on where it stopped. Each cell is a
pair at a wall, and one number that grows until it shakes: the force at the hand, the stiffness of
the wall, or the delay. The rig must be calm at 0.85 of the predicted onset and shake at 1.15 of it.

The joints have no dry friction here: with it, whether a loop shakes depends on how hard it was
bumped.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from itertools import islice, product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from farhand.analysis.stability.loop import WholeLoop
from farhand.analysis.stability.operating_point import Point, operating_point
from farhand.analysis.stability.spectrum import largest_stable, largest_stable_delay, unrolled
from farhand.analysis.stability.sweep import sweep
from farhand.report.page import ReportPage
from farhand.rigs import Options, build_rig
from farhand.running.stability_trial import KICK_AT_S, SLOW_DECAY, StabilityTrial, attempt
from farhand.world import ImpedanceHand

BELOW, ABOVE = 0.85, 1.15
"""Shares of the predicted onset: the rig must be calm at the first and shake at the second."""

GAINS, WALLS, MAX_DELAY_S = (0.05, 100.0), (50.0, 1e4), 0.4
"""Ranges that are searched: force scale [-], wall stiffness [N/m], round trip [s]."""

MIN_DELAY_S = 0.02
"""Round trip below which an onset cannot be tried within 15 %: a tick each way is 2 ms."""

PERIODS, FOLDS = 8.0, 2.0
"""What a window of a trial holds: periods of the swing that is predicted to fall slowest or grow
fastest, and e-folds of it."""

SHORTEST_S, LONGEST_S = 12.0, 30.0
"""Trials, [s]. Those of the first two grids took 4 s, and 8 s over more than 100 ms."""

SLOWEST_HZ = 0.1
"""Frequency of the slowest motion that is a swing, [Hz]."""

MOST_STATES = 1500
"""Size of a loop above which its rates are not computed and its trial is the longest, [-]."""

COUNT = 110
"""How many cells with an onset are tried."""

WALL_DAMPING = 1.0
"""Of every wall, [N·s/m]."""

Question = Literal["gain", "wall", "delay"]


@dataclass(frozen=True)
class JointCell:
    """One pair of arms, and what grows until it shakes."""

    leader: str
    follower: str
    law: str
    question: Question  #: what grows: the force at the hand, the wall's stiffness, or the delay
    frequency: float  #: ω of the rig's gains, [rad/s]
    delay: float  #: round trip, [ms]; not used where the question is the delay
    wall: float  #: stiffness, [N/m]; not used where the question is the wall
    hand: float  #: stiffness and damping over those of the rig's hand, [-]

    @property
    def name(self) -> str:
        """All fields in one word."""
        values = asdict(self).values()
        return "/".join(f"{v:g}" if isinstance(v, float) else v for v in values)

    def settings(self, value: float) -> list[tuple[str, object]]:
        """Of the rig, at a value of what grows."""
        return [
            ("rig.leader_plant", self.leader),
            ("rig.follower_plant", self.follower),
            ("rig.space", "joints"),
            ("rig.frequency", self.frequency),
            ("law.mapping.force_scale", value if self.question == "gain" else 1.0),
        ]


SPRINGS = ("position-position", "position-force", "virtual-constraints")


@dataclass(frozen=True)
class MarginGrid:
    """Where the cells lie. Each after the first was chosen when the one before had been run."""

    seed: int
    pairs: tuple[tuple[str, str], ...]
    frequency: float  #: ω of the rig's gains where the delay is not asked for, [rad/s]
    frequencies: tuple[float, ...]  #: and where it is, [rad/s]
    delays: tuple[float, ...]  #: where the force is asked for, [ms]
    delays_at_wall: tuple[float, ...]  #: and the wall, [ms]
    wall: float  #: where the force is asked for, [N/m]
    walls: tuple[float, ...]  #: and the delay, [N/m]
    hands: tuple[float, ...]  #: [-]

    def cells(self) -> list[JointCell]:
        """All cells, in random order; those whose onset is outside the ranges have none."""
        fixed, wall = [self.frequency], [self.wall]
        tables: list[tuple[Any, ...]] = [
            ((*SPRINGS, "admittance"), ["gain"], fixed, self.delays, wall, self.hands),
            (["four-channel"], ["gain"], fixed, self.delays, wall, [1.0]),
            (("position-force", "admittance"), ["wall"], fixed, self.delays_at_wall, [0.0], [1.0]),
            ((*SPRINGS, "four-channel"), ["delay"], self.frequencies, [0.0], self.walls, [1.0]),
        ]
        rows = [
            JointCell(*pair, *row)
            for table in tables
            for row in product(*table)
            for pair in self.pairs
        ]
        random.Random(self.seed).shuffle(rows)
        return rows


PAIRS = (
    ("so101-leader", "so101"),
    ("openarm", "openarm"),
    ("panda", "fr3"),
    ("so101-leader", "panda"),
    ("xarm7", "xarm7"),
    ("vx300s", "vx300s"),
)
GRIDS = {
    "first": MarginGrid(
        seed=24,
        pairs=PAIRS,
        frequency=25.0,
        frequencies=(15.0, 30.0),
        delays=(10.0, 60.0),
        delays_at_wall=(0.0, 30.0),
        wall=1000.0,
        walls=(500.0, 2000.0),
        hands=(0.4, 1.0),
    ),
    "second": MarginGrid(
        seed=25,
        pairs=(*PAIRS, ("ur5e", "ur5e"), ("koch-leader", "koch"), ("iiwa14", "panda")),
        frequency=20.0,
        frequencies=(20.0, 35.0),
        delays=(6.0, 40.0),
        delays_at_wall=(0.0, 20.0),
        wall=1500.0,
        walls=(800.0, 3000.0),
        hands=(0.6, 1.5),
    ),
    "third": MarginGrid(
        seed=27,
        pairs=(*PAIRS, ("ur5e", "lwa4p"), ("koch-leader", "koch"), ("iiwa14", "fr3")),
        frequency=23.0,
        frequencies=(17.0, 29.0),
        delays=(12.0, 30.0),
        delays_at_wall=(8.0, 16.0),
        wall=900.0,
        walls=(600.0, 1800.0),
        hands=(0.7, 1.1),
    ),
}


@lru_cache(maxsize=1)
def _point(cell: JointCell) -> Point:
    delay = max(cell.delay, 2.0) if cell.question == "delay" else cell.delay
    settings = [*cell.settings(1.0), ("wall.stiffness", max(cell.wall, 1.0))]
    settings.append(("wall.damping", WALL_DAMPING))
    rig = build_rig("pair", Options(cell.law, delay=delay, settings=settings))
    try:
        held = rig.parts.hand
        assert isinstance(held, ImpedanceHand)
        hand = f"{cell.hand * held.stiffness},{cell.hand * held.damping},0"
        return operating_point(rig.session, rig.world, rig.parts, hand, friction=0.0)
    finally:
        rig.close()


def loop_at(cell: JointCell, value: float) -> WholeLoop:
    """The loop at a value of what grows."""
    point = _point(cell)
    if cell.question == "delay":
        ticks = math.ceil(0.5 * value / point.whole.period - 1e-9)
        return replace(point.whole, delay=ticks)
    return point.at_wall(value) if cell.question == "wall" else point.at_force(value)


def leading_swing(loop: WholeLoop) -> tuple[float, float] | None:
    """Rate [1/s] and frequency [Hz] of the swing that falls slowest or grows fastest.

    None if there are too many states, or no swings.
    """
    A, B, R = loop.matrices()
    if len(A) + len(R) * loop.delay > MOST_STATES:
        return None
    z = np.linalg.eigvals(unrolled(A, B, R, loop.delay)).astype(complex)
    s = np.log(z[np.abs(z) > 0.5]) / loop.period
    s = s[s.imag > 2.0 * np.pi * SLOWEST_HZ]
    if not len(s):
        return None
    lead = s[np.argmax(s.real)]
    return float(lead.real), float(lead.imag / (2.0 * np.pi))


def trial_rule(swing: tuple[float, float] | None) -> tuple[float, float]:
    """Length of a trial [s], and the rate of decay below which it shakes, [1/s].

    A window is 0.4 of the trial. What falls half as fast as predicted is still calm.
    """
    if swing is None:
        return LONGEST_S, SLOW_DECAY
    rate, frequency = abs(swing[0]), swing[1]
    wanted = max(PERIODS / frequency, FOLDS / max(rate, 1e-9)) / 0.4
    return min(max(KICK_AT_S + wanted, SHORTEST_S), LONGEST_S), min(SLOW_DECAY, 0.5 * rate)


@cache
def predicted(cell: JointCell) -> float:
    """Onset: force scale [-], wall stiffness [N/m] or round trip [s]; NaN if there is none."""
    point = _point(cell)
    if cell.question == "delay":
        ticks = largest_stable_delay(point.whole, round(0.5 * MAX_DELAY_S / point.whole.period))
        onset = 2.0 * ticks * point.whole.period
        return onset if MIN_DELAY_S <= onset < math.inf else math.nan
    if cell.question == "wall":
        onset = largest_stable(point.at_wall, *WALLS, points=20)
    else:
        onset = largest_stable(point.at_force, *GAINS, points=20)
    return onset if 0.0 < onset < math.inf else math.nan


def trial_of(cell: JointCell, value: float) -> StabilityTrial:
    """A run of the rig itself at a value of what grows."""
    seconds, slow = trial_rule(leading_swing(loop_at(cell, value)))
    delay = 1e3 * value if cell.question == "delay" else cell.delay
    wall = value if cell.question == "wall" else cell.wall
    hand = _point(cell).loop.hand
    return StabilityTrial(
        "pair",
        cell.law,
        delay,
        wall,
        WALL_DAMPING,
        (hand.stiffness, hand.damping),
        tuple(cell.settings(value)),
        seconds=seconds,
        dry_friction=False,
        slow=slow,
    )


def shakes(cell: JointCell, value: float) -> bool:
    """Whether the rig itself shakes at a value of what grows."""
    return bool(attempt(trial_of(cell, value))["shakes"])


def judge(cell: JointCell) -> dict[str, Any]:
    """Predict and try one cell: its fields, the onset (None if there is none), and both trials."""
    onset = predicted(cell)
    row: dict[str, Any] = {**asdict(cell), "onset": None, "below": None, "above": None}
    if math.isnan(onset):
        return row
    below, above = (shakes(cell, share * onset) for share in (BELOW, ABOVE))
    return row | {"onset": onset, "below": below, "above": above}


def within(row: dict[str, Any]) -> bool:
    """Whether the rig was calm below the onset and shook above it."""
    return row["above"] is True and row["below"] is False


def write_report(rows: list[dict[str, Any]], folder: Path, note: str = "") -> Path:
    """Write the page of the cells, those that miss first, with a note at its head."""
    hits = sum(within(row) for row in rows)
    page = ReportPage(
        "Pairs coupled joint by joint: predicted onset of shaking, tried on the rig",
        f"{hits} of {len(rows)} cells were calm at {BELOW:g} of the predicted onset and shook at "
        f"{ABOVE:g} of it. Units: force at the hand [-], wall [N/m], round trip [s]. {note}",
    )
    names = tuple(rows[0])
    missed = [tuple(row.values()) for row in rows if not within(row)]
    if missed:
        page.table(names, missed, "Cells that miss")
    page.table(names, [tuple(row.values()) for row in rows], "Every cell")
    return page.save(folder)


def main() -> None:
    """Try the cells of a grid; keep rows in the second argument's file, a page in the third's."""
    cells = GRIDS[sys.argv[1]].cells()
    chosen = list(islice((c for c in cells if not math.isnan(predicted(c))), COUNT))
    done = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    rows = sweep(judge, chosen, lambda cell: cell.name, done)
    for row in rows:
        row.pop("name", None)
    hits = sum(within(row) for row in rows)
    share = 100.0 * hits / len(rows)
    print(f"{hits} of {len(rows)} cells within 15 % ({share:.1f} %)")
    for row in rows:
        if not within(row):
            print(row)
    if len(sys.argv) > 3:
        print(write_report(rows, Path(sys.argv[3])))


if __name__ == "__main__":
    # workers find the functions under the module's own name
    from farhand_lab.laws import joint_margins

    joint_margins.main()
