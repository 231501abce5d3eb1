"""From raw counts of a force/torque sensor to the wrench of the contact, and contact detection."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.sensing.profile import AXES, UNITS, Load, Mounting, SensorProfile
from farhand.spatial import skew

Array = np.ndarray


@dataclass
class Conditioner:
    r"""Takes bias and weight off a raw reading and moves it to the tool point.

    .. math::
        w_{raw} = \mathrm{counts} \cdot \mathrm{capacity} / \mathrm{counts}_{cap}, \qquad
        w = \sigma\,(w_{raw} - b) - w_g(R_s), \qquad
        w_g = \begin{bmatrix} m R_s^\top g_0 \\ r \times m R_s^\top g_0 \end{bmatrix}

        f_b = R_{bs} w_f, \quad m_b = R_{bs} w_m + p_{bs} \times f_b, \qquad
        h = (R_b f_b,\; R_b m_b)

    R_bs, p_bs and σ are the mounting, R_s = R_b R_bs. The weight is that of the internals and of
    the load. The bias is the mean of the first ``samples`` readings, less the weight, taken at rest
    with hands off; until then there is no measurement. A reading near an axis's capacity is no
    measurement either, from the first such sample on: the other axes of a bent sensor are wrong
    too.

    Attributes:
        status: ``bias`` while the bias is taken, ``ok``, ``saturated`` or ``invalid`` (not a
            number).
        bias: b, [N] and [N·m].
        wrench: on the arm by hand or environment, world axes at the tool point, [N] and [N·m]; the
            last good one.
    """

    profile: SensorProfile
    mounting: Mounting = field(default_factory=Mounting)
    load: Load = field(default_factory=Load)  #: on the sensor beside its internals, e.g. a handle
    gravity: float = 9.81  #: [m/s²]
    samples: int = parameter(100, "-", "readings that the bias is made of", 1, 1_000_000)
    limit: float = parameter(0.95, "-", "share of the capacity that is usable", 0.1, 2.0)
    latch: bool = parameter(True, "-", "whether saturation lasts until the next engagement")

    def __post_init__(self) -> None:
        """Prepare the maps; the bias is not known yet."""
        self.wrench, self.raw, self.bias = (np.zeros(6) for _ in range(3))
        self._distrusted = False
        self._worst = (0, 0.0)
        self._in_tool, self._share, self._sum = (np.zeros(6) for _ in range(3))
        self._rows_tool = self._in_tool.reshape(2, 3)
        self._rows = self.wrench.reshape(2, 3)
        self._resolution = self.profile.resolution
        self._to_tool = wrench_map(self.mounting)
        self._per_down = self._weight_map(self.profile.internals + self.load)
        self.refresh()
        self.tare()

    def refresh(self) -> None:
        """Prepare what depends on the parameters."""
        self._per_limit = 1.0 / (self.limit * self.profile.capacity)

    def mount(self, load: Load) -> None:
        """Change the load, such as to the tool and an object together."""
        self.load = load
        self._per_down = self._weight_map(self.profile.internals + load)

    def trust(self) -> None:
        """Trust a sensor again that was saturated."""
        self._distrusted = False

    def tare(self) -> None:
        """Take the bias from the next readings, hands off."""
        self.trust()
        self.status = "bias"
        self._biased = False
        self._taken = 0
        self._sum[:] = 0.0

    def set_bias(self, bias: Array) -> None:
        """Use a known bias, [N] ×3 and [N·m] ×3, sensor axes."""
        bias = np.asarray(bias, dtype=float)
        if bias.shape != (6,) or not np.isfinite(bias).all():
            raise BadValue(f"bias must be 6 finite numbers, not {bias.tolist()}")
        self.bias[:] = bias
        self.status = "ok"
        self._biased = True
        self._taken = 0

    def update(self, counts: Array, rotation_tool_in_world: Array) -> Array | None:
        """The contact wrench from six raw counts, or None; :attr:`reason` then says why."""
        raw = np.multiply(counts, self._resolution, self.raw)
        share = np.multiply(raw, self._per_limit, self._share)
        # A norm below the limit needs no check of the single axes.
        if not share.dot(share) < 1.0 and not self._usable(share):
            return None
        if self._distrusted:
            self.status = "saturated"
            return None
        raw -= self._per_down.dot(rotation_tool_in_world[2])
        if not self._biased:
            self._take()
            return None
        self.status = "ok"
        raw -= self.bias
        self._to_tool.dot(raw, self._in_tool)
        self._rows_tool.dot(rotation_tool_in_world.T, self._rows)
        return self.wrench

    @property
    def reason(self) -> str:
        """Why there is no measurement; empty when there is one."""
        if self.status == "bias":
            return f"taking the bias: sample {self._taken} of {self.samples}"
        if self.status == "saturated":
            axis, value = self._worst
            limit, unit = self.limit * self.profile.capacity[axis], UNITS[axis]
            return f"saturated: {AXES[axis]} at {value:.4g} {unit} (limit {limit:.4g} {unit})"
        if self.status == "invalid":
            return f"{AXES[int(np.argmax(np.isnan(self._share)))]} is not a number"
        return ""

    def covariance(self, rotation_tool_in_world: Array) -> Array:
        """Of :attr:`wrench`, 6 × 6: noise and rounding of a reading and of the bias, not drift."""
        turn = np.kron(np.eye(2), rotation_tool_in_world) @ self._to_tool
        # A given bias counts as exact.
        averaged = 1.0 / self._taken if self._taken else 0.0
        return (turn * (self.profile.variance * (1.0 + averaged))) @ turn.T

    def _usable(self, share: Array) -> bool:
        if not math.isfinite(float(share.dot(share))):
            self.status = "invalid"
            return False
        if (np.abs(share) < 1.0).all():
            return True
        self.status = "saturated"
        self._distrusted = self.latch and self._biased
        axis = int(np.argmax(np.abs(share)))
        self._worst = axis, float(self.raw[axis])
        return False

    def _take(self) -> None:
        """One more reading for the bias; the mean is taken at the last."""
        self.status = "bias"
        self._sum += self.raw
        self._taken += 1
        if self._taken >= self.samples:
            np.multiply(self._sum, 1.0 / self._taken, self.bias)
            self._biased = True

    def _weight_map(self, load: Load) -> Array:
        """6 × 3: from world z in tool axes (third row of the rotation) to the weight as read."""
        pull = -self.gravity * load.mass * self.mounting.rotation.T
        return self.mounting.sign * np.vstack([pull, skew(load.com) @ pull])


def wrench_map(mounting: Mounting) -> Array:
    """6 × 6: from sensor readings to tool axes at the tool point; dual of the twist's adjoint."""
    R = mounting.rotation
    turn = np.zeros((6, 6))
    turn[:3, :3] = turn[3:, 3:] = R
    turn[3:, :3] = skew(mounting.position) @ R
    return mounting.sign * turn


@dataclass
class ContactDetector:
    """Contact while the force is above a threshold, until it falls below a lower one.

    Attributes:
        contact: whether there is contact now.
    """

    threshold: float = parameter(8.0, "N", "force from which on there is contact", 0.01, 10_000.0)
    release: float = parameter(6.0, "N", "force below which contact ends", 0.0, 10_000.0)

    def __post_init__(self) -> None:
        self.contact = False

    def update(self, force: Array) -> bool:
        """Whether a compensated force [N] means contact."""
        size = float(np.linalg.norm(force[:3]))
        self.contact = size > (self.release if self.contact else self.threshold)
        return self.contact

    def scan(self, forces: Array) -> Array:
        """The same for n forces, n × 3 or n × 6; starts from the present state."""
        size = np.linalg.norm(np.asarray(forces)[:, :3], axis=1)
        known = np.where(size > self.threshold, 1, np.where(size <= self.release, -1, 0))
        last = np.maximum.accumulate(np.where(known != 0, np.arange(len(known)), -1))
        contact = np.where(last >= 0, known[np.maximum(last, 0)] > 0, self.contact)
        if len(contact):
            self.contact = bool(contact[-1])
        return contact
