"""Shake both ends of a rig with sums of sines and record the true motions and forces there."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farhand.analysis.two_port import PortSignals, multisine
from farhand.errors import UnknownName
from farhand.loop.session import Session
from farhand.world import World
from farhand.world.touches import Tool

Array = np.ndarray

X = (1.0, 0.0, 0.0)


@dataclass
class Shaker:
    r"""A sum of sines along one direction, with a spring and a damper to the first position.

    .. math:: f = \sum_i a \sin(2\pi f_i t + \varphi_i) - k\,x - d\,\dot x
    """

    frequencies: Array  #: f_i, [Hz]
    amplitude: float = 2.0  #: a of every sine, [N]
    direction: Array = field(default_factory=lambda: np.array(X))  #: unit vector in world
    stiffness: float = 0.0  #: k, [N/m]
    damping: float = 0.0  #: d, [N·s/m]
    start: float = 0.5  #: nothing before, then the force fades in for as long again, [s]

    def __post_init__(self) -> None:
        self._origin: float | None = None
        self._stretch = 0.0

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Write the wrench on the tool at time ``t`` [s]."""
        wrench[:] = 0.0
        if t < self.start:
            return
        along = float(self.direction.dot(tool.position))
        self._origin = along if self._origin is None else self._origin
        self._stretch = along - self._origin
        fade = min((t - self.start) / max(self.start, 1e-3), 1.0)
        wave = float(multisine(self.frequencies, self.amplitude, np.array([t]))[0])
        speed = float(self.direction.dot(tool.twist[:3]))
        drag = self.stiffness * self._stretch + self.damping * speed
        np.multiply(self.direction, fade * wave - drag, out=wrench[:3])

    @property
    def stored(self) -> float:
        """Energy in the spring, [J]."""
        return 0.5 * self.stiffness * self._stretch**2


class Probe:
    """Records true positions and forces at both ends after every step of the world.

    Args:
        world: the physics.
        leader: name of the robot at the hand's end, and a direction in world.
        follower: likewise at the environment's end.
    """

    def __init__(
        self, world: World, leader: tuple[str, Array], follower: tuple[str, Array]
    ) -> None:
        self._ends = []
        for name, direction in (leader, follower):
            if name not in world.ports:
                raise UnknownName("robot in this world", name, world.ports)
            self._ends.append((world.ports[name], np.asarray(direction)))
        self._rows: list[tuple[float, ...]] = []

    def step(self, now_ns: int) -> None:
        """Record the present state; call after the world has advanced."""
        row = [now_ns * 1e-9]
        for port, direction in self._ends:
            row += [float(direction @ port.tool.position), float(direction @ port.wrench[:3])]
        self._rows.append(tuple(row))

    def signals(self) -> PortSignals:
        """All records: F_h acts on the leader, F_e is the opposite of what acts on the follower."""
        t, x_h, f_h, x_e, f_e = np.array(self._rows).T
        return PortSignals(x_h - x_h[0], f_h, x_e - x_e[0], -f_e, float(np.diff(t).mean()))


def shake(
    session: Session,
    world: World,
    shakers: dict[str, Shaker],
    directions: dict[str, Array],
    seconds: float,
) -> PortSignals:
    """Run a session with shakers on its robots and return the signals at both ends.

    Two runs of two new sessions, one shaken at the leader and one at the follower as well (or with
    a spring there), determine the hybrid matrix: cut off the transients with
    :meth:`PortSignals.after` and pass both to :func:`farhand.analysis.two_port.hybrid_from`.

    Args:
        session: engaged by its own commands.
        world: its physics.
        shakers: by robot.
        directions: by robot, leader first; unit vectors in world.
        seconds: how long, [s].

    Raises:
        UnknownName: there is no such robot.
    """
    probe = Probe(world, *directions.items())
    for robot, shaker in shakers.items():
        world.touch(robot, "shaker", shaker)
    part = session.add(probe.step, after="physics")
    session.run(seconds)
    session.remove(part)
    return probe.signals()
