"""The gripper's channel: the ring on the handle at one end, the jaws and their force at the other, over the link."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from farhand.control.haptic.gripper import GripperCommand
from farhand.loop.bridges.linked import LinkEnd
from farhand.plants.simulated.grippers import SimulatedJaws
from farhand.safety.handle import Handle

CODES = {0: 0, 1: 1, -1: 2}
"""How the buttons of the leader's packet say where the ring is."""

RINGS = {code: ring for ring, code in CODES.items()}
CUE = 1
"""Bit of the buttons of the follower's packet: the handle is to buzz."""


class ToFollower(Protocol):
    """What the leader knows of the gripper, and how it says where the ring is."""

    def turn(self, ring: int) -> None:
        """Tell where the ring is."""

    def jaws(self) -> tuple[float, float]:
        """Opening [m] and grip force [N]."""


class ToLeader(Protocol):
    """What the follower knows of the ring, and how it says what the jaws do."""

    def ring(self) -> int:
        """The ring, −1, 0 or +1, [-]."""

    def report(self, opening: float, force: float) -> None:
        """Tell opening [m] and grip force [N]."""


class SameProcess:
    """Both ends know the same."""

    def __init__(self) -> None:
        self._ring, self._jaws = 0, (0.0, 0.0)

    def turn(self, ring: int) -> None:
        """Tell where the ring is."""
        self._ring = ring

    def ring(self) -> int:
        """The ring."""
        return self._ring

    def report(self, opening: float, force: float) -> None:
        """Tell opening and force."""
        self._jaws = opening, force

    def jaws(self) -> tuple[float, float]:
        """Opening and force."""
        return self._jaws


class AtLeader:
    """The leader's end of a link: the ring goes with its packets, the jaws' state comes with the follower's."""

    def __init__(self, end: LinkEnd) -> None:
        self._endpoint, self._known = end.endpoint, (0.0, 0.0)

    def turn(self, ring: int) -> None:
        """Say in every packet from now on where the ring is."""
        self._endpoint.outgoing.buttons = CODES[ring]

    def jaws(self) -> tuple[float, float]:
        """Opening and force of the last packet that had them."""
        known = self._endpoint.incoming.gripper
        if known is not None:
            self._known = float(known[0]), float(known[1])
        return self._known


class AtFollower:
    """The follower's end of a link; one that has heard nothing for too long lets the jaws stand."""

    def __init__(self, end: LinkEnd) -> None:
        self._end = end

    def ring(self) -> int:
        """The ring of the last packet."""
        return (
            0 if self._end.trip is not None else RINGS.get(self._end.endpoint.incoming.buttons, 0)
        )

    def report(self, opening: float, force: float) -> None:
        """Say in every packet from now on what the jaws do."""
        self._end.endpoint.outgoing.gripper = np.array([opening, force])


class CueOverLink:
    """The cue in the handle where a link lies between handle and wrist: decided at the follower, felt at the leader.

    Args:
        end: of this process.
        decided: whether the handle is to buzz [-], at the follower.
    """

    def __init__(self, end: LinkEnd, decided: Callable[[], float] = float) -> None:
        self._endpoint, self._decided = end.endpoint, decided

    def step(self, now_ns: int) -> None:
        """Tell the leader; the follower's part."""
        self._endpoint.outgoing.buttons = CUE if self._decided() else 0

    def buzz(self) -> float:
        """As the last packet told; the leader's part, [-]."""
        return float(self._endpoint.incoming.buttons & CUE)


class Ring:
    """Says where the ring on the handle is."""

    def __init__(self, handle: Handle, carrier: ToFollower) -> None:
        self._handle, self._carrier = handle, carrier

    def step(self, now_ns: int) -> None:
        """Look at the ring."""
        self._carrier.turn(self._handle.ring)


class JawsChannel:
    """Moves the jaws as the ring says, and reports what they do.

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
        self._command, self._gripper, self._carrier = command, gripper, carrier
        self._able, self._dt = able, period_ns * 1e-9

    def step(self, now_ns: int) -> None:
        """Move the jaws for one tick."""
        gripper, ring = self._gripper, self._carrier.ring()
        gripper.step(self._command.velocity(ring if self._able() else 0, gripper.force), self._dt)
        self._carrier.report(gripper.opening, gripper.force)
