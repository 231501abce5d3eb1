"""The contract of a controller: it turns requests of couplings into a plant's command."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import pinocchio as pin

from farhand.control.joint.joint_units import joint_units
from farhand.plants.plant import Channels, Command
from farhand.spatial import Array

if TYPE_CHECKING:
    from farhand.control.haptic.synthetic import SyntheticForce
    from farhand.control.joint.limb import LimbKinematics


class Target(Protocol):
    """Where a tool should be; the mappings of :mod:`farhand.mapping` implement it."""

    position: Array  #: of the tool in world, [m]
    rotation: Array  #: rotation matrix of the tool in world
    twist: Array  #: in world axes, [m/s] and [rad/s]


class JointModel(Protocol):
    """The joints that a controller drives: an :class:`~farhand.arm.Arm`, or part of a robot."""

    nv: int  #: number of joints
    q: Array  #: their positions, live, [rad]
    model: pin.Model | None  #: the Pinocchio model of exactly these joints; None if there is none


class ControlRequest:
    """What a station requests of its controller in one tick."""

    __slots__ = ("effort", "gain", "target", "torque", "tripped", "valid", "wrench")

    def __init__(self) -> None:
        #: sum of what couplings pull with at the tool, world axes, [N] and [N·m]
        self.effort = np.zeros(6)
        #: sum of what couplings of joints push with, [N·m]; None where none couples joints
        self.torque: Array | None = None
        #: where a coupling wants the tool; None if no engaged coupling has a target
        self.target: Target | None = None
        self.gain = 0.0  #: how far the arm is coupled, 0 to 1, [-]
        self.valid = False  #: whether the arm's state comes from a good sample
        #: whether the guard has tripped; the controller must then stop the arm and hold it
        self.tripped = False
        #: measured on the tool, [N] and [N·m]; None without a measurement
        self.wrench: Array | None = None


class Controller(ABC):
    """Everything that stations, bridges, metrics and the page may ask of a controller.

    A subclass sets ``commands``, ``channel`` and ``command`` and implements :meth:`step`. The rest
    has defaults.
    """

    commands: ClassVar[type[Command]]  #: the command type it makes
    #: name under which the command is recorded, and its unit for a hinge
    channel: ClassVar[tuple[str, str]]
    #: whether it exerts ``request.effort``; False if it only follows targets
    exerts_effort: ClassVar[bool] = True
    #: whether it controls the tool's orientation; an arm with fewer than six joints may be unable
    #: to
    controls_orientation: ClassVar[bool] = True

    command: Command  #: the last command
    holding: bool = False  #: whether the arm is being held still
    #: of the last inverse kinematics, one of :data:`farhand.mapping.ik.STATUSES`
    status: str = "solved"
    arm: JointModel | None = None  #: the joints it drives, if it knows them
    synthetic: SyntheticForce | None = None  #: the force it renders without a sensor, if any
    chain: LimbKinematics | None = None  #: closed form of the limb it drives, if any
    workspace_origin: Array | None = None  #: where that limb's base is in world, [m]

    @property
    def parts(self) -> dict[str, Any]:
        """Its parts with parameters that a user may set, by name."""
        return {}

    @property
    def unit(self) -> str:
        """Unit of the command's numbers; slides have the linear unit that matches ``channel``."""
        model = None if self.arm is None else self.arm.model
        return self.channel[1] if model is None else joint_units(model, self.channel[1])

    def record(self, stream: Channels) -> Array:
        """Declare the recorded signals; later commands are computed in the returned array."""
        self.command.value = stream.channel(self.channel[0], len(self.command.value), self.unit)
        return self.command.value

    @abstractmethod
    def step(self, request: ControlRequest, now_ns: int) -> Command:
        """The command for this tick."""

    def forget(self) -> None:  # noqa: B027, optional
        """Drop what was learnt from earlier targets; the next one starts from where the arm is."""

    def give_up(self) -> None:
        """Make ``command`` the safest one there is, after a result that is not a number."""
        self.command.value[:] = 0.0
