"""One side of a rig: what is the same for every rig whose other side runs elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from farhand.analysis.metrics import Metrics
from farhand.analysis.side_metrics import SideMetrics
from farhand.link.channel import MemoryChannel
from farhand.link.emulation import EmulatedLink
from farhand.link.endpoint import Endpoint
from farhand.link.packet import VERSION, Packet
from farhand.loop.bridges.linked import LinkedBridge, LinkEnd
from farhand.loop.bridges.remote import RemoteBridge
from farhand.loop.session import Session
from farhand.parameters import assign_all, describe
from farhand.rigs.rig import Options, Rig
from farhand.world import World

OTHER = {"leader": "follower", "follower": "leader"}
OF_THE_MACHINE = ("kernel", "offset_position", "offset_rotation")
"""Parameters of a law that the two sides need not have alike."""


def endpoint_of(role: str, packets: dict[str, Packet]) -> Endpoint:
    """One side's end of a link that is not connected yet: nothing is heard, and what is sent goes nowhere.

    Args:
        role: of the side.
        packets: layout of what each side sends, by role.
    """
    return Endpoint(
        packets[role].blank(), packets[OTHER[role]].blank(), MemoryChannel(1), MemoryChannel(1)
    )


def emulated_link(
    options: Options,
    parameters: dict[str, Any],
    settings: list[tuple[str, object]],
    rng: np.random.Generator,
) -> EmulatedLink:
    """The link where both sides are in one process; connected if it disturbs anything or has a layer around it.

    Args:
        options: with its delay, jitter and loss.
        parameters: of the rig, its layer among them if there is one; the link is added.
        settings: of the parts; those of the link hold before it is connected.
        rng: one is spawned from it.
    """
    parameters["link"] = link = EmulatedLink(
        options.delay, options.jitter, options.loss, rng=rng.spawn(1)[0]
    )
    assign_all(
        {"link": link}, [(path, value) for path, value in settings if path.startswith("link.")]
    )
    link.connected = not link.perfect or "layer" in parameters
    return link


def linked_bridge(ends: Callable[[str], LinkEnd], link: EmulatedLink) -> LinkedBridge:
    """Both ends in one process, with an emulated link between them."""
    a, b = ends("leader"), ends("follower")
    forward, backward = link.channels
    a.endpoint.connect(forward, backward)
    b.endpoint.connect(backward, forward)
    return LinkedBridge(a, b, a.station.period_ns)


def remote_bridge(
    end: LinkEnd, period_ns: int, options: Options, parameters: dict[str, Any]
) -> RemoteBridge:
    """The coupling as this side knows it; adds what can be set of it to the parameters."""
    bridge = RemoteBridge(end, period_ns, options.clock)
    parameters["lateness"] = bridge.lateness
    if end.leads:
        parameters["deadman"] = end.switch
    return bridge


def metrics_of(session: Session, world: World, options: Options) -> Metrics | SideMetrics:
    """What is measured of a run with both sides or with one."""
    return Metrics(session, world) if options.side is None else SideMetrics(session, world)


def terms_of(rig: Rig) -> dict[str, str]:
    """What the two sides of a rig must agree on before anything is coupled, by name."""
    bridge = rig.session.bridges[0]
    assert isinstance(bridge, RemoteBridge)
    rows = [row for row in describe(bridge.end.law) if not row[0].endswith(OF_THE_MACHINE)]
    law = {f"law.{path}": str(value) for path, value, _, _ in rows}
    return law | {
        "version": str(VERSION),
        "rig": rig.name,
        "law": rig.law,
        "layer": rig.options.layer,
        "rate": f"{1e9 / bridge.period_ns:g} Hz",
        "robots": f"{bridge.end.endpoint.outgoing.model_hash:016x}",
    }
