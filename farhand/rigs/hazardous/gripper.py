"""The gripper over the link: the ring on the handle at one end, the jaws and force at the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from farhand.control.haptic.gripper import GripperCommand
from farhand.loop.bridges.linked import LinkEnd
from farhand.plants.simulated.grippers import SimulatedJaws
from farhand.safety.handle import Handle

CODES = {0: 0, 1: 1, -1: 2}
"""The ring's position in the buttons of the leader's packet."""

RINGS = {code: ring for ring, code in CODES.items()}
CUE = 1
"""Bit of the buttons of the follower's packet: the handle must buzz."""


class ToFollower(Protocol):
    """The leader's end: sends the ring, receives the state of the jaws."""

    def turn(self, ring: int) -> None:
        """Send the position of the ring, −1, 0 or +1."""

    def jaws(self) -> tuple[float, float]:
        """Opening [m] and grip force [N]."""


class ToLeader(Protocol):
    """The follower's end: receives the ring, sends the state of the jaws."""

    def ring(self) -> int:
        """The ring, −1, 0 or +1, [-]."""

    def report(self, opening: float, force: float) -> None:
        """Send opening [m] and grip force [N]."""


class SameProcess:
    """Both ends without a link."""

    def __init__(self) -> None:
        self._ring = 0
        self._jaws = (0.0, 0.0)

    def turn(self, ring: int) -> None:
        """Send the position of the ring."""
        self._ring = ring

    def ring(self) -> int:
        """The ring."""
        return self._ring

    def report(self, opening: float, force: float) -> None:
        """Send opening and force."""
        self._jaws = opening, force

    def jaws(self) -> tuple[float, float]:
        """Opening and force."""
        return self._jaws


class AtLeader:
    """The leader's end of a link: its packets carry the ring, the follower's the jaws."""

    def __init__(self, end: LinkEnd) -> None:
        self._endpoint = end.endpoint
        self._jaws = (0.0, 0.0)

    def turn(self, ring: int) -> None:
        """Put the ring into every packet from now on."""
        self._endpoint.outgoing.buttons = CODES[ring]

    def jaws(self) -> tuple[float, float]:
        """Opening and force of the last packet that had them."""
        jaws = self._endpoint.incoming.gripper
        if jaws is not None:
            self._jaws = float(jaws[0]), float(jaws[1])
        return self._jaws


class AtFollower:
    """The follower's end of a link; after too long a silence the jaws stand still."""

    def __init__(self, end: LinkEnd) -> None:
        self._end = end

    def ring(self) -> int:
        """The ring of the last packet."""
        tripped = self._end.trip is not None
        return 0 if tripped else RINGS.get(self._end.endpoint.incoming.buttons, 0)

    def report(self, opening: float, force: float) -> None:
        """Put the jaws' state into every packet from now on."""
        self._end.endpoint.outgoing.gripper = np.array([opening, force])


class CueOverLink:
    """The handle's cue over a link: decided at the follower by ``decided``, felt at the leader."""

    def __init__(self, end: LinkEnd, decided: Callable[[], float] = float) -> None:
        self._endpoint = end.endpoint
        self._decided = decided

    def step(self, now_ns: int) -> None:
        """Send the cue; the follower's part."""
        self._endpoint.outgoing.buttons = CUE if self._decided() else 0

    def buzz(self) -> float:
        """The cue of the last packet; the leader's part, [-]."""
        return float(self._endpoint.incoming.buttons & CUE)


class RingSender:
    """Sends the position of the ring on the handle in every tick."""

    def __init__(self, handle: Handle, carrier: ToFollower) -> None:
        self._handle = handle
        self._carrier = carrier

    def step(self, now_ns: int) -> None:
        """Send it."""
        self._carrier.turn(self._handle.ring)


class JawsChannel:
    """Moves the jaws by the ring, and reports their state.

    Args:
        command: jaw speed from ring and force.
        gripper: the jaws.
        carrier: between ring and jaws.
        able: whether the follower may move.
        period_ns: time between steps, [ns].
    """

    def __init__(
        self,
        command: GripperCommand,
        gripper: SimulatedJaws,
        carrier: ToLeader,
        able: Callable[[], bool],
        period_ns: int,
    ) -> None:
        self._command = command
        self._gripper = gripper
        self._carrier = carrier
        self._able = able
        self._dt = period_ns * 1e-9

    def step(self, now_ns: int) -> None:
        """Move the jaws for one tick."""
        gripper, ring = self._gripper, self._carrier.ring()
        gripper.step(self._command.velocity(ring if self._able() else 0, gripper.force), self._dt)
        self._carrier.report(gripper.opening, gripper.force)
