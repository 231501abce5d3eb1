"""Synthetic force: what a hand feels of a robot without a force sensor, made from its position.

Nothing here is measured. The recording says so: the channel is named ``force_synthetic_in_world``.
It is what is asked of the device, whose motors give less when they are warm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.haptic.haptic_objects import (
    ContactForce,
    HalfSpace,
    HapticObject,
    LimitForce,
    ObjectForce,
)
from farhand.control.tool.torque import TorqueController
from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.plants.plant import Channels, Command
from farhand.spatial import Array

Place = Callable[[], Array]

CORNERS = 3


@dataclass
class BalanceForce:
    r"""A warning on each axis towards the middle of the sole, from the side of the nearer edge.

    .. math:: F_i = \pm e^{1 - x_i/\ell}\,\mathrm{N}

    x is the distance of the centre of gravity's projection to the nearer edge, ℓ one millimetre
    (unit and sign: sources/humanoid E-17). At the edge each axis pushes with 2.718 N. It is a
    projection at rest, not a centre of pressure (E-26); ``height`` and the acceleration turn it
    into the zero-moment point :math:`x - z \ddot x/g`.
    """

    length: float = parameter(1e-3, "m", "distance over which the force falls by e", 1e-5, 0.1)
    peak: float = parameter(3.3, "N", "largest resultant", 0.0, 100.0)
    low: Array = parameter((-0.060, -0.025), "m", "rear right corner of the sole", -1.0, 1.0)
    high: Array = parameter((0.090, 0.025), "m", "front left corner of the sole", -1.0, 1.0)
    warning: float = parameter(5e-3, "m", "distance at which to warn", 0.0, 0.1)

    def margins(self, centre: Array) -> Array:
        """Distance of the projection to the nearer edge along each axis, [m]; negative outside."""
        return np.minimum(centre[..., :2] - self.low, self.high - centre[..., :2])

    def warns(self, centre: Array) -> bool:
        """Whether an edge is near."""
        return bool((self.margins(centre) < self.warning).any())

    def force(self, centre: Array) -> Array:
        """Push for a centre of gravity [m] in the sole's axes, [N]; nothing upward."""
        margin = self.margins(centre)
        inward = np.where(centre[:2] - self.low < self.high - centre[:2], 1.0, -1.0)
        force = np.zeros(3)
        force[:2] = inward * np.exp(np.minimum(1.0 - margin / self.length, 50.0))
        size = float(np.linalg.norm(force))
        return force * (self.peak / size) if size > self.peak else force

    def zero_moment(self, centre: Array, acceleration: Array, gravity: float = 9.81) -> Array:
        """Zero-moment point for a centre of gravity [m] and its acceleration [m/s²], [m]."""
        return centre[:2] - centre[2] / gravity * acceleration[:2]


@dataclass
class Board:
    """A plane known by three touches of the limb's end, for drawing on it without seeing depth.

    The side that the limb came from is free.

    Attributes:
        surface: the plane in the limb's base, once there is one.
    """

    touches: int = parameter(0, "-", "+1 takes a corner of the board; 0 forgets it", 0, CORNERS)

    def __post_init__(self) -> None:
        self.surface: HalfSpace | None = None
        self._corners: list[Array] = []
        self._free: Array | None = None
        self._here: Array | None = None

    def observe(self, place: Array) -> None:
        """Note where the limb's end is in its base, [m]; the first place is on the free side."""
        self._here = place
        if self._free is None:
            self._free = np.array(place)

    def refresh(self) -> None:
        """Take one more corner, or forget all.

        Raises:
            BadValue: a corner is left out, nothing leads the limb, or the three lie on a line.
        """
        known = len(self._corners)
        if self.touches == known:
            return
        if self.touches == 0:
            self._corners, self._free, self.surface = [], None, None
            return
        if self.touches != known + 1:
            expected = f"corner {known + 1} of the board comes next, 0 forgets it"
            raise BadValue(f"touches = {self.touches}: {expected}")
        if self._here is None or self._free is None:
            raise BadValue("no limb follows the pen yet: engage before you touch the board")
        corners = [*self._corners, np.array(self._here)]
        if len(corners) == CORNERS:
            first, second, third = corners
            self.surface = HalfSpace.through(first, second, third, self._free, "board")
        self._corners = corners


@dataclass
class SyntheticForce:
    """Sum of workspace limits, a board, balance and the lift of the pen, cut to the device's peak.

    Attributes:
        objects: limits of the limb's workspace, in its base.
        centre: centre of gravity of the leg at a place, if there is one.
        shown: the last force, [N].
        cut: whether it was cut to the peak.
    """

    update: str = parameter(
        "decoupled", "-", "whose place counts", choices=("decoupled", "coupled")
    )
    limits: LimitForce = field(default_factory=LimitForce)
    contact: ContactForce = field(default_factory=ContactForce)
    balance: BalanceForce = field(default_factory=BalanceForce)
    # mass and peak are stated in the source
    tip_mass: float = parameter(0.045, "kg", "mass of the tip that is lifted", 0.0, 1.0)
    peak: float = parameter(3.3, "N", "largest resultant", 0.0, 100.0)
    gravity: float = parameter(9.81, "m/s²", "downward acceleration", 0.0, 30.0)
    objects: list[HapticObject] = field(default_factory=list)
    board: Board = field(default_factory=Board)
    centre: Callable[[], Array] | None = None

    def __post_init__(self) -> None:
        self.shown = np.zeros(3)
        self.cut = False

    @property
    def lift(self) -> Array:
        """Carries the tip, so that a released pen does not drag the robot down, [N]."""
        return np.array([0.0, 0.0, self.tip_mass * self.gravity])

    def raw(self, place: Array) -> Array:
        """Push of limits, board and balance at a place of the limb in its base [m], uncut, [N]."""
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
        """Force on the pen, [N]: the lift, and while coupled the pushes; at most the peak."""
        force = self.lift
        if place is not None and gain > 0.0:
            force = force + gain * self.raw(place)
        size = math.sqrt(float(force @ force))
        self.cut = size > self.peak
        self.shown[:] = force * (self.peak / size) if self.cut else force
        return self.shown


class SyntheticController(TorqueController):
    """A torque controller of a haptic device that also renders a synthetic force.

    Args:
        arm: the device's model, weightless if the device or the force carries the weight.
        sent: place of the limb for the pen's, in the limb's base, [m].
        reported: place that the limb's bus reported last, [m].
    """

    synthetic: SyntheticForce

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
        """Declare the torque, and the force asked for under a name that says it is not measured."""
        self._recorded = stream.channel("force_synthetic_in_world", 3, "N")
        count = len(self.synthetic.objects)
        if count:
            self._distances = stream.channel("distances_to_limits", count, "m")
        return super().record(stream)

    def step(self, request: ControlRequest, now_ns: int) -> Command:
        """Torque for the effort and the synthetic force."""
        command = super().step(request, now_ns)
        if not request.valid:
            self._recorded[:] = 0.0
            return command
        place = None
        if request.gain > 0.0 and not request.tripped:
            place = self._places[self.synthetic.update]()
            self.synthetic.board.observe(place)
        self._recorded[:] = self.synthetic.force(place, request.gain)
        self._distances[:] = np.nan if place is None else self.synthetic.distances(place)
        self.command.value += self._recorded @ self.arm.J[:3]
        return command
