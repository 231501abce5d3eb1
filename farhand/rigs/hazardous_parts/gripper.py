"""The gripper's channel: the ring on the handle at one end, the jaws and their force at the other, over the link."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from farhand.bridge import Bridge
from farhand.control.gripper import GripperCommand
from farhand.linked_bridge import LinkedBridge, LinkEnd
from farhand.plants.jaws import SimulatedJaws
from farhand.safety.handle import Handle

CODES = {0: 0, 1: 1, -1: 2}
"""How a packet's buttons say where the ring is."""

RINGS = {code: ring for ring, code in CODES.items()}


class Carrier(Protocol):
    """What brings the ring to the gripper and the grip force back."""

    def forward(self, ring: int) -> int:
        """The ring as the follower knows it."""

    def back(self, opening: float, force: float) -> tuple[float, float]:
        """Opening [m] and grip force [N] as the leader knows them."""


class SameProcess:
    """Both ends know the same."""

    def forward(self, ring: int) -> int:
        """The ring."""
        return ring

    def back(self, opening: float, force: float) -> tuple[float, float]:
        """Opening and force."""
        return opening, force


class OverLink:
    """With the packets of the link; a follower that has heard nothing for too long lets the jaws stand.

    Args:
        leader: the leader's end.
        follower: the follower's.
    """

    def __init__(self, leader: LinkEnd, follower: LinkEnd) -> None:
        self._leader, self._follower = leader, follower
        self._known = (0.0, 0.0)

    def forward(self, ring: int) -> int:
        """The ring of the last packet."""
        self._leader.endpoint.outgoing.buttons = CODES[ring]
        if self._follower.trip is not None:
            return 0
        return RINGS.get(self._follower.endpoint.incoming.buttons, 0)

    def back(self, opening: float, force: float) -> tuple[float, float]:
        """Opening and force of the last packet that had them."""
        self._follower.endpoint.outgoing.gripper = np.array([opening, force])
        known = self._leader.endpoint.incoming.gripper
        if known is not None:
            self._known = float(known[0]), float(known[1])
        return self._known


def carrier_of(bridge: Bridge) -> Carrier:
    """What a bridge's link can carry."""
    return OverLink(bridge.a, bridge.b) if isinstance(bridge, LinkedBridge) else SameProcess()


class GripperChannel:
    """Moves the jaws as the ring says, and knows what the leader is told.

    Args:
        handle: with the ring.
        command: jaw speed from ring and force.
        gripper: the jaws.
        carrier: between the two.
        able: whether the follower may move.
        period_ns: time between steps, [ns].

    Attributes:
        opening: as the leader knows it, [m].
        force: as the leader knows it, [N].
    """

    def __init__(
        self,
        handle: Handle,
        command: GripperCommand,
        gripper: SimulatedJaws,
        carrier: Carrier,
        able: Callable[[], bool],
        period_ns: int,
    ) -> None:
        self._handle, self._command, self._gripper = handle, command, gripper
        self._carrier, self._able, self._dt = carrier, able, period_ns * 1e-9
        self.opening, self.force = gripper.opening, 0.0

    def step(self, now_ns: int) -> None:
        """Move the jaws for one tick."""
        gripper = self._gripper
        ring = self._carrier.forward(self._handle.ring)
        gripper.step(self._command.velocity(ring if self._able() else 0, gripper.force), self._dt)
        self.opening, self.force = self._carrier.back(gripper.opening, gripper.force)
