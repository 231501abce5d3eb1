"""What may touch a tool in the world: walls, springs and hands, and the interface they share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from farhand.compiled import bind
from farhand.control.trajectory.paths import HandPath
from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.spatial import Array, rotation_vector
from farhand.world.kernels import hand_wrench, wall_force


class Tool:
    """State of one tool, as touches see it. Arrays are live views.

    Attributes:
        position: tool point in world, [m].
        rotation: rotation matrix of the tool in world.
        twist: in world axes at the tool point, [m/s] and [rad/s].
    """

    __slots__ = ("position", "rotation", "twist")

    def __init__(self, position: Array, rotation: Array, twist: Array) -> None:
        self.position, self.rotation, self.twist = position, rotation, twist


class Touch(Protocol):
    """Pushes on one tool; walls, hands and :class:`GroundSpring` implement it."""

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Write the wrench on the tool at time ``t`` [s]: world axes, tool point, [N], [N·m]."""

    @property
    def stored(self) -> float:
        """Energy held in springs at the last :meth:`push`, [J]."""


class Tie(Protocol):
    """Pushes on two tools; the springs between tools and the grip of an object implement it."""

    def push(self, a: Tool, b: Tool, t: float, wrench_a: Array, wrench_b: Array) -> None:
        """Write the wrenches on both tools at time ``t`` [s]."""

    @property
    def stored(self) -> float:
        """Energy held in springs at the last :meth:`push`, [J]."""


@dataclass
class Wall:
    r"""A plane that pushes the tool point out along its normal.

    .. math:: \delta = \max(0,\, n^\top (x_w - p)), \qquad
              f = \max(0,\; k\,\delta + d\,\dot\delta)\, n

    It is a penalty force with stated stiffness, not the engine's soft contact. Without damping it
    is elastic: on release it gives back all the energy that went in. It never pulls.
    """

    point: Array = parameter((0.45, 0.0, 0.0), "m", "a point of the plane")
    normal: Array = parameter((-1.0, 0.0, 0.0), "-", "outward normal", -1.0, 1.0)
    stiffness: float = parameter(6000.0, "N/m", "stiffness", 0.0, 1e6)
    damping: float = parameter(0.0, "N·s/m", "damping while pressed", 0.0, 1e4)
    present: bool = parameter(True, "-", "whether the wall is there")

    def __post_init__(self) -> None:
        self._numbers = np.zeros(8)
        self.refresh()

    def refresh(self) -> None:
        """Recompute what depends on the parameters."""
        length = float(np.linalg.norm(self.normal))
        if length < 1e-9:
            raise BadValue("wall.normal = 0,0,0 has no direction; give it a length above 0")
        unit = self.normal / length
        self._numbers[:6] = *unit, unit @ self.point, self.stiffness, self.damping

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Push the tool out of the wall."""
        if self.present:
            wall_force(tool.position, tool.twist, self._numbers, wrench)
        else:
            wrench[:] = self._numbers[6:] = 0.0

    @property
    def depth(self) -> float:
        """Penetration at the last push, [m]."""
        return float(self._numbers[6])

    @property
    def force(self) -> float:
        """Normal force at the last push, [N]."""
        return float(self._numbers[7])

    @property
    def stored(self) -> float:
        """½ k δ² at the last push, [J]."""
        return 0.5 * self.stiffness * self.depth * self.depth


@dataclass
class GroundSpring:
    r"""A spring and damper from the tool to a fixed point: :math:`f = k\,(x_0 - p) - d\,\dot p`."""

    anchor: Array = parameter((0.0, 0.0, 0.0), "m", "fixed end")
    stiffness: float = parameter(500.0, "N/m", "stiffness", 0.0, 1e6)
    damping: float = parameter(0.0, "N·s/m", "damping", 0.0, 1e4)

    def __post_init__(self) -> None:
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

    .. math:: f_a = -k\,(L_0 - L)\,\frac{p_b - p_a}{L} \quad
              \text{for } L = |p_b - p_a| < L_0, \qquad f_b = -f_a
    """

    length: float = parameter(0.18, "m", "free length", 0.0, 10.0)
    stiffness: float = parameter(500.0, "N/m", "stiffness", 0.0, 1e6)
    damping: float = parameter(0.0, "N·s/m", "damping", 0.0, 1e4)

    def __post_init__(self) -> None:
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
    r"""A compression spring on a rod along tool a's axis z that ends in a ball at tool b.

    .. math:: d = p_b - p_a, \quad c = \max(0, L_0 - z\cdot d), \quad
              f_b = k\,c\,z - k_g\,(d - z\,(z\cdot d)), \qquad f_a = -f_b, \quad
              \tau_a = -d \times f_b

    It pushes, never pulls, and keeps the tools in line. Without the rod, two ball joints with a
    spring pressed between them tip over: see :class:`CompressionSpring`.
    """

    length: float = parameter(0.18, "m", "free length", 0.0, 10.0)
    stiffness: float = parameter(500.0, "N/m", "stiffness", 0.0, 1e6)
    guide: float = parameter(200.0, "N/m", "stiffness of the rod against bending", 0.0, 1e6)

    def __post_init__(self) -> None:
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
        bending = self.guide * float(self.bent @ self.bent)
        return 0.5 * (self.stiffness * self.compression**2 + bending)


@dataclass
class ImpedanceHand:
    r"""A hand that holds the tool with a spring and a damper about a path.

    .. math:: f = K (x_r - p) + D (\dot x_r - \dot p), \qquad
              \tau = K_r \log(R_r R^\top) + D_r (\omega_r - \omega)

    The path is a displacement from where the tool was at the first push; a drag from the console
    adds to it. Opening the hand removes both springs; closing it takes hold of the tool where it
    then is.
    """

    stiffness: float = parameter(1000.0, "N/m", "stiffness of the hand", 0.0, 1e5)
    damping: float = parameter(100.0, "N·s/m", "damping of the hand", 0.0, 1e4)
    rotational_stiffness: float = parameter(30.0, "N·m/rad", "rotational stiffness", 0.0, 1e4)
    rotational_damping: float = parameter(3.0, "N·m·s/rad", "rotational damping", 0.0, 1e3)
    open: bool = parameter(False, "-", "whether the hand has let go")
    drag: Array = parameter((0.0, 0.0, 0.0), "m", "displacement beside its path", -2.0, 2.0)
    shares: Array = parameter((1.0, 1.0, 1.0), "-", "of its stiffness along x, y and z", 0.0, 1.0)
    path: HandPath = field(default_factory=HandPath)

    def __post_init__(self) -> None:
        self._held = False
        # where the path starts, gains and error, as :func:`hand_wrench` takes them
        self._numbers = np.zeros(30)
        self._start, self._gains = self._numbers[:3], self._numbers[12:24]
        self._rotation, self._error = self._numbers[3:12].reshape(3, 3), self._numbers[24:]
        self._position = np.zeros(3)
        self._tool: Tool | None = None
        self._wrench: Array | None = None
        self.refresh()

    def refresh(self) -> None:
        """Stack the gains, and find where the path starts."""
        gains = self.stiffness, self.rotational_stiffness, self.damping, self.rotational_damping
        self._gains[:] = np.repeat(gains, 3)
        self._gains[:3] *= self.shares
        self._gains[6:9] *= self.shares
        np.add(self._position, self.drag, out=self._start)

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Pull the tool towards the path."""
        if self.open:
            wrench[:] = self._error[:] = 0.0
            self._held = False
            return
        path = self.path
        if not self._held:
            path.at(t)
            self._hold(tool)
        if tool is not self._tool or wrench is not self._wrench or path.rows is not self._rows:
            self._bind(tool, wrench)
        self._pull(t)

    def _bind(self, tool: Tool, wrench: Array) -> None:
        """Give the compiled function its arrays: those of one tool and one path."""
        self._tool, self._wrench, self._rows = tool, wrench, self.path.rows
        arrays = self.path.pose, self._numbers, tool.position, tool.rotation, tool.twist, wrench
        self._pull = bind(hand_wrench, self._rows, *arrays, then=(0.0,))

    def _hold(self, tool: Tool) -> None:
        """Shift and turn the path so that both springs are slack at the tool's present pose."""
        self._held = True
        np.subtract(tool.position, self.path.translation, out=self._position)
        np.subtract(self._position, self.drag, out=self._position)
        self._rotation[:] = self.path.rotation.T @ tool.rotation
        self.refresh()

    @property
    def stored(self) -> float:
        """Energy in both springs at the last push, [J]."""
        return 0.5 * float((self._gains[:6] * self._error) @ self._error)


@dataclass(frozen=True)
class ForcePulse:
    """A half-sine pulse of wrench."""

    start: float  #: when it begins, [s]
    duration: float  #: how long it lasts, [s]
    #: peak, [N] ×3 then [N·m] ×3, world axes at the tool point
    wrench: tuple[float, float, float, float, float, float]

    def __post_init__(self) -> None:
        if not self.duration > 0.0:
            raise BadValue(f"a force pulse lasts {self.duration:g} s; it needs more than 0 s")


@dataclass
class ForceHand:
    """A hand that pushes with a given wrench over time, whatever the tool does."""

    scale: float = parameter(1.0, "-", "factor on the force profile", -100.0, 100.0)
    pulses: Iterable[ForcePulse] = ()

    def __post_init__(self) -> None:
        self.pulses = tuple(sorted(self.pulses, key=lambda pulse: pulse.start))

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Push with the profile's wrench at time ``t``."""
        wrench[:] = 0.0
        for pulse in self.pulses:
            phase = (t - pulse.start) / pulse.duration
            if 0.0 < phase < 1.0:
                wrench += (self.scale * np.sin(np.pi * phase)) * np.array(pulse.wrench)

    @property
    def stored(self) -> float:
        """A force profile stores nothing, [J]."""
        return 0.0
