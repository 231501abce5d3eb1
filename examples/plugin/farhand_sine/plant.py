"""An arm that sways by itself: ``farhand run dual-arm --leader sine:0.2``."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from farhand import Plant, Robot, Sample
from farhand.plants import Brake, Command, JointTorque


class SinePlant(Plant):
    """Moves its first joint to and fro, whatever it is commanded.

    A driver of a real arm has the same shape: its client runs in a thread of its own, ``read``
    returns the latest sample and ``write`` leaves the command for that thread.

    Args:
        name: of the plant in the rig.
        robot: whose joints it has.
        amplitude: of the first joint, [rad].
    """

    address_hint = "AMPLITUDE"

    def __init__(self, name: str, robot: Robot, amplitude: float) -> None:
        self.name = name
        self.accepts = frozenset({JointTorque, Brake})
        self.actuated = np.ones(len(robot.home), dtype=bool)
        self._home = robot.home
        self._amplitude = amplitude
        self._sample = Sample(len(robot.home), len(robot.home))
        self._start = time.monotonic()

    @classmethod
    def open(cls, address: str, *, name: str, robot: Robot, **rest: Any) -> SinePlant:
        """The plant for ``sine:AMPLITUDE``."""
        return cls(name, robot, float(address))

    def read(self, now_ns: int) -> Sample:
        """Where the arm is now."""
        t = time.monotonic() - self._start
        sample = self._sample
        sample.time_ns = now_ns
        sample.q[:] = self._home
        sample.q[0] += self._amplitude * (1.0 - np.cos(t))
        sample.v[0] = self._amplitude * np.sin(t)
        return sample

    def write(self, command: Command, now_ns: int) -> None:
        """A real arm would exert the torque ``command.value``."""
