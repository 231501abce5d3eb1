"""How stiffly followers that feel only their own wrists may be coupled before they fight, along one sampled axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import expm

from farhand.sensing.kalman import ScalarKalman, steady_gain

Array = np.ndarray

MARGIN = 1e-9
"""How far inside the unit circle an eigenvalue must lie to count as decaying."""


@dataclass(frozen=True)
class FollowerLoop:
    r"""N followers under direct force control, each held by a coupling of stiffness k.

    .. math:: M \ddot x = u_{j-d} + w - b\,\dot x, \qquad u_j = k_{pf}\,\hat w_j - k_{df}\,\hat v_j, \qquad
              w = -k\,(x - x_o)

    :math:`\hat w` and :math:`\hat v` are the settled scalar filters of variances q and r, the
    command is held over a period and comes d samples late. Without an object :math:`x_o` is a
    leader that is exactly on its path; with one, all followers and such a leader hold the object by
    k each; that followers fight is then one of the modes.

    Attributes:
        stiffness: k, [N/m].
        kp: k_pf, [-].
        kd: k_df, [N·s/m].
        r_velocity: variance of the velocity filter, [-].
        r_force: variance of the force filter, [-].
        mass: M, of a tool, [kg].
        damping: b, of a tool, [N·s/m].
        followers: N.
        object_mass: of what they hold; 0 for none, [kg].
        q: variance that filters gain per sample, [-].
        period: [s].
        delay: d, samples.
    """

    stiffness: float
    kp: float
    kd: float
    r_velocity: float = 20.0
    r_force: float = 20.0
    mass: float = 60.0
    damping: float = 0.0
    followers: int = 1
    object_mass: float = 0.0
    q: float = 0.125
    period: float = 0.004
    delay: int = 1

    def plant(self) -> tuple[Array, Array, Array]:
        """A and B of the continuous plant, and C from its state to each follower's wrist force, [N]."""
        n, holds = self.followers, self.object_mass > 0.0
        size = n + holds
        K, masses, b = np.zeros((size, size)), np.full(size, self.mass), np.full(size, self.damping)
        C = np.zeros((n, 2 * size))
        for i in range(n):
            K[i, i], C[i, i] = self.stiffness, -self.stiffness
            if holds:
                K[i, n] = K[n, i] = -self.stiffness
                C[i, n] = self.stiffness
        if holds:
            K[n, n], masses[n], b[n] = (n + 1) * self.stiffness, self.object_mass, 0.0
        A = np.zeros((2 * size, 2 * size))
        A[:size, size:] = np.eye(size)
        A[size:, :size], A[size:, size:] = -K / masses[:, None], -np.diag(b / masses)
        B = np.zeros((2 * size, n))
        B[size : size + n] = np.eye(n) / self.mass
        return A, B, C

    def matrix(self) -> Array:
        """From one sample to the next: plant, filtered velocities, filtered forces, commands on their way."""
        A, B, C = self.plant()
        n, z = self.followers, len(A)
        both = np.zeros((z + n, z + n))
        both[:z, :z], both[:z, z:] = A, B
        moved = expm(both * self.period)
        phi, gamma = moved[:z, :z], moved[:z, z:]
        gv, gf = (
            steady_gain(self.q, r) if r > 0.0 else 1.0 for r in (self.r_velocity, self.r_force)
        )
        V = np.zeros((n, z))
        V[:, z // 2 : z // 2 + n] = np.eye(n)
        keep = np.eye(n)
        filters = np.block(
            [[gv * V, (1.0 - gv) * keep, 0.0 * keep], [gf * C, 0.0 * keep, (1.0 - gf) * keep]]
        )
        command = -self.kd * filters[:n] + self.kp * filters[n:]
        total = z + 2 * n + self.delay * n
        F = np.zeros((total, total))
        F[z : z + 2 * n, : z + 2 * n] = filters
        F[:z, :z] = phi
        if self.delay == 0:
            F[:z, : z + 2 * n] += gamma @ command
            return F
        F[:z, total - n :] = gamma
        F[z + 2 * n : z + 3 * n, : z + 2 * n] = command
        for late in range(1, self.delay):
            start = z + 2 * n + late * n
            F[start : start + n, start - n : start] = np.eye(n)
        return F

    def growth(self) -> float:
        """Largest modulus of an eigenvalue; the object's place apart from the rest, nothing is left at 1."""
        return float(np.abs(np.linalg.eigvals(self.matrix())).max())

    @property
    def stable(self) -> bool:
        """Whether every motion decays, or at least does not grow where nothing holds it."""
        return self.growth() < 1.0 + MARGIN


def stiffest(loop: FollowerLoop, low: float = 0.1, high: float = 1e6) -> float:
    """Largest stiffness up to which the loop is stable, [N/m]; 0 if it is not even at ``low``."""
    return edge(lambda k: replace(loop, stiffness=k).stable, low, high)


def least_damping(loop: FollowerLoop, low: float = 1.0, high: float = 1e6) -> float:
    """Smallest damping of the tools from which on the loop is stable, [N·s/m]."""
    return edge(lambda b: not replace(loop, damping=b).stable, low, high)


def edge(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Up to where something holds: first change upwards in steps of 10 %, then bisected to 0.1 %."""
    if not holds(low):
        return 0.0
    good, bad = low, low * 1.1
    while holds(bad):
        good, bad = bad, bad * 1.1
        if good > high:
            return float("inf")
    while bad / good > 1.001:
        middle = float(np.sqrt(good * bad))
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return float(np.sqrt(good * bad))


def simulated(loop: FollowerLoop, seconds: float = 20.0, substeps: int = 40) -> bool:
    """Whether a loop calms down in time simulation: real filters, started settled, and a plant in small Euler steps.

    Nothing of :meth:`FollowerLoop.matrix` is used, so that one may judge the other.
    """
    A, B, C = loop.plant()
    n, size = loop.followers, len(A) // 2
    P, Q = _over_a_period(A, B, loop.period, substeps)
    velocity, force = (_settled(loop.q, r, n) for r in (loop.r_velocity, loop.r_force))
    state, waiting, peaks = np.zeros(2 * size), [np.zeros(n)] * (loop.delay + 1), []
    state[:n] = 1e-3 * np.where(np.arange(n) % 2, -1.0, 1.0) * (1.0 + 0.1 * np.arange(n))
    for _ in range(round(seconds / loop.period)):
        filtered_v, filtered_f = velocity(state[size : size + n]), force(C @ state)
        waiting = [*waiting[1:], loop.kp * filtered_f - loop.kd * filtered_v]
        state = P @ state + Q @ waiting[0]
        peaks.append(float(np.abs(state[size:]).max()))
        if not peaks[-1] < 1e3:
            return False
    third = len(peaks) // 3
    return max(peaks[2 * third :]) < max(peaks[third : 2 * third])


def _over_a_period(A: Array, B: Array, period: float, substeps: int) -> tuple[Array, Array]:
    """What small semi-implicit Euler steps make of a state and of a held command over one period."""
    size, h, (z, n) = len(A) // 2, period / substeps, B.shape
    moved = np.eye(z, z + n)  # every state and every command at once
    for _ in range(substeps):
        moved[size:] += h * (A[size:] @ moved)
        moved[size:, z:] += h * B[size:]
        moved[:size] += h * moved[size:]
    return moved[:, :z], moved[:, z:]


def _settled(q: float, r: float, n: int) -> Callable[[Array], Array]:
    if r <= 0.0:
        return lambda reading: reading
    gain = steady_gain(q, r)
    kalman = ScalarKalman(np.full(n, q), np.full(n, r), np.zeros(n), np.full(n, gain * r))
    return lambda reading: np.array(kalman.step(reading))
