"""Friction models: the classical family, put to the tests that the published review names."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure as Plot
from scipy.optimize import brentq, minimize_scalar

from farhand.friction import FRICTIONS, Gms, Kfm, LuGre, make
from farhand.friction.models.dahl import Dahl
from farhand.friction.models.maxwell import Leuven
from farhand.friction.models.stribeck import ShapedLevel
from farhand.plants.simulated.one_joint import WHEEL_INERTIA, OneJoint
from farhand_lab.harness import Figure, Finding, experiment, generator
from farhand_lab.mutation import Mutation, patched
from farhand_lab.youbot import friction_properties as suite
from farhand_lab.youbot.friction_properties import along

Array = np.ndarray

STICTION = 0.08976  # Fs of table 4 [N·m]
RAMP = 2e-3  # [N·m/s]
EXPECTED = {
    "coulomb": {"dissipative"},
    "kfm": {"Stribeck minimum", "dissipative"},
    "dahl": {"presliding", "rate-independent", "dissipative"},
    "lugre": {"presliding", "frictional lag", "Stribeck minimum", "dissipative"},
    "maxwell-slip": {"presliding", "rate-independent", "non-local memory", "dissipative"},
    "gms": {"presliding", "non-local memory", "frictional lag", "Stribeck minimum", "dissipative"},
}
"""What each model must show and what it must not, from its equations."""


@experiment("Y-28")
def static_models() -> Finding:
    """The curve at three speeds and at its minimum; below it the simpler curves as its limits."""
    kfm = make("kfm")
    off = np.abs(kfm.steady([0.1, 0.5, 1.0]) - [0.06661, 0.04828, 0.05620]).max()
    least = minimize_scalar(lambda v: float(kfm.steady(v)), bounds=(0.2, 1.0), method="bounded")
    v = np.array([-2.0, -0.3, 0.3, 2.0])
    parts = (
        make("coulomb").steady(v) + make("viscous").steady(v) - make("coulomb-viscous").steady(v)
    )
    limit = make("kfm", breakaway=0.03718).steady(v) - make("coulomb-viscous").steady(v)
    held = make("stiction").step(np.zeros(1), 1e-3, np.array([0.08]))[0]
    simple = max(np.abs(parts).max(), np.abs(limit).max(), abs(held - 0.08))
    ok = (
        off <= 1e-5
        and abs(least.fun - 0.04801) <= 1e-5
        and abs(least.x - 0.433) <= 1e-3
        and simple < 1e-12
    )
    note = f"minimum {least.fun:.5f} N·m at {least.x:.4f} rad/s; largest deviation of the three values given"
    return Finding(off, bool(ok), note, figures=(Figure("Static friction curves", _curves),))


def _curves() -> Plot:
    figure = Plot(figsize=(7, 4))
    axes, v = figure.add_subplot(), np.linspace(-1.5, 1.5, 1201)
    for name in ("coulomb", "coulomb-viscous", "stribeck", "kfm", "youbot-wheel-1"):
        axes.plot(v, make(name).steady(v), label=name)
    axes.set_xlabel("velocity [rad/s]")
    axes.set_ylabel("friction [N·m]")
    axes.legend()
    return figure


@experiment("Y-29")
def rest_models() -> Finding:
    """Two joints pushed by the published ramp, to 95 % and 105 % of Fs, then held; beside it, sudden pushes."""
    fastest_stuck, slowest_sliding, notes = 0.0, np.inf, []
    for name in ("karnopp", "threshold", "armstrong"):
        joint, ends = OneJoint(make(name, 2), dt=1e-2), np.array([0.95, 1.05]) * STICTION
        for k in range(round((1.1 * STICTION / RAMP + 1.0) / joint.dt)):
            joint.step(np.minimum(RAMP * joint.dt * k, ends))
        stuck, slid = np.abs(joint.velocity)
        fastest_stuck, slowest_sliding = max(fastest_stuck, stuck), min(slowest_sliding, slid)
        notes.append(
            f"{name} {stuck:.1e} and {slid:.2f} (a sudden push starts it from {sudden_start(name):.2f} Fs on)"
        )
    note = (
        f"speeds a second after 0.95 and 1.05 Fs were reached, band 0.01 rad/s: {', '.join(notes)}; a spring without "
        "damping, as Armstrong's before sliding, stretches twice as far under a sudden push"
    )
    return Finding(fastest_stuck, bool(fastest_stuck < 0.01 and slowest_sliding > 0.1), note)


def sudden_start(name: str) -> float:
    """Least torque, as a share of Fs, whose sudden application sets a joint sliding."""
    shares = np.arange(0.4, 1.1, 0.02)
    joint = OneJoint(make(name, len(shares)))
    for _ in range(1000):
        joint.step(shares * STICTION)
    return float(shares[np.argmax(np.abs(joint.velocity) > 0.05)])


@experiment("Y-30")
def dahl() -> Finding:
    """Random motion for the bound, two loops for the rate, and the slope after a reversal for α (σ0·2^α)."""
    model = make("dahl", 3, exponent=[0.5, 1.0, 2.0])
    motion = generator("Y-30").standard_normal((4000, 3)).cumsum(axis=0) * 0.05
    highest = max(float(np.abs(model.step(v, 1e-3)).max()) for v in motion) / 0.03718
    loop = 3e-4 * np.sin(np.linspace(0.0, 6.0 * np.pi, 3001))
    slow, fast = along(make("dahl"), loop, 1e-3), along(make("dahl"), loop, 1e-4)
    rate = 100.0 * float(np.abs(slow - fast).max() / np.abs(slow).max())
    model.reset()
    model.step(np.full(3, 10.0), 1.0)
    before = model.state[0].copy()
    slope = (before - model.step(np.full(3, -1e-6), 1e-3)) / 1e-9 / 250.0
    ok = highest <= 1.0 + 1e-12 and rate < 1.0 and np.allclose(slope, [2**0.5, 2.0, 4.0], rtol=1e-3)
    note = f"|F| up to {highest:.6f} Fc; slope after reversal {slope[0]:.3f}, {slope[1]:.3f}, {slope[2]:.3f} σ0 for "
    return Finding(
        rate,
        bool(ok),
        note + "α = 0.5, 1, 2",
        figures=(Figure("Dahl loops for three α", _dahl_loops),),
    )


def _dahl_loops() -> Plot:
    figure = Plot(figsize=(6, 4))
    axes, x = figure.add_subplot(), 6e-4 * np.sin(np.linspace(0.0, 6.0 * np.pi, 3001))
    for alpha in (0.5, 1.0, 2.0):
        axes.plot(
            1e3 * x[1:], 1e3 * along(make("dahl", exponent=alpha), x, 1e-3), label=f"α = {alpha:g}"
        )
    axes.set_xlabel("displacement [mrad]")
    axes.set_ylabel("friction [mN·m]")
    axes.legend()
    return figure


@experiment("Y-31")
def bristles() -> Finding:
    """A hundred bristles at speeds from 0.05 to 5 rad/s; a random walk of the reset integrator."""
    speeds = np.array([0.05, 0.1, 0.5, -1.0, 2.0, -5.0])
    model = make("bristle", 6)
    force = np.array([model.step(speeds, 1e-3) for _ in range(2000)])[500:].mean(axis=0)
    off = 100.0 * float(np.abs(force / model.steady(speeds) - 1.0).max())
    reset = make("reset-integrator", 8)
    motion = generator("Y-31").standard_normal((2000, 8)).cumsum(axis=0) * 0.02
    reach = 0.0
    for v in motion:
        reset.step(v, 1e-3)
        reach = max(reach, float(np.abs(reset.state).max()))
    ok = off <= 5.0 and 0.99 * 3.6e-4 < reach <= 3.6e-4
    return Finding(off, ok, f"expected N σ0 δ/3; |z| up to {reach / 3.6e-4:.6f} z0")


@experiment("Y-32")
def lugre() -> Finding:
    """Long sliding beside KFM, a ramp of 2 mN·m/s on the wheel block, and a small slow loop."""
    speeds = np.geomspace(0.01, 10.0, 200)
    steady = 100.0 * float(
        np.abs(
            suite.sliding(lambda n: make("lugre", n), speeds) / make("kfm").steady(speeds) - 1
        ).max()
    )
    ramp = breakaway_torque()
    x = 2e-5 * np.sin(np.linspace(0.0, 4.0 * np.pi, 4001))
    force = along(make("lugre"), x, 1e-2)[2000:]
    middle = np.abs(force) < 0.2 * force.max()
    rising = middle & (np.diff(x)[2000:] > 0.0)
    slope = float(np.polyfit(x[2001:][rising], force[rising], 1)[0])
    ok = steady <= 0.1 and abs(1e3 * ramp - 89.8) <= 1.0 and abs(slope / 250.0 - 1.0) <= 0.02
    return Finding(
        1e3 * ramp,
        bool(ok),
        f"breakaway torque; steady state {steady:.1e} % from KFM; slope {slope:.1f} N·m/rad",
    )


def breakaway_torque() -> float:
    """Torque of a slow ramp at which the wheel block passes 0.05 rad/s, [N·m]."""
    joint = OneJoint(make("lugre"), WHEEL_INERTIA, dt=5e-3)
    torque = 0.04
    while joint.velocity[0] < 0.05 and torque < 0.2:
        torque += 2e-3 * joint.dt
        joint.step(torque)
    return torque


@experiment("Y-33")
def non_local_memory() -> Finding:
    """An inner loop of each model; Leuven's in its own displacement z too, and its gap for growing n."""
    gaps = {name: _gap(name) for name in ("maxwell-slip", "gms", "lugre", "leuven")}
    sharper = [_gap("leuven", exponent=n)[0] for n in (4.0, 10.0)]
    worst = max(gaps["maxwell-slip"][0], gaps["gms"][0])
    loops = min(gaps["maxwell-slip"][1], gaps["gms"][1])
    internal = _gap_in_z()
    ok = worst < 1e-6 and loops > 1e-3 and internal < 1e-6 and gaps["lugre"][0] > 1e-2
    ok = ok and gaps["leuven"][0] > sharper[0] > sharper[1]
    note = (
        f"Maxwell slip and GMS; LuGre misses by {gaps['lugre'][0]:.2g}. Leuven closes in its z to {internal:.1g} but "
        f"in displacement misses by {gaps['leuven'][0]:.2g}, {sharper[0]:.2g}, {sharper[1]:.2g} for n = 2, 4, 10: "
        "docs/errata.md, Y-33"
    )
    return Finding(worst, bool(ok), note, corrected=True)


def _gap(name: str, **parameters: float) -> tuple[float, float]:
    def build(joints: int) -> suite.Friction:
        return make(name, joints, **parameters)

    return suite.memory(build, suite.presliding(build))


def _gap_in_z() -> float:
    """How far Leuven's own force fails to close when it is its z that goes out, back, out a part and back again, [-].

    The element that slides last still sticks on this way: its torque shows z, and each step is as
    long as z asks for.
    """
    leuven, dt, forces = make("leuven"), 0.01, []
    assert isinstance(leuven, Leuven)
    spring = leuven.stiffness_shares[-1] * leuven.stiffness[0]
    corners = 1e-3 * np.array([0.0, 1.0, 0.3, 0.7, 0.3])
    legs = [np.linspace(a, b, 41)[1:] for a, b in zip(corners, corners[1:], strict=False)]
    z = 0.0
    for target in np.concatenate(legs):

        def missed(way: float, target: float = target) -> float:
            return float(leuven.move(np.array([way / dt]), dt, None)[1][-1, 0] / spring) - target

        way = brentq(missed, 0.0, 20.0 * (target - z), xtol=1e-16)
        leuven.step(np.array([way / dt]), dt)
        forces.append(float(leuven.state.sum()))
        z = target
    first, width = forces[79], abs(forces[99] - forces[139])
    return (
        abs(forces[-1] - first) / max(np.abs(forces))
        if width > 1e-3 * max(np.abs(forces))
        else np.inf
    )


@experiment("Y-34")
def property_suite() -> Finding:
    """Six models through the whole suite; each property must be found where the equations have it, and nowhere else."""
    rng, wrong, minimum = generator("Y-34"), [], 0.0
    for name, expected in EXPECTED.items():
        found = suite.examine(name, 50.0, rng)
        shown = {word for word, yes in found.verdicts.items() if yes}
        wrong += [f"{name}: {word}" for word in sorted(shown ^ expected)]
        if name == "kfm":
            minimum = found.minimum_speed
    note = (
        f"wrong: {', '.join(wrong)}"
        if wrong
        else f"{len(EXPECTED)} models × 6 properties as their equations say"
    )
    return Finding(
        len(EXPECTED) * 6 - len(wrong),
        not wrong and abs(minimum - 0.433) < 0.01,
        f"{note}; minimum {minimum:.3f} rad/s",
    )


@experiment("Y-62")
def random_motion() -> Finding:
    """Two hundred joints for five seconds each, from creep to several rad/s with pauses; energy counted every step."""
    rng, least, bad = generator("Y-62"), 0.0, []
    for name in FRICTIONS:
        finite, lowest, _ = suite.dissipation(light(name), 1000.0, rng)
        least = min(least, lowest)
        if not finite or lowest < -1e-9:
            bad.append(name)
    note = (
        f"{len(FRICTIONS)} models, 1,000 s each shared out over {suite.JOINTS} joints; least of supplied work "
        "minus stored "
        "energy at any step of any joint; in one piece: farhand_lab.youbot.friction_soak.soak()"
    )
    return Finding(least, not bad, f"{note}; made energy: {', '.join(bad)}" if bad else note)


def light(name: str) -> suite.Build:
    """The model with few bristles, if it has any."""
    few: dict[str, Any] = {"bristles": 20} if name == "bristle" else {}
    return lambda joints: make(name, joints, **few)


def _no_abs(self: ShapedLevel, velocity: Array) -> Array:
    decay = np.exp(-np.power(np.maximum(velocity, 0.0) / self.stribeck_velocity, self.delta))
    return self.coulomb + (self.breakaway - self.coulomb) * decay * 0.9


def _euler(self: LuGre, velocity: Array, dt: float, applied: Array | None) -> tuple[Array, Array]:
    z = self.state[0]
    with np.errstate(all="ignore"):
        rate = velocity - self.stiffness * np.abs(velocity) * z / self.level(velocity)
        after = np.clip(z + dt * rate, -1e100, 1e100)
    return self.stiffness * after + self.damping * rate + self.viscous * velocity, after[np.newaxis]


def _signless(self: Dahl, velocity: Array, dt: float, applied: Array | None) -> tuple[Array, Array]:
    force = self.state[0] + self.stiffness * (1.0 - self.state[0] / self.coulomb) * velocity * dt
    return force, force[np.newaxis]


def _forgetful(self: Gms, velocity: Array, dt: float, applied: Array | None) -> tuple[Array, Array]:
    level = self._shares * self.level(velocity)
    torque = self.state[: len(level)]
    share = -np.expm1(-self._springs * np.abs(velocity) * dt / level)
    after = torque + (np.sign(velocity) * level - torque) * share
    return after.sum(axis=0) + self.viscous * velocity, np.concatenate(
        [after, np.zeros_like(after)]
    )


MUTATIONS = [
    Mutation(
        "stribeck-low",
        "the Stribeck part of every curve is a tenth too small and only there for positive velocities",
        ("Y-28",),
        lambda: patched(ShapedLevel, "level", _no_abs),
    ),
    Mutation(
        "lugre-explicit",
        "LuGre's bristle is advanced by explicit Euler, which blows up at 1 ms",
        ("Y-32",),
        lambda: patched(LuGre, "move", _euler),
    ),
    Mutation(
        "dahl-signless",
        "Dahl's equation lacks the sign of the velocity",
        ("Y-30",),
        lambda: patched(Dahl, "move", _signless),
    ),
    Mutation(
        "gms-forgetful",
        "the elements of GMS relax like LuGre's bristle instead of sticking",
        ("Y-33", "Y-34"),
        lambda: patched(Gms, "move", _forgetful),
    ),
    Mutation(
        "kfm-no-viscous",
        "KFM's viscous part is missing",
        ("Y-28",),
        lambda: patched(Kfm, "curve", lambda self, v: self.level(v) * np.sign(v)),
    ),
]
