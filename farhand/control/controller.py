"""Controller: turns what couplings ask of an arm into what its plant accepts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np

from farhand.control.joint.joint_units import joint_units
from farhand.plants.plant import Channels, Command

Array = np.ndarray


class Target(Protocol):
    """Where a tool should be; a mapping from leader to follower is one.

    Attributes:
        position: of the tool in world, [m].
        rotation: rotation matrix of the tool in world.
        twist: in world axes, [m/s] and [rad/s].
    """

    position: Array
    rotation: Array
    twist: Array


class ControlRequest:
    """What is asked of a controller in one tick, and what it may rely on.

    Attributes:
        effort: sum of what couplings pull with at the tool, world axes, [N] and [N·m].
        target: where a coupling wants the tool; None when no coupling says so or none is engaged.
        gain: how far the arm is coupled, 0 to 1, [-].
        valid: whether the arm's state is that of a good sample.
        tripped: whether the guard has tripped, which means: stop, and stay.
        wrench: measured on the tool, [N] and [N·m]; None when there is no measurement.
    """

    __slots__ = ("effort", "gain", "target", "tripped", "valid", "wrench")

    def __init__(self) -> None:
        self.effort = np.zeros(6)
        self.target: Target | None = None
        self.gain, self.valid, self.tripped = 0.0, False, False
        self.wrench: Array | None = None


class Controller(ABC):
    """What stands between the couplings' wishes and one plant.

    Attributes:
        commands: the command type it makes.
        channel: name under which the command is recorded, and its unit for a hinge.
        pulls: whether it exerts the efforts asked for; one that goes for targets alone does not.
        turns: whether it controls the tool's orientation; with fewer than six joints it may have to
            leave it.
        command: the last command of that type.
        holding: whether the arm is being held still.
    """

    commands: ClassVar[type[Command]]
    channel: ClassVar[tuple[str, str]]
    exerts_effort: ClassVar[bool] = True
    controls_orientation: ClassVar[bool] = True

    command: Command
    holding: bool = False

    @property
    def parts(self) -> dict[str, Any]:
        """What a user may set of it, by name."""
        return {}

    def record(self, stream: Channels) -> Array:
        """Declare what is recorded; from now on the command is computed in the array handed back."""
        self.command.value = stream.channel(self.channel[0], len(self.command.value), self.unit)
        return self.command.value

    @property
    def unit(self) -> str:
        """Of the command's numbers: that of :attr:`channel` for hinges, the linear one for the slides of its arm."""
        model = getattr(getattr(self, "arm", None), "model", None)
        return self.channel[1] if model is None else joint_units(model, self.channel[1])

    @abstractmethod
    def step(self, asked: ControlRequest, now_ns: int) -> Command:
        """The command for this tick."""

    @abstractmethod
    def give_up(self) -> None:
        """Make the command the stillest thing that can be said, because what was computed is no number."""
