"""Handle: a plant without a machine, which an input device moves."""

# ruff: noqa: B027 - the empty methods of Device are its defaults

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from farhand.arm import Arm
from farhand.mapping.vehicle import RateMode
from farhand.parameters import parameter
from farhand.plants.plant import Command, JointTorque, Plant, Sample
from farhand.robots import load_robot
from farhand.spatial import Array, damped_inverse

ROBOT = "handle"
"""The robot that represents it."""

SINGULAR_DAMPING = 0.05
"""Damping of the inverse near the singularity of the handle's hinges, [-]."""


class DeviceReading(NamedTuple):
    """The state of an input device."""

    axes: Array  #: forward, left, up, then turns about these, each from -1 to 1, [-]
    buttons: frozenset[int]  #: which are pressed, by number from 0


class Device(ABC):
    """An input device: the base of every one."""

    name: str  #: in words
    parameters: dict[str, Any] = {}  #: what a user may set of it, by name

    @abstractmethod
    def poll(self, now_ns: int) -> DeviceReading:
        """The present state; never waits. OSError if the device is gone."""

    def feel(self, strength: float, now_ns: int) -> None:
        """Show a force as a share of the strongest, 0 to 1; most devices cannot."""

    def close(self) -> None:
        """Release the device."""


def six_axes() -> RateMode:
    """Rate mode for six axes from -1 to 1: translations together, turns together."""
    return RateMode(
        full=np.ones(6),
        # Assumed: slow enough for a first try, and more than the offset of a worn stick.
        top=np.array([0.15, 0.15, 0.15, 0.6, 0.6, 0.6]),
        dead_band=0.12,
        rise=0.25,
        groups=((0, 1, 2), (3, 4, 5)),
    )


@dataclass
class HandleSettings:
    """How a device moves the handle; ``rate`` maps its deflection to the speed."""

    rate: RateMode = field(default_factory=six_axes)
    deadman: bool = parameter(True, "-", "whether a button must be held to move")
    deadman_button: int = parameter(0, "-", "the button to hold, from 0", 0, 63)
    clutch_button: int = parameter(
        1, "-", "the button that keeps the handle still; -1 for none", -1, 63
    )
    # Assumed.
    full_rumble: float = parameter(30.0, "N", "force at which a gamepad rumbles most", 0.1, 1000.0)


class HandlePlant(Plant):
    r"""A handle that moves as fast as a device is pushed: :math:`\dot q = J^{-1}\,v(\text{stick})`.

    When you release the stick or the dead-man button, it stops within the ``rise`` of the rate
    mode. It stays within its limits. When the device is gone, the handle stops at once, its samples
    grow old, and ``fault`` has the reason.

    Args:
        name: of the plant in the rig.
        device: what moves it.
        settings: how it moves.
    """

    accepts: frozenset[type[Command]] = frozenset({JointTorque})
    stand_in = ROBOT
    period_ns = 8_000_000

    def __init__(
        self, name: str, device: Device, *, settings: HandleSettings | None = None
    ) -> None:
        robot = load_robot(ROBOT)
        self.name, self.device, self.settings = name, device, settings or HandleSettings()
        self.actuated = robot.actuated
        self.buttons: frozenset[int] = frozenset()  #: which are pressed, by number from 0
        # In its own axes: the device's forward is the handle's x.
        self._arm = Arm.of(robot)
        self._low, self._high = robot.limits.lower, robot.limits.upper
        self._q, self._sample = robot.home.copy(), Sample(6, 6)
        self._weight = 9.81 * float(robot.compile().body_mass.sum())  # [N]
        self._last_ns: int | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set: of the handle, and of the device."""
        return {"plant": self.settings, **self.device.parameters}

    def read(self, now_ns: int) -> Sample:
        """Advance the handle to now by the state of the device."""
        dt = 0.0 if self._last_ns is None else (now_ns - self._last_ns) * 1e-9
        sample = self._sample
        if self.fault is None and (dt > 0.0 or self._last_ns is None):
            self._last_ns = now_ns
            offset = self._offset(now_ns)
            v = self._velocity(offset, dt)
            before = self._q.copy()
            np.clip(self._q + v * dt, self._low, self._high, out=self._q)
            sample.q[:], sample.v[:] = self._q, (self._q - before) / dt if dt else 0.0
            sample.time_ns = now_ns
        if self.fault is not None:
            sample.v[:] = 0.0
        return sample

    def write(self, command: Command, now_ns: int) -> None:
        """Show the force on the device if it can; nothing can push a handle without a machine."""
        if self.fault is None:
            # The first joints are slides. A controller may hold up the weight.
            force = command.value[:3]
            beyond = float(np.sqrt(force @ force)) - self._weight
            self.device.feel(max(0.0, beyond) / self.settings.full_rumble, now_ns)

    def close(self) -> None:
        """Release the device."""
        self.device.close()

    def _offset(self, now_ns: int) -> Array | None:
        """Deflection of the device; None while it may not move the handle."""
        settings = self.settings
        try:
            axes, self.buttons = self.device.poll(now_ns)
        except OSError as error:
            self.fault = f"{self.device.name} is gone: {error.strerror or error}"
            return None
        held = settings.deadman_button in self.buttons or not settings.deadman
        return axes if held and settings.clutch_button not in self.buttons else None

    def _velocity(self, offset: Array | None, dt: float) -> Array:
        """Joint velocity of the handle, [m/s] and [rad/s]."""
        if self.fault is not None:
            self.settings.rate.v[:] = 0.0
        twist = self.settings.rate.step(offset, dt)
        if not twist.any():
            return np.zeros(6)
        self._arm.update(self._q, np.zeros(6))
        singular = abs(float(np.cos(self._q[4]))) < 0.2
        inverse = damped_inverse(self._arm.J, SINGULAR_DAMPING if singular else 1e-9)
        velocity: Array = inverse @ twist
        return velocity
