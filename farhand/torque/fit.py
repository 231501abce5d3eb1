"""From a checked log to a model that an arm can use."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from farhand.robots import Robot
from farhand.torque.check import MIN_TILT_RAD, TorqueCheck
from farhand.torque.overlay import IdentifiedModel
from farhand.torque.regressor import BODY, DataSheet

Array = np.ndarray


def identified(result: TorqueCheck) -> IdentifiedModel:
    """The model that explains a log best, with what the log does not show as in the data sheet.

    Masses and inertias are possible by construction, see :mod:`farhand.torque.regressor`.
    """
    solution, log = result.solution, result.log
    sheet, joints = solution.problem.sheet, list(log.joints)
    delta = solution.delta.reshape(-1, BODY)
    bodies = [body.inertia(own) for body, own in zip(sheet.bodies, delta, strict=True)]
    named = {one.kind for one in result.findings}
    tilt = np.array([one.value for one in result.tilt])
    bodies[sheet.carrier - 1] += _tool(solution.value("tool"), sheet, bodies[sheet.carrier - 1])
    start = data_sheet(result.robot)
    rotor, coulomb = start.rotor.copy(), start.coulomb.copy()
    viscous, scale, offset = start.viscous.copy(), start.scale.copy(), start.offset.copy()
    moves = np.array([len(y) > 50 for y in solution.problem.y])
    own = np.array(joints)[moves]
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
        (float(tilt[0]), float(tilt[1]))
        if "tilt" in named and np.hypot(*tilt) > MIN_TILT_RAD
        else (0.0, 0.0),
        log.name,
    )


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
