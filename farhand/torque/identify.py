r"""What a log says about an arm, all together: least squares with what is known before.

A reading of joint j is

.. math:: y_j = c_j\,\big(Y_j\theta(\delta) + I_j e^{r_j}\ddot q_j + m\,t_j + \rho\cdot s_j
          + F_j\,\mathrm{sgn}\,\dot q_j + \mu_j\dot q_j\big) + o_j - d_j\,\dot y_j

with scale c, the changes δ and r of the data sheet, a mass m at the tool, a tilt ρ of the base,
friction F and μ, offset o and delay d. Optional terms are a Stribeck peak and slow drifts. No log
can tell a common factor of all torques from one of all masses: the data sheet's masses decide,
within :data:`PRIOR`, whose size is estimated along with the rest. Residuals of neighbouring samples
are alike; they count as fewer samples.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from farhand.torque.motion import Samples
from farhand.torque.regressor import BODY, Columns, DataSheet

Array = np.ndarray

PRIOR = np.array([0.1, *[0.01] * 3, *[0.1] * 6])
"""What a data sheet is off by, standard deviations: mass [-], centre [m], shape [-]; assumed."""

ROTOR_PRIOR = 0.3
"""Likewise of the logarithm of rotor inertia, [-]."""

TOOL_PRIOR = np.array([1.0, 0.1, 0.1, 0.1, 0.003])
"""Of a tool that the file lacks: mass [kg], moments [kg·m] and inertia [kg·m²]."""

TILT_PRIOR = 0.2  # [rad]
FRICTION = ("coulomb", "viscous", "peak", "warming", "warming_viscous", "warming_curve")
"""Numbers of each joint's friction; the last three let it change over the log."""

ADDED = ("offset", "offset_drift", "delay")
"""Numbers of each joint that its scale does not multiply."""

LOCAL = ("scale", *FRICTION, *ADDED)
TERMS = {
    "peak": ("peak",),
    "warming": ("warming", "warming_viscous", "warming_curve"),
    "offset_drift": ("offset_drift",),
    "delay": ("delay",),
}
"""Optional terms, and their numbers."""

HELD_OUT = (0.6, 0.8)
"""Which part of the log the hold-out fit does not see."""

ROUNDS = 5
ZERO_SCALE = 1e-12
FIXED = 1e-12
"""Deviation of a number that is not fitted."""


@dataclass(frozen=True)
class Problem:
    """The columns of a log, with the friction's, and what each joint reads."""

    sheet: DataSheet
    samples: Samples
    columns: Columns
    kind: str  #: of the effort
    rows: list[Array]  #: of each joint: samples that count
    Phi: list[Array]  #: of each joint: rows × columns
    y: list[Array]  #: of each joint: readings, in the log's unit


@dataclass
class Estimates:
    """Estimates with their covariance."""

    problem: Problem
    z: Array  #: all numbers; see :class:`Layout`
    covariance: Array
    sigma: Array  #: residual of each joint, [log's unit]
    alike: Array  #: how many samples count as one, of each joint
    spread: float  #: how far the data sheet is off, in units of the prior
    layout: Layout
    residual: list[Array] = field(repr=False, default_factory=list)

    def value(self, name: str) -> Array:
        """One number per joint (of :data:`LOCAL`), ``tool`` or ``tilt``."""
        found = self.z[self.layout.at[name]]
        return found + self.problem.samples.shift if name == "delay" else found

    def deviation(self, name: str) -> Array:
        """Its standard deviations."""
        at = self.layout.at[name]
        return np.sqrt(np.maximum(np.diag(self.covariance)[at], 0.0))

    @property
    def delta(self) -> Array:
        """Changes of the bodies."""
        return self.z[self.layout.at["bodies"]]

    @property
    def rotors(self) -> Array:
        """Rotor inertias of the logged joints, [kg·m²]."""
        return self.problem.sheet.rotors * np.exp(self.value("rotor"))


class Layout:
    """Where each number is in z, and what is known of it before."""

    def __init__(self, problem: Problem, scales: Array, terms: frozenset[str]) -> None:
        self.terms = terms
        bodies, joints = len(problem.sheet.bodies), len(problem.y)
        sizes = {"bodies": BODY * bodies, "rotor": joints, "tool": 5, "tilt": 2}
        sizes |= dict.fromkeys(LOCAL, joints)
        ends = np.cumsum(list(sizes.values()))
        self.at = {
            name: slice(int(end) - size, int(end))
            for (name, size), end in zip(sizes.items(), ends, strict=True)
        }
        self.size = int(ends[-1])
        size = np.array([np.std(y) + 1e-9 if len(y) else 1.0 for y in problem.y])
        torque = size / np.abs(scales)
        speed = np.abs(problem.samples.v).max(axis=0) + 1e-3
        large = 10.0 * torque
        self.prior = np.empty(self.size)
        self.prior[self.at["bodies"]] = np.tile(PRIOR, bodies)
        self.prior[self.at["rotor"]] = ROTOR_PRIOR
        self.prior[self.at["tool"]] = TOOL_PRIOR
        self.prior[self.at["tilt"]] = TILT_PRIOR
        known = {
            "scale": 10.0 * np.abs(scales),
            "coulomb": large,
            "viscous": large / speed,
            "peak": large,
            "warming": large,
            "warming_viscous": large / speed,
            "warming_curve": 4.0 * large,
            "offset": large * np.abs(scales),
            "offset_drift": large * np.abs(scales),
            "delay": 0.05,
        }
        for name, size in known.items():
            self.prior[self.at[name]] = size
        for name in (one for term, own in TERMS.items() if term not in terms for one in own):
            # a term that is left out stays where it is
            self.prior[self.at[name]] = FIXED
        self.middle = np.zeros(self.size)


def pose(
    sheet: DataSheet, samples: Samples, kind: str, stribeck: float = 0.05, used: Array | None = None
) -> Problem:
    """Make the columns of a log; ``used`` says which samples count."""
    columns = sheet.columns(samples.q, samples.v, samples.a)
    return with_friction(sheet, samples, columns, kind, stribeck, used)


def with_friction(
    sheet: DataSheet,
    samples: Samples,
    columns: Columns,
    kind: str,
    stribeck: float,
    used: Array | None = None,
) -> Problem:
    """Columns of the bodies with those of the joints; Stribeck speed in [rad/s]."""
    span = max(float(np.ptp(samples.time)), 1e-9)
    when = (samples.time - samples.time.mean()) / span
    rows, Phi, y = [], [], []
    for j in range(samples.q.shape[1]):
        pick = samples.moving[:, j] if used is None else samples.moving[:, j] & used
        at = np.flatnonzero(pick)
        v, way = samples.v[at, j], np.sign(samples.v[at, j])
        peak = way * np.exp(-((v / stribeck) ** 2))
        past = when[at]
        friction = (way, v, peak, way * past, v * past, way * (past**2 - 1.0 / 12.0))
        local = (*friction, np.ones(len(at)), past, -samples.slope[at, j])
        parts = (
            columns.bodies[at, j],
            samples.a[at, j],
            columns.tool[at, j],
            columns.tilt[at, j],
            *local,
            columns.spring[at, j],
        )
        rows.append(at)
        Phi.append(np.column_stack(parts))
        y.append(samples.effort[at, j])
    return Problem(sheet, samples, columns, kind, rows, Phi, y)


def first_scales(problem: Problem) -> tuple[Array, Array]:
    """Scale of each joint by itself against the data sheet, and the share it leaves unexplained."""
    model = problem.sheet.torque(problem.columns, problem.samples.a)
    found, left = np.ones(len(problem.y)), np.ones(len(problem.y))
    for j, (rows, y) in enumerate(zip(problem.rows, problem.y, strict=True)):
        if len(y) < 20:
            continue
        v = problem.samples.v[rows, j]
        A = np.column_stack([model[rows, j], np.sign(v), v, np.ones(len(rows))])
        x, *_ = np.linalg.lstsq(A, y, rcond=None)
        rest = y - A @ x
        variance = float(np.mean(rest**2)) * np.diag(np.linalg.pinv(A.T @ A)) * 10.0
        sure = np.abs(x) / np.sqrt(np.maximum(variance, 1e-30))
        # friction only takes: where it is clearer than the model's torque, it tells the sign
        sign = np.sign(x[1] if sure[1] > sure[0] else x[0]) or 1.0
        found[j] = sign * max(abs(x[0]), ZERO_SCALE)
        left[j] = np.mean(rest**2) / max(float(np.var(y)), 1e-30)
    return found, left


def solve(
    problem: Problem,
    terms: frozenset[str] = frozenset(),
    start: Array | None = None,
    known: dict[str, Array] | None = None,
) -> Estimates:
    """The most probable numbers, and how far they may be off.

    Args:
        problem: what is to be explained.
        terms: optional terms that are fitted.
        start: numbers to begin with.
        known: numbers by name that are not fitted; NaN where one is.
    """
    scales, _ = first_scales(problem)
    layout = Layout(problem, scales, terms)
    joints = len(problem.y)
    grams = [Phi.T @ Phi for Phi in problem.Phi]
    sides = [Phi.T @ y for Phi, y in zip(problem.Phi, problem.y, strict=True)]
    z = layout.middle.copy()
    z[layout.at["scale"]] = scales
    layout.middle[layout.at["scale"]] = scales
    if start is not None:
        z = start.copy()
    for name, values in (known or {}).items():
        fixed = np.flatnonzero(np.isfinite(values))
        at = layout.at[name].start + fixed
        z[at] = layout.middle[at] = values[fixed]
        layout.prior[at] = FIXED
    sigma = np.array([np.std(y) + 1e-12 if len(y) else 1.0 for y in problem.y])
    alike, spread = np.full(joints, 5.0), 1.0
    body = slice(0, layout.at["rotor"].stop)
    for _ in range(ROUNDS):
        prior = layout.prior.copy()
        prior[body] *= spread
        weights = 1.0 / (sigma**2 * alike)
        for _ in range(4):
            step, H = _newton(problem, layout, z, prior, weights, grams, sides)
            z = z + step
            if np.abs(step / prior).max() < 1e-4:
                break
        residual = residuals(problem, layout, z)
        for j, left in enumerate(residual):
            if len(left) > 20:
                sigma[j] = max(float(np.sqrt(np.mean(left**2))), 1e-9)
                alike[j] = _alike(left, problem.rows[j])
        covariance = prior[:, None] * np.linalg.inv(H) * prior
        own = layout.prior[body]
        size = (z[body] / own) ** 2 + np.diag(covariance)[body] / own**2
        spread = float(np.clip(np.sqrt(size.mean()), 0.2, 3.0))
    return Estimates(problem, z, covariance, sigma, alike, spread, layout, residual)


def residuals(problem: Problem, layout: Layout, z: Array) -> list[Array]:
    """What the numbers leave unexplained, of each joint, [log's unit]."""
    return [
        y - Phi @ _coefficients(problem, layout, z, j)
        for j, (Phi, y) in enumerate(zip(problem.Phi, problem.y, strict=True))
    ]


def rigid_torque(solution: Estimates) -> Array:
    """Torque of the fitted arm without dry friction, all samples × joints, [N·m]."""
    problem, samples = solution.problem, solution.problem.samples
    theta = problem.sheet.parameters(solution.delta)
    torque = problem.columns.bodies @ theta + solution.rotors * samples.a + problem.columns.spring
    torque += problem.columns.tool @ solution.value("tool")
    torque += problem.columns.tilt @ solution.value("tilt")
    found: Array = torque + solution.value("viscous") * samples.v
    return found


def predicted(solution: Estimates) -> Array:
    """Torque of the fitted arm with dry friction, all samples × joints, [N·m]."""
    dry: Array = solution.value("coulomb") * np.sign(solution.problem.samples.v)
    return rigid_torque(solution) + dry


def with_slope(solution: Estimates) -> Problem:
    """The same problem with the rate at which the fitted model's readings change.

    The measured rate is noisy, and noise would make a delay look shorter.
    """
    problem = solution.problem
    samples, Phi = problem.samples, []
    read = solution.value("scale") * rigid_torque(solution)
    pause = np.diff(samples.time) > 3.0 * np.median(np.diff(samples.time))
    rate = np.gradient(read, samples.time, axis=0)
    rate[1:][pause] = rate[:-1][pause] = 0.0
    for j, (own, rows) in enumerate(zip(problem.Phi, problem.rows, strict=True)):
        changed = own.copy()
        changed[:, -2] = -rate[rows, j]
        Phi.append(changed)
    return replace(problem, Phi=Phi)


def _newton(
    problem: Problem,
    layout: Layout,
    z: Array,
    prior: Array,
    weights: Array,
    grams: list[Array],
    sides: list[Array],
) -> tuple[Array, Array]:
    """A step of Gauss and Newton, and the curvature in units of the prior."""
    H, g = np.eye(layout.size), -(z - layout.middle) / prior
    slopes = [
        body.slope(own)
        for body, own in zip(
            problem.sheet.bodies, z[layout.at["bodies"]].reshape(-1, BODY), strict=True
        )
    ]
    for j, (G, h) in enumerate(zip(grams, sides, strict=True)):
        T = _tangent(problem, layout, z, j, slopes) * prior
        phi = _coefficients(problem, layout, z, j)
        H += weights[j] * T.T @ G @ T
        g += weights[j] * T.T @ (h - G @ phi)
    return prior * np.linalg.solve(H, g), H


def _coefficients(problem: Problem, layout: Layout, z: Array, j: int) -> Array:
    """What multiplies each column of joint j."""
    at = layout.at
    c = z[at["scale"]][j]
    rotor = problem.sheet.rotors[j] * np.exp(z[at["rotor"]][j])
    friction = [z[at[name]][j] for name in FRICTION]
    inside = [*problem.sheet.parameters(z[at["bodies"]]), rotor, *z[at["tool"]], *z[at["tilt"]]]
    outside = [z[at[name]][j] for name in ADDED]
    return np.array([*(c * np.array([*inside, *friction])), *outside, c])


def _tangent(problem: Problem, layout: Layout, z: Array, j: int, slopes: list[Array]) -> Array:
    """How these change with every number, columns × z."""
    at, phi = layout.at, _coefficients(problem, layout, z, j)
    c, width = z[at["scale"]][j], BODY * len(slopes)
    T = np.zeros((len(phi), layout.size))
    for k, slope in enumerate(slopes):
        rows = slice(BODY * k, BODY * (k + 1))
        T[rows, rows] = c * slope
    T[width, at["rotor"].start + j] = phi[width]
    T[width + 1 : width + 6, at["tool"]] = c * np.eye(5)
    T[width + 6 : width + 8, at["tilt"]] = c * np.eye(2)
    first = width + 8
    for k, name in enumerate(FRICTION):
        T[first + k, at[name].start + j] = c
    last = first + len(FRICTION)
    for k, name in enumerate(ADDED):
        T[last + k, at[name].start + j] = 1.0
    inside = [*range(last), len(phi) - 1]
    safe = c if abs(c) > ZERO_SCALE else ZERO_SCALE
    T[inside, at["scale"].start + j] = phi[inside] / safe
    return T


def _alike(residual: Array, rows: Array) -> float:
    """How many neighbouring residuals say the same: 1 plus twice the sum of their correlations."""
    series = np.zeros(int(rows[-1] - rows[0]) + 1)
    series[rows - rows[0]] = residual
    size = 1 << (2 * len(series) - 1).bit_length()
    power = np.abs(np.fft.rfft(series, size)) ** 2
    correlation = np.fft.irfft(power, size)[: len(series)]
    correlation /= max(float(correlation[0]), 1e-30)
    below = np.flatnonzero(correlation < 0.05)
    end = int(below[0]) if len(below) else len(correlation)
    return float(1.0 + 2.0 * correlation[1:end].sum())
