"""Hands: what moves a tool. One holds it with a spring about a scripted pose, one pushes with a given force."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from farhand.control.trajectory import Path
from farhand.parameters import parameter
from farhand.spatial import rotation_vector
from farhand.world.touch import Tool

Array = np.ndarray


@dataclass
class ImpedanceHand:
    r"""A hand that holds the tool with a spring and a damper about a path.

    .. math:: f = K (x_r - p) + D (\dot x_r - \dot p), \qquad
              \tau = K_r \log(R_r R^\top) + D_r (\omega_r - \omega)

    The path is a displacement from where the tool was at the first push. A drag from the console is a further
    displacement. Opening the hand makes both springs vanish.

    Attributes:
        stiffness: K, [N/m].
        damping: D, [N·s/m].
        rotational_stiffness: K_r, [N·m/rad].
        rotational_damping: D_r, [N·m·s/rad].
        open: True when the hand has let go.
        path: displacement of the reference over time.
        drag: extra displacement of the reference, [m], world axes.
    """

    stiffness: float = parameter(1000.0, "N/m", "stiffness of the hand", 0.0, 1e5)
    damping: float = parameter(100.0, "N·s/m", "damping of the hand", 0.0, 1e4)
    rotational_stiffness: float = parameter(30.0, "N·m/rad", "rotational stiffness of the hand", 0.0, 1e4)
    rotational_damping: float = parameter(3.0, "N·m·s/rad", "rotational damping of the hand", 0.0, 1e3)
    open: bool = parameter(False, "-", "whether the hand has let go")
    drag: Array = parameter((0.0, 0.0, 0.0), "m", "displacement of the hand beside its path", -2.0, 2.0)
    path: Path = field(default_factory=Path)

    def __post_init__(self) -> None:
        """Start with nothing held."""
        self._position: Array | None = None
        self._rotation = np.eye(3)
        self._stretch = np.zeros(3)
        self._turn = np.zeros(3)

    def push(self, tool: Tool, t: float, wrench: Array) -> None:
        """Pull the tool towards the path."""
        if self._position is None:
            self._position, self._rotation = tool.position.copy(), tool.rotation.copy()
        if self.open:
            wrench[:] = self._stretch[:] = self._turn[:] = 0.0
            return
        path, stretch, twist = self.path, self._stretch, tool.twist
        path.at(t)
        np.add(self._position, path.translation, out=stretch)
        stretch += self.drag
        stretch -= tool.position
        self._turn = turn = rotation_vector(path.rotation.dot(self._rotation).dot(tool.rotation.T))
        wrench[:3] = self.stiffness * stretch + self.damping * (path.velocity - twist[:3])
        wrench[3:] = self.rotational_stiffness * turn + self.rotational_damping * (path.angular_velocity - twist[3:])

    @property
    def stored(self) -> float:
        """Energy in both springs at the last push, [J]."""
        linear = self.stiffness * float(self._stretch @ self._stretch)
        return 0.5 * (linear + self.rotational_stiffness * float(self._turn @ self._turn))


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


@dataclass
class ForceHand:
    """A hand that pushes with a given wrench over time, whatever the tool does: identical inputs for every run.

    Attributes:
        scale: multiplies the whole profile, [-].
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
