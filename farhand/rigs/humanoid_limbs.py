"""Limbs of the humanoid as its rig leads them: model, closed form, servos, and the objects that bound each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.control.haptic_objects import HapticObject, exact_arm, exact_leg, seed_arm
from farhand.errors import Mismatch
from farhand.mapping.limbs import ArmChain, LegChain
from farhand.plants.servo_bus.joints import LIMBS, BusJoint, joints_named
from farhand.robots import Robot, load_robot

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
            return exact_arm(self.chain) if exact else seed_arm(self.chain)
        if not exact:
            raise Mismatch(f"there is no approximate workspace of the {self.name}: set rig.exact=true")
        return exact_leg(self.chain)
