"""Layer: the contract of what keeps a law over a delayed link from creating energy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from farhand.coupling import Coupling, Side
from farhand.coupling.port import TOOL, Port
from farhand.spatial import Array


class LayerPort:
    """One end of a layer: the base of every one. As it stands it lets everything through.

    A layer works on what the law couples: tools, or joints. Efforts and rates are those of this
    end's arm, six numbers or one per joint; accounts are kept per axis of the leader's port.

    In each tick the bridge calls :meth:`hear` if a packet has come, then :meth:`measure` and
    :meth:`arrive` with what the packets say at an even age. The follower's end calls :meth:`lead`
    before it evaluates its law. Either end then calls :meth:`correct`, where joints are coupled,
    :meth:`push`, and :meth:`part` after it while the two sides part and the
    follower's end still has a force to send back.

    Attributes:
        law: this end's instance of the law.
        port: what the law couples.
        drives: along which of the axes the arm can be pushed; None for all.
        given: energy put in by this end for the other to take out, sent with every packet, [J] per
            axis.
        taken: energy taken out by this end, sent with every packet, [J] per axis.
        heard_taken: what the other end says it has taken out, all axes, [J].
        round_trip: of the link, [s].
        added: damping added at the last step, faded with the engagement, [N·s/m] or [N·m·s/rad].
        behind: how far the follower's reference is held back, [m] and [rad].
    """

    def __init__(self) -> None:
        self.law: Coupling | None = None
        self.drives: Array | None = None
        self.heard_taken, self.round_trip, self.added = 0.0, 0.0, 0.0
        self.suit(TOOL, 6)

    def attach(self, law: Coupling, drives: Array) -> None:
        """Learn the law at this end, and along which axes of its arm's port it can push."""
        self.law = law
        self.drives = None if drives.all() else drives
        self.suit(law.port, len(drives))

    def suit(self, port: Port, own: int) -> None:
        """Prepare the arrays for a port and the ``own`` number of axes of this end's arm."""
        self.port, n = port, port.leader_size
        self.given, self.taken, self.behind = np.zeros(n), np.zeros(n), np.zeros(n)
        self._wrench, self._twist = np.zeros(own), np.zeros(own)

    def begin(self) -> None:
        """Start a new engagement; called at the follower's end."""

    def forget(self) -> None:
        """Clear the account, because the other end was restarted and has cleared its own."""
        self.given[:] = self.taken[:] = 0.0
        self.heard_taken = 0.0

    def hear(self, given: Array, taken: Array) -> None:
        """Take over the sums of the other end from a new packet, [J] per axis."""

    def measure(self, round_trip: float) -> None:
        """Take over the round trip of the link, [s]."""
        self.round_trip = round_trip

    def arrive(self, twist: Array, wrench: Array) -> None:
        """Take over the motion of the other arm and the coupling's wrench on it.

        Args:
            twist: of the other tool, or the rates of its joints, [m/s] and [rad/s].
            wrench: as the other end applied it, in its own workspace or on its own joints, [N] and
                [N·m].
        """

    def lead(self, remote: Side, heard: Any, force: Array, dt: float) -> None:
        """Move the leader that the follower's law sees towards the one that packets describe.

        Args:
            remote: the leader as the law sees it; written.
            heard: a handle of the port (:data:`farhand.coupling.port.Handle`) where the packets say
                that the leader is.
            force: opposite of the law's effort on the follower, at the leader's port, [N] and
                [N·m].
            dt: time since the last call, [s].
        """
        heard.show(remote)

    def push(self, wrench: Array, twist: Array, dt: float, gain: float = 1.0) -> Array:
        """The wrench to exert on the arm, [N] and [N·m]; the array is reused.

        Args:
            wrench: the law's, at full engagement, [N] and [N·m].
            twist: of the tool, or the rates of the joints, [m/s] and [rad/s].
            dt: time since the last call, [s].
            gain: engagement, 0 to 1. A layer exerts, and books, this share of everything, [-].
        """
        return wrench if gain == 1.0 else np.multiply(wrench, gain, self._wrench)

    def part(self, force: Array, dt: float) -> None:
        """Let the force that fades at the follower still go back to the leader.

        Args:
            force: opposite of the effort on the follower at the last step, at the leader's port,
                [N] and [N·m].
            dt: time since the last call, [s].
        """

    def correct(self, energy_out: Array) -> None:
        """Book what the last push did beyond what it booked.

        Args:
            energy_out: into the arm since then, less what was booked, [J] per axis of this end's
                arm. A push books what it asks for and the velocity at its start.
        """

    def driven(self, twist: Array) -> Array:
        """The twist along the axes that can be pushed: a damper on the others has no effect."""
        return twist if self.drives is None else np.multiply(twist, self.drives, self._twist)


class Layer(ABC):
    """The base of every layer: its settings, and its two ends.

    Settings are the fields of a dataclass, made with :func:`farhand.parameters.parameter`. Ports
    read them live.
    """

    name: ClassVar[str]  #: on the command line
    #: properties that a law must have, of :data:`farhand.coupling.PROPERTIES`
    needs: ClassVar[frozenset[str]] = frozenset()

    def scale(self, stiffness: float, damping: float) -> None:
        """Suit a coupling of this strength: defaults suit the tools' spring as it comes.

        Args:
            stiffness: of the coupling, over that of a default spring, [-].
            damping: likewise, [-].
        """
        return

    @abstractmethod
    def ports(self) -> tuple[LayerPort, LayerPort]:
        """The leader's end and the follower's end."""
