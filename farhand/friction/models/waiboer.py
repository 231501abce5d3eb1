"""Waiboer's friction of helical gears, for one joint and for an arm with a coupled wrist."""

from __future__ import annotations

import dataclasses
import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import BadValue, UnknownName
from farhand.friction.models.model import Array, StaticFriction, register
from farhand.parameters import parameter


@register
@dataclass(kw_only=True)
class Waiboer(StaticFriction):
    r"""Asperities that carry less as a film builds up, and the drag of the film.

    .. math:: F = \mathrm{sgn}\,v \left[ F_a\,e^{-(|v|/v_s)^{\delta_a}} + c\,|v|^{1 - \delta_v}
              + F_l \bigl(1 - e^{-|v|/v_l}\bigr) \right]

    There is no Coulomb term: well above v_s only the film is left. The last term is there for one
    gear only, which has it in place of the second.
    """

    name = "waiboer"

    asperity: Array = parameter(0.05258, "N·m", "dry part at rest", -1e4, 1e4)
    asperity_speed: Array = parameter(0.1516, "rad/s", "speed of the dry part's fall", 1e-9, 1e4)
    asperity_shape: Array = parameter(0.7, "-", "exponent of its fall", 0.1, 10.0)
    viscous: Array = parameter(0.04, "N·m·(s/rad)^(1-δ)", "drag of the film", 0.0, 1e4)
    viscous_shape: Array = parameter(0.35, "-", "lag of the drag behind the speed", -1.0, 0.95)
    film: Array = parameter(0.0, "N·m", "drag that saturates", -1e4, 1e4)
    film_speed: Array = parameter(1.0, "rad/s", "speed at which it does", 1e-9, 1e4)

    def level(self, speed: Array) -> Array:
        """Size of the friction at speeds ≥ 0 [rad/s], [N·m]."""
        dry = self.asperity * np.exp(-np.power(speed / self.asperity_speed, self.asperity_shape))
        drag = self.viscous * np.power(speed, 1.0 - self.viscous_shape)
        return dry + drag + self.film * (1.0 - np.exp(-speed / self.film_speed))

    def curve(self, velocity: Array) -> Array:
        """F(v), [N·m]."""
        return np.sign(velocity) * self.level(np.abs(velocity))

    @property
    def hold(self) -> tuple[Array, Array]:
        """At rest it balances up to F_a, [N·m]."""
        most = np.maximum(self.asperity, 0.0)
        return -most, most


@functools.cache
def gear_table() -> dict[str, Any]:
    """The published parameters of the RX160's gears."""
    return tomllib.loads(Path(__file__).with_name("waiboer.toml").read_text())


GEAR_SETS = tuple(name for name, value in gear_table().items() if isinstance(value, dict))
"""Names of the published parameter sets."""


@dataclass(kw_only=True)
class Gears(StaticFriction):
    r"""The RX160's gears: one Waiboer term per joint, and one that joints 5 and 6 share.

    .. math:: u = D v, \qquad F = D^\top f(u), \qquad
              D = \begin{bmatrix} I_6 \\ 0\,0\,0\,0\,1\,1 \end{bmatrix}

    f are the seven ``terms``, each with the sign of its own speed. For six joints only, so it is
    not one of :data:`~farhand.friction.FRICTIONS`.
    """

    name = "rx160-gears"

    joints: int = 6
    set: str = parameter("reduced", "-", "published parameters", choices=GEAR_SETS)
    share: Array = parameter((1.0,) * 7, "-", "dry part of joints 1 to 4, a, b, c", 0.0, 10.0)
    directions: Array = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.joints != 6:
            raise BadValue(f"the RX160's gears are for 6 joints, not for {self.joints}")
        if self.set not in GEAR_SETS:
            raise UnknownName("parameter set of the RX160's gears", self.set, GEAR_SETS)
        self.directions = np.vstack([np.eye(6), [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]])
        super().__post_init__()

    def refresh(self) -> None:
        """Take the parameters of the set."""
        table = {key: value for key, value in gear_table().items() if not isinstance(value, dict)}
        self.terms = Waiboer(joints=7, **table, **gear_table()[self.set])
        self.terms.asperity = self.terms.asperity * self.share

    def curve(self, velocity: Array) -> Array:
        """F(v), [N·m]; the last axis is the joints'."""
        return self.terms.curve(velocity @ self.directions.T) @ self.directions

    def smooth(self, velocity: Array, speed: float) -> Array:
        """F(v) with tanh(u/``speed``) for every sign, [N·m]; for control at a noisy velocity."""
        u = self.directions.dot(velocity)
        return (np.tanh(u / speed) * self.terms.level(np.abs(u))).dot(self.directions)

    @property
    def hold(self) -> tuple[Array, Array]:
        """At rest each joint is held with up to its own and the shared dry part, [N·m]."""
        most = np.maximum(np.maximum(self.terms.asperity, 0.0) @ self.directions, 0.0)
        return -most, most
