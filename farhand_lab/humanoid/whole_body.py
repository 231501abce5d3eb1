"""Whole-body simulator: planar legs, dynamics, centre of gravity, a step, bands: H-08 to H-13."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from farhand.control.trajectory.paths import Quintic
from farhand.robots.edits import scale_mass
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.humanoid import body
from farhand_lab.humanoid.stepping import FullStep, Postures, StepServos, walk
from farhand_lab.mutation import Mutation, Mutations

Array = np.ndarray

MOMENTS = np.linspace(0.05, 9.95, 67)
"""Sampling times of a climb of ten seconds, [s]."""

PUBLISHED_STAGES = (0.0, 0.35, 0.567, 0.783, 1.0)
"""Ends of the stages, sources/humanoid §3.6 [S]."""


JOINTS = ("hip_flexion", "knee", "ankle_flexion")


@shared
def climb() -> tuple[body.WholeBody, body.ClimbCurve, body.BodyLoad]:
    """A climb of 50 mm: the body, its motion, and the load at all moments."""
    whole = body.WholeBody()
    curve = body.StepClimb(0.050).on(whole)
    return whole, curve, whole.along(curve, MOMENTS)


def stencil(function: Callable[[float], Any], t: float, h: float = 1e-3) -> Array:
    """Derivative by five points."""
    a, b, c, d = (np.asarray(function(t + k * h)) for k in (-2, -1, 1, 2))
    return (a - 8.0 * b + 8.0 * c - d) / (12.0 * h)


@experiment("H-08")
def planar_round_trip() -> Finding:
    """Random planar poses there and back; one quintic's ends and peak."""
    rng = generator("planar")
    l1, l2, worst = body.SHANK, body.THIGH, 0.0
    for _ in range(2000):
        first, second, third = rng.uniform([-3.0, 0.05, -3.0], [3.0, 3.0, 3.0]).tolist()
        x, y, phi = body.planar_point(first, second, third, l1, l2)
        there = body.planar_point(*body.planar_angles(x, y, phi, l1, l2), l1, l2)
        worst = max(worst, float(np.abs(np.array(there) - [x, y, phi]).max()))
    curve = Quintic([0.2, 0.0, 0.0], [1.4, 0.0, 0.0], 2.5)
    rows = np.stack([curve.at(t) for t in np.linspace(0.0, 2.5, 2001)])
    ends = float(np.abs(rows[[0, -1], 1:]).max())
    peak = float(np.abs(rows[:, 1]).max()) * 2.5 / 1.2
    ok = worst < 1e-9 and ends < 1e-9 and abs(peak - 1.875) < 1e-6
    return Finding(worst, ok, f"ends {ends:.1e}, peak {peak:.6f} Δ/T", "m, rad")


@experiment("H-09")
def mass_table() -> Finding:
    """Sum, inertias and joints of the model."""
    robot = body.load_robot("phua")
    model = robot.pinocchio()
    mass = sum(inertia.mass for inertia in model.inertias)
    principal = [np.linalg.eigvalsh(i.inertia) for i in model.inertias if i.mass > 0.0]
    definite = all(p[0] > 0.0 and p[0] + p[1] >= p[2] - 1e-12 for p in principal)
    active = int(robot.actuated.sum())
    note = f"{active} driven joints, {len(principal)} bodies, all inertias possible: {definite}"
    return Finding(mass, abs(mass - 5.964) < 1e-6 and definite and active == 25, note)


def gravity_sum(whole: body.WholeBody, q: Array) -> Array:
    """Holding torques as moments of weights about the joints, body by body, [N·m]."""
    model, data = whole.model, whole.data
    full = whole.configuration(q)
    pin.forwardKinematics(model, data, full)
    J = pin.computeJointJacobians(model, data, full)
    support = set(model.supports[model.frames[whole.sole].parentJoint])
    weights = [np.array([0.0, 0.0, -9.81 * inertia.mass]) for inertia in model.inertias]
    centres = [data.oMi[i].act(inertia.lever) for i, inertia in enumerate(model.inertias)]
    torques = np.zeros(model.nv - 6)
    for joint in range(2, model.njoints):
        axis, column = J[3:, model.idx_vs[joint]], model.idx_vs[joint] - 6
        beyond = set(model.subtrees[joint])
        # a joint of the support leg carries what is above it; the ground holds the other side
        grounded = joint in support
        moment = np.zeros(3)
        for i in range(1, model.njoints):
            if (i in beyond) != grounded:
                moment = moment + np.cross(centres[i] - data.oMi[joint].translation, weights[i])
        torques[column] = float(axis @ moment) * (1.0 if grounded else -1.0)
    return torques


@experiment("H-10")
def inverse_dynamics() -> Finding:
    """Power balance along a climb of 50 mm, and weights about every joint of random postures."""
    whole, curve, load = climb()
    gap = max(
        abs(float(stencil(lambda s: whole.at(*curve(s)).energy, float(t))) - float(power))
        for t, power in zip(MOMENTS[::6], load.power[::6], strict=True)
    )
    rng, still = generator("postures"), 0.0
    lower, upper = whole.robot.limits.lower[6:], whole.robot.limits.upper[6:]
    for _ in range(20):
        q = rng.uniform(0.6 * np.maximum(lower, -1.0), 0.6 * upper)
        still = max(still, float(np.abs(whole.at(q).torque - gravity_sum(whole, q)).max()))
    note = f"static: {still:.1e} N·m from the sum over bodies"
    return Finding(gap, gap < 1e-6 and still < 1e-9, note)


@experiment("H-11")
def centre_of_gravity() -> Finding:
    """Along a climb of 50 mm, ten times as fast, so that velocities count."""
    whole = body.WholeBody()
    curve = replace(body.StepClimb(0.050), duration=1.0).on(whole)
    apart, speed, growth = 0.0, 0.0, 0.0
    # none where two stages meet: there the third derivative jumps
    for t in np.linspace(0.07, 0.93, 19):
        load = whole.at(*curve(t))
        bodies = zip(whole.data.oMi, whole.model.inertias, strict=True)
        centres = [place.act(inertia.lever) * inertia.mass for place, inertia in bodies]
        mean = sum(centres) / pin.computeTotalMass(whole.model)
        apart = max(apart, float(np.abs(mean - load.cog).max()))
        h = 2e-4
        velocity = stencil(lambda s: whole.at(*curve(s)).cog, t, h)
        acceleration = stencil(lambda s: whole.at(*curve(s)).cog_velocity, t, h)
        speed = max(speed, float(np.abs(velocity - load.cog_velocity).max()))
        growth = max(growth, float(np.abs(acceleration - load.cog_acceleration).max()))
    note = f"position {apart:.1e} m, velocity {speed:.1e} m/s"
    return Finding(growth, apart < 1e-9 and speed < 1e-4 and growth < 1e-4, note)


@experiment("H-12")
def step_climb() -> Finding:
    """Joint ranges, stage ends, landing height, and the free leg's torques."""
    whole = body.WholeBody()
    lower, upper = whole.robot.limits.lower[6:] - 1e-9, whole.robot.limits.upper[6:] + 1e-9
    fits, lands, rests = True, 0.0, 0.0
    sole = whole.model.getFrameId("left_sole", pin.FrameType.OP_FRAME)
    for height in body.HEIGHTS:
        curve = body.StepClimb(height).on(whole)
        angles = np.stack([curve(t)[0] for t in MOMENTS])
        fits &= bool((angles >= lower).all() and (angles <= upper).all())
        pin.framesForwardKinematics(whole.model, whole.data, whole.configuration(curve(10.0)[0]))
        lands = max(lands, abs(float(whole.data.oMf[sole].translation[2]) - height))
        speeds = (np.abs(curve(10.0 * share)[1]).max() for share in PUBLISHED_STAGES)
        rests = max(rests, *(float(speed) for speed in speeds))
    load = climb()[2]
    free = float(np.abs(load.torque[:, [whole.index(f"left_{j}") for j in JOINTS]]).max())
    knee = load.torque[:, whole.index("right_knee")]
    off = 1e3 * (float(load.cop[:, 1].min()) + 0.045)
    note = (
        f"landing within {1e3 * lands:.3f} mm; support knee {knee.min():.2f} N·m, beyond one bare "
        f"servo (2.35 N·m); the welded foot hides that the pressure lies {off:.0f} mm beside its "
        "middle, outside a sole of ±25 mm"
    )
    ok = fits and lands < 5e-4 and rests < 1e-9 and free < 2.0
    return Finding(free, ok, note, figures=(Figure("Torques of a climb of 50 mm", torque_figure),))


def torque_figure() -> Any:
    """Torques of both legs over time."""
    from matplotlib.figure import Figure as Plot

    whole, _, load = climb()
    figure = Plot(figsize=(7.0, 3.2), layout="constrained")
    axes = figure.subplots(1, 2)
    for ax, side, title in zip(axes, ("left", "right"), ("free leg", "support leg"), strict=True):
        for joint in JOINTS:
            torque = load.torque[:, whole.index(f"{side}_{joint}")]
            ax.plot(MOMENTS, torque, label=joint.replace("_", " "))
        ax.set(title=title, xlabel="time [s]", ylabel="torque [N·m]")
        ax.legend(fontsize="small")
    return figure


@experiment("H-12b")
def full_step() -> Finding:
    """PHUA climbs a step in MuJoCo with real contact; servos saturate at their ratings."""
    result = walk(FullStep(0.050), StepServos(limited=True, bands=True))
    height = 1e3 * float(result.soles[-1, :, 2].min())
    stands = result.fell is None and bool((result.force[-1] > 15.0).all())
    note = f"knee {result.peak('knee'):.2f}, ankle {result.peak('ankle_flexion'):.2f} N·m"
    if result.fell is not None:
        note = f"it fell after {result.fell:.1f} s"
    return Finding(height, stands and abs(height - 50.0) < 1.0, note)


@experiment("H-13")
def springs() -> Finding:
    """Support leg of a climb of 50 mm with and without bands, and both knee models."""
    ankle, knee = (climb_column(f"right_{joint}") for joint in ("ankle_flexion", "knee"))
    wrapped, straight = body.WrappedBand(), body.StraightBand()
    helped, plain, stretched = (
        [torque + band.torque(q) for q, torque in zip(*column, strict=True)]
        for column, band in (
            (ankle, body.AnkleBand()),
            (ankle, body.AnkleBand(pretension=0.0)),
            (knee, wrapped),
        )
    )
    angles = np.radians(np.linspace(0.0, 130.0, 131))
    rising = np.diff([wrapped.torque(q) for q in angles])
    slackening = np.diff([straight.stretch(q) for q in angles])
    defect = bool((slackening <= 0.0).all()) and max(straight.torque(q) for q in angles) <= 0.0
    before, after = (float(np.abs(v).max()) for v in (ankle[1], helped))
    note = (
        f"ankle {before:.2f} N·m without a band, {np.abs(plain).max():.2f} with one that is slack "
        f"at home; knee {np.abs(knee[1]).max():.2f} to {np.abs(stretched).max():.2f} N·m; the "
        "straight band unloads and pulls the knee in"
    )
    return Finding(after, after < before and bool((rising > 0.0).all()) and defect, note)


def climb_column(joint: str) -> tuple[Array, Array]:
    """Angles [rad] and torques [N·m] of one joint along the climb."""
    whole, curve, load = climb()
    column = whole.index(joint)
    return np.array([curve(t)[0][column] for t in MOMENTS]), load.torque[:, column]


MUTATIONS = Mutations()
MUTATIONS += [
    Mutation("heavier-body", "every mass is 1 % too large", ("H-09",)).change(
        body, "load_robot", lambda load: lambda name: load(name).edited(scale_mass(1.01))
    ),
    Mutation("no-ground", "the ground carries nothing", ("H-10",)).patch(
        body.WholeBody, "_carried", staticmethod(lambda rest, foot: np.zeros(rest.shape[1]))
    ),
    Mutation("no-drift", "the base's acceleration leaves out J̇ v", ("H-11",)).patch(
        body.WholeBody, "_drift", lambda self: np.zeros(6)
    ),
    Mutation("equal-stages", "the four stages last equally long", ("H-12",)).patch(
        body, "STAGES", (0.0, 0.25, 0.5, 0.75, 1.0)
    ),
    Mutation("straight-knee-band", "the knee's band is not round its pulley", ("H-13",)).patch(
        body.WrappedBand, "torque", lambda self, q: body.StraightBand().torque(q)
    ),
    Mutation("frozen-plan", "the servos keep the first posture", ("H-12b",)).patch(
        Postures, "joints", lambda self, t: self.q[0, 7:]
    ),
]


@MUTATIONS.of(body, "planar_angles", "H-08")
def planar_orientation(planar_angles, *point):
    """The last planar angle counts the second with the wrong sign."""
    first, second, third = planar_angles(*point)
    return first, second, third + 2.0 * second
