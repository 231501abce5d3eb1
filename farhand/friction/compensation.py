"""Friction compensation: add a share of the torque that a friction model predicts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from farhand.errors import BadValue
from farhand.friction.models.model import Array, Friction
from farhand.friction.velocity import StateVariableFilter
from farhand.parameters import parameter, validate

SAFE_GAIN = 0.9
"""Default share of the model that is compensated: a model 11 % too high is then still passive."""


@dataclass
class FrictionCompensation:
    r"""Add a share of the friction that a model predicts.

    .. math:: \hat F = \alpha\,|F(\max(|v|, v_0))|\,\mathrm{clip}(v/v_0, -1, 1)

    From a **reference velocity** (:meth:`torque`) that is all: there is no feedback in it, so
    nothing can oscillate.

    From the **encoder** (:meth:`measured`) it is positive feedback, and before a joint slides there
    is little to damp it: its bristles only spring. So below the speed v_r, velocity does not count;
    there the commanded torque τ is amplified instead, by no more than the least sliding friction of
    the curve,

    .. math:: \hat F = \alpha\,\bigl(s\,|F(\hat v)|
              + (1 - |s|)\,\mathrm{clip}(h \tau, \pm F_{least})\bigr), \qquad
              s = \mathrm{sgn}(\hat v)\,\mathrm{clip}\bigl(|\hat v|/v_r - 1, 0, 1\bigr)

    which amounts to a higher gain of the controller. The friction at rest always exceeds this
    help: the joint starts without dither and stays where it stands, without a limit cycle.

    A gain above 0.9 is refused unless ``over`` is set: a compensated joint whose friction is lower
    than the model says is driven by its own motion.
    """

    friction: Friction  #: F, the fitted model; only its steady curve is used
    gain: float = parameter(SAFE_GAIN, "-", "share of the model that is compensated", 0.0, 1.5)
    over: bool = parameter(False, "-", "whether a gain above 0.9 is allowed")
    speed: float = parameter(0.02, "rad/s", "speed of the linear part", 1e-6, 10.0)
    help: float = parameter(4.0, "-", "factor on the commanded torque at rest", 0.0, 100.0)
    rest: float = parameter(0.02, "rad/s", "measured speed that counts as rest; 0: none", 0.0, 10.0)
    #: where the measured velocity comes from
    filter: StateVariableFilter = field(default_factory=StateVariableFilter)

    def __post_init__(self) -> None:
        """Check the values and look for the least sliding friction."""
        validate(self, "compensation")

    def refresh(self) -> None:
        """Refuse unconfirmed over-compensation; find the least sliding friction each way."""
        if self.gain > SAFE_GAIN and not self.over:
            raise BadValue(
                f"compensation.gain = {self.gain:g} is above {SAFE_GAIN:g}, which drives a joint "
                "whose friction is lower than the model predicts; set compensation.over=true to "
                "allow it"
            )
        speeds = np.geomspace(self.speed, max(10.0, 2.0 * self.speed), 200)[:, np.newaxis]
        ones = np.ones(self.friction.joints)
        self._forward = np.abs(self.friction.steady(speeds * ones)).min(axis=0)
        self._backward = np.abs(self.friction.steady(-speeds * ones)).min(axis=0)

    def reset(self) -> None:
        """Forget the encoder's past."""
        self.filter.reset()

    def torque(self, velocity: Array) -> Array:
        """The torque to add for a reference velocity [rad/s], [N·m]."""
        share = np.clip(velocity / self.speed, -1.0, 1.0)
        slow = np.abs(velocity) < self.speed
        lifted = np.where(slow, np.copysign(self.speed, velocity), velocity)
        return self.gain * np.abs(self.friction.quick(lifted)) * share

    def measured(self, position: Array, dt: float, commanded: Array | None = None) -> Array:
        """The torque to add, [N·m], with the velocity from an encoder reading [rad] after dt [s].

        ``commanded`` is the commanded torque without gravity, [N·m]; it is amplified at rest.
        """
        velocity = self.filter.step(position, dt)
        if not self.rest:
            return self.torque(velocity)
        share = np.clip(np.abs(velocity) / self.rest - 1.0, 0.0, 1.0)
        force = share * self.friction.quick(velocity)
        if commanded is not None:
            help_at_rest = np.clip(self.help * commanded, -self._backward, self._forward)
            force += (1.0 - share) * help_at_rest
        force *= self.gain
        return force
