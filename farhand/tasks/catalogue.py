"""The tasks that come with Farhand: mechanism, tool, what a person would do, and when it is done.

Sizes, stiffnesses and damage limits are assumed, of the order of household things.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mujoco
import numpy as np

from farhand.errors import UnknownName
from farhand.spatial import Array
from farhand.tasks.task import DOWN, SITE, TIP, Goal, Phase, Task, View, stick
from farhand.world import Jaws

ARMS: tuple[tuple[str, object], ...] = (
    ("rig.leader_plant", "vx300s"),
    ("rig.follower_plant", "vx300s"),
    ("rig.space", "tool"),
    ("rig.frequency", 40.0),
)
"""Settings of the rig pair for tasks unless others are given: arms that people teleoperate with."""

HOLE = 0.010
"""From the axis of the peg's hole to each of its eight sides, [m]."""

CHAMFER = 0.002
"""Radius of the edges of the peg and of its ribs, [m]."""


def above(height: float, row: int = SITE) -> Goal:
    """Goal: the tip over a seen point, [m]."""
    return lambda view: view.away(row) - height * DOWN


def over(view: View) -> Array:
    """Goal: the tip at the site."""
    return view.away()


def beside(place: Array) -> Goal:
    """Goal: the tip this far from the site, [m]."""
    return lambda view: view.away() + place


def deep(depth: float) -> Callable[[View], bool]:
    """Whether the tip is seen this far below the site, [m]."""
    return lambda view: float(DOWN @ -view.away()) > depth


class WatchedGoal:
    """A goal; on the way there it is seen where the site rests before it is touched."""

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self._seen: list[Array] = []

    def __call__(self, view: View) -> Array:
        """The goal."""
        self._seen.append(view.points[SITE].copy())
        return self._goal(view)

    def moved(self, view: View) -> Array:
        """How far the site has gone since, [m]."""
        gone: Array = view.points[SITE] - np.median(self._seen, axis=0)
        return gone


class Peg(Task):
    """A round peg of eight ribs in a hole of eight sides."""

    name, title, model = "peg", "put a peg into a hole, 0.5 mm of clearance all round", "peg"
    clearance = 0.0005  #: between peg and hole, [m]
    depth = 0.015  #: how deep it must be, [m]

    def geometry(self) -> list[dict[str, Any]]:
        """Ribs at the faces of the hole, with round edges."""
        radius = HOLE - self.clearance - CHAMFER
        ribs = []
        for number in range(8):
            angle = number * np.pi / 4.0
            x, y = radius * np.cos(angle), radius * np.sin(angle)
            ends = np.array([x, y, 0.0, x, y, self.tip[2] + CHAMFER])
            ribs.append({**stick(CHAMFER, self.tip, f"rib_{number}"), "fromto": ends})
        return ribs

    def plan(self) -> Iterator[Phase]:
        """Over the hole, then down, feeling about for it."""
        yield Phase(above(0.012), within=0.003)
        yield Phase(over, 0.004, DOWN, 8.0, until=deep(self.depth + 0.003), search=True)

    def done(self) -> bool:
        """The tip is deep enough."""
        seen = np.zeros((self.points, 3))
        self.look(seen)
        return bool(seen[SITE, 2] - seen[TIP, 2] > self.depth)


class LoosePeg(Peg):
    """The same with more room."""

    name, title = "peg-loose", "put a peg into a hole, 1 mm of clearance all round"
    clearance = 0.001


class TightPeg(Peg):
    """The same with less room."""

    name, title = "peg-tight", "put a peg into a hole, 0.2 mm of clearance all round"
    clearance = 0.0002


class Plug(Peg):
    """Two pins in a socket whose leaves hold them."""

    name, title, model = "plug", "push a plug with two pins into its socket", "plug"
    depth = 0.012
    damage = 80.0

    def geometry(self) -> list[dict[str, Any]]:
        """Two pins of 4 mm, 19 mm apart."""
        x, _, z = self.tip
        pins = []
        for name, y in (("pin_left", 0.0095), ("pin_right", -0.0095)):
            ends = np.array([x, y, 0.0, x, y, z + 0.002])
            pins.append({**stick(0.002, self.tip, name), "fromto": ends})
        return pins

    def plan(self) -> Iterator[Phase]:
        """Over the holes, then down with more force than for a peg."""
        yield Phase(above(0.012), within=0.003)
        yield Phase(over, 0.003, DOWN, 20.0, until=deep(self.depth + 0.002), search=True)


class Dome:
    """The spring of a button: it gives way at a click and is firm below it.

    Args:
        port: the mechanism's side of the world, with the button's slide as its only joint.
    """

    TRAVEL = np.array([0.0, 0.0015, 0.0022, 0.004])  #: [m]
    FORCE = np.array([0.5, 7.0, 3.5, 18.0])  #: [N]
    CLICK = 0.0022  #: travel at which the button switches, [m]

    def __init__(self, port: Any) -> None:
        self.port, self.now = port, np.zeros(port.nv)

    def at(self, t: float) -> None:
        """Write the force at time ``t`` into ``now``, [N]."""
        self.now[-1] = float(np.interp(-float(self.port.q[-1]), self.TRAVEL, self.FORCE))


class Button(Task):
    """A button with a click."""

    name, title, model = "button", "press a button until it clicks, and let go", "button"
    ahead = (0.02, -0.02, -0.03)
    seconds = 20.0

    def joined(self) -> None:
        """The dome pushes back."""
        self.world.push("task", Dome(self.port))
        self._clicked = False

    def observe(self, force: Array, dt: float) -> None:
        """Whether it has switched."""
        self._clicked |= -self.joint("cap") > Dome.CLICK

    def plan(self) -> Iterator[Phase]:
        """Over the cap, down until the cap is seen to have gone, and up again."""
        watched = WatchedGoal(above(0.012))
        yield Phase(watched, within=0.004)
        yield Phase(over, 0.005, DOWN, 12.0, until=lambda view: watched.moved(view)[2] < -0.0025)
        yield Phase(above(0.012), within=0.008)

    def done(self) -> bool:
        """It has switched, and nothing presses it any more."""
        return self._clicked and -self.joint("cap") < 0.25 * Dome.CLICK


class Crank(Task):
    """A crank with a cup for the tool."""

    name, title, model = "crank", "turn a crank once around", "crank"
    ahead = (0.0, 0.03, -0.03)
    points = 3
    radius = 0.04
    seconds = 60.0

    def look(self, points: Array) -> None:
        """The cup, and the axis."""
        super().look(points)
        points[2] = self.world.data.body("task/crank").xpos

    def plan(self) -> Iterator[Phase]:
        """Into the cup, then around the axis in small arcs."""
        yield Phase(above(0.012), within=0.004)
        yield Phase(over, 0.004, DOWN, 5.0, until=deep(0.010), search=True)

        def around(view: View) -> Array:
            arm = (view.points[SITE] - view.points[2]) * (1.0, 1.0, 0.0)
            angle = np.arctan2(arm[1], arm[0]) + 0.6
            rim = self.radius * np.array([np.cos(angle), np.sin(angle), 0.0])
            goal = view.points[2] + rim - view.points[TIP]
            goal[2] = 0.0
            return np.asarray(goal)

        yield Phase(around, 0.004, DOWN, 4.0, until=lambda view: False)

    def done(self) -> bool:
        """Once around, either way."""
        return abs(self.joint("crank")) > 2.0 * np.pi


class Door(Task):
    """A door with a lever and a latch."""

    name, title, model = "door", "press a door's lever down and push the door open", "door"
    ahead = (0.015, 0.01, -0.03)
    spread = 0.008
    seconds, damage = 30.0, 80.0

    def plan(self) -> Iterator[Phase]:
        """Onto the lever, down with it, and forward."""
        watched = WatchedGoal(above(0.012))
        moved = watched.moved
        yield Phase(watched, within=0.004)
        yield Phase(over, 0.005, DOWN, 15.0, until=lambda view: moved(view)[2] < -0.025)
        yield Phase(push=self.along, force=15.0, until=lambda view: moved(view) @ self.along > 0.05)

    def done(self) -> bool:
        """It is open."""
        return self.joint("door") > 0.25


class Wipe(Task):
    """Spots on a table, to be wiped off with some force."""

    name, title, model = "wipe", "wipe five spots off a table", "wipe"
    ahead = (0.0, 0.0, -0.03)
    points = 2
    seconds = 60.0
    least = 2.0  #: force that wipes, [N]
    near = 0.012  #: from the middle of the sponge to a spot, [m]
    spots = np.array([[0.0, 0.0], [0.03, 0.03], [-0.03, 0.03], [-0.03, -0.03], [0.03, -0.03]])

    def geometry(self) -> list[dict[str, Any]]:
        """A sponge on four feet."""
        return [
            {
                "name": f"foot_{number}",
                "type": mujoco.mjtGeom.mjGEOM_SPHERE,
                "size": [0.006, 0.0, 0.0],
                "pos": np.array([x, y, self.tip[2] + 0.006]),
            }
            for number, (x, y) in enumerate(
                ((0.01, 0.01), (-0.01, 0.01), (-0.01, -0.01), (0.01, -0.01))
            )
        ]

    def joined(self) -> None:
        """No spot is wiped yet."""
        self.wiped = np.zeros(len(self.spots), dtype=bool)
        places = np.column_stack([self.spots, np.zeros(len(self.spots))]) @ self.axes.T
        self.places = places + self.port.tool.position

    def observe(self, force: Array, dt: float) -> None:
        """A spot is wiped where the sponge is pressed on it."""
        if force[2] >= self.least:
            away = self.places - self.tool.position
            self.wiped |= np.hypot(away[:, 0], away[:, 1]) < self.near

    def plan(self) -> Iterator[Phase]:
        """Down, then from spot to spot while pressing, with some to spare but not much friction."""
        press = 2.5 * self.least
        yield Phase(above(0.012), within=0.005)
        yield Phase(push=DOWN, force=press, until=lambda view: float(view.away() @ DOWN) < 0.001)
        for spot in self.spots[[1, 2, 3, 4, 0]]:
            place = self.axes @ np.array([*spot, 0.0])
            yield Phase(beside(place), 0.006, DOWN, press)

    def done(self) -> bool:
        """No spot is left."""
        return bool(self.wiped.all())


class ToMark(Task):
    """Something that has to get to a mark."""

    points = 3
    mark: Array  #: from where it starts, in the task's axes, [m]

    def joined(self) -> None:
        """The mark is fixed."""
        placement = self.world.placed["task"].placement
        self.target = np.array(placement.position) + self.axes @ self.mark

    def look(self, points: Array) -> None:
        """The thing, and the mark."""
        super().look(points)
        points[2] = self.target


class Pick(ToMark):
    """A cube to be taken, carried and put down."""

    name, title, model = "pick", "take a cube and put it down on a mark", "pick"
    ahead = (0.02, -0.04, -0.05)
    seconds = 60.0
    mark = np.array([0.0, 0.08, 0.02])
    crush = 0.002  #: how deep the closed pads are in the cube, [m]

    def __init__(self) -> None:
        super().__init__()
        self.jaws = Jaws(clamp=30.0, friction=0.8, crush=self.crush)

    def geometry(self) -> list[dict[str, Any]]:
        """Two pads that meet the cube from its sides."""
        thick = 0.005
        return [
            {
                "name": name,
                "type": mujoco.mjtGeom.mjGEOM_BOX,
                "size": [0.012, thick, 0.012],
                "pos": np.array([0.0, side * (0.02 + thick - self.crush), self.tip[2]]),
                "contype": 2,
                "conaffinity": 0,
                "priority": 1,
            }
            for name, side in (("pad_upper", 1.0), ("pad_lower", -1.0))
        ]

    def plan(self) -> Iterator[Phase]:
        """Down to the cube, take it, over the mark, down, let go, and up."""
        yield Phase(above(0.03), within=0.005)
        yield Phase(above(0.0), within=0.005)
        yield Phase(grip=True)
        yield Phase(lambda view: view.points[2] - view.points[SITE] - 0.03 * DOWN, within=0.006)
        yield Phase(lambda view: view.points[2] - view.points[SITE], within=0.005)
        yield Phase(grip=False)
        yield Phase(above(0.05), within=0.01)

    def done(self) -> bool:
        """It stands on the mark, and nothing holds it."""
        off = self.port.tool.position - self.target
        still = float(np.linalg.norm(self.port.v)) < 0.01
        assert self.jaws is not None
        on = bool(np.hypot(off[0], off[1]) < 0.015 and abs(off[2]) < 0.003)
        return on and still and not self.jaws.closed


class Push(ToMark):
    """A box to be pushed."""

    name, title, model = "push", "push a box to a mark", "push"
    ahead = (0.06, 0.0, -0.03)
    turn = 0.15
    seconds = 30.0
    mark = np.array([0.06, 0.0, 0.03])

    def plan(self) -> Iterator[Phase]:
        """Behind the box, then push it along and keep it in line."""

        def behind(view: View) -> Array:
            return view.away() - 0.045 * self.along

        def in_line(view: View) -> Array:
            # a box that is left of its way is pushed from further left
            off = view.points[SITE] - view.points[2]
            found: Array = view.away() + (off @ self.side) * self.side
            return (found @ self.side) * self.side

        yield Phase(behind, within=0.008)
        yield Phase(
            in_line,
            within=0.006,
            push=self.along,
            force=8.0,
            until=lambda view: (view.points[2] - view.points[SITE]) @ self.along < 0.002,
        )

    def done(self) -> bool:
        """It stands at the mark."""
        off = self.port.tool.position - self.target
        still = float(np.linalg.norm(self.port.v)) < 0.01
        return bool(np.hypot(off[0], off[1]) < 0.012) and still


TASKS: dict[str, type[Task]] = {
    task.name: task
    for task in (Peg, LoosePeg, TightPeg, Door, Crank, Plug, Wipe, Pick, Button, Push)
}
"""Every task by name."""


def make_task(name: str) -> Task:
    """The task of that name.

    Raises:
        UnknownName: there is none.
    """
    if name not in TASKS:
        raise UnknownName("task", name, TASKS)
    return TASKS[name]()
