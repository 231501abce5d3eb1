"""Limbs of the humanoid as its rig leads them: model, closed form, servos, and the objects that bound each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.control.haptic.haptic_objects import HapticObject, exact_arm, exact_leg, published_arm
from farhand.errors import BadValue, Mismatch
from farhand.mapping.limbs import ArmChain, LegChain
from farhand.parameters import assign_all
from farhand.plants.servo_bus.joints import LIMBS, BusJoint, joints_named
from farhand.plants.servo_bus.plant import BusParts, ServoBusPlant
from farhand.plants.wrappers.wrapped import MirroredPlant
from farhand.rigs.external_plants import SIMULATED
from farhand.rigs.rig import Options
from farhand.robots import Robot, load_robot
from farhand.world import World

Array = np.ndarray

SHOULDER = (0.0, 0.085, 0.547)
"""Of the left arm above the floor, in the robot's axes, [m]; assumed, as in the model file."""


@dataclass(frozen=True)
class Limb:
    """One limb that a pen can lead.

    Attributes:
        name: one of :data:`farhand.plants.servo_bus.joints.LIMBS`.
        robot: its model.
        chain: its closed form.
        base: origin of the closed form in the robot's axes, [m].
        joints: its servos.
    """

    name: str
    robot: Robot
    chain: ArmChain | LegChain
    base: Array
    joints: list[BusJoint]

    @classmethod
    def named(cls, name: str) -> Limb:
        """A limb by name."""
        side, kind = name.split("-")
        sign = 1 if side == "left" else -1
        joints = joints_named(*LIMBS[name])
        if kind == "arm":
            base = np.array(SHOULDER) * [1.0, sign, 1.0]
            return cls(name, load_robot("phua", name), ArmChain(side=sign), base, joints)
        return cls(name, load_robot("phua_leg", side), LegChain(side=sign), np.zeros(3), joints)

    def objects(self, exact: bool) -> list[HapticObject]:
        """Limits of its workspace: exact, or as the published system approximated those of the arm."""
        if isinstance(self.chain, ArmChain):
            return exact_arm(self.chain) if exact else published_arm(self.chain)
        if not exact:
            raise Mismatch(
                f"there is no approximate workspace of the {self.name}: set rig.exact=true"
            )
        return exact_leg(self.chain)


# The limb of the humanoid rig as a plant: simulated behind its bus, or the real bus on a serial
# port.

SERIAL = "serial:"


@dataclass(frozen=True)
class FollowingLimb:
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
    plant: str,
    world: World,
    limb: Limb,
    rng: np.random.Generator,
    settings: list[tuple[str, object]],
) -> FollowingLimb:
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
        return FollowingLimb(simulated, parts, simulated, lambda: _low(parts))
    from farhand.plants.servo_bus.serial_plant import SerialParts, SerialServoPlant

    serial = SerialParts()
    assign_all(
        {"follower": {"bus": serial}},
        [item for item in settings if item[0].startswith("follower.bus.")],
    )
    outside = SerialServoPlant("follower", plant.removeprefix(SERIAL), limb.joints, serial)
    return FollowingLimb(MirroredPlant(outside, world), serial, world, str)


def _low(parts: BusParts) -> str:
    return "" if parts.battery.warning is None else f"battery below {parts.battery.alarm:g} V"
