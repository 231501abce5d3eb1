"""The coupling of the hazardous-environment rig: the law with the pair's mapping, in one process or over a link."""

from __future__ import annotations

from collections.abc import Callable

from farhand.analysis.threshold import load_operators
from farhand.arm import Arm
from farhand.bridge import Bridge, DirectBridge
from farhand.control.force_map import ForceMap
from farhand.coupling import Admittance, Coupling, PositionForce
from farhand.link.emulation import EmulatedLink
from farhand.link.endpoint import connect
from farhand.link.layers import Layer
from farhand.link.packet import Packet, model_hash
from farhand.linked_bridge import LinkedBridge, LinkEnd
from farhand.mapping import WorkspaceMapping
from farhand.rigs.hazardous_parts.following import Following
from farhand.rigs.hazardous_parts.shape import Hazardous
from farhand.safety import Watchdog
from farhand.station import Station

MakeLaw = Callable[[WorkspaceMapping], Coupling]

HANDLE_DAMPING = 600.0
"""Of an admittance's handle, derived, [N·s/m]: the follower's drives act 50 ms late and its wrench is felt 126 ms late,
so a wall of k N/m answers a handle at v with k v τ, τ = 0.18 s; against the rig's own 5000 N/m times 0.7, a lighter
one is thrown back until the leader trips."""


def law_maker(law: type[Coupling], shape: Hazardous) -> MakeLaw:
    """What makes the law with a mapping.

    The position–force law gets the operator's map if the shape says so, an admittance a handle that the slow follower
    bears.
    """
    people = load_operators()
    profiles = {"mean": people.limits(), **{name: people.limits(name) for name in people.names}}

    def make(mapping: WorkspaceMapping) -> Coupling:
        made = law(mapping=mapping)
        if shape.force_map and isinstance(made, PositionForce):
            made.force_map = ForceMap(profiles=profiles)  # published, Tables 4.1 and 4.2; rounded means by default
            made.force_map.operator = shape.operator
            made.force_map.refresh()
        if isinstance(made, Admittance):
            made.damping = HANDLE_DAMPING
            made.refresh()
        return made

    return make


def make_bridge(
    make: MakeLaw,
    way: Following,
    leader: Station,
    follower: Station,
    link: EmulatedLink,
    watchdog: Watchdog,
    name: str,
    layer: Layer | None = None,
) -> Bridge:
    """The law between the stations: in one process, or two ends with the emulated link between them."""
    if link.perfect and layer is None:
        return DirectBridge(make(way.mapping(leader.arm, follower.arm, True)), leader, follower, leader.period_ns)
    gravity = way.shape.gravity
    same = model_hash("hazardous", name, way.shape.mapping, way.shape.base)
    packets = [Packet(station.arm.nq, station.arm.nv, same) for station in (leader, follower)]
    to_leader, to_follower = connect(packets[0], packets[1], *link.channels)
    of_leader, of_follower = Arm.of(way.leader, gravity=gravity), Arm.of(way.robot, way.placement, gravity)
    known, ports = way.needs_models, (None, None) if layer is None else layer.ports()
    at_leader = make(way.mapping(leader.arm, of_follower, False))
    at_follower = make(way.mapping(of_leader, follower.arm, True))
    a = LinkEnd(leader, at_leader, to_leader, of_follower if known else None, watchdog, ports[0])
    b = LinkEnd(follower, at_follower, to_follower, of_leader if known else None, watchdog, ports[1])
    return LinkedBridge(a, b, leader.period_ns)
