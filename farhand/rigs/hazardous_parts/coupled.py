"""The coupling of the hazardous-environment rig: the law with the mapping, in one process, over a link, or one end."""

from __future__ import annotations

from collections.abc import Callable

from farhand.analysis.threshold import load_operators
from farhand.bridge import Bridge, DirectBridge
from farhand.control.force_map import ForceMap
from farhand.coupling import Admittance, Coupling, PositionForce
from farhand.link.emulation import EmulatedLink
from farhand.link.layers import Layer
from farhand.link.packet import Packet, model_hash
from farhand.linked_bridge import LinkEnd
from farhand.mapping import WorkspaceMapping
from farhand.parameters import describe
from farhand.rigs.hazardous_parts.following import Following
from farhand.rigs.hazardous_parts.shape import PLACES, Hazardous
from farhand.rigs.one_side import OTHER, endpoint_of, linked_bridge
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


def make_ends(
    make: MakeLaw, way: Following, stations: dict[str, Station], watchdog: Watchdog, name: str, layer: Layer | None
) -> Callable[[str], LinkEnd]:
    """What makes the end of a link at one side: its own law, and a model of the other side where the mapping needs one.

    Args:
        make: the law with a mapping.
        way: how the follower follows.
        stations: those of this process, by role.
        watchdog: of both ends.
        name: of the law.
        layer: around the law, or None.
    """
    shaped = [f"{path}={value}" for path, value, *_ in describe({"rig": way.shape}) if path != "rig.rate"]
    same = model_hash("hazardous", name, *shaped)
    ports = dict(zip(PLACES, (None, None) if layer is None else layer.ports(), strict=True))

    def end(role: str) -> LinkEnd:
        models = way.models()
        packets = {of: Packet(model.nq, model.nv, same) for of, model in models.items()}
        other = models[OTHER[role]] if way.needs_models else None
        models[role] = stations[role].arm
        law = make(way.mapping(models["leader"], models["follower"], role == "follower"))
        return LinkEnd(stations[role], law, endpoint_of(role, packets), other, watchdog, ports[role])

    return end


def make_bridge(
    make: MakeLaw, way: Following, stations: dict[str, Station], ends: Callable[[str], LinkEnd], link: EmulatedLink
) -> Bridge:
    """The law between the stations of one process: directly, or two ends with the emulated link between them."""
    if link.connected:
        return linked_bridge(ends, link)
    leader, follower = (stations[role] for role in PLACES)
    return DirectBridge(make(way.mapping(leader.arm, follower.arm, True)), leader, follower, leader.period_ns)
