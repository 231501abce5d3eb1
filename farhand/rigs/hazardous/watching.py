"""What runs beside the stations of the hazardous-environment rig, and the operator's panel.

The panel records handle, gripper and the sensor's thermometer. With both sides in one process it is
one stream, ``operator``; apart, the leader records the handle and what it receives in ``operator``,
and the follower the wrist in ``wrist``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from farhand.loop.bridges.bridge import Bridge
from farhand.loop.bridges.linked import LinkedBridge
from farhand.loop.bridges.remote import RemoteBridge
from farhand.loop.telemetry import Telemetry
from farhand.mapping.ik import STATUSES
from farhand.rigs.hazardous.gripper import (
    AtFollower,
    AtLeader,
    CueOverLink,
    JawsChannel,
    RingSender,
    SameProcess,
    ToFollower,
    ToLeader,
)
from farhand.rigs.hazardous.parts import Follower, Leader, Sides
from farhand.safety.retreating import RetreatPhase
from farhand.safety.watches import Announcer, GripWatch, OverheatWatch, Report

WRENCH_AXES = ("fx", "fy", "fz", "tx", "ty", "tz")
Step = Callable[[int], None]


@dataclass(frozen=True)
class PanelReading:
    """One channel of the panel, and the function that reads its value in every tick."""

    name: str
    size: int
    unit: str
    value: Callable[[], Any]
    labels: tuple[str, ...] = ()


class Panel:
    """Records readings in the order given.

    They are read from the last to the first, because the wrist decides on the cue.
    """

    def __init__(
        self, telemetry: Telemetry, name: str, readings: Sequence[PanelReading], period_ns: int
    ) -> None:
        self._stream = stream = telemetry.stream(name, 1e9 / period_ns)
        channels = [stream.channel(one.name, one.size, one.unit, one.labels) for one in readings]
        self._channels = [*zip(channels, readings, strict=True)][::-1]

    def step(self, now_ns: int) -> None:
        """Publish this tick."""
        for channel, reading in self._channels:
            channel[:] = reading.value()
        self._stream.commit(now_ns)


class WristReadings:
    """The follower's wrist, and the decision on the cue in the handle."""

    def __init__(self, follower: Follower, period_ns: int) -> None:
        self._wrist = follower.wrist
        self._cue = follower.cue
        self._dt = period_ns * 1e-9
        self._buzz = 0.0

    def buzz(self) -> float:
        """Whether the handle must buzz, as last decided, [-]."""
        return self._buzz

    def readings(self) -> list[PanelReading]:
        """Temperature, and the contact wrench before its filter."""
        gauges = self._wrist.gauges
        return [
            PanelReading("temperature_of_sensor", 1, "°C", lambda: gauges.reading),
            PanelReading("wrench_contact_raw_in_world", 6, "N, N·m", self._contact, WRENCH_AXES),
        ]

    def _contact(self) -> Any:
        contact = self._wrist.contact
        # Without a measurement the cue stays as it is.
        if contact is None:
            return float("nan")
        self._buzz = float(self._cue.step(contact[:3], self._wrist.gauges.acceleration, self._dt))
        return contact


@dataclass
class Watches:
    """What a side adds: steps in order, announcements, and readings in the order of channels."""

    steps: Sequence[Step]
    announcements: Sequence[Callable[[], str]]
    readings: Sequence[PanelReading] = ()


def watch(telemetry: Telemetry, sides: Sides, bridge: Bridge) -> list[Step]:
    """All steps beside the stations of this process; declares the panel's stream."""
    leader, follower, report = sides.leader, sides.follower, telemetry.event
    if leader is not None and follower is not None:
        watches = _together(leader, follower, bridge, report)
    elif leader is not None:
        watches = _leader_alone(leader, bridge, report)
    else:
        assert follower is not None
        watches = _follower_alone(follower, bridge)
    name = "wrist" if leader is None else "operator"
    panel = Panel(telemetry, name, watches.readings, bridge.period_ns)
    return [*watches.steps, Announcer(report, *watches.announcements).step, panel.step]


def _together(leader: Leader, follower: Follower, bridge: Bridge, report: Report) -> Watches:
    """Both sides in one process; ring, jaws and cue go over the link if there is one."""
    guard = follower.station.guard
    wrist = WristReadings(follower, bridge.period_ns)
    to_follower: ToFollower
    to_leader: ToLeader
    to_follower = to_leader = SameProcess()
    buzz = wrist.buzz
    crossing: list[Step] = []
    if isinstance(bridge, LinkedBridge):
        to_follower, to_leader = AtLeader(bridge.a), AtFollower(bridge.b)
        buzz = CueOverLink(bridge.a).buzz
        crossing = [CueOverLink(bridge.b, wrist.buzz).step]
    handle = _handle(leader, bridge, to_follower, buzz, report)
    tool = _tool(follower, bridge, to_leader, lambda: guard.trip is None)
    return Watches(
        [*handle.steps, *tool.steps, *crossing],
        [*tool.announcements, *handle.announcements],
        [*handle.readings, *wrist.readings()],
    )


def _leader_alone(leader: Leader, bridge: Bridge, report: Report) -> Watches:
    """The operator's side: jaws and cue come with the follower's packets."""
    assert isinstance(bridge, RemoteBridge)
    return _handle(leader, bridge, AtLeader(bridge.end), CueOverLink(bridge.end).buzz, report)


def _follower_alone(follower: Follower, bridge: Bridge) -> Watches:
    """The tool's side: arm and jaws stand still until it is coupled."""
    assert isinstance(bridge, RemoteBridge)
    end, guard, gripper = bridge.end, follower.station.guard, follower.gripper
    wrist = WristReadings(follower, bridge.period_ns)
    tool = _tool(
        follower, bridge, AtFollower(end), lambda: guard.trip is None and end.engagement.wanted
    )
    jaws = _gripper_readings(wrist.buzz, lambda: (gripper.opening, gripper.force))
    steps = [*tool.steps, CueOverLink(end, wrist.buzz).step]
    return Watches(steps, tool.announcements, [*jaws, *wrist.readings()])


def _gripper_readings(
    buzz: Callable[[], float], jaws: Callable[[], tuple[float, float]]
) -> list[PanelReading]:
    return [
        PanelReading("cue", 1, "-", buzz),
        PanelReading("gripper", 2, "m, N", jaws, ("opening", "force")),
    ]


def _handle(
    leader: Leader, bridge: Bridge, carrier: ToFollower, buzz: Callable[[], float], report: Report
) -> Watches:
    """At the handle: ring, grip and the wall before the joints' limits."""
    handle, deadman = leader.parts.handle, leader.parts.deadman
    engaged = lambda: bridge.b.contribution.gain > 0.0  # noqa: E731
    gripped = GripWatch(deadman, bridge, engaged, report)
    readings = [
        PanelReading("grip", 1, "N", lambda: handle.grip),
        PanelReading("gripped", 1, "-", lambda: deadman.enabled),
        *_gripper_readings(buzz, carrier.jaws),
    ]
    steps = [RingSender(handle, carrier).step, gripped.step]
    return Watches(steps, [lambda: _joint_wall(leader)], readings)


def _tool(
    follower: Follower, bridge: Bridge, carrier: ToLeader, able: Callable[[], bool]
) -> Watches:
    """At the tool: jaws, heat, kinematics and retreat."""
    jaws = JawsChannel(follower.grip, follower.gripper, carrier, able, bridge.period_ns)
    heat = OverheatWatch(follower.overheat, follower.wrist.gauges, follower.station.guard)
    announcements = [lambda: _kinematics(follower), lambda: _retreat(follower)]
    return Watches([jaws.step, heat.step], announcements)


def _kinematics(follower: Follower) -> str:
    status = follower.retreat.status
    if status == "solved":
        return ""
    return f"inverse kinematics of the follower: {status}, {STATUSES[status]}"


def _retreat(follower: Follower) -> str:
    collision = follower.retreat.collision
    if collision.phase is RetreatPhase.RETREATING:
        return "follower retreats from what it hit"
    if collision.phase is RetreatPhase.HOLDING:
        return f"follower holds after its retreat; largest force {collision.peak:.0f} N"
    return ""


def _joint_wall(leader: Leader) -> str:
    wall = leader.parts.wall
    clear = wall.clearance(leader.station.arm.q)
    joint = int(clear.argmin())
    if clear[joint] >= wall.zone:
        return ""
    return f"joint {joint + 1} of the leader is in the wall before its limit"
