"""Hands: what moves a tool. One holds it with a spring about a scripted pose, one pushes with a given force."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from farhand.control.trajectory.paths import HandPath
from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.spatial import rotation_vector
from farhand.world.touch import Tool

Array = np.ndarray


@dataclass
class ImpedanceHand:
    r"""A hand that holds the tool with a spring and a damper about a path.

    .. math:: f = K (x_r - p) + D (\dot x_r - \dot p), \qquad
              \tau = K_r \log(R_r R^\top) + D_r (\omega_r - \omega)

    The path is a displacement from where the tool was at the first push. A drag from the console is
    a further displacement. Opening the hand makes both springs vanish; closing it takes hold of the
    tool where it then is.

    Attributes:
        path: displacement of the reference over time.
    """

    stiffness: float = parameter(1000.0, "N/m", "stiffness of the hand", 0.0, 1e5)
    damping: float = parameter(100.0, "N·s/m", "damping of the hand", 0.0, 1e4)
    rotational_stiffness: float = parameter(
        30.0, "N·m/rad", "rotational stiffness of the hand", 0.0, 1e4
    )
    rotational_damping: float = parameter(
        3.0, "N·m·s/rad", "rotational damping of the hand", 0.0, 1e3
    )
    open: bool = parameter(False, "-", "whether the hand has let go")
    drag: Array = parameter(
        (0.0, 0.0, 0.0), "m", "displacement of the hand beside its path", -2.0, 2.0
    )
    path: HandPath = field(default_factory=HandPath)

    def __post_init__(self) -> None:
        """Start with nothing held."""
        self._held = False
        self._position, self._rotation = np.zeros(3), np.eye(3)
        self._shifted, self._turned = np.zeros(3), np.eye(3)
        self._error, self._rate = np.zeros(6), np.zeros(6)
        self._stretch, self._turn = self._error[:3], self._error[3:]
        self.refresh()

    def refresh(self) -> None:
        """Stack the gains, and where the path starts from."""
        self._K = np.repeat([self.stiffness, self.rotational_stiffness], 3)
        self._D = np.repeat([self.damping, self.rotational_damping], 3)
        np.add(self._position, self.drag, out=self._shifted)

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Pull the tool towards the path."""
        if self.open:
            wrench[:] = self._error[:] = 0.0
            self._held = False
            return
        path, stretch, rate = self.path, self._stretch, self._rate
        path.at(t)
        if not self._held:
            self._hold(tool)
        np.add(self._shifted, path.translation, out=stretch)
        stretch -= tool.position
        if path.turning:
            path.rotation.dot(self._rotation, self._turned)
        self._turn[:] = rotation_vector(self._turned.dot(tool.rotation.T))
        np.subtract(path.twist, tool.twist, out=rate)
        rate *= self._D
        np.multiply(self._K, self._error, out=wrench)
        wrench += rate

    def _hold(self, tool: Tool) -> None:
        """Shift and turn the path such that both springs are slack at the tool's present pose."""
        self._held = True
        np.subtract(tool.position, self.path.translation, out=self._position)
        np.subtract(self._position, self.drag, out=self._position)
        self._rotation[:] = self.path.rotation.T @ tool.rotation
        self._turned[:] = tool.rotation
        self.refresh()

    @property
    def stored(self) -> float:
        """Energy in both springs at the last push, [J]."""
        return 0.5 * float((self._K * self._error) @ self._error)


@dataclass(frozen=True)
class ForcePulse:
    """A half-sine pulse of wrench.

    Attributes:
        start: when it begins, [s].
        duration: how long it lasts, [s].
        wrench: peak, [N] ×3 then [N·m] ×3, world axes at the tool point.
    """

    start: float
    duration: float
    wrench: tuple[float, float, float, float, float, float]

    def __post_init__(self) -> None:
        """Refuse a pulse without length."""
        if not self.duration > 0.0:
            raise BadValue(f"a force pulse lasts {self.duration:g} s; it needs more than 0 s")


@dataclass
class ForceHand:
    """A hand that pushes with a given wrench over time, whatever the tool does: identical inputs for every run.

    Attributes:
        pulses: the profile.
    """

    scale: float = parameter(1.0, "-", "factor on the force profile", -100.0, 100.0)
    pulses: Iterable[ForcePulse] = ()

    def __post_init__(self) -> None:
        """Sort the profile once."""
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
