"""Layers: what keeps a law over a delayed link from creating energy."""

from farhand import plugins
from farhand.coupling import Coupling, laws_with
from farhand.errors import BadValue, Mismatch, UnknownName
from farhand.link.layers.layer import Layer, LayerPort
from farhand.link.layers.playout import Playout
from farhand.link.layers.tdpa import (
    EnergyPort,
    EnergyTank,
    FollowerPort,
    LeaderPort,
    TimeDomainPassivity,
)
from farhand.link.layers.waves import WaveFollower, WaveLeader, WavePort, WaveVariables

LAYERS: dict[str, type[Layer]] = {
    layer.name: layer for layer in (TimeDomainPassivity, EnergyTank, WaveVariables)
}
"""The layers of the library by their name on the command line; ``none`` is the absence of one."""

PROPERTY_NAMES = {"velocity-force-port": "a velocity–force port"}
"""Properties of laws that layers need, as messages name them."""

GROUP = "farhand.layers"
"""Entry points under which installed packages bring layers."""

__all__ = [
    "LAYERS",
    "EnergyPort",
    "EnergyTank",
    "FollowerPort",
    "Layer",
    "LayerPort",
    "LeaderPort",
    "Playout",
    "TimeDomainPassivity",
    "WaveFollower",
    "WaveLeader",
    "WavePort",
    "WaveVariables",
    "every_layer",
    "layer_named",
    "make_layer",
    "register_layer",
]


def layer_named(name: str) -> type[Layer]:
    """The layer of that name, of an installed package, or ``module:Class`` from the current folder.

    Raises:
        UnknownName: there is no such layer.
        BadValue: it cannot be imported, or is not a layer.
    """
    if ":" in name:
        return plugins.load_class(name, "layer", Layer)
    if name in LAYERS:
        return LAYERS[name]
    if name in plugins.found(GROUP):
        return plugins.load_subclass(GROUP, name, "layer", Layer)
    raise UnknownName("layer", name, {"none", *LAYERS, *plugins.found(GROUP)})


def register_layer(layer: type[Layer]) -> type[Layer]:
    """Make a layer known by its name, so that rigs find it; also a decorator.

    Raises:
        BadValue: another layer has this name, or the class is not a layer that a rig can make.
    """
    plugins.make(layer, "layer", layer.__qualname__).ports()
    if layer.name == "none" or LAYERS.get(layer.name, layer).__qualname__ != layer.__qualname__:
        raise BadValue(f"there is already a layer {layer.name!r}; give yours another name")
    LAYERS[layer.name] = layer
    return layer


def every_layer() -> dict[str, type[Layer]]:
    """Every layer by name: the library's and those of installed packages."""
    return LAYERS | {name: layer_named(name) for name in plugins.found(GROUP)}


def make_layer(name: str, law: type[Coupling] | None = None) -> Layer | None:
    """A layer with its default settings; None for ``none``.

    Args:
        name: as for :func:`layer_named`.
        law: the law around which the layer goes, if that is known.

    Raises:
        UnknownName: there is no such layer.
        BadValue: it cannot be imported, is not a layer, or has settings without a default.
        Mismatch: it does not fit that law.
    """
    if name == "none":
        return None
    layer = layer_named(name)
    if law is not None and not layer.needs <= law.properties:
        able = ", ".join(sorted(law.name for law in laws_with(*layer.needs)))
        needs = " and ".join(PROPERTY_NAMES.get(need, need) for need in sorted(layer.needs))
        raise Mismatch(
            f"layer {name!r} needs a law with {needs}, which {law.name!r} does not have; take one "
            f"of the laws {able}, or one of the layers tank, tdpa"
        )
    return plugins.make(layer, "layer", name)
