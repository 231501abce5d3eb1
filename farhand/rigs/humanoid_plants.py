"""The limb of the humanoid rig as a plant: simulated behind its bus, or the real bus on a serial port."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.errors import BadValue, Mismatch
from farhand.parameters import assign_all
from farhand.plants.mirrored import MirroredPlant
from farhand.plants.servo_bus.plant import BusParts, ServoBusPlant
from farhand.rigs.humanoid_limbs import Limb
from farhand.rigs.outside import SIMULATED
from farhand.rigs.rig import Options
from farhand.world import World

SERIAL = "serial:"


@dataclass(frozen=True)
class Following:
    """What follows, and what the rig must know of it.

    Attributes:
        plant: of the follower's station.
        parts: what may be set of it.
        carried: what the session takes along in time.
        warning: what should be said aloud of it, or empty.
    """

    plant: Any
    parts: Any
    carried: Any
    warning: Callable[[], str]


def check(plant: str, options: Options) -> None:
    """Refuse what cannot follow, and a serial port in virtual time."""
    if plant == SIMULATED:
        return
    if not plant.removeprefix(SERIAL) or not plant.startswith(SERIAL):
        raise BadValue(f"{plant!r} cannot be a plant here; there are: {SIMULATED}, {SERIAL}PATH")
    if options.clock is None or options.clock.name != "wall":
        raise Mismatch(f"{plant} runs in wall time: leave --headless away, or add --clock wall")


def following(
    plant: str, world: World, limb: Limb, rng: np.random.Generator, settings: list[tuple[str, object]]
) -> Following:
    """The plant of that name.

    Args:
        plant: ``simulated`` or ``serial:PATH``.
        world: where the limb stands, or is shown.
        limb: which one.
        rng: of the simulated one.
        settings: of the parts; those of the bus count before the port is opened.
    """
    if plant == SIMULATED:
        parts = BusParts()
        simulated = ServoBusPlant(world, "follower", limb.joints, parts, rng)
        return Following(simulated, parts, simulated, lambda: _low(parts))
    from farhand.plants.servo_bus.serial_plant import SerialParts, SerialServoPlant

    serial = SerialParts()
    assign_all({"follower": {"bus": serial}}, [item for item in settings if item[0].startswith("follower.bus.")])
    outside = SerialServoPlant("follower", plant.removeprefix(SERIAL), limb.joints, serial)
    return Following(MirroredPlant(outside, world), serial, world, str)


def _low(parts: BusParts) -> str:
    return "" if parts.battery.warning is None else f"battery below {parts.battery.alarm:g} V"
