"""From a checked log to a model that an arm can use."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from farhand.robots import Robot
from farhand.torque.check import TorqueCheck
from farhand.torque.identify import Estimates, solve
from farhand.torque.overlay import IdentifiedModel
from farhand.torque.regressor import BODY, DataSheet

Array = np.ndarray


def identified(result: TorqueCheck) -> IdentifiedModel:
    """The model that explains a log best, with what the log does not show as in the data sheet.

    Masses and inertias are possible by construction, see :mod:`farhand.torque.regressor`.
    """
    solution, log = as_used(result), result.log
    sheet, joints = solution.problem.sheet, list(log.joints)
    delta = solution.delta.reshape(-1, BODY)
    bodies = [body.inertia(own) for body, own in zip(sheet.bodies, delta, strict=True)]
    bodies[sheet.carrier - 1] += _tool(solution.value("tool"), sheet, bodies[sheet.carrier - 1])
    start = data_sheet(result.robot)
    rotor, coulomb = start.rotor.copy(), start.coulomb.copy()
    viscous, scale, offset = start.viscous.copy(), start.scale.copy(), start.offset.copy()
    moves = np.array([len(y) > 50 for y in solution.problem.y])
    own = np.array(joints)[moves]
    tilt = solution.value("tilt")
    rotor[joints] = solution.rotors
    coulomb[own] = np.maximum(solution.value("coulomb"), 0.0)[moves]
    viscous[own] = np.maximum(solution.value("viscous"), 0.0)[moves]
    scale[own], offset[own] = solution.value("scale")[moves], solution.value("offset")[moves]
    return IdentifiedModel(
        result.robot.name,
        start.joints,
        np.array([one.mass for one in bodies]),
        np.array([one.lever for one in bodies]),
        np.array([one.inertia for one in bodies]),
        rotor,
        coulomb,
        viscous,
        scale,
        offset,
        (float(tilt[0]), float(tilt[1])),
        log.name,
    )


def as_used(result: TorqueCheck) -> Estimates:
    """The fit again, with all that the check does not call wrong as the robot's file says.

    A law takes the readings as they are, and an overlay has no tool that weighs less than nothing:
    a scale of 0.97 or such a tool, which the log can hardly tell from 1 and from none, would be
    missing in what the arm believes. The bodies and friction take it up instead. A joint with much
    viscous friction hardly tells a delay from rotor inertia: each joint's own would be traded in.
    """
    solution, n = result.solution, len(result.log.joints)
    named = {one.kind for one in result.findings}
    wrong = [j - 1 for one in result.findings if one.kind in ("scale", "sign") for j in one.joints]
    # no drive reads a torque before it acts
    late = max(result.delay.value, 0.0) if "delay" in named else 0.0
    known = {"scale": np.ones(n), "delay": np.full(n, late - solution.problem.samples.shift)}
    known["scale"][slice(None) if result.log.kind == "current" else wrong] = np.nan
    if "tool" not in named or result.tool_mass.value < 0.0:
        known["tool"] = np.zeros(5)
    if "tilt" not in named:
        known["tilt"] = np.zeros(2)
    return solve(solution.problem, solution.layout.terms, solution.z, known)


def data_sheet(robot: Robot) -> IdentifiedModel:
    """What the robot's own file says, in the same form."""
    model, compiled = robot.pinocchio(), robot.compile()
    bodies = [model.inertias[k] for k in range(1, model.njoints)]
    n = model.nv
    return IdentifiedModel(
        robot.name,
        tuple(model.names)[1:],
        np.array([one.mass for one in bodies]),
        np.array([one.lever for one in bodies]),
        np.array([one.inertia for one in bodies]),
        np.array(model.armature),
        compiled.dof_frictionloss.copy(),
        compiled.dof_damping.copy(),
        np.ones(n),
        np.zeros(n),
    )


def _tool(values: Array, sheet: DataSheet, body: pin.Inertia) -> pin.Inertia:
    """What the log shows at the tool beside the file; never so little that the body vanishes."""
    mass = float(max(values[0], -0.5 * body.mass))
    if mass <= 1e-3:
        return pin.Inertia.Zero()
    # far from the tool point only because a little mass has a moment of its own
    shift = np.clip(values[1:4] / mass, -0.2, 0.2)
    centre = sheet.tool.translation + sheet.tool.rotation @ shift
    return pin.Inertia(mass, centre, max(float(values[4]), 0.0) * np.eye(3))
