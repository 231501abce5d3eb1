"""What watches over the hazardous-environment rig in every tick, beside its stations."""

from __future__ import annotations

from farhand.bridge import Bridge
from farhand.mapping.ik import STATUSES
from farhand.rigs.hazardous_parts.gripper import GripperChannel, carrier_of
from farhand.rigs.hazardous_parts.panel import Panel
from farhand.rigs.hazardous_parts.sides import Follower, Leader
from farhand.safety.collision import Phase
from farhand.safety.watches import Announcer, GripWatch, OverheatWatch
from farhand.session import Part
from farhand.telemetry import Telemetry


def watch(telemetry: Telemetry, leader: Leader, follower: Follower, bridge: Bridge) -> list[Part]:
    """All that is ticked beside the stations; declares the operator's stream."""
    guard, period_ns = follower.station.guard, leader.station.period_ns
    gripper = GripperChannel(
        leader.parts.handle, follower.grip, follower.gripper, carrier_of(bridge), lambda: guard.trip is None, period_ns
    )
    report = telemetry.event
    parts = (
        gripper,
        GripWatch(leader.parts.deadman, bridge, lambda: bridge.b.contribution.gain > 0.0, report),
        OverheatWatch(follower.overheat, follower.wrist.gauges, guard),
        Announcer(report, lambda: _kinematics(follower), lambda: _retreat(follower), lambda: _wall(leader)),
        Panel(telemetry, leader.parts, follower.wrist, follower.cue, gripper, period_ns),
    )
    return [Part(part.step, period_ns) for part in parts]


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
