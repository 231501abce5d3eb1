"""Springs: from a tool to a fixed pose, and between two tools."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.parameters import parameter
from farhand.spatial import rotation_vector
from farhand.world.touch import Tool

Array = np.ndarray


@dataclass
class GroundSpring:
    r"""A linear spring and damper from the tool point to a fixed point: :math:`f = k\,(x_0 - p) - d\,\dot p`."""

    anchor: Array = parameter((0.0, 0.0, 0.0), "m", "fixed end")
    stiffness: float = parameter(500.0, "N/m", "stiffness", 0.0, 1e6)
    damping: float = parameter(0.0, "N·s/m", "damping", 0.0, 1e4)

    def __post_init__(self) -> None:
        """Start unstretched."""
        self.stretch = np.zeros(3)

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Pull the tool towards the anchor."""
        np.subtract(self.anchor, tool.position, out=self.stretch)
        wrench[:3] = self.stiffness * self.stretch - self.damping * tool.twist[:3]
        wrench[3:] = 0.0

    @property
    def stored(self) -> float:
        """½ k |x_0 − p|², [J]."""
        return 0.5 * self.stiffness * float(self.stretch @ self.stretch)


@dataclass
class ToolSpring:
    r"""A linear and torsional spring-damper between two tools, equal and opposite on both.

    .. math:: f_a = k\,(p_b - p_a - \ell) + d\,(\dot p_b - \dot p_a), \quad
              \tau_a = k_r\,\log(R_b (R_a \Delta R)^\top) + d_r\,(\omega_b - \omega_a)

    :math:`\Delta R = R_a^\top R_b` is the rest orientation, that of the first push. With this order
    the torques are the exact gradient of the stored energy on both sides, so the spring returns
    what went in.
    """

    length: Array = parameter((0.0, 0.0, 0.0), "m", "rest vector from a to b")
    stiffness: float = parameter(500.0, "N/m", "stiffness", 0.0, 1e6)
    damping: float = parameter(0.0, "N·s/m", "damping", 0.0, 1e4)
    rotational_stiffness: float = parameter(0.0, "N·m/rad", "torsional stiffness", 0.0, 1e4)
    rotational_damping: float = parameter(0.0, "N·m·s/rad", "torsional damping", 0.0, 1e3)

    def __post_init__(self) -> None:
        """Start unstretched; the rest orientation is that of the first push."""
        self.stretch, self.twisted = np.zeros(3), np.zeros(3)
        self._rest: Array | None = None

    def push(self, a: Tool, b: Tool, t: float, wrench_a: Array, wrench_b: Array) -> None:
        """Pull the tools together."""
        if self._rest is None:
            self._rest = a.rotation.T @ b.rotation
        self.stretch = b.position - a.position - self.length
        self.twisted = rotation_vector(b.rotation @ (a.rotation @ self._rest).T)
        rate = b.twist - a.twist
        wrench_a[:3] = self.stiffness * self.stretch + self.damping * rate[:3]
        wrench_a[3:] = self.rotational_stiffness * self.twisted + self.rotational_damping * rate[3:]
        np.negative(wrench_a, out=wrench_b)

    @property
    def stored(self) -> float:
        """½ k |stretch|² + ½ k_r |twist|², [J]."""
        linear = self.stiffness * float(self.stretch @ self.stretch)
        return 0.5 * (linear + self.rotational_stiffness * float(self.twisted @ self.twisted))


@dataclass
class CompressionSpring:
    r"""A spring between two tools that pushes them apart and never pulls; ball joints at its ends.

    .. math:: f_a = -k\,(L_0 - L)\,\frac{p_b - p_a}{L} \quad\text{for } L = |p_b - p_a| < L_0, \qquad f_b = -f_a
    """

    length: float = parameter(0.18, "m", "free length", 0.0, 10.0)
    stiffness: float = parameter(500.0, "N/m", "stiffness", 0.0, 1e6)
    damping: float = parameter(0.0, "N·s/m", "damping", 0.0, 1e4)

    def __post_init__(self) -> None:
        """Start slack."""
        self.compression = 0.0

    def push(self, a: Tool, b: Tool, t: float, wrench_a: Array, wrench_b: Array) -> None:
        """Push the tools apart."""
        wrench_a[:] = wrench_b[:] = 0.0
        between = b.position - a.position
        length = float(np.sqrt(between.dot(between)))
        self.compression = max(0.0, self.length - length)
        if self.compression == 0.0 or length == 0.0:
            return
        along = between / length
        closing = float(along.dot(a.twist[:3] - b.twist[:3]))
        push = max(0.0, self.stiffness * self.compression + self.damping * closing)
        np.multiply(along, -push, out=wrench_a[:3])
        np.multiply(along, push, out=wrench_b[:3])

    @property
    def stored(self) -> float:
        """½ k (L_0 − L)², [J]."""
        return 0.5 * self.stiffness * self.compression**2


@dataclass
class GuidedSpring:
    r"""A compression spring on a rod along tool a's axis z that ends in a ball at tool b: pushes, never pulls, guides.

    .. math:: d = p_b - p_a, \quad c = \max(0, L_0 - z\cdot d), \quad f_b = k\,c\,z - k_g\,(d - z\,(z\cdot d)), \qquad
              f_a = -f_b, \quad \tau_a = -d \times f_b

    Without the rod two ball joints with a spring pressed between them tip over: see
    :class:`CompressionSpring`.
    """

    length: float = parameter(0.18, "m", "free length", 0.0, 10.0)
    stiffness: float = parameter(500.0, "N/m", "stiffness", 0.0, 1e6)
    guide: float = parameter(200.0, "N/m", "stiffness of the rod against bending", 0.0, 1e6)

    def __post_init__(self) -> None:
        """Start slack."""
        self.compression, self.bent = 0.0, np.zeros(3)

    def push(self, a: Tool, b: Tool, t: float, wrench_a: Array, wrench_b: Array) -> None:
        """Push the tools apart and keep them in line."""
        between, axis = b.position - a.position, a.rotation[:, 2]
        along = float(axis.dot(between))
        self.compression = max(0.0, self.length - along)
        self.bent = between - along * axis
        wrench_b[:3] = self.stiffness * self.compression * axis - self.guide * self.bent
        wrench_b[3:] = 0.0
        np.negative(wrench_b[:3], out=wrench_a[:3])
        wrench_a[3:] = np.cross(between, wrench_a[:3])

    @property
    def stored(self) -> float:
        """½ k c² + ½ k_g |bent|², [J]."""
        return 0.5 * (
            self.stiffness * self.compression**2 + self.guide * float(self.bent @ self.bent)
        )
