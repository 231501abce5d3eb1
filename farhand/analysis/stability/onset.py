"""Where a sampled loop begins to shake, by simulation with encoder, filter, friction and wall."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from farhand.analysis.stability.loop import Loop

Array = np.ndarray

STEADY_RATIO = 0.99
"""A limit cycle keeps at least this share of its amplitude from one window to the next, [-]."""


@dataclass(frozen=True)
class Bump:
    """A disturbance of the loop, and when it counts as shaking.

    The hand presses the wall steadily; both tools are displaced by a bump and released. The
    remaining motion is a limit cycle if its amplitude is above ``cycle`` and no longer falls.
    """

    quantum: float = 5e-6  #: encoder step, [m]
    size: float = 1e-4  #: of the bump, [m]
    depth: float = 1e-3  #: of the follower (or a rendered wall's device) in the wall, [m]
    cycle: float = 5.0  #: largest amplitude that does not count as shaking, in quanta
    seconds: float = 4.0  #: shortest simulated time, [s]
    patience: float = 60.0  #: longest simulated time while the motion still decays, [s]
    substeps: int = 4  #: between ticks, at whose ends contact and dry friction are updated


def amplitude(loop: Loop, bump: Bump, unilateral: bool = False, compiled: bool = True) -> float:
    """Amplitude of the larger remaining motion of the two tools, in quanta; 0 if it still falls.

    Between ticks every tool moves by the exact solution of its own second-order equation, in
    contact or out of it. All numbers are deviations from the state in which the hand presses
    steadily.

    Args:
        loop: with a physical wall on the follower.
        bump: the disturbance.
        unilateral: whether the law itself renders a wall on the leader that never pulls.
        compiled: by numba; the plain version is the same code.
    """
    h = loop.period / bump.substeps
    modes = np.zeros((2, 2, 6))
    for side, (tool, contact) in enumerate(loop.sides):
        mass = tool.mass + contact.mass
        modes[side, 0] = solution(mass, tool.damping + contact.damping, contact.stiffness, h)
        modes[side, 1] = solution(mass, tool.damping, 0.0, h)
    wall = np.array([[contact.stiffness, contact.damping] for _, contact in loop.sides])
    # The hand never lets go.
    preload = np.array([math.inf, loop.wall.stiffness * bump.depth])
    ceiling = -float(loop.law.local[0, 0]) * bump.depth if unilateral else math.inf
    friction = np.array([tool.friction for tool, _ in loop.sides])
    share = loop.share if loop.velocity_filter > 0.0 else 0.0
    # A window holds a whole period of the slowest shaking.
    window = max(bump.seconds / 4.0, 10.0 * loop.delay * loop.period)
    seconds = (window, max(bump.seconds, 4.0 * window), bump.patience)
    ticks = [round(time / loop.period) for time in seconds]
    numbers = np.array([bump.quantum, bump.size, share, loop.period, ceiling, bump.cycle])
    gains = (loop.law.local, loop.law.remote)
    run: Callable[..., float] = _compiled() if compiled else _simulate
    arrays = (modes, wall, preload, friction, numbers)
    return float(run(*gains, *arrays, loop.delay, *ticks, bump.substeps))


def shakes(loop: Loop, bump: Bump, unilateral: bool = False) -> bool:
    """Whether a limit cycle remains; see :func:`amplitude`."""
    return amplitude(loop, bump, unilateral) > bump.cycle


def onset(
    shakes: Callable[[float], bool],
    low: float,
    high: float,
    ratio: float = 1.15,
    tolerance: float = 0.01,
) -> float:
    """The smallest value at which something shakes: upwards in steps of ``ratio``, then bisection.

    Returns 0 if it shakes at ``low``, infinity if it does not up to ``high``; ``tolerance`` is
    relative.
    """
    if shakes(low):
        return 0.0
    good, bad = low, low * ratio
    while not shakes(bad):
        if bad >= high:
            return math.inf
        good, bad = bad, min(bad * ratio, high)
    while bad / good > 1.0 + tolerance:
        middle = math.sqrt(good * bad)
        good, bad = (good, middle) if shakes(middle) else (middle, bad)
    return math.sqrt(good * bad)


def solution(mass: float, damping: float, stiffness: float, h: float) -> tuple[float, ...]:
    r"""Exact step of :math:`m\ddot x + c\dot x + k x = f` over a time h for constant f.

    Returns:
        φ₁₁, φ₁₂, φ₂₁, φ₂₂, γ₁ and γ₂ of x' = φ₁₁ x + φ₁₂ v + γ₁ f and v' = φ₂₁ x + φ₂₂ v + γ₂ f.
    """
    a, w2 = damping / (2.0 * mass), stiffness / mass
    s = cmath.sqrt(a * a - w2)
    grown, shrunk = cmath.exp((s - a) * h), cmath.exp((-s - a) * h)
    even = (0.5 * (grown + shrunk)).real
    odd = (0.5 * (grown - shrunk) / s).real if abs(s) * h > 1e-6 else h * math.exp(-a * h)
    phi = (even + a * odd, odd, -w2 * odd, even - a * odd)
    if stiffness * h * h / mass > 1e-8:
        reach = (1.0 - phi[0]) / stiffness
    elif a * h > 1e-4:
        reach = (h - odd) / damping
    else:
        reach = h * h / (2.0 * mass) * (1.0 - 2.0 * a * h / 3.0)
    return (*phi, reach, odd / mass)


def _compiled() -> Callable[..., float]:
    global _fast
    if _fast is None:
        import numba

        _fast = numba.njit(cache=True)(_simulate)
    return _fast


_fast: Callable[..., float] | None = None


def _simulate(
    local: Array,
    remote: Array,
    modes: Array,
    wall: Array,
    preload: Array,
    friction: Array,
    numbers: Array,
    delay: int,
    window: int,
    least: int,
    most: int,
    substeps: int,
) -> float:
    """The loop from bump to end; see :func:`amplitude`."""
    quantum, bump, share, period, ceiling, cycle = numbers
    x, v = np.full(2, bump), np.zeros(2)
    before, speed, force = np.full(2, np.nan), np.zeros(2), np.zeros(2)
    seen = np.zeros((delay + 1, 2, 3))
    low, high, was = np.full(2, np.inf), np.full(2, -np.inf), np.inf
    for k in range(most):
        now = k % (delay + 1)
        for i in range(2):
            # The encoder's grid has an arbitrary offset from the rest position.
            read = quantum * (math.floor(x[i] / quantum + 0.87) - 0.37)
            if share > 0.0:
                if k > 0:
                    speed[i] += share * ((read - before[i]) / period - speed[i])
                before[i] = read
            else:
                speed[i] = v[i]
            seen[now, i, 0], seen[now, i, 1] = read, speed[i]
            seen[now, i, 2] = min(-wall[i, 0] * x[i] - wall[i, 1] * v[i], preload[i])
            if k == 0:
                for j in range(1, delay + 1):
                    seen[j, i] = seen[0, i]
        old = (k + 1) % (delay + 1)
        for i in range(2):
            force[i] = 0.0
            for j in range(3):
                force[i] += local[i, j] * seen[now, i, j] + remote[i, j] * seen[old, 1 - i, j]
        force[0] = min(force[0], ceiling)
        for i in range(2):
            for _ in range(substeps):
                free = -wall[i, 0] * x[i] - wall[i, 1] * v[i] >= preload[i]
                mode = modes[i, 1] if free else modes[i, 0]
                f = force[i] + (preload[i] if free else 0.0)
                after = mode[2] * x[i] + mode[3] * v[i] + mode[5] * f
                rub = min(max(-after / mode[5], -friction[i]), friction[i])
                x[i] = mode[0] * x[i] + mode[1] * v[i] + mode[4] * (f + rub)
                v[i] = after + mode[5] * rub
            low[i], high[i] = min(low[i], x[i]), max(high[i], x[i])
            if abs(x[i]) > 1e4 * bump:
                return math.inf
        if (k + 1) % window == 0:
            swing = max(high[0] - low[0], high[1] - low[1]) / (2.0 * quantum)
            if k + 1 >= least and (swing <= cycle or swing >= STEADY_RATIO * was):
                return swing
            was = swing
            low[:], high[:] = np.inf, -np.inf
    return 0.0
