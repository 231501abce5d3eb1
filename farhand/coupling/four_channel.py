"""Four channels: motion and force both ways, so that the hand feels what the follower touches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from farhand.coupling.constraint_terms import Terms
from farhand.coupling.coupling import Coupling, per_axis
from farhand.coupling.side import Effort, Side
from farhand.parameters import parameter

Array = np.ndarray

FADE = 0.2
"""Time constant with which a wrench that is no longer measured fades, [s]."""


@dataclass
class FourChannel(Coupling):
    r"""Make the follower accelerate as the leader does, and hand what it touches to the leader.

    Each tool accelerates by :math:`\ddot x_i = \Gamma_i w_i - A_i` under a wrench :math:`w_i` asked
    of its motors;
    :math:`A_i` holds Coriolis, friction and the measured wrench :math:`h_i`. With S the workspace
    map,
    :math:`e = x_t - x_b` and :math:`\dot e = S\dot x_a - \dot x_b`,

    .. math::
        f_e = \Gamma_b^{-1}(K_d\,\dot e + K_p\,e), \qquad
        w_a = \mathrm{back}(\phi\,h_b - \beta f_e)

        w_b = \Gamma_b^{-1}\big(A_b + S(\Gamma_a w_a - A_a)\big) + f_e

    Four things cross: the leader's motion (e) and the hand's wrench (inside :math:`A_a`, as the
    acceleration it causes) to the follower; the follower's wrench :math:`h_b` and its lag
    :math:`f_e` to the leader. In Lawrence's terms C₁ and C₄ are the arms' own impedances with K_p
    and K_d, and C₂ = C₃ = 1. With exact models the lag stays zero: the hand feels the leader's own
    inertia and no more, and in contact the environment's own stiffness.

    Over a link with a passivity layer the follower's end takes :math:`w_a` from the packet, what
    the leader was asked for when it left, and follows without lag. Without a layer it works w_a out
    from what it knows: it lags behind, and bears more delay in contact.

    Needs both models and both wrenches. A wrench that is not measured any more fades to zero;
    without the hand's the follower's inertia is felt again, without the follower's only the lag is
    felt. What it does badly: it takes the follower's inertia away by acceleration, so an error of
    the model comes back as felt inertia of either sign, and a delayed link makes it shake before
    the position laws do.
    """

    name = "four-channel"
    needs = frozenset({"models", "leader-wrench", "follower-wrench"})

    proportional: Array = parameter((400.0,) * 6, "1/s²", "diagonal of K_p", 0.0, 1e5)
    derivative: Array = parameter((40.0,) * 6, "1/s", "diagonal of K_d", 0.0, 1e4)
    damping: float = parameter(0.01, "1/kg", "damping ρ of the inverse of Γ", 0.0, 1.0)
    reflection: float = parameter(
        1.0, "-", "share of the measured contact that the hand feels", 0.0, 2.0
    )
    lag_share: float = parameter(
        1.0, "-", "share of the follower's lag that the hand feels", 0.0, 1.0
    )
    leader_damping: float = parameter(0.0, "N·s/m", "damping added at the leader's tool", 0.0, 1e3)

    def __post_init__(self) -> None:
        """Prepare the work arrays."""
        super().__post_init__()
        n, m = self.port.leader_size, self.port.size
        self._terms: tuple[Terms, Terms] | None = None
        self._measured, self._known = (np.zeros(n), np.zeros(m)), [False, False]
        self._felt, self._local, self._pull = np.zeros(n), np.zeros(n), np.zeros(m)
        self._wanted = np.zeros((m, 2))
        self.proportional, self.derivative = (
            per_axis(gains, m) for gains in (self.proportional, self.derivative)
        )

        self.refresh()

    def refresh(self) -> None:
        """Stack the damping."""
        self._brake = self.port.spread(-self.leader_damping, 0.0, leader=True)

    def engage(self, a: Side, b: Side) -> None:
        """Couple the present poses, with no effort remembered."""
        super().engage(a, b)
        self._known = [False, False]

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Contact and lag on the leader; acceleration and the lag's pull on the follower."""
        assert a.arm is not None and b.arm is not None  # "models" is among the needs
        self.measure(a, b)
        if self._terms is None:
            self._terms = self.port.terms(a.arm), self.port.terms(b.arm)
        measured = self.port.measured(a), self.port.measured(b)
        h_a, h_b = (self._keep(which, value, dt) for which, value in enumerate(measured))
        one, two = self._terms
        # a leader at the limit of its motors accelerates by less than it was asked to
        known = a.external_torque if a.cut is None else a.cut + a.known_torque
        one.update(a.arm, h_a, known)
        two.update(b.arm, h_b, b.external_torque)
        error, lead = self._wanted[:, 0], self._wanted[:, 1]
        np.multiply(self.derivative, self.rate, error)
        error += self.proportional * self.error
        lag = two.exert(self._wanted, self.damping)[:, 0]
        self.mapping.back(self.reflection * h_b - self.lag_share * lag, self._felt)
        np.multiply(self._brake, self.port.rate(a), self._local)
        self._felt += self._local
        led = one.gamma.dot(self._felt if a.commanded is None else a.commanded) - one.A
        lead[:] = led if self.mapping.plain else self.mapping.matrix @ led
        lead += two.A
        lead += error
        self._pull[:] = two.exert(self._wanted, self.damping)[:, 1]
        return a.effort(self._felt, local=self._local), b.effort(self._pull, self.mapping)

    def _keep(self, which: int, measured: Array | None, dt: float) -> Array:
        """The measured effort of one side; while there is none, the last one, fading."""
        kept = self._measured[which]
        if measured is not None:
            kept[:], self._known[which] = measured, True
        else:
            kept *= math.exp(-dt / FADE) if self._known[which] else 0.0
        return kept


class FourChannelSensorless(FourChannel):
    """Four channels without force sensors: both wrenches are those that momentum observers see.

    An observer knows the contact only as well as its model: friction it does not know is felt as
    contact, and it is slower than a sensor by the inverse of its gain.
    """

    name = "four-channel-sensorless"
    needs = frozenset({"models", "observers"})
