"""Passivity layers: what keeps any law over a delayed link from creating energy."""

from farhand.errors import UnknownName
from farhand.link.layers.layer import FollowerPort, LeaderPort
from farhand.link.layers.tank import EnergyTank
from farhand.link.layers.tdpa import TimeDomainPassivity

LAYERS: dict[str, type[TimeDomainPassivity]] = {layer.name: layer for layer in (TimeDomainPassivity, EnergyTank)}
"""Every layer by its name on the command line; ``none`` is the absence of one."""

__all__ = ["LAYERS", "EnergyTank", "FollowerPort", "LeaderPort", "TimeDomainPassivity", "make_layer"]


def make_layer(name: str) -> TimeDomainPassivity | None:
    """The layer of that name; None for ``none``."""
    if name == "none":
        return None
    if name not in LAYERS:
        raise UnknownName("layer", name, ["none", *LAYERS])
    return LAYERS[name]()
