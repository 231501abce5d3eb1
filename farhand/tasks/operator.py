r"""An operator: a person who looks, feels and moves the hand in one correction after another.

The operator knows a :class:`View` only: points seen on a screen and the force in the own hand, both
late and noisy. Every move is a minimum-jerk submovement (:class:`~farhand.control.trajectory.paths`
has the same curve), planned from what was last seen. Its duration and the scatter of its end are

.. math:: T = c\,\sqrt{D / W}, \qquad \sigma = s\,D / T

with distance D and wanted nearness W (Meyer et al. 1988). After a move the operator waits until it
was seen to happen, and corrects what is left: over a delay this is moving and waiting (Ferrell
1965). Pushing is a chain of small moves of 0.2 s, smaller the nearer the felt force is to the
wanted one. The hand is a spring and damper about the moves, stiffer while it pushes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np

from farhand.control.trajectory.kernels import BEFORE, STEP, TURNED
from farhand.control.trajectory.paths import HandPath, Move
from farhand.errors import UnknownName
from farhand.parameters import parameter
from farhand.spatial import Array
from farhand.tasks.task import TIP, Phase, View
from farhand.world import ImpedanceHand

NOBODY = "none"
"""Name of no operator: whoever drags the hand on the page, or an agent."""

PERIOD_NS = 10_000_000
"""How often an operator looks and feels, [ns]."""

PULSE = 0.2
"""Length of one small move while pushing, [s]: slow movements come in 5 to 10 pulses per second
(Vallbo and Wessberg 1993)."""

SHORTEST = 0.2
"""Shortest aimed move, [s]."""

GLANCE = 0.3
"""How long the eyes rest on one place, [s]; assumed."""

SEEN_SHARE = 0.5
"""Share of a move that must be seen before the next correction, [-]; assumed."""

MOST_WAIT = 2.0
"""Longest wait for a move to be seen, [s]; assumed."""

STILL = 0.004
"""Speed below which what is seen stands still, [m/s]; assumed."""

FLAT = 0.001
"""Advance in a second below which a push is seen to be stuck, [m]; assumed."""

FELT, BLIND = 2.0, 0.25
"""Force that is not just the leader's own friction, [N], and how much slower a hand pushes that is
seen to be stuck and feels nothing, [-]; assumed."""

LEARNING, MOST_OWN = 0.5, 8.0
"""Time in which a beginning push shows the leader's own resistance, [s], and the most that is taken
for it, [N]; assumed."""

PITCH = 0.0015
"""Distance between the turns of the spiral of a search, [m]; assumed."""

WIDEST = 0.005
"""Radius at which a search begins again, [m]; assumed."""

WEBER = 0.07
"""Just noticeable difference of a force over that force, [-] (Jones 2000: 5 to 10 %)."""

SAMPLED = 0.15
"""Scatter of every number from person to person, of its logarithm, [-]; assumed."""

DIRECTIONS = np.array([1.0, 0.5, 0.8])
"""Stiffness away from the body, across and up over the largest, [-]."""

TREMOR_HZ = 9.0
"""Physiological tremor is at 8 to 12 Hz."""


@dataclass
class Person:
    """Numbers of one operator."""

    reaction: float = parameter(0.2, "s", "from seeing to moving", 0.0, 2.0)
    touched: float = parameter(0.12, "s", "from feeling to moving", 0.0, 2.0)
    glance: float = parameter(0.0004, "m", "scatter of a seen place", 0.0, 0.1)
    bias: float = parameter(0.0008, "m", "steady error of a seen place", 0.0, 0.1)
    pace: float = parameter(0.11, "s", "duration of a move over √(distance/width)", 0.01, 2.0)
    caution: float = parameter(3.0, "-", "how much slower with a machine in between", 1.0, 20.0)
    spread: float = parameter(0.02, "s", "scatter of a move's end over its speed", 0.0, 1.0)
    slow: float = parameter(0.02, "m/s", "speed of pushing while nothing is felt", 1e-3, 1.0)
    stiffness: float = parameter(400.0, "N/m", "stiffness of the hand", 0.0, 1e4)
    damping: float = parameter(25.0, "N·s/m", "damping of the hand", 0.0, 1e3)
    grip: float = parameter(0.6, "-", "growth of the stiffness with 10 N of push", 0.0, 10.0)
    tremor: float = parameter(5e-5, "m", "tremor", 0.0, 0.01)
    endurance: float = parameter(400.0, "N·s", "push after which the arm is tired", 1.0, 1e6)
    haste: float = parameter(1.0, "-", "force used over the force needed", 0.1, 10.0)


@cache
def named() -> dict[str, dict[str, float]]:
    """The numbers of every named operator."""
    path = Path(__file__).parent / "operators.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def make_person(name: str, rng: np.random.Generator | None = None) -> Person:
    """A named operator, or one person of that kind drawn at random.

    Raises:
        UnknownName: there is no such operator.
    """
    if name not in named():
        raise UnknownName("operator", name, named())
    person = Person(**named()[name])
    for one in fields(person) if rng is not None else ():
        assert rng is not None
        value = getattr(person, one.name) * float(np.exp(SAMPLED * rng.standard_normal()))
        setattr(person, one.name, value)
    return person


class Late:
    """A signal as it was some time ago.

    Args:
        shape: of the signal.
        seconds: longest time, [s].
    """

    def __init__(self, shape: tuple[int, ...], seconds: float) -> None:
        self._ring = np.zeros((max(2, round(seconds * 1e9 / PERIOD_NS) + 2), *shape))
        self._count = 0

    def add(self, value: Array) -> None:
        """Remember the present value."""
        self._ring[self._count % len(self._ring)] = value
        self._count += 1

    def at(self, ago: float) -> Array:
        """The value ``ago`` seconds back, or the oldest there is."""
        steps = min(round(ago * 1e9 / PERIOD_NS), self._count - 1, len(self._ring) - 1)
        found: Array = self._ring[(self._count - 1 - steps) % len(self._ring)]
        return found


class Operator:
    """A person with a hand on the leader.

    Args:
        person: who it is.
        hand: that holds the leader; its present gains are the most that the rig allows.
        look: writes the true points of the scene, as a camera there would have them.
        points: how many.
        feel: the force of the hand on the leader, a live view, [N].
        plan: makes a fresh list of what to do.
        rng: of everything random in this person.
        screen: delay of the picture, [s].
        squeeze: opens and closes the jaws at the follower.
    """

    def __init__(
        self,
        person: Person,
        hand: ImpedanceHand,
        look: Callable[[Array], None],
        points: int,
        feel: Array,
        plan: Callable[[], Iterator[Phase]],
        rng: np.random.Generator,
        screen: Callable[[], float] = lambda: 0.0,
        squeeze: Callable[[bool], None] = lambda closed: None,
    ) -> None:
        self.person, self.hand = person, hand
        self._look, self._feel, self._plan, self._squeeze = look, feel, plan, squeeze
        self._rng, self._screen = rng, screen
        self._most = hand.stiffness, hand.damping
        self._true = np.zeros((points, 3))
        self._seen, self._hand_force = Late((points, 3), 12.0), Late((3,), 2.0)
        self._bias = person.bias * rng.standard_normal((points, 3))
        # the tip is what the person looks along, so only differences to it are misjudged
        self._bias[TIP] = 0.0
        self._glance, self._glance_until = np.zeros((points, 3)), 0.0
        self.view = View(np.zeros((points, 3)))
        hand.shares[:] = DIRECTIONS
        hand.path = HandPath((Move(0.0, 1e-3),))
        self._rows = hand.path.rows
        self._ends = 0.0
        self._wait_from, self._wait_tip, self._wait_for = 0.0, np.zeros(3), 0.0
        self._steps: Iterator[Phase] = iter(())
        self._phase: Phase | None = None
        self._phase_before: Phase | None = None
        self._free, self._own = True, 0.0
        self._since = 0.0
        self._turns = 0.0
        self._track: list[tuple[float, float]] = []
        self.tired = 0.0  #: how tired the arm is, 0 fresh, 1 as after its endurance, [-]
        self._tremor_phase = float(rng.uniform(0.0, 2.0 * np.pi))
        self._grip_until = 0.0

    def step(self, now_ns: int) -> None:
        """Look, feel, and begin the next move if there is reason to."""
        t = now_ns * 1e-9
        self._perceive(t)
        self._hold(t)
        if t < self._ends or t < self._grip_until:
            return
        if self._phase is None and not self._begin(t):
            return
        phase = self._phase
        assert phase is not None
        if phase.grip is not None:
            self._squeeze(phase.grip)
            # jaws take their time, and so does the picture
            self._grip_until = t + 0.5 + self.person.reaction + 2.0 * self._screen()
            self._phase = None
            return
        if self._is_done(phase, t):
            self._phase = None
            return
        self._correct(phase, t)

    def _perceive(self, t: float) -> None:
        """What the eyes and the hand say now, as late as they are."""
        person, view = self.person, self.view
        self._look(self._true)
        self._seen.add(self._true)
        self._hand_force.add(self._feel[:3])
        if t >= self._glance_until:
            self._glance = person.glance * self._rng.standard_normal(self._true.shape)
            self._glance_until = t + GLANCE
        late = person.reaction + self._screen()
        view.points[:] = self._seen.at(late) + self._bias + self._glance
        scale = 1.0 + WEBER * float(self._rng.standard_normal())
        view.felt[:] = scale * self._hand_force.at(person.touched)
        force = float(np.linalg.norm(self._feel[:3]))
        dt = PERIOD_NS * 1e-9
        # recovery takes a minute; assumed
        self.tired += dt * (force / person.endurance - self.tired / 60.0)

    def _hold(self, t: float) -> None:
        """Stiffness by push and fatigue, and tremor."""
        person, hand = self.person, self.hand
        strength = 1.0 / (1.0 + self.tired)
        push = float(np.linalg.norm(self._feel[:3]))
        firm = (1.0 + person.grip * min(push, 20.0) / 10.0) * strength
        hand.stiffness = min(person.stiffness * firm, self._most[0])
        hand.damping = min(person.damping * firm**0.5, self._most[1])
        phase = 2.0 * np.pi * TREMOR_HZ * t + self._tremor_phase
        size = person.tremor * (1.0 + 2.0 * self.tired)
        hand.drag[:] = size * np.sin(phase), size * np.cos(1.1 * phase), 0.0
        hand.refresh()

    def _begin(self, t: float) -> bool:
        """Take up the next thing to do; from the start again if all was done in vain."""
        before, self._phase = self._phase_before, next(self._steps, None)
        if self._phase is None:
            self._steps = self._plan()
            self._phase = next(self._steps, None)
        self._since, self._turns = t, 0.0
        self._track.clear()
        # what is felt while a push begins in the air is the leader's own resistance
        self._free = before is None or before.push is None
        self._phase_before = self._phase
        return self._phase is not None

    def _is_done(self, phase: Phase, t: float) -> bool:
        # nothing is known before the first picture
        if t < self.person.reaction + self._screen():
            return False
        if phase.until is not None:
            return phase.until(self.view)
        return not self._waiting(t) and float(np.linalg.norm(self._away(phase))) < phase.within

    def _away(self, phase: Phase) -> Array:
        """What is left to the goal, across the direction of pushing, [m]."""
        if phase.goal is None:
            return np.zeros(3)
        left = np.asarray(phase.goal(self.view), dtype=float)
        if phase.push is not None:
            left = left - (left @ phase.push) * phase.push
        return left

    def _waiting(self, t: float) -> bool:
        """Whether the last aimed move has not been seen to end."""
        if self._wait_for == 0.0:
            return False
        person = self.person
        waited = t - self._wait_from
        if waited > MOST_WAIT + 2.0 * self._screen():
            self._wait_for = 0.0
            return False
        late = person.reaction + self._screen()
        now, before = self._seen.at(late)[TIP], self._seen.at(late + 0.1)[TIP]
        went = float(np.linalg.norm(now - self._wait_tip))
        still = float(np.linalg.norm(now - before)) < 0.1 * STILL
        # whoever works over a delay soon knows how long it is
        enough = went > SEEN_SHARE * self._wait_for or waited > late + self._screen() + 0.3
        if enough and still:
            self._wait_for = 0.0
            return False
        return True

    def _correct(self, phase: Phase, t: float) -> None:
        """Begin one move."""
        if t < self.person.reaction + self._screen():
            return
        person, move, length = self.person, np.zeros(3), 0.0
        left = self._away(phase)
        distance = float(np.linalg.norm(left))
        if distance > phase.within and not self._waiting(t):
            pace = person.caution * person.pace
            duration = max(SHORTEST, pace * float(np.sqrt(distance / phase.within)))
            scatter = person.spread * distance / duration * self._rng.standard_normal(3)
            if phase.push is not None:
                scatter -= (scatter @ phase.push) * phase.push
            move += left + scatter
            length = duration
            late = person.reaction + self._screen()
            self._wait_tip, self._wait_for = self._seen.at(late)[TIP].copy(), distance
            self._wait_from = t + duration
        if phase.push is not None:
            move += self._pushing(phase, t)
            length = max(length, PULSE)
        if length > 0.0:
            self._move(move, length, t)

    def _pushing(self, phase: Phase, t: float) -> Array:
        """The next small move of a push, and of a search while it is stuck."""
        person, push = self.person, phase.push
        assert push is not None
        wanted = phase.force * person.haste
        felt = float(self.view.felt @ push)
        if self._free and t - self._since < LEARNING:
            self._own = min(max(felt, 0.0), MOST_OWN)
        felt -= self._own
        advance = float(self.view.points[TIP] @ push)
        self._track.append((t, advance))
        while self._track[0][0] < t - 1.0:
            self._track.pop(0)
        long = t - self._since > 1.0 + 2.0 * self._screen() + person.reaction
        flat = long and advance - self._track[0][1] < FLAT
        missing = float(np.clip(1.0 - felt / wanted, -1.0, 1.0))
        step = person.slow * PULSE * missing
        if flat and felt < FELT:
            # seen to be stuck and not felt: only the eyes say how hard to push
            step *= BLIND
        move = step * push
        if phase.search and flat:
            move = move + self._searching(push)
        return move

    def _searching(self, push: Array) -> Array:
        """From one point of a spiral across the push to the next, [m]."""
        sideways = np.cross(push, [1.0, 0.0, 0.0] if abs(push[0]) < 0.9 else [0.0, 1.0, 0.0])
        sideways /= np.linalg.norm(sideways)
        other = np.cross(push, sideways)

        def point(turns: float) -> Array:
            radius, angle = PITCH * turns, 2.0 * np.pi * turns
            found: Array = radius * (np.cos(angle) * sideways + np.sin(angle) * other)
            return found

        before = point(self._turns)
        # about a pitch further along the spiral
        after = self._turns + 1.0 / (2.0 * np.pi * max(self._turns, 0.3))
        self._turns = 0.0 if PITCH * after > WIDEST else after
        found: Array = point(self._turns) - before
        return found

    def _move(self, move: Array, duration: float, t: float) -> None:
        """Begin a move where the last one ended."""
        row, end = self._rows
        row[:STEP] = t, duration
        row[BEFORE:TURNED] = end[BEFORE:TURNED]
        row[STEP : STEP + 3] = move
        end[BEFORE:TURNED] += move
        self._ends = t + duration
