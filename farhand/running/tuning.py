r"""Gains of a law for one rig: calm with a margin over ranges of hands and walls, then transparent.

A candidate's *margin* is how many times stronger the force at the hand could be in the worst of all
corners (the ends of both ranges, and free motion) before the sampled loop of
:mod:`farhand.analysis.stability` shakes. Its *cost* is how far it is from transparent,

.. math:: c = \overline{\left|\ln \frac{k_\mathrm{felt}}{k_\mathrm{wall}}\right|}
              + \ln\left(1 + \frac{|Z - Z_\mathrm{leader}|}{|Z_\mathrm{leader}|}\right)

the mean over the walls' ends, and the free impedance at 2 Hz with delay. SciPy's differential
evolution finds the least cost among those with the margin; runs of the rig itself decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farhand.analysis.stability.limits import BUMP
from farhand.analysis.stability.loop import Contact, Loop
from farhand.analysis.stability.operating_point import Point, operating_point
from farhand.analysis.stability.spectrum import is_calm
from farhand.errors import BadValue, Mismatch
from farhand.parameters import assign, declared, describe
from farhand.rigs import Options, build_rig
from farhand.running.stability_trial import StabilityTrial, attempt

Progress = Callable[[int, int, str], None]

FELT_HZ = 2.0
"""Frequency at which free motion is judged, [Hz]."""

UNFELT = 1e-4
"""Share of a wall's stiffness below which nothing is felt, [-]."""

LADDER = (1.0, 1.1, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0, 6.0)
"""Margins that are tried, [-]."""

GROUPS = {
    "stiffness": (("law.spring.stiffness", "law.spring.rotational_stiffness"), 1 / 20.0, 20.0),
    "damping": (("law.spring.damping", "law.spring.rotational_damping"), 1 / 10.0, 10.0),
    "leader damping": (("law.leader_damping", "law.leader_rotational_damping"), 1 / 10.0, 30.0),
    "force scale": (("law.mapping.force_scale",), 1 / 10.0, 1.0),
}
"""What is tuned, where a law has it: paths, and range as factors of the rig's own values."""

MORE_MARGIN = 1.2
"""Factor on the margin of the prediction after a run that shakes, [-]."""

ROUNDS = 4
"""Searches at most, each with more margin than the last."""


@dataclass(frozen=True)
class Range:
    """From one hand or wall to another."""

    low: Contact
    high: Contact

    def at(self, share: float) -> Contact:
        """In between on a logarithmic scale, from 0 to 1."""

        def mix(a: float, b: float) -> float:
            return a ** (1.0 - share) * b**share if a > 0.0 and b > 0.0 else a + share * (b - a)

        pairs = zip(
            (self.low.stiffness, self.low.damping, self.low.mass),
            (self.high.stiffness, self.high.damping, self.high.mass),
            strict=True,
        )
        return Contact(*(mix(a, b) for a, b in pairs))


@dataclass(frozen=True)
class Wish:
    """What gains are wanted for."""

    rig: str
    law: str
    delay: float  #: round trip, [ms]
    hands: Range
    walls: Range
    margin: float  #: [-]
    settings: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True)
class Candidate:
    """Gains and what the prediction says about them."""

    values: dict[str, float]  #: by path
    margin: float  #: of :data:`LADDER`; 0 if it shakes
    felt_stiffness: float  #: at the hand over that of the stiffest wall, [-]
    felt_inertia: float  #: |Z − Z_leader|/ω² at 2 Hz in free motion, [kg]
    cost: float  #: distance from transparent, [-]


@dataclass
class Tuned:
    """The result of a search."""

    wish: Wish
    best: Candidate
    default: Candidate
    tried: list[Candidate] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)  #: of the rig with the best gains
    asked: float = 0.0  #: margin that the prediction was asked for in the end, [-]
    units: dict[str, str] = field(default_factory=dict)  #: of the gains, by path


class TuningBench:
    """A rig whose law's gains can be changed and judged by the prediction.

    Raises:
        Mismatch: the law has nothing to tune, or a state of its own, which the felt impedance of
            the prediction leaves out.
    """

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        options = Options(wish.law, delay=wish.delay, settings=list(wish.settings))
        self.rig = build_rig(wish.rig, options)
        # paths and values of the law as the rig builds it
        own = {path: value for path, value, *_ in describe(self.rig.session.parameters)}
        groups = {
            name: [path for path in paths if own.get(path)] for name, (paths, *_) in GROUPS.items()
        }
        self.groups = {name: paths for name, paths in groups.items() if paths}
        self.own = {path: float(own[path]) for paths in self.groups.values() for path in paths}  # type: ignore[arg-type]
        point = self._point(wish.hands.low, wish.walls.high)
        if not self.groups or point.whole.memory is not None:
            self.close()
            raise Mismatch(
                f"law {wish.law!r} has no gains that tune knows, or a state of its own; "
                "laws that it tunes: position-position, position-force, four-channel"
            )

    def close(self) -> None:
        """Give back what the rig holds."""
        self.rig.close()

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Range of the logarithm of each factor."""
        return [(math.log(GROUPS[name][1]), math.log(GROUPS[name][2])) for name in self.groups]

    def values(self, factors: Sequence[float]) -> dict[str, float]:
        """Gains by path, inside the range of each parameter."""
        found = {}
        for (_, paths), factor in zip(self.groups.items(), factors, strict=True):
            for path in paths:
                limits = declared(self.rig.session.parameters, path)
                value = self.own[path] * math.exp(factor)
                found[path] = float(np.clip(value, limits["low"], limits["high"]))
        return found

    def judge(self, factors: Sequence[float]) -> Candidate:
        """What the prediction says about gains, given as logarithms of factors."""
        wish, values = self.wish, self.values(factors)
        for path, value in values.items():
            assign(self.rig.session.parameters, path, value)
        ends = (wish.hands.low, wish.hands.high)
        contacts = (wish.walls.high, wish.walls.low, Contact(0.0))
        points = [self._point(hand, wall) for hand in ends for wall in contacts]
        loop = points[0].loop
        felt = [felt_impedance(loop, wall, 1e-3).real for wall in contacts[:2]]
        shares = [k / wall.stiffness for k, wall in zip(felt, contacts[:2], strict=True)]
        s = 2.0 * math.pi * FELT_HZ
        own = -loop.leader.mass * s**2 + 1j * s * loop.leader.damping
        added = abs(felt_impedance(loop, contacts[2], s) - own)
        cost = float(np.mean([abs(math.log(max(k, UNFELT))) for k in shares]))
        cost += math.log1p(added / abs(own))
        return Candidate(values, _margin(points), shares[0], added / s**2, cost)

    def _point(self, hand: Contact, wall: Contact) -> Point:
        text = f"{hand.stiffness},{hand.damping},{hand.mass}"
        rig = self.rig
        return operating_point(rig.session, rig.world, rig.parts, text, wall, standing=rig.standing)


def felt_impedance(loop: Loop, wall: Contact, omega: float) -> complex:
    r"""F_h/x_h of the leader at a frequency [rad/s], with the law, both arms, the delay and a wall.

    .. math:: (m_i s^2 + c_i s)\,x_i = L_i\,(x_i, s x_i, e_i) + e^{-s\tau} R_i\,(x_j, s x_j, e_j)
              + e_i, \qquad e_a = F_h, \quad e_b = -(k + d s)\,x_b
    """
    s = 1j * omega
    late = np.exp(-s * loop.delay * loop.period)
    L, R = loop.law.local, late * np.asarray(loop.law.remote)
    inertia = [tool.mass * s**2 + tool.damping * s for tool in (loop.leader, loop.follower)]
    touch = wall.stiffness + wall.damping * s
    # unknown: the follower's position and the hand's force, for a leader moved by one
    matrix = np.array(
        [
            [inertia[1] - L[1, 0] - L[1, 1] * s + (1.0 + L[1, 2]) * touch, -R[1, 2]],
            [-R[0, 0] - R[0, 1] * s + R[0, 2] * touch, -(1.0 + L[0, 2])],
        ]
    )
    given = np.array([R[1, 0] + R[1, 1] * s, L[0, 0] + L[0, 1] * s - inertia[0]])
    return complex(np.linalg.solve(matrix, given)[1])


def _margin(points: Sequence[Point]) -> float:
    """Largest of the ladder at which all points are calm; 0 for none."""
    found = len(LADDER)
    for point in points:
        # the worst so far bounds the search of the next
        while found and not is_calm(point.at_force(LADDER[found - 1]), BUMP, 0.0):
            found -= 1
    return LADDER[found - 1] if found else 0.0


def search(
    bench: TuningBench,
    asked: float,
    evaluations: int,
    seed: int,
    progress: Progress = lambda done, total, name: None,
) -> list[Candidate]:
    """Every candidate of one search for the least cost with a margin, in order."""
    from scipy.optimize import differential_evolution

    tried: list[Candidate] = []

    def cost(factors: Sequence[float]) -> float:
        one = bench.judge(factors)
        tried.append(one)
        progress(min(len(tried), evaluations), evaluations, "searching")
        missing = max(0.0, 1.0 - one.margin / asked)
        return one.cost + (100.0 * (1.0 + missing) if missing else 0.0)

    size = len(bench.bounds)
    population = 6
    rounds = max(0, evaluations // (population * size) - 1)
    differential_evolution(
        cost,
        bench.bounds,
        maxiter=rounds,
        popsize=population,
        rng=seed,
        polish=False,
        tol=0.0,
        init="sobol" if (population * size) & (population * size - 1) == 0 else "latinhypercube",
        x0=np.zeros(size),
    )
    return tried


def random_search(bench: TuningBench, asked: float, evaluations: int, seed: int) -> Candidate:
    """The best of a number of random candidates, to compare a search with."""
    rng = np.random.default_rng(seed)
    low, high = np.array(bench.bounds).T
    found = [bench.judge(rng.uniform(low, high)) for _ in range(evaluations)]
    return best_of(found, asked)


def best_of(tried: Sequence[Candidate], asked: float) -> Candidate:
    """The most transparent of those with the margin.

    Raises:
        BadValue: none has it.
    """
    able = [one for one in tried if one.margin >= asked]
    if not able:
        most = max(one.margin for one in tried)
        raise BadValue(
            f"no gains have a margin of {asked:g} over these hands and walls (the best: {most:g}); "
            "ask for less margin, a softer wall or less delay"
        )
    return min(able, key=lambda one: one.cost)


def tune(
    wish: Wish,
    evaluations: int = 150,
    checks: int = 6,
    seed: int = 0,
    progress: Progress = lambda done, total, name: None,
) -> Tuned:
    """Search, then run the rig with sampled hands and walls; more margin until none shakes.

    Args:
        wish: what for.
        evaluations: candidates per search, about.
        checks: runs of the rig with the best gains.
        seed: of the search and the sampling.
        progress: called with candidates or runs done, of how many, and a word.

    Raises:
        Mismatch: the law cannot be tuned, or nothing is felt through it.
        BadValue: no gains have the margin.
    """
    bench = TuningBench(wish)
    asked = wish.margin
    try:
        own = bench.judge([0.0] * len(bench.groups))
        if own.felt_stiffness < UNFELT:
            raise Mismatch(f"law {wish.law!r} lets nothing of a wall be felt: nothing to tune")
        result = Tuned(wish, own, own)
        root = bench.rig.session.parameters
        result.units = {path: declared(root, path)["unit"] for path in own.values}
        for _ in range(ROUNDS):
            progress(0, evaluations, "searching")
            result.tried += search(bench, asked, evaluations, seed, progress)
            try:
                result.best, result.asked = best_of(result.tried, asked), asked
            except BadValue:
                if not result.runs:
                    raise
                # the gains of the round before, which shake in a run, are all there is
                break
            result.runs = []
            for number, trial in enumerate(sampled_trials(wish, result.best, checks, seed)):
                progress(number, checks, "running")
                result.runs.append(attempt(trial))
                if result.runs[-1]["shakes"]:
                    break
            if not any(run["shakes"] for run in result.runs):
                break
            asked *= MORE_MARGIN
        progress(checks, checks, "")
        return result
    finally:
        bench.close()


def sampled_trials(wish: Wish, gains: Candidate, count: int, seed: int) -> list[StabilityTrial]:
    """Runs at random hands and walls of the ranges, with the force at the hand times the margin."""
    rng = np.random.default_rng([seed, 5])
    values: dict[str, float] = dict(gains.values)
    scale = "law.mapping.force_scale"
    values[scale] = values.get(scale, 1.0) * wish.margin
    trials = []
    for number in range(count):
        # the first four are the corners
        corner = (number % 2, number // 2 % 2) if number < 4 else rng.uniform(0.0, 1.0, 2)
        hand, wall = wish.hands.at(float(corner[0])), wish.walls.at(float(corner[1]))
        trials.append(
            StabilityTrial(
                wish.rig,
                wish.law,
                wish.delay,
                wall.stiffness,
                wall.damping,
                (hand.stiffness, hand.damping),
                (*wish.settings, *values.items()),
            )
        )
    return trials
