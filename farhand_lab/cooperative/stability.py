"""How stiffly followers that feel only their own wrists may be coupled: F-50."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import expm

from farhand.sensing.kalman import ScalarKalman, steady_gain
from farhand.spatial import Array
from farhand_lab.harness import Figure, Finding, experiment, shared
from farhand_lab.mutation import Mutations
from farhand_lab.plots import canvas

MARGIN = 1e-9
"""How far outside the unit circle an eigenvalue may lie by rounding."""


@dataclass(frozen=True)
class FollowerLoop:
    r"""N followers under direct force control, each held by a coupling of stiffness k.

    .. math:: M \ddot x = u_{j-d} + w - b\,\dot x, \qquad
              u_j = k_{pf}\,\hat w_j - k_{df}\,\hat v_j, \qquad w = -k\,(x - x_o)

    :math:`\hat w` and :math:`\hat v` are the settled scalar filters of variances q and r. The
    command is held over a period and comes d samples late. Without an object :math:`x_o` is a
    leader that is exactly on its path. With one, all followers and such a leader hold it by k each;
    a fight between followers is then one of the modes.
    """

    stiffness: float  #: k, [N/m]
    kp: float  #: k_pf, [-]
    kd: float  #: k_df, [N·s/m]
    r_velocity: float = 20.0  #: variance of the velocity filter, [-]
    r_force: float = 20.0  #: variance of the force filter, [-]
    mass: float = 60.0  #: M, of a tool, [kg]
    damping: float = 0.0  #: b, of a tool, [N·s/m]
    followers: int = 1  #: N
    object_mass: float = 0.0  #: of the object; 0 for none, [kg]
    q: float = 0.125  #: variance that filters gain per sample, [-]
    period: float = 0.004  #: [s]
    delay: int = 1  #: d, samples

    def plant(self) -> tuple[Array, Array, Array]:
        """A and B of the continuous plant, and C from its state to each wrist force, [N]."""
        n, holds = self.followers, self.object_mass > 0.0
        size = n + holds
        K, C = np.zeros((size, size)), np.zeros((n, 2 * size))
        masses, b = np.full(size, self.mass), np.full(size, self.damping)
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
        """Transition of plant, filtered velocities and forces, and commands on their way."""
        A, B, C = self.plant()
        n, z = self.followers, len(A)
        both = np.zeros((z + n, z + n))
        both[:z, :z], both[:z, z:] = A, B
        moved = expm(both * self.period)
        phi, gamma = moved[:z, :z], moved[:z, z:]
        gains = [
            steady_gain(self.q, r) if r > 0.0 else 1.0 for r in (self.r_velocity, self.r_force)
        ]
        V = np.zeros((n, z))
        V[:, z // 2 : z // 2 + n] = np.eye(n)
        velocity = [gains[0] * V, (1.0 - gains[0]) * np.eye(n), np.zeros((n, n))]
        force = [gains[1] * C, np.zeros((n, n)), (1.0 - gains[1]) * np.eye(n)]
        filters = np.block([velocity, force])
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
        """Largest modulus of an eigenvalue, [-]."""
        return float(np.abs(np.linalg.eigvals(self.matrix())).max())

    @property
    def stable(self) -> bool:
        """Whether no motion grows."""
        return self.growth() < 1.0 + MARGIN


def stiffest(loop: FollowerLoop, low: float = 0.1, high: float = 1e6) -> float:
    """Largest stiffness up to which the loop is stable, [N/m]; 0 if it is unstable at ``low``."""
    return edge(lambda k: replace(loop, stiffness=k).stable, low, high)


def least_damping(loop: FollowerLoop, low: float = 1.0, high: float = 1e6) -> float:
    """Smallest damping of the tools with which the loop is stable, [N·s/m]."""
    return edge(lambda b: not replace(loop, damping=b).stable, low, high)


def edge(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Largest value at which a condition holds: in steps of 10 % from ``low``, then to 0.1 %."""
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
    """Whether a loop settles in time simulation, with real filters and small Euler steps.

    It shares no code with :meth:`FollowerLoop.matrix`, so each checks the other.
    """
    A, B, C = loop.plant()
    n, size = loop.followers, len(A) // 2
    P, Q = _over_a_period(A, B, loop.period, substeps)
    velocity, force = (_settled(loop.q, r, n) for r in (loop.r_velocity, loop.r_force))
    state, peaks = np.zeros(2 * size), []
    waiting = [np.zeros(n)] * (loop.delay + 1)
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
    """Transition of state and held command over one period, by semi-implicit Euler steps."""
    size, h, (z, n) = len(A) // 2, period / substeps, B.shape
    # Every state and every command at once
    moved = np.eye(z, z + n)
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


C4 = {
    (35.0, 250.0, 20.0): (129, 197, 127, 129),
    (35.0, 250.0, 500.0): (61, 105, 124, 52),
    (35.0, 1250.0, 20.0): (602, 716, 536, 626),
    (35.0, 1250.0, 500.0): (1299, 1515, 2021, 973),
    (10.0, 20.0, 20.0): (37, 239, 37, 37),
    (100.0, 20.0, 20.0): (4, 24, 4, 4),
}
"""Pre-check C-4 by k_pf, k_df and r of force: largest k [N/m] of four tools, see :func:`table`."""

C5 = {20.0: 10_500.0, 500.0: 2350.0, 5000.0: 686.0}
"""Pre-check C-5 by r: smallest damping at 3·10⁵ N/m, [N·s/m]."""


@shared
def table() -> dict[tuple[float, float, float], tuple[float, ...]]:
    """C-4 from our model: 60 kg, with 100 N·s/m, 25 kg and 80 kg."""
    changes: tuple[dict[str, Any], ...] = ({}, {"damping": 100.0}, {"mass": 25.0}, {"mass": 80.0})
    return {
        (kp, kd, r): tuple(
            stiffest(replace(FollowerLoop(1.0, kp, kd, 20.0, r), **change)) for change in changes
        )
        for kp, kd, r in C4
    }


def deviation() -> float:
    """Largest relative deviation from C-4 and C-5, beyond the tables' rounding, [-]."""
    off = [
        max(0.0, abs(ours - printed) - 0.5) / printed
        for key, row in table().items()
        for ours, printed in zip(row, C4[key], strict=True)
    ]
    off += [abs(least_damping(FollowerLoop(3e5, 9.0, 20.0, r, r)) / b - 1.0) for r, b in C5.items()]
    return max(off)


def boundary(loop: FollowerLoop) -> tuple[float, float]:
    """Largest stiffness as predicted and, to 2 %, as simulated, [N/m]."""
    predicted, good, bad = stiffest(loop), 0.7, 1.4
    while bad / good > 1.02:
        middle = (good * bad) ** 0.5
        settles = simulated(replace(loop, stiffness=middle * predicted), 6.0, 10)
        good, bad = (middle, bad) if settles else (good, middle)
    return predicted, (good * bad) ** 0.5 * predicted


_HEAVY = FollowerLoop(1.0, 9.0, 700.0, 20.0, 5000.0, damping=300.0, object_mass=20.0)
SIMULATED = {
    "G13s": FollowerLoop(1.0, 35.0, 1250.0, 20.0, 500.0),
    "r = 20": FollowerLoop(1.0, 35.0, 1250.0, 20.0, 20.0),
    **{f"N = {n} on 20 kg": replace(_HEAVY, followers=n) for n in range(1, 5)},
}
"""Loops whose boundary is also found in time simulation."""


def draw() -> Any:
    """Largest stiffness over damping gain, one line per force filter."""
    figure, axes = canvas("damping gain k_df [N·s/m]", "largest stable stiffness [N/m]", height=4.2)
    gains = np.geomspace(20.0, 5000.0, 25)
    for r in (20.0, 500.0, 5000.0):
        limits = [stiffest(FollowerLoop(1.0, 35.0, kd, 20.0, r)) for kd in gains]
        axes.loglog(gains, limits, label=f"r = {r:g}")
    axes.plot([1250.0], [1299.0], "k.", markersize=9, label="C-4, G13s")
    axes.legend()
    axes.grid(True, which="both", alpha=0.3)
    return figure


@experiment("F-50")
def stability_map() -> Finding:
    """Eigenvalues of the sampled loop against C-4, C-5 and simulation, one to four followers."""
    off, rows = deviation(), {name: boundary(loop) for name, loop in SIMULATED.items()}
    apart = max(abs(simulated / predicted - 1.0) for predicted, simulated in rows.values())
    words = ", ".join(f"{name} {a:.0f} and {b:.0f} N/m" for name, (a, b) in rows.items())
    note = f"predicted and simulated: {words}; {100 * apart:.1f} % apart at most"
    picture = Figure("Largest stable coupling of one follower, k_pf = 35, 60 kg, no friction", draw)
    return Finding(100.0 * off, off < 0.03 and apart < 0.05, note, figures=(picture,))


MUTATIONS = Mutations()


@MUTATIONS.of(FollowerLoop, "__init__", "F-50")
def no_sample_of_delay(init, self: FollowerLoop, *values: Any, **named: Any) -> None:
    """The command acts at once."""
    init(self, *values, **{**named, "delay": 0})


@MUTATIONS.of(sys.modules[__name__], "steady_gain", "F-50")
def filter_gain_without_update(gain, q: float, r: float) -> float:
    """The filter's gain lacks the covariance update."""
    return 2.0 * (q / r) ** 0.5
