"""Things: what is around the robots of a rig and what lies between them, as plain values to draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from farhand.console.bounds import bounds_of
from farhand.console.menus import path_of
from farhand.world import GroundSpring, ImpedanceHand, Wall

if TYPE_CHECKING:
    from farhand.rigs import Rig
    from farhand.world.world import Port

Array = np.ndarray

WALL_SIZE = 0.8
"""Edge of the largest square drawn for a wall, which itself has no edges, [m]."""

WALL_SHARE = 1.2
"""That edge over the distance of the tool from the robot's base, [-]."""

HAND_FORCE = 100.0
"""With how much force a visitor's hand pulls at most, [N]; less where the leader's guard would trip
at twice that."""

ENDLESS = 4.0
"""A workspace limit farther than this from the origin is none that a picture should show, [m]."""


class Thing(TypedDict, total=False):
    """Something around the robots.

    Attributes:
        kind: ``wall`` (point, normal, size), ``spring`` (robot to anchor or to other), ``grip``
            (robot to other), ``hand`` (at robot's tool), ``tie`` (the coupling from robot to
            other), ``limits`` (a box for robot), ``ball`` (point, size), ``plane`` (point, normal),
            ``torus`` (point, normal, size, tube) or ``curves`` that bound where robot's tool may
            be, ``sole`` (low, high) that robot stands on, or its ``centre`` of gravity.
        name: in the rig.
        path: of its parameters; absent if it has none.
        robot: whose tool it touches.
        other: the robot at the far end of a spring, a grip or a coupling.
        point: middle of what is drawn, [m]; of a centre of gravity, the origin of its closed form.
        normal: of a wall, outward, of a torus, its axis; unit length.
        size: edge or diameter of what is drawn, [m].
        tube: diameter of a torus's ring, [m].
        curves: lines on a surface, each as its places, [m].
        leg: +1 or -1 where the centre of gravity is a leg's, left or right, by its closed form; 0
            for a whole robot's.
        rigid: whether a coupling is a constraint between the tools; if not, it is a spring or a
            command.
        lowest: height of its middle when it stands on the floor, [m].
        present: whether a wall is there.
        anchor: fixed end of a spring, [m].
        start: where a hand's path begins, [m].
        moves: of a hand's path, as :class:`farhand.control.trajectory.paths.Move` has them.
        stiffness: of a hand, [N/m].
        open: whether a hand has let go.
        most: force of a hand that drags, [N].
        stream: of the telemetry, with a coupling's error.
        low: lower corner of the limits, [m].
        high: upper corner of the limits, [m].
    """

    kind: str
    name: str
    path: str
    robot: str
    other: str
    point: list[float]
    normal: list[float]
    size: float
    tube: float
    curves: list[list[list[float]]]
    leg: int
    rigid: bool
    lowest: float
    present: bool
    anchor: list[float]
    start: list[float]
    moves: list[dict[str, Any]]
    stiffness: float
    open: bool
    most: float
    stream: str
    low: list[float]
    high: list[float]


def things_of(rig: Rig) -> list[Thing]:
    """Everything there is to draw around the robots of a rig."""
    world = rig.world
    found = [thing for name, port in world.ports.items() for thing in _touching(rig, name, port)]
    found += _couplings(rig)
    found += bounds_of(rig)
    for station in rig.session.stations:
        low, high = getattr(station.guard, "low", None), getattr(station.guard, "high", None)
        if (
            low is not None
            and high is not None
            and max(np.abs(low).max(), np.abs(high).max()) < ENDLESS
        ):
            box: Thing = {"kind": "limits", "name": "limits", "robot": station.name}
            found.append({**box, "low": low.tolist(), "high": high.tolist()})
    return found


def wall_place(wall_point: Array, normal: Array, tool: Array, lowest: float) -> tuple[Array, Array]:
    """Middle of what is drawn of a wall, which the tool faces, no lower than ``lowest`` [m]; and its unit normal."""
    unit = normal / np.linalg.norm(normal)
    point = tool + unit * float(unit @ (wall_point - tool))
    if abs(unit[2]) < 0.1:
        point[2] = max(point[2], lowest)
    return point, unit


def _touching(rig: Rig, robot: str, port: Port) -> Iterator[Thing]:
    """What touches one robot's tool; a tie between two tools is told by the first of them."""
    for name, touch, _ in port.touches:
        place = path_of(rig.session.parameters, touch) if touch is not None else None
        where: Thing = {"path": place} if place else {}
        if isinstance(touch, Wall):
            yield {
                **_wall(
                    name,
                    robot,
                    touch,
                    port.tool.position,
                    rig.world.placed[robot].placement.position,
                ),
                **where,
            }
        elif isinstance(touch, GroundSpring):
            yield {
                "kind": "spring",
                "name": name,
                "robot": robot,
                "anchor": touch.anchor.tolist(),
                **where,
            }
        elif isinstance(touch, ImpedanceHand):
            yield {**_hand(rig, name, robot, touch, port), **where}
        elif touch is None:
            yield from _tie(rig, robot, name)
        else:
            yield {"kind": "hand", "name": name, "robot": robot}


def _tie(rig: Rig, robot: str, name: str) -> Iterator[Thing]:
    """A spring between two tools, or an arm's grip on an object, which has no station of its own."""
    ports, stations = rig.world.ports, {station.name for station in rig.session.stations}
    ends = [
        r
        for r, port in ports.items()
        if any(n == name and touch is None for n, touch, _ in port.touches)
    ]
    if ends[0] == robot:
        kind = "grip" if len(stations.intersection(ends)) == 1 else "spring"
        yield {"kind": kind, "name": name, "robot": robot, "other": ends[-1]}


def _hand(rig: Rig, name: str, robot: str, hand: ImpedanceHand, port: Port) -> Thing:
    guards = [getattr(s.guard, "force", np.inf) for s in rig.session.stations if s.name == robot]
    moves = [
        {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(m).items()}
        for m in hand.path.moves
    ]
    return {
        "kind": "hand",
        "name": name,
        "robot": robot,
        "start": (port.tool.position - hand.drag).tolist(),
        "moves": moves,
        "stiffness": hand.stiffness,
        "open": hand.open,
        "most": float(min(HAND_FORCE, 0.5 * min(guards, default=np.inf))),
    }


def _wall(name: str, robot: str, wall: Wall, tool: Array, base: Sequence[float]) -> Thing:
    """A wall as large as the robot reaches, standing on its floor."""
    size = min(WALL_SIZE, WALL_SHARE * float(np.linalg.norm(tool - np.array(base))))
    lowest = base[2] + 0.5 * size
    point, normal = wall_place(wall.point, wall.normal, tool, lowest)
    return {
        "kind": "wall",
        "name": name,
        "robot": robot,
        "point": point.tolist(),
        "normal": normal.tolist(),
        "size": size,
        "lowest": lowest,
        "present": wall.present,
    }


def _couplings(rig: Rig) -> Iterator[Thing]:
    for index, bridge in enumerate(rig.session.bridges):
        stream = f"coupling-{index + 1}" if index else "coupling"
        if len(bridge.stations) == 2:  # the other one may run elsewhere
            a, b = bridge.stations
            tie: Thing = {
                "kind": "tie",
                "name": stream,
                "robot": a.name,
                "other": b.name,
                "stream": stream,
            }
            yield {**tie, "rigid": rig.law == "virtual-constraints"}
