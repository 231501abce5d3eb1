"""Layers: what keeps a law over a delayed link from creating energy."""

from farhand.coupling import Coupling, laws_with
from farhand.errors import Mismatch, UnknownName
from farhand.link.layers.layer import EnergyPort, FollowerPort, LeaderPort
from farhand.link.layers.playout import Playout
from farhand.link.layers.tank import EnergyTank
from farhand.link.layers.tdpa import TimeDomainPassivity
from farhand.link.layers.waves import WaveFollower, WaveLeader, WavePort, WaveVariables

Layer = TimeDomainPassivity | WaveVariables
Port = EnergyPort | WavePort

LAYERS: dict[str, type[Layer]] = {
    layer.name: layer for layer in (TimeDomainPassivity, EnergyTank, WaveVariables)
}
"""Every layer by its name on the command line; ``none`` is the absence of one."""

__all__ = [
    "LAYERS",
    "EnergyPort",
    "EnergyTank",
    "FollowerPort",
    "Layer",
    "LeaderPort",
    "Playout",
    "Port",
    "TimeDomainPassivity",
    "WaveFollower",
    "WaveLeader",
    "WavePort",
    "WaveVariables",
    "make_layer",
]


def make_layer(name: str, law: type[Coupling] | None = None) -> Layer | None:
    """The layer of that name; None for ``none``.

    Args:
        name: of the layer.
        law: what it is to be put around, if that is known.

    Raises:
        UnknownName: there is no such layer.
        Mismatch: it cannot be put around that law.
    """
    if name == "none":
        return None
    if name not in LAYERS:
        raise UnknownName("layer", name, ["none", *LAYERS])
    layer = LAYERS[name]
    if law is not None and not layer.needs <= law.properties:
        able = ", ".join(sorted(found.name for found in laws_with(*layer.needs)))
        raise Mismatch(
            f"layer {name!r} needs a law with a velocity–force port, and the efforts of {law.name!r} depend on more "
            f"than the other side's motion; take one of the laws {able}, or one of the layers tank, tdpa"
        )
    return layer()
