"""Springs inside a robot that its model file cannot hold: torque over a joint's angle."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from farhand.errors import BadValue, UnknownName
from farhand.robots.description import known_keys, section, vector


class JointSpring(ABC):
    """A passive spring at one joint."""

    lower: float = -math.inf  #: smallest angle at which the curve is known, [rad]
    upper: float = math.inf  #: largest such angle, [rad]

    @abstractmethod
    def torque(self, q: float) -> float:
        """Torque that holds the joint against the spring at angle ``q`` [rad], [N·m].

        The spring's own torque is the opposite. Beyond ``lower`` and ``upper`` it stays constant.
        """

    @abstractmethod
    def energy(self, q: float) -> float:
        """Energy stored at angle ``q`` [rad], [J], with :meth:`torque` as its derivative."""

    def known(self, q: float) -> bool:
        """Whether the curve is known at this angle [rad]."""
        return self.lower <= q <= self.upper


@dataclass(frozen=True)
class CubicSpring(JointSpring):
    r"""An identified curve, :math:`\tau = c_0 + c_1 q + c_2 q^2 + c_3 q^3`."""

    coefficients: tuple[float, float, float, float]  #: c_0 … c_3, [N·m], q in rad
    lower: float = -math.inf
    upper: float = math.inf

    @classmethod
    def fit(cls, q: NDArray[np.float64], torque: NDArray[np.float64]) -> CubicSpring:
        """The least-squares cubic through holding torques without weight [N·m] at angles [rad]."""
        if len(q) < 4 or np.ptp(q) < 0.1:
            need = "a cubic spring needs 4 angles over at least 0.1 rad"
            raise BadValue(f"{need}, not {len(q)} over {np.ptp(q):.3g}")
        c3, c2, c1, c0 = np.polyfit(q, torque, 3).tolist()
        return cls((c0, c1, c2, c3), float(np.min(q)), float(np.max(q)))

    def torque(self, q: float) -> float:
        """Holding torque, [N·m]."""
        c0, c1, c2, c3 = self.coefficients
        q = min(max(q, self.lower), self.upper)
        return c0 + q * (c1 + q * (c2 + q * c3))

    def energy(self, q: float) -> float:
        """Energy, zero at q = 0, [J]."""
        c0, c1, c2, c3 = self.coefficients
        x = min(max(q, self.lower), self.upper)
        return x * (c0 + x * (c1 / 2 + x * (c2 / 3 + x * c3 / 4))) + (q - x) * self.torque(x)


@dataclass(frozen=True)
class MechanismSpring(JointSpring):
    r"""A compression spring on a crank, as it is built into a balanced arm.

    .. math:: s = \sqrt{r^2 + (r + L)^2 - 2 r (r + L) \cos(a_0 + q)}, \qquad x = s - L, \qquad
              \tau = (k x + P)\,(L + r)\,r \sin(a_0 + q) / s
    """

    radius: float  #: r, of the crank, [m]
    length: float  #: L, distance of the ends at rest, [m]
    stiffness: float  #: k, [N/m]
    preload: float  #: P, [N]
    offset: float  #: a_0, [rad]

    def _distance(self, q: float) -> float:
        r, reach = self.radius, self.radius + self.length
        return math.sqrt(r * r + reach * reach - 2.0 * r * reach * math.cos(self.offset + q))

    def torque(self, q: float) -> float:
        """Holding torque, [N·m]."""
        s = self._distance(q)
        force = self.stiffness * (s - self.length) + self.preload
        return force * (self.length + self.radius) * self.radius * math.sin(self.offset + q) / s

    def energy(self, q: float) -> float:
        """½ k x² + P x, [J]."""
        x = self._distance(q) - self.length
        return x * (0.5 * self.stiffness * x + self.preload)


def read_springs(table: Any, model: mujoco.MjModel, where: str) -> dict[int, JointSpring]:
    """The springs of a ``robot.toml`` by the number of their joint's velocity.

    Raises:
        FarhandError: an unknown joint or kind, or values that are not numbers.
    """
    springs = {}
    for name, entry in section(table, f"{where}: springs").items():
        joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        if joint < 0:
            raise UnknownName("joint", name, [model.joint(i).name for i in range(model.njnt)])
        spring = _spring(section(entry, f"{where}: springs.{name}"), where)
        springs[int(model.jnt_dofadr[joint])] = spring
    return springs


def _spring(entry: dict[str, Any], where: str) -> JointSpring:
    kind, rest = entry.get("kind"), {key: value for key, value in entry.items() if key != "kind"}
    if kind == "cubic":
        known_keys(rest, {"coefficients", "range"}, f"{where}: a cubic spring")
        what = f"{where}: coefficients of a cubic spring"
        c0, c1, c2, c3 = vector(rest.get("coefficients", []), 4, what).tolist()
        limits = rest.get("range", [-math.inf, math.inf])
        low, high = vector(limits, 2, f"{where}: range", infinite=True).tolist()
        if not low < high:
            raise BadValue(f"{where}: range of a spring must rise, not [{low:g}, {high:g}]")
        return CubicSpring((c0, c1, c2, c3), low, high)
    if kind == "mechanism":
        names = [each.name for each in fields(MechanismSpring)]
        known_keys(rest, set(names), f"{where}: a mechanism spring")
        numbers = {n: float(vector(rest.get(n, []), 1, f"{where}: {n}")[0]) for n in names}
        return MechanismSpring(**numbers)
    raise UnknownName(f"kind of spring in {where}", str(kind), ("cubic", "mechanism"))
