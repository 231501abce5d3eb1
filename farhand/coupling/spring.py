"""The virtual spring-damper between the two sides, and the laws that have one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farhand.coupling.coupling import Coupling
from farhand.coupling.kernels import spring_force
from farhand.coupling.port import TOOL, Port
from farhand.parameters import parameter

Array = np.ndarray


@dataclass
class Spring:
    r"""Wrench on the follower that pulls it to the mapped leader pose.

    .. math::

        w = K\,e + D\,\dot e, \qquad
        e = [\,p_t - p_b;\ \log(R_t R_b^\top)\,], \quad \dot e := \dot x_t - \dot x_b

    Of a law that couples joints, hinges have the rotational numbers and slides the others, each
    times the weight of the joint in the map.

    Attributes:
        wrench: w at the last :meth:`pull`, [N] and [N·m].
    """

    stiffness: float = parameter(1000.0, "N/m", "stiffness", 0.0, 1e5)
    damping: float = parameter(70.0, "N·s/m", "damping", 0.0, 1e4)
    rotational_stiffness: float = parameter(20.0, "N·m/rad", "rotational stiffness", 0.0, 1e4)
    rotational_damping: float = parameter(1.2, "N·m·s/rad", "rotational damping", 0.0, 1e3)

    def __post_init__(self) -> None:
        """Prepare the work arrays."""
        self.suit(TOOL)

    def suit(self, port: Port) -> None:
        """Pull at this port."""
        self._port, self.wrench = port, np.zeros(port.size)
        self._gains, self._motion = np.zeros((2, port.size)), np.zeros((2, port.size))
        self.refresh()

    def refresh(self) -> None:
        """Stack the gains."""
        stiffness = self._port.spread(self.stiffness, self.rotational_stiffness)
        self.gains(stiffness, self._port.spread(self.damping, self.rotational_damping))

    def gains(self, stiffness: Array, damping: Array) -> None:
        """Pull with one stiffness and damping per axis, until the next refresh."""
        self._gains[0], self._gains[1] = stiffness, damping

    def pull(self, error: Array, rate: Array) -> Array:
        """The wrench on the follower for an error and its rate; the array is reused."""
        # copied: what a user gives may be of any kind, and nothing is compiled in a tick
        self._motion[0], self._motion[1] = error, rate
        spring_force(self._gains, self._motion, self.wrench)
        return self.wrench


@dataclass
class SpringCoupling(Coupling):
    """A law whose follower is pulled to the mapped leader by a :class:`Spring`."""

    spring: Spring = field(default_factory=Spring)

    def __post_init__(self) -> None:
        """Let the spring pull at the law's port."""
        super().__post_init__()
        self.spring.suit(self.port)
