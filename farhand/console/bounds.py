"""Bounds: where the limb of a rig may go, and the sole it must stay above, as plain values to draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.control.haptic.haptic_objects import (
    AnkleObject,
    Ball,
    ElbowObject,
    HalfSpace,
    HapticObject,
    Torus,
)
from farhand.mapping.limbs import ArmChain, LegChain

if TYPE_CHECKING:
    from farhand.console.things import Thing
    from farhand.rigs import Rig

Array = np.ndarray

PLANE_SIZE = 0.2
"""Edge of the square drawn for a plane that bounds a workspace, [m]."""

ARC = 13
"""Places on each curve of a surface that is drawn as curves, [-]."""


def bounds_of(rig: Rig) -> Iterator[Thing]:
    """What a hand that feels the limits of a limb's workspace feels, about the limb's base; then its balance."""
    controllers = [station.controller for station in rig.session.stations]
    synthetic = [each.synthetic for each in controllers if each.synthetic is not None]
    for station in rig.session.stations:
        base = station.controller.workspace_origin
        if base is None:
            continue
        for force in synthetic:
            for item in force.objects:
                yield from _surfaces(item, station.name, base)
            yield from _balance(rig, station, base, force.balance)


def _surfaces(item: HapticObject, robot: str, base: Array) -> Iterator[Thing]:
    """The surfaces of an object."""
    where: Thing = {"name": item.name, "robot": robot}
    if isinstance(item, Ball):
        yield {
            "kind": "ball",
            **where,
            "point": (base + item.centre).tolist(),
            "size": 2.0 * item.radius,
        }
    elif isinstance(item, HalfSpace):
        where |= {"point": (base + item.point).tolist(), "normal": list(map(float, item.normal))}
        yield {"kind": "plane", **where, "size": PLANE_SIZE}
    elif isinstance(item, Torus):
        where |= {"point": base.tolist(), "normal": list(map(float, item.axis))}
        yield {"kind": "torus", **where, "size": 2.0 * item.major, "tube": 2.0 * item.minor}
    elif isinstance(item, ElbowObject):
        yield from _surfaces(item.ball, robot, base)
        yield from _surfaces(item.torus, robot, base)
    elif isinstance(item, AnkleObject):
        yield {"kind": "curves", **where, "curves": (base + _ankle(item)).tolist()}


def _ankle(item: AnkleObject) -> Array:
    """Where the leg gets with its ankle at a limit, shape (6, n, 3), [m]: three leans, then three bends of the knee.

    The whole torus would fill most of a picture of the leg; it bounds the workspace only where the
    leg can be, and the hip is never below the ankle.
    """
    leg = item.leg
    flexed = (leg.highest if item.upper else leg.lowest)[1]
    # [rad]: hip at the ankle
    level = flexed + np.arccos(max(-1.0, -leg.shank / leg.thigh * np.cos(flexed))) - 1e-6
    leans = np.linspace(leg.lowest[0], leg.highest[0], ARC)
    bends = np.linspace(leg.lowest[2], min(leg.highest[2], level), ARC)
    q = np.full((6, ARC, 3), flexed)  # [rad]
    for row, part in enumerate((0, ARC // 2, -1)):
        q[row, :, 0], q[row, :, 2] = leans[part], bends
        q[row + 3, :, 0], q[row + 3, :, 2] = leans, bends[part]
    return leg.forward(q)


def _balance(rig: Rig, station: Any, base: Array, balance: Any) -> Iterator[Thing]:
    """The soles that a robot stands on and its centre of gravity; nothing for a robot without feet."""
    model, data, name = rig.world.model, rig.world.data, station.name
    sites = [
        site for site in map(model.site, range(model.nsite)) if site.name.startswith(f"{name}/")
    ]
    soles = [site for site in sites if site.name.endswith("sole")]
    for site in soles:
        sole = data.site_xpos[site.id]
        corners = {
            "low": [*(sole[:2] + balance.low), sole[2]],
            "high": [*(sole[:2] + balance.high), sole[2]],
        }
        where: Thing = {"kind": "sole", "name": site.name.partition("/")[2], "robot": name}
        yield {
            **where,
            "low": list(map(float, corners["low"])),
            "high": list(map(float, corners["high"])),
        }
    if soles:
        chain = station.controller.chain
        side = chain.side if isinstance(chain, LegChain) else 0
        yield {
            "kind": "centre",
            "name": "centre of gravity",
            "robot": name,
            "point": base.tolist(),
            "leg": side,
        }


def chain_of(limb: str) -> ArmChain | LegChain:
    """The closed form of a limb such as ``left-arm``."""
    side = 1 if limb.startswith("left") else -1
    return ArmChain(side=side) if limb.endswith("arm") else LegChain(side=side)
