"""Admittance: measured forces move a virtual handle, and both tools go where it goes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from farhand.coupling.constraint_terms import Terms
from farhand.coupling.coupling import Coupling
from farhand.coupling.side import NOTHING, Effort, Side
from farhand.parameters import parameter

Array = np.ndarray

DAMPING = 0.01
"""ρ of the inverse of Γ, [1/kg] and [1/(kg·m²)]."""


TIED_S = 0.3
"""Time after an engagement in which the handle is set free, [s].

While efforts fade in, the arm does not yet follow it: a free handle would run ahead, and then pull.
"""


@dataclass
class Admittance(Coupling):
    r"""Measured wrenches push a virtual handle; the leader follows it, the follower the leader.

    .. math::
        M_v\,\dot v + B_v\,v = h_a + \mathrm{back}(h_b), \qquad x_a \to x_v, \qquad x_b \to x_t(x_a)

    Both arms get targets, so arms that take positions or velocities and nothing else can be either
    side. Arms that take torques are servoed to their targets with their own model,
    :math:`w = \Gamma^{-1}(A + \ddot x_{ref} + K_d\,\dot e + K_p\,e)`, where A cancels what is
    measured to push on them (see :class:`farhand.coupling.constraint_terms.ToolTerms`). The law has
    a state, the handle, on the leader's side.

    Needs both wrenches. One that is no longer measured counts as zero, so the handle slows down
    within M_v/B_v. What it does badly: the hand feels M_v on top of what it touches, and a light
    handle on a slow or compliant arm shakes against a stiff hand: the lag of the arm's own servo
    eats the damping. The tools follow exactly, also through a singular posture, where joints race;
    the springs of other laws give way there. The handle never runs further than ``leash`` from the
    tool, so an arm that cannot follow does not wind up.

    Attributes:
        handle: the virtual handle.
    """

    name = "admittance"
    needs = frozenset({"leader-wrench", "follower-wrench"})

    mass: float = parameter(4.0, "kg", "mass of the virtual handle", 0.05, 1e3)
    inertia: float = parameter(0.1, "kg·m²", "inertia of the virtual handle", 1e-3, 1e2)
    damping: float = parameter(10.0, "N·s/m", "damping of the virtual handle", 0.0, 1e4)
    rotational_damping: float = parameter(
        0.3, "N·m·s/rad", "rotational damping of the virtual handle", 0.0, 1e3
    )
    leash: float = parameter(0.05, "m", "farthest the handle may be from the tool", 1e-3, 1.0)
    turn_leash: float = parameter(
        0.3, "rad", "farthest the handle may be turned from the tool", 1e-3, 1.0
    )
    proportional: float = parameter(
        2500.0, "1/s²", "K_p of the servo of torque-driven arms", 0.0, 1e5
    )
    derivative: float = parameter(100.0, "1/s", "K_d of the servo of torque-driven arms", 0.0, 1e4)

    def __post_init__(self) -> None:
        """Prepare the work arrays."""
        super().__post_init__()
        n = self.port.leader_size
        self.handle: Any = self.port.handle()
        self._terms: dict[str, Terms] = {}
        self._force, self._acceleration, self._since = np.zeros(n), np.zeros(n), 0.0
        self.refresh()

    def refresh(self) -> None:
        """Stack the handle's numbers."""
        self._M = self.port.spread(self.mass, self.inertia, leader=True)
        self._B = self.port.spread(self.damping, self.rotational_damping, leader=True)
        self._dt = math.nan  # of what follows from these numbers

    def engage(self, a: Side, b: Side) -> None:
        """Take the handle to the leader's tool, and let it move on with it."""
        super().engage(a, b)
        self.handle.take(a)
        self._since = 0.0

    def settle(self) -> None:
        """Set the handle free."""
        self._since = TIED_S

    def step(self, a: Side, b: Side, dt: float) -> tuple[Effort, Effort]:
        """Move the handle; pull the leader to it and the follower to the mapped leader."""
        self.measure(a, b)
        self._advance(a, b, dt)
        handle = self.handle
        rate = handle.rate - self.port.rate(a)
        on_a = self._servo(a, handle.error(a), rate, self._acceleration)
        on_b = self._servo(b, self.error, self.rate, 0.0)
        return a.effort(on_a, handle), b.effort(on_b, self.mapping)

    def _servo(self, side: Side, error: Array, rate: Array, acceleration: Array | float) -> Array:
        """Wrench that makes a tool follow its reference; zero without a model."""
        if side.arm is None:
            return NOTHING
        terms = self._terms.get(side.role)
        if terms is None:
            terms = self._terms[side.role] = self.port.terms(side.arm)
        terms.update(side.arm, self.port.measured(side), side.external_torque)
        wanted = terms.A + acceleration
        wanted += self.derivative * rate
        wanted += self.proportional * error
        return terms.exert(wanted[:, None], DAMPING)[:, 0]

    def _advance(self, a: Side, b: Side, dt: float) -> None:
        """One step of the handle: the damping exact, the force held."""
        handle, force = self.handle, self._force
        on_a, on_b = self.port.measured(a), self.port.measured(b)
        force[:] = 0.0
        if on_b is not None:
            self.mapping.back(on_b, force)
        if on_a is not None:
            force += on_a
        if dt != self._dt:
            share = self._B / self._M * dt
            self._held = np.where(share > 1e-9, -np.expm1(-share) / np.maximum(share, 1e-9), 1.0)
            self._left, self._dt = np.exp(-share), dt
        rate = handle.rate * self._left + force / self._M * dt * self._held
        np.multiply(rate - handle.rate, 1.0 / dt if dt > 0.0 else 0.0, self._acceleration)
        handle.rate[:] = rate
        handle.shift(rate * dt)
        self._since += dt
        if self._since < TIED_S:
            self._tie(a, self._since / TIED_S)
        self._hold_back(a)

    def _tie(self, a: Side, share: float) -> None:
        """Let the handle keep this share of its lead over the leader."""
        lead, rate = self.handle.error(a).copy(), self.handle.rate - self.port.rate(a)
        self.handle.take(a)
        self.handle.shift(share * lead)
        self.handle.rate += share * rate

    def _hold_back(self, a: Side) -> None:
        """Keep the handle on its leash, and stop what runs against it."""
        lead = self.handle.error(a)
        short = self.port.bounded(lead, self.leash, self.turn_leash)
        stopped = short != lead
        if stopped.any():
            rate = np.where(stopped, self.port.rate(a), self.handle.rate)
            self.handle.take(a)
            self.handle.shift(short)
            self.handle.rate[:] = rate
