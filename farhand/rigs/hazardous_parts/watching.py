"""What watches over the hazardous-environment rig in every tick, beside its stations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from farhand.bridge import Bridge
from farhand.linked_bridge import LinkedBridge
from farhand.mapping.ik import STATUSES
from farhand.remote_bridge import RemoteBridge
from farhand.rigs.hazardous_parts.gripper import (
    AtFollower,
    AtLeader,
    CueOverLink,
    Jaws,
    Ring,
    SameProcess,
    ToFollower,
    ToLeader,
)
from farhand.rigs.hazardous_parts.panel import GripperReadings, HandleReadings, Panel, Readings, WristReadings
from farhand.rigs.hazardous_parts.sides import Follower, Leader, Sides
from farhand.safety.collision import Phase
from farhand.safety.watches import Announcer, GripWatch, OverheatWatch, Report
from farhand.session import Part
from farhand.telemetry import Telemetry


class Steps(Protocol):
    """What is ticked."""

    def step(self, now_ns: int) -> None:
        """Once per tick; ``now_ns`` [ns]."""


@dataclass
class Watches:
    """What a side, or both, add.

    Attributes:
        parts: what is ticked, in order.
        says: what is announced.
        readings: what is recorded, in the order of the channels.
    """

    parts: list[Steps]
    says: list[Callable[[], str]]
    readings: list[Readings]


def watch(telemetry: Telemetry, sides: Sides, bridge: Bridge) -> list[Part]:
    """All that is ticked beside the stations of this process; declares the operator's stream, or the wrist's."""
    leader, follower, report = sides.leader, sides.follower, telemetry.event
    if leader is not None and follower is not None:
        watches = _together(leader, follower, bridge, report)
    elif leader is not None:
        watches = _leader_alone(leader, bridge, report)
    else:
        assert follower is not None
        watches = _follower_alone(follower, bridge)
    name, period_ns = "wrist" if leader is None else "operator", bridge.period_ns
    parts = *watches.parts, Announcer(report, *watches.says), Panel(telemetry, name, watches.readings, period_ns)
    return [Part(part.step, period_ns) for part in parts]


def _together(leader: Leader, follower: Follower, bridge: Bridge, report: Report) -> Watches:
    """Both sides in one process: ring, jaws and cue go over the link if there is one, and are known at once if not."""
    guard, wrist = follower.station.guard, WristReadings(follower.wrist, follower.cue, bridge.period_ns)
    to_follower: ToFollower
    to_leader: ToLeader
    to_follower = to_leader = SameProcess()
    buzz, crossing = wrist.buzz, list[Steps]()
    if isinstance(bridge, LinkedBridge):
        to_follower, to_leader = AtLeader(bridge.a), AtFollower(bridge.b)
        buzz, crossing = CueOverLink(bridge.a).buzz, [CueOverLink(bridge.b, wrist.buzz)]
    handle = _handle(leader, bridge, to_follower, buzz, report)
    tool = _tool(follower, bridge, to_leader, lambda: guard.trip is None)
    return Watches([*handle.parts, *tool.parts, *crossing], [*tool.says, *handle.says], [*handle.readings, wrist])


def _leader_alone(leader: Leader, bridge: Bridge, report: Report) -> Watches:
    """The operator's side: jaws and cue are known as the follower's packets tell them."""
    assert isinstance(bridge, RemoteBridge)
    return _handle(leader, bridge, AtLeader(bridge.end), CueOverLink(bridge.end).buzz, report)


def _follower_alone(follower: Follower, bridge: Bridge) -> Watches:
    """The tool's side: it stands, jaws and all, until it is coupled."""
    assert isinstance(bridge, RemoteBridge)
    end, guard, gripper = bridge.end, follower.station.guard, follower.gripper
    wrist = WristReadings(follower.wrist, follower.cue, bridge.period_ns)
    tool = _tool(follower, bridge, AtFollower(end), lambda: guard.trip is None and end.engagement.wanted)
    jaws = GripperReadings(wrist.buzz, lambda: (gripper.opening, gripper.force))
    return Watches([*tool.parts, CueOverLink(end, wrist.buzz)], tool.says, [jaws, wrist])


def _handle(leader: Leader, bridge: Bridge, carrier: ToFollower, buzz: Callable[[], float], report: Report) -> Watches:
    """What is ticked at the handle, said of its arm, and recorded for the operator."""
    gripped = GripWatch(leader.parts.deadman, bridge, lambda: bridge.b.contribution.gain > 0.0, report)
    readings: list[Readings] = [HandleReadings(leader.parts), GripperReadings(buzz, carrier.jaws)]
    return Watches([Ring(leader.parts.handle, carrier), gripped], [lambda: _wall(leader)], readings)


def _tool(follower: Follower, bridge: Bridge, carrier: ToLeader, able: Callable[[], bool]) -> Watches:
    """What is ticked at the tool, and said of its arm."""
    jaws = Jaws(follower.grip, follower.gripper, carrier, able, bridge.period_ns)
    heat = OverheatWatch(follower.overheat, follower.wrist.gauges, follower.station.guard)
    return Watches([jaws, heat], [lambda: _kinematics(follower), lambda: _retreat(follower)], [])


def _kinematics(follower: Follower) -> str:
    status = follower.retreat.status
    return "" if status == "solved" else f"inverse kinematics of the follower: {status}, {STATUSES[status]}"


def _retreat(follower: Follower) -> str:
    collision = follower.retreat.collision
    said = {Phase.RETREATING: "follower retreats from what it hit"}
    said[Phase.HOLDING] = f"follower holds after its retreat; largest force {collision.peak:.0f} N"
    return said.get(collision.phase, "")


def _wall(leader: Leader) -> str:
    clear, zone = leader.parts.wall.clearance(leader.station.arm.q), leader.parts.wall.zone
    joint = int(clear.argmin())
    return f"joint {joint + 1} of the leader is in the wall before its limit" if clear[joint] < zone else ""
