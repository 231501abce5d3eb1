"""A plant of your own: a leader that replays a sine, followed by a simulated UR5e.

Replace ``read`` and ``write`` by your device's client. Neither may block: a device with a slow bus
has a thread of its own, and ``read`` returns its latest sample.
"""

from __future__ import annotations

import numpy as np

import farhand as fh
from farhand.plants import Brake, Command, JointTorque


class SinePlant(fh.Plant):
    """Moves the first joint by 0.2 rad to and fro, whatever it is commanded."""

    def __init__(self, name: str, home: np.ndarray) -> None:
        self.name = name
        self.accepts = frozenset({JointTorque, Brake})
        self.actuated = np.ones(len(home), dtype=bool)
        self._home = home
        self._sample = fh.Sample(len(home), len(home))

    def read(self, now_ns: int) -> fh.Sample:
        """Where the device is now."""
        t = now_ns * 1e-9
        sample = self._sample
        sample.time_ns = now_ns
        sample.q[:] = self._home
        sample.q[0] += 0.2 * (1.0 - np.cos(t))
        sample.v[0] = 0.2 * np.sin(t)
        return sample

    def write(self, command: Command, now_ns: int) -> None:
        """A real device would exert the torque ``command.value``."""


robot = fh.load_robot("ur5e")
world = fh.World({"follower": fh.Placed(robot)})
guard = fh.Guard()
guard.watch(robot.limits)
leader = fh.Station("leader", "leader", SinePlant("leader", robot.home), fh.Arm.of(robot), guard)
follower = fh.Station.of(world, "follower", "follower")
bridge = fh.DirectBridge(fh.law_named("unilateral")(), leader, follower)
session = fh.Session([leader, follower], bridges=[bridge], worlds=[world])
session.commands.post("engage")
session.run(3.0)
print(f"leader  {leader.arm.q[0] - robot.home[0]:.3f} rad")
print(f"follower {follower.arm.q[0] - robot.home[0]:.3f} rad")
session.close()
