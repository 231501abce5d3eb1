"""What is around and between the robots of a rig, as plain values to draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from farhand.console.geometry import (
    ball_circles,
    box_edges,
    crossed_square,
    segments,
    torus_circles,
)
from farhand.console.menus import path_of
from farhand.control.haptic.haptic_objects import (
    AnkleObject,
    Ball,
    ElbowObject,
    HalfSpace,
    HapticObject,
    Torus,
)
from farhand.mapping.joint_map import JointMapping
from farhand.mapping.limbs import ArmChain, LegChain
from farhand.mapping.pen import PenMapping
from farhand.world import GroundSpring, ImpedanceHand, Wall

if TYPE_CHECKING:
    from farhand.rigs import Rig
    from farhand.world.world import Port

Array = np.ndarray

MAX_WALL_SIZE = 0.8
"""Edge of the largest square drawn for a wall, [m]."""

WALL_SHARE = 1.2
"""That edge over the distance of the tool from the robot's base, [-]."""

MIN_LEVER = 1e-3  # [m], below which a joint does not count for a force
MIN_TURN = 1e-9  # [rad/m], below which a joint does not count for a motion
FAR = 0.12
"""How far a hand on a pen leads the follower's goal from where it began, [m]."""

MAX_HAND_FORCE = 100.0
"""Largest force of a visitor's hand, [N]; at most half of what trips the leader's guard, and no
more than a device or a small arm can push back with."""

MAX_HAND_SPEED = 0.5  # [m/s]; a mouse is faster than any arm
HAND_SHARE = 0.25
"""Share of the speed that the arms can follow at which a visitor's hand moves: what it leads swings
beyond, and moves on into poses where the same speed asks more of a joint."""

GIVE_WAY = 0.25
"""Share of the force that trips the follower's guard, above which a visitor's hand goes back. It
leaves room for the bounce of a follower that meets a wall before the hand knows of it."""

LARGE_PULL = 0.5
"""Share of the force that trips the follower's guard from which a law's pull on it is large, [-]:
its tracking error is then large too, and not every follower measures the force."""

MAX_LIMIT = 4.0
"""A workspace limit farther than this from the origin is not drawn, [m]."""

PLANE_SIZE = 0.2  # [m], edge of the square drawn for a plane that bounds a workspace
CURVE_POINTS = 13  # on each curve of a surface that is drawn as curves


class Thing(TypedDict, total=False):
    """Something around the robots."""

    # ``wall``, ``spring`` (robot to anchor or to other), ``grip`` (robot to other), ``hand`` (at
    # robot's tool), ``tie`` (the coupling from robot to other), ``limits`` of where robot's tool
    # may be, ``region`` where robot's pen leads other's tool by position, ``sole`` that robot
    # stands on, or its ``centre`` of gravity
    kind: str
    name: str  # in the rig
    path: str  # of its parameters; absent if it has none
    robot: str  # whose tool it touches
    other: str  # the robot at the far end of a spring, a grip, a coupling or a region's map
    # middle of what is drawn, [m]; of a centre of gravity, the origin of its closed form
    point: list[float]
    normal: list[float]  # of a wall, outward; unit length
    size: float  # edge of a wall as it is drawn, [m]
    lines: list[list[list[float]]]  # that show limits, each from one place to another, [m]
    leg: int  # +1 or -1 if the centre of gravity is a left or right leg's; 0 for a whole robot's
    rigid: bool  # whether a coupling is a constraint between the tools
    lowest: float  # height of its middle when it stands on the floor, [m]
    present: bool  # whether a wall is there
    anchor: list[float]  # fixed end of a spring, [m]
    start: list[float]  # where a hand's path begins, [m]
    # of a hand's path, as :class:`farhand.control.trajectory.paths.Move` has them
    moves: list[dict[str, Any]]
    stiffness: float  # of a hand, [N/m]
    open: bool  # whether a hand has let go
    most: float  # force of a hand that drags, [N]
    speed: float  # of a hand that drags, [m/s]
    gives_way: float  # force on other above which a hand goes back, [N]; absent if it leads none
    lower: list[float]  # limits of other's joints, at which one on a pen does too, [rad] or [m]
    upper: list[float]
    far: float  # distance of other's goal from where it began, at which one on a pen does too, [m]
    stream: str  # of the telemetry, with a coupling's error
    joints: list[str]  # that a coupling of joints drives, by name; absent if it couples tools
    slides: list[bool]  # which of them slide
    large: float  # pull of a law on other from which it is large, [N]
    low: list[float]  # lower corner of a sole, [m]
    high: list[float]  # upper corner of a sole, [m]


def things_of(rig: Rig) -> list[Thing]:
    """Everything there is to draw around the robots of a rig."""
    ports = rig.world.ports.items()
    things = [thing for name, port in ports for thing in _touching(rig, name, port)]
    things += _couplings(rig)
    things += bounds_of(rig)
    for station in rig.session.stations:
        low, high = station.guard.low, station.guard.high
        if np.abs([low, high]).max() < MAX_LIMIT:
            things.append(_limits("limits", station.name, box_edges(low, high)))
    return things


def _limits(name: str, robot: str, lines: Array) -> Thing:
    return {"kind": "limits", "name": name, "robot": robot, "lines": lines.tolist()}


def wall_place(wall_point: Array, normal: Array, tool: Array, lowest: float) -> tuple[Array, Array]:
    """Middle of what is drawn of a wall, facing the tool, not below ``lowest`` [m]; its normal."""
    unit = normal / np.linalg.norm(normal)
    point = tool + unit * float(unit @ (wall_point - tool))
    if abs(unit[2]) < 0.1:
        point[2] = max(point[2], lowest)
    return point, unit


def _touching(rig: Rig, robot: str, port: Port) -> Iterator[Thing]:
    """What touches one robot's tool; a tie between two tools belongs to the first of them."""
    for name, touch, _ in port.touches:
        place = path_of(rig.session.parameters, touch) if touch is not None else None
        about: Thing = {"name": name, "robot": robot}
        if place:
            about["path"] = place
        if isinstance(touch, Wall):
            base = rig.world.placed[robot].placement.position
            yield {**_wall(touch, port.tool.position, base), **about}
        elif isinstance(touch, GroundSpring):
            yield {"kind": "spring", "anchor": touch.anchor.tolist(), **about}
        elif isinstance(touch, ImpedanceHand):
            yield {**_hand(rig, robot, touch, port), **about}
        elif touch is None:
            yield from _tie(rig, robot, name)
        else:
            yield {"kind": "hand", "name": name, "robot": robot}


def _tie(rig: Rig, robot: str, name: str) -> Iterator[Thing]:
    """A spring between two tools, or an arm's grip on an object, which has no station."""
    stations = {station.name for station in rig.session.stations}
    ends = [other for other, port in rig.world.ports.items() if _is_tied(port, name)]
    if ends[0] == robot:
        kind = "grip" if len(stations.intersection(ends)) == 1 else "spring"
        yield {"kind": kind, "name": name, "robot": robot, "other": ends[-1]}


def _is_tied(port: Port, name: str) -> bool:
    return any(touch is None and tie == name for tie, touch, _ in port.touches)


def tool_strength(rig: Rig, robot: str) -> float:
    """Force that an arm can exert along the weakest of the world's axes as it stands, [N]."""
    lever = np.abs(rig.world.ports[robot].J[:3])  # [m]
    torque = np.array(rig.world.placed[robot].robot.limits.torque)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(lever > MIN_LEVER, torque / lever, np.inf).min(initial=np.inf))


def tool_speed(rig: Rig, robot: str) -> float:
    """Speed of a tool that no joint is too slow for, in any direction as it stands, [m/s]."""
    turns = np.linalg.norm(np.linalg.pinv(rig.world.ports[robot].J[:3]), axis=1)  # [rad/m]
    speed = np.array(rig.world.placed[robot].robot.limits.velocity)
    return float((speed / np.maximum(turns, MIN_TURN)).min(initial=np.inf))


def _hand(rig: Rig, robot: str, hand: ImpedanceHand, port: Port) -> Thing:
    stations = [station for station in rig.session.stations if station.name == robot]
    most = [0.5 * station.guard.force for station in stations]
    most += [station.plant.force_peak for station in stations]
    # Nobody pulls a small arm with more than it could ever push back
    most += [tool_strength(rig, station.name) for station in stations]
    moves = [asdict(move).items() for move in hand.path.moves]
    led: Thing = {}
    speeds = [tool_speed(rig, station.name) for station in stations]
    for bridge in rig.session.bridges:
        if [station.name for station in bridge.stations][:1] == [robot]:
            followers = bridge.stations[1:]
            speeds += [tool_speed(rig, follower.name) for follower in followers]
            if followers:
                name = followers[0].name
                led["other"], led["gives_way"] = name, GIVE_WAY * followers[0].guard.force
            if followers and isinstance(bridge.laws[0].mapping, PenMapping):
                limits = rig.world.placed[name].robot.limits
                led["far"] = FAR
                led["lower"], led["upper"] = limits.lower.tolist(), limits.upper.tolist()
    return {
        "kind": "hand",
        "start": (port.tool.position - hand.drag).tolist(),
        "moves": [{k: list(v) if isinstance(v, tuple) else v for k, v in move} for move in moves],
        "stiffness": hand.stiffness,
        "open": hand.open,
        "most": float(min([MAX_HAND_FORCE, *most])),
        "speed": float(min([MAX_HAND_SPEED, *(HAND_SHARE * speed for speed in speeds)])),
        **led,
    }


def _wall(wall: Wall, tool: Array, base: Sequence[float]) -> Thing:
    """A wall as large as the robot reaches, standing on its floor."""
    size = min(MAX_WALL_SIZE, WALL_SHARE * float(np.linalg.norm(tool - np.array(base))))
    lowest = base[2] + 0.5 * size
    point, normal = wall_place(wall.point, wall.normal, tool, lowest)
    return {
        "kind": "wall",
        "point": point.tolist(),
        "normal": normal.tolist(),
        "size": size,
        "lowest": lowest,
        "present": wall.present,
    }


def _couplings(rig: Rig) -> Iterator[Thing]:
    for index, bridge in enumerate(rig.session.bridges):
        stream = f"coupling-{index + 1}" if index else "coupling"
        # The other side may run elsewhere
        if len(bridge.stations) == 2:
            leader, follower = bridge.stations
            ends: Thing = {"name": stream, "robot": leader.name, "other": follower.name}
            tie: Thing = {"kind": "tie", **ends, "stream": stream}
            tie["large"] = LARGE_PULL * follower.guard.force
            mapping = bridge.laws[0].mapping
            if isinstance(mapping, JointMapping):
                tie["joints"] = list(mapping.names)
                tie["slides"] = np.array(mapping.slides).tolist()
            yield {**tie, "rigid": rig.law == "virtual-constraints"}
            if isinstance(mapping, PenMapping):
                path = path_of(rig.session.parameters, mapping) or ""
                yield {"kind": "region", **ends, "path": path}


def bounds_of(rig: Rig) -> Iterator[Thing]:
    """The limits of a limb's workspace that a hand feels, and the limb's balance."""
    controllers = [station.controller for station in rig.session.stations]
    synthetic = [each.synthetic for each in controllers if each.synthetic is not None]
    for station in rig.session.stations:
        base = station.controller.workspace_origin
        if base is None:
            continue
        for force in synthetic:
            for item in force.objects:
                yield _limits(item.name, station.name, _lines(item, base))
            yield from _balance(rig, station, base, force.balance)


def _lines(item: HapticObject, base: Array) -> Array:
    """Lines on the surfaces of an object, shape (n, 2, 3), [m]."""
    if isinstance(item, Ball):
        return ball_circles(base + item.centre, item.radius)
    if isinstance(item, HalfSpace):
        return crossed_square(base + item.point, np.array(item.normal), PLANE_SIZE)
    if isinstance(item, Torus):
        return torus_circles(base, np.array(item.axis), item.major, item.minor)
    if isinstance(item, ElbowObject):
        return np.concatenate([_lines(item.ball, base), _lines(item.torus, base)])
    curves = base + _ankle(item) if isinstance(item, AnkleObject) else np.zeros((1, 1, 3))
    return np.concatenate([segments(curve) for curve in curves])


def _ankle(item: AnkleObject) -> Array:
    """Where the leg is with its ankle at a limit, shape (6, n, 3), [m]: three leans, three bends.

    The whole torus would fill most of the picture; it bounds the workspace only where the leg can
    be, and the hip is never below the ankle.
    """
    leg = item.leg
    flexed = (leg.highest if item.upper else leg.lowest)[1]
    # [rad], at which the hip is as low as the ankle
    level = flexed + np.arccos(max(-1.0, -leg.shank / leg.thigh * np.cos(flexed))) - 1e-6
    leans = np.linspace(leg.lowest[0], leg.highest[0], CURVE_POINTS)
    bends = np.linspace(leg.lowest[2], min(leg.highest[2], level), CURVE_POINTS)
    q = np.full((6, CURVE_POINTS, 3), flexed)  # [rad]
    for row, part in enumerate((0, CURVE_POINTS // 2, -1)):
        q[row, :, 0], q[row, :, 2] = leans[part], bends
        q[row + 3, :, 0], q[row + 3, :, 2] = leans, bends[part]
    return leg.forward(q)


def _balance(rig: Rig, station: Any, base: Array, balance: Any) -> Iterator[Thing]:
    """The soles that a robot stands on and its centre of gravity, if it has feet."""
    model, robot = rig.world.model, station.name
    sites = [(k, *model.site(k).name.partition("/")[::2]) for k in range(model.nsite)]
    soles = [(k, name) for k, owner, name in sites if owner == robot and name.endswith("sole")]
    for index, name in soles:
        sole = rig.world.data.site_xpos[index]
        low, high = (
            [*map(float, sole[:2] + corner), float(sole[2])]
            for corner in (balance.low, balance.high)
        )
        yield {"kind": "sole", "name": name, "robot": robot, "low": low, "high": high}
    if soles:
        chain = station.controller.chain
        about: Thing = {"kind": "centre", "name": "centre of gravity", "robot": robot}
        side = chain.side if isinstance(chain, LegChain) else 0
        yield {**about, "point": base.tolist(), "leg": side}


def chain_of(limb: str) -> ArmChain | LegChain:
    """The closed form of a limb such as ``left-arm``."""
    side = 1 if limb.startswith("left") else -1
    return ArmChain(side=side) if limb.endswith("arm") else LegChain(side=side)
