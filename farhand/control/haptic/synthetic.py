"""Synthetic force: what the hand feels of a robot that has no force sensor, made from where it is and may go.

Nothing here is measured. The recording says so: the channel is named ``force_synthetic_in_world``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import Channels, ControlRequest
from farhand.control.haptic.balance import BalanceForce
from farhand.control.haptic.board import Board
from farhand.control.haptic.haptic_objects import HapticObject, ObjectForce
from farhand.control.haptic.limit_force import ContactForce, LimitForce
from farhand.control.tool.torque import TorqueController
from farhand.parameters import parameter
from farhand.plants.plant import Command

Array = np.ndarray
Place = Callable[[], Array]


@dataclass
class SyntheticForce:
    """The sum of workspace limits, a board, balance and the lift of the pen, cut to what the device can show.

    Attributes:
        limits: how hard the workspace's limits push.
        contact: how hard the board pushes.
        balance: how hard the sole's edges push; legs only.
        objects: limits of the limb's workspace, in its base.
        board: a surface to be touched, once three touches have made it.
        centre: centre of gravity of the leg at a place, where there is one.
    """

    update: str = parameter(
        "decoupled", "-", "whose place counts", choices=("decoupled", "coupled")
    )
    limits: LimitForce = field(default_factory=LimitForce)
    contact: ContactForce = field(default_factory=ContactForce)
    balance: BalanceForce = field(default_factory=BalanceForce)
    tip_mass: float = parameter(0.045, "kg", "mass of the tip that is lifted", 0.0, 1.0)  # stated
    peak: float = parameter(3.3, "N", "largest resultant", 0.0, 100.0)  # stated
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    objects: list[HapticObject] = field(default_factory=list)
    board: Board = field(default_factory=Board)
    centre: Callable[[], Array] | None = None

    def __post_init__(self) -> None:
        """Nothing pushes yet."""
        self.shown = np.zeros(3)
        self.cut = False

    @property
    def lift(self) -> Array:
        """What carries the tip, so that a pen let go of does not drag the robot down, [N]."""
        return np.array([0.0, 0.0, self.tip_mass * self.gravity])

    def raw(self, place: Array) -> Array:
        """Push of limits, board and balance at a place of the limb in its base [m], not cut, [N]."""
        force = ObjectForce(self.objects, self.limits).force(place)
        if self.board.surface is not None:
            s, n = self.board.surface.locate(place)
            force += float(self.contact.magnitude(s)) * n
        if self.centre is not None:
            force += self.balance.force(self.centre())
        return force

    def distances(self, place: Array) -> Array:
        """How far each limit is from a place of the limb in its base, one per object, [m]."""
        return ObjectForce(self.objects, self.limits).distances(place)

    def force(self, place: Array | None, gain: float = 1.0) -> Array:
        """Force on the pen, [N]: the lift, and while coupled the pushes; as a whole no more than the peak."""
        force = self.lift
        if place is not None and gain > 0.0:
            force = force + gain * self.raw(place)
        size = math.sqrt(float(force @ force))
        self.cut = size > self.peak
        self.shown[:] = force * (self.peak / size) if self.cut else force
        return self.shown


class SyntheticController(TorqueController):
    """A torque controller for a haptic device that shows a synthetic force beside what couplings ask for.

    Args:
        arm: the device's model, without weight where the device or the force carries it.
        period_ns: time between ticks, [ns].
        synthetic: the force.
        sent: place of the limb that belongs to the pen's, in the limb's base, [m].
        reported: place that the limb's bus reported last, [m].
    """

    def __init__(
        self, arm: Arm, period_ns: int, synthetic: SyntheticForce, sent: Place, reported: Place
    ) -> None:
        super().__init__(arm, "free", period_ns)
        self.synthetic, self._places = synthetic, {"decoupled": sent, "coupled": reported}
        self._recorded, self._distances = np.zeros(3), np.zeros(0)

    @property
    def parts(self) -> dict[str, Any]:
        """How it holds still, and the force."""
        return {**super().parts, "force": self.synthetic}

    def record(self, stream: Channels) -> Array:
        """Declare the torque, and the force under a name that says it is not measured."""
        self._recorded = stream.channel("force_synthetic_in_world", 3, "N")
        if self.synthetic.objects:
            self._distances = stream.channel(
                "distances_to_limits", len(self.synthetic.objects), "m"
            )
        return super().record(stream)

    def step(self, asked: ControlRequest, now_ns: int) -> Command:
        """Torque for the effort asked for and the synthetic force."""
        command = super().step(asked, now_ns)
        if not asked.valid:
            self._recorded[:] = 0.0
            return command
        place = (
            self._places[self.synthetic.update]()
            if asked.gain > 0.0 and not asked.tripped
            else None
        )
        if place is not None:
            self.synthetic.board.see(place)
        self._recorded[:] = self.synthetic.force(place, asked.gain)
        self._distances[:] = np.nan if place is None else self.synthetic.distances(place)
        self.command.value += self._recorded @ self.arm.J[:3]
        return command
