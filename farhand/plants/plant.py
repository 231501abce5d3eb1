"""Plant: the interface of everything that moves, simulated or real."""

# ruff: noqa: B027 - the empty methods of Plant are its defaults

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from farhand.errors import Mismatch
from farhand.spatial import Array

if TYPE_CHECKING:
    from farhand.plants.simulated.port import Imperfections
    from farhand.robots import Placement, Robot


class Sample:
    """The latest state of a plant. The next read reuses the arrays, so copy what you keep.

    Attributes:
        time_ns: device time of the sample, [ns].
        q: configuration in Pinocchio's order, [rad] or [m].
        v: velocity in Pinocchio's order, [rad/s] or [m/s].
        wrench: raw wrench of the tool sensor, applied by hand or environment on the arm, world axes
            at the tool point, [N] and [N·m]; None without a measurement, which is not zero.
        values: q, v and wrench in one array, the wrench zero where there is none.
        motion: q and v in one array.
    """

    __slots__ = ("_wrench", "has_wrench", "motion", "q", "time_ns", "v", "values")

    def __init__(self, nq: int, nv: int) -> None:
        self.time_ns = 0
        self.values = np.zeros(nq + nv + 6)
        self.motion = self.values[: nq + nv]
        self.q = self.values[:nq]
        self.v = self.values[nq : nq + nv]
        self._wrench = self.values[nq + nv :]
        self.has_wrench = False

    @property
    def wrench(self) -> Array | None:
        """The measured wrench, or None."""
        return self._wrench if self.has_wrench else None

    def set_wrench(self, wrench: Array | None) -> None:
        """Store a measured wrench, or None."""
        self.has_wrench = wrench is not None
        self._wrench[:] = 0.0 if wrench is None else wrench

    def copy(self) -> Sample:
        """A separate sample with the same content."""
        copy = Sample(len(self.q), len(self.v))
        copy.time_ns, copy.values[:], copy.has_wrench = self.time_ns, self.values, self.has_wrench
        return copy


class Command:
    """What a plant does until the next command; the subclasses are the modes of plants."""

    name: ClassVar[str]

    def __init__(self, size: int) -> None:
        self.value = np.zeros(size)


class JointTorque(Command):
    """Torque per joint; the plant does not add gravity, [N·m] (or [N] for a slide)."""

    name = "joint torque"


class JointVelocity(Command):
    """Velocity per joint, which the plant's own servo holds under load, [rad/s] (or [m/s])."""

    name = "joint velocity"


class JointPosition(Command):
    """Position per joint, to which the plant's own servos move, [rad] (or [m])."""

    name = "joint position"


class Brake(Command):
    """Stop and stay by the machine's own means, such as brakes, without any measurement.

    The value is the joint torque of the motors meanwhile, such as gravity at the last known
    configuration, [N·m].
    """

    name = "brake"


class Channels(Protocol):
    """Where a part declares the signals it records: a stream of the telemetry."""

    def channel(self, name: str, size: int, unit: str, labels: Sequence[str] = ()) -> Array:
        """A live array for one signal, with a label for each number or none."""


@dataclass(frozen=True)
class InnerLoop:
    """The loop that a machine's drives close around its joints, as far as it is linear."""

    stiffness: Array  #: of the joints, [N·m/rad], or per inertia, [1/s²]
    damping: Array  #: of the joints, [N·m·s/rad], or per inertia, [1/s]
    per_inertia: bool  #: whether both are per inertia: the drives know the arm's mass matrix
    period: float  #: of the drives, [s]
    late: float  #: from a state of the arm, over the bus, to its answer in the motors, mean, [s]
    command_period: float  #: how often the drives take a command, [s]
    wrench_rate: float = 0.0  #: of a low-pass on the measured wrench, [1/s]; 0: none


class Plant(ABC):
    """Something that moves and can be commanded: the base of every plant, simulated or real.

    A plant must have :meth:`read`, :meth:`write` and the first three attributes. The rest has
    defaults that suit a machine without that ability. The plant of a real machine communicates in a
    thread of its own, so that no method blocks the tick.
    """

    name: str  #: of this plant in the rig
    accepts: frozenset[type[Command]]  #: the command types that :meth:`write` takes
    actuated: Array  #: which velocities the plant can push on
    #: what :meth:`open` needs, for messages, such as ``HOST``; empty for nothing
    address_hint: ClassVar[str] = ""
    #: robot that represents the plant in the world; None for the rig's own robot
    stand_in: ClassVar[str | None] = None
    #: robots that an arm is taken for, by role, where the user names none
    robots: ClassVar[Mapping[str, str]] = {}
    period_ns: int = 1_000_000  #: how often the device makes a new sample, [ns]
    #: from a measurement to the torque that answers it, on the device's own way there and back, [s]
    loop_delay: float = 0.0
    #: rate at which a rig with it ticks, where the user names none, [Hz]; None for the rig's own
    tick_rate: ClassVar[float | None] = None
    #: why the machine has switched itself off, or None; an attribute or a property
    fault: str | None = None
    notes: Sequence[str] = ()  #: what its user should know before it moves
    #: the switchable errors of a simulated plant, or None
    imperfections: Imperfections | None = None
    #: standard deviation of the wrench sensor, [N] and [N·m]; NaN where unknown
    wrench_sigma: Array = np.full(6, np.nan)
    force_peak: float = math.inf  #: largest force of a haptic device, [N]
    #: mean joint torque of the motors between the last two samples, [N·m]; None where a sample is
    #: new in every tick, and made by the command before it
    acted: Array | None = None
    acted_time: float = 0.0  #: time between these samples, [s]; 0 if the last read had no new one
    #: joint torque by which the world pushes on the arm, where the machine measures it, [N·m]
    external: Array | None = None
    #: whether the machine itself makes up for the friction of its joints
    compensates_friction: ClassVar[bool] = False

    @classmethod
    def open(
        cls, address: str, *, name: str, robot: Robot, placement: Placement, gravity: float
    ) -> Plant:
        """Open the plant that a user names ``NAME:ADDRESS`` as a rig's leader or follower.

        A package brings plants by entry points of the group ``farhand.plants``, each with the NAME
        and the class: ``ur = "farhand.plants.drivers.ur:UrPlant"``.

        Args:
            address: after the colon; empty where the class has no ``address_hint``.
            name: of the plant in the rig.
            robot: the model of it that its controller uses.
            placement: where its base stands.
            gravity: downward acceleration that the controller compensates, [m/s²].
        """
        raise Mismatch(f"a {cls.__name__} cannot be opened by name: it has no classmethod open")

    @classmethod
    def robot_at(cls, address: str, role: str) -> str | None:
        """Robot that the arm at this address is taken for, where the user names none.

        Args:
            address: as for :meth:`open`.
            role: ``"leader"`` or ``"follower"``.
        """
        return cls.robots.get(role)

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set of the plant, by name: objects with parameters."""
        return {}

    @property
    def inner_loop(self) -> InnerLoop | None:
        """The loop inside a machine that takes positions or velocities, or None if unknown."""
        return None

    @abstractmethod
    def read(self, now_ns: int) -> Sample:
        """The latest sample; never blocks."""

    @abstractmethod
    def write(self, command: Command, now_ns: int) -> None:
        """Take a command; never blocks."""

    def restart(self) -> None:
        """Switch the machine on again after a fault, because the user has reset the station."""

    def rearm(self) -> None:
        """Trust sensors again that were distrusted, because a new engagement begins."""

    def record(self, stream: Channels) -> None:
        """Declare signals to record beside the samples, such as the wrench before a filter."""

    def close(self) -> None:
        """Release the machine and everything opened for it."""
