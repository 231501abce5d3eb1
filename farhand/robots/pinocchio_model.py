"""Pinocchio models built from compiled MuJoCo models, and the conversions between the two state conventions."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

HINGE = int(mujoco.mjtJoint.mjJNT_HINGE)
SLIDE = int(mujoco.mjtJoint.mjJNT_SLIDE)
BALL = int(mujoco.mjtJoint.mjJNT_BALL)
FREE = int(mujoco.mjtJoint.mjJNT_FREE)

_ALIGNED = {
    HINGE: (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
    SLIDE: (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ),
}
_WXYZ_TO_XYZW = [1, 2, 3, 0]
_XYZW_TO_WXYZ = [3, 0, 1, 2]


def pinocchio_from_mujoco(model: mujoco.MjModel) -> pin.Model:
    """Build the Pinocchio model of the same mechanism.

    Carried: the tree (any number of roots, several joints on one body, joint ``pos``, ``axis`` and
    ``ref``), inertias, armature, joint ranges, viscous damping and dry friction coefficients (as
    data: no Pinocchio algorithm applies them), gravity. Every body is a ``BODY`` frame and every
    site an ``OP_FRAME`` with MuJoCo's name; a jointless body is folded into the joint that carries
    it. ``q`` and ``v`` have MuJoCo's order of joints; ball and free joints have Pinocchio's
    quaternion order (x, y, z, w) and the free joint its body-frame velocity, see
    :func:`q_to_pinocchio`.

    Not carried: springs, tendons, equality constraints, gravity compensation of bodies, contacts
    and actuators. A file in which one of the first four acts is refused when it is loaded, see
    :mod:`farhand.robots.mechanism`.

    Joint frames are turned so that every hinge and slide acts along a coordinate axis, which
    Pinocchio computes fastest; they coincide with the body's axes only where the joint axis is +x,
    +y or +z. Ask for frames by body name.
    """
    result = pin.Model()
    # per body: joint that carries it, its pose there
    in_joint: list[tuple[int, pin.SE3]] = [(0, pin.SE3.Identity())]
    for body in range(1, model.nbody):
        joint, pose = in_joint[int(model.body_parentid[body])]
        pose = pose * _se3(model.body_pos[body], model.body_quat[body])
        first = int(model.body_jntadr[body])
        for index in range(first, first + int(model.body_jntnum[body])):
            joint, pose = _add_joint(result, model, index, joint, pose)
        in_joint.append((joint, pose))
        if joint:
            result.appendBodyToJoint(joint, _inertia(model, body), pose)
    _add_frames(result, model, in_joint)
    _set_dof_data(result, model)
    return result


def q_to_pinocchio(model: mujoco.MjModel, qpos: NDArray[np.float64]) -> NDArray[np.float64]:
    """MuJoCo's ``qpos`` in Pinocchio's convention: quaternions (w, x, y, z) become (x, y, z, w).

    Args:
        model: the compiled model.
        qpos: shape (..., nq), [m, rad, -]. Returned as it is, not copied, when there is no
            quaternion in it.
    """
    return _reorder_quaternions(model, qpos, _WXYZ_TO_XYZW)


def q_from_pinocchio(model: mujoco.MjModel, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inverse of :func:`q_to_pinocchio`."""
    return _reorder_quaternions(model, q, _XYZW_TO_WXYZ)


def v_to_pinocchio(
    model: mujoco.MjModel, qpos: NDArray[np.float64], qvel: NDArray[np.float64]
) -> NDArray[np.float64]:
    """MuJoCo's ``qvel`` in Pinocchio's convention: a free joint's linear velocity turns from world into body axes.

    The map is a rotation, so it also carries generalised forces. It does not carry accelerations:
    those differ by the term ω × v of the free joint.

    Args:
        model: the compiled model.
        qpos: the configuration in MuJoCo's convention, shape (nq,).
        qvel: shape (nv,), [m/s, rad/s]. Returned as it is, not copied, when there is no free joint.
    """
    return _rotate_free_velocities(model, qpos, qvel, into_body=True)


def v_from_pinocchio(
    model: mujoco.MjModel, qpos: NDArray[np.float64], v: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Inverse of :func:`v_to_pinocchio`; ``qpos`` is in MuJoCo's convention here too."""
    return _rotate_free_velocities(model, qpos, v, into_body=False)


def _se3(position: NDArray[np.float64], quaternion_wxyz: NDArray[np.float64]) -> pin.SE3:
    w, x, y, z = (float(value) for value in quaternion_wxyz)
    rotation = pin.Quaternion(w, x, y, z).normalized().toRotationMatrix()
    return pin.SE3(rotation, np.array(position, dtype=float))


def _translation(offset: NDArray[np.float64]) -> pin.SE3:
    return pin.SE3(np.eye(3), np.array(offset, dtype=float))


def _inertia(model: mujoco.MjModel, body: int) -> pin.Inertia:
    rotation = _se3(model.body_ipos[body], model.body_iquat[body]).rotation
    tensor = rotation @ np.diag(model.body_inertia[body]) @ rotation.T
    return pin.Inertia(
        float(model.body_mass[body]), np.array(model.body_ipos[body]), 0.5 * (tensor + tensor.T)
    )


def _name(model: mujoco.MjModel, kind: mujoco.mjtObj, index: int, fallback: str) -> str:
    return mujoco.mj_id2name(model, kind, index) or f"{fallback}{index}"


def _add_joint(
    result: pin.Model, model: mujoco.MjModel, index: int, parent: int, pose: pin.SE3
) -> tuple[int, pin.SE3]:
    """Add one joint to a body that sits at ``pose`` in ``parent``; return the new joint and the body's pose in it."""
    kind = int(model.jnt_type[index])
    name = _name(model, mujoco.mjtObj.mjOBJ_JOINT, index, "joint")
    anchor = _translation(model.jnt_pos[index])
    if kind == FREE:  # qpos is the pose in the world; the body's own pos and quat only set qpos0
        return result.addJoint(
            0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), name
        ), pin.SE3.Identity()
    if kind == BALL:
        return result.addJoint(
            parent, pin.JointModelSpherical(), pose * anchor, name
        ), anchor.inverse()
    axis = np.array(model.jnt_axis[index])
    reference = float(model.qpos0[model.jnt_qposadr[index]])
    direction, turn = _aligned_axis(axis)
    if kind == SLIDE:
        at_zero = pose * _translation(-reference * axis)
        body_in_joint = turn.inverse()
    else:
        at_zero = (
            pose * anchor * pin.SE3(pin.AngleAxis(-reference, axis).toRotationMatrix(), np.zeros(3))
        )
        body_in_joint = turn.inverse() * anchor.inverse()
    return result.addJoint(parent, _ALIGNED[kind][direction](), at_zero * turn, name), body_in_joint


def _aligned_axis(axis: NDArray[np.float64]) -> tuple[int, pin.SE3]:
    """Coordinate axis to use and the rotation that turns it onto ``axis`` (identity for +x, +y, +z)."""
    largest = int(np.argmax(np.abs(axis)))
    if axis[largest] == 1.0:
        return largest, pin.SE3.Identity()
    side = np.eye(3)[(largest + 1) % 3]
    side = side - axis * axis.dot(side)
    side /= np.linalg.norm(side)
    return 2, pin.SE3(np.column_stack([side, np.cross(axis, side), axis]), np.zeros(3))


def _add_frames(
    result: pin.Model, model: mujoco.MjModel, in_joint: list[tuple[int, pin.SE3]]
) -> None:
    for body, (joint, pose) in enumerate(in_joint):
        name = _name(model, mujoco.mjtObj.mjOBJ_BODY, body, "body")
        result.addFrame(pin.Frame(name, joint, 0, pose, pin.FrameType.BODY), False)
    for site in range(model.nsite):
        joint, pose = in_joint[int(model.site_bodyid[site])]
        name = _name(model, mujoco.mjtObj.mjOBJ_SITE, site, "site")
        pose = pose * _se3(model.site_pos[site], model.site_quat[site])
        result.addFrame(pin.Frame(name, joint, 0, pose, pin.FrameType.OP_FRAME), False)


def _set_dof_data(result: pin.Model, model: mujoco.MjModel) -> None:
    lower, upper = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
    for index in range(model.njnt):
        if model.jnt_limited[index] and int(model.jnt_type[index]) in (HINGE, SLIDE):
            lower[model.jnt_qposadr[index]], upper[model.jnt_qposadr[index]] = model.jnt_range[
                index
            ]
    result.lowerPositionLimit, result.upperPositionLimit = lower, upper
    result.armature = np.array(model.dof_armature)
    result.damping = np.array(model.dof_damping)
    result.lowerDryFrictionLimit = -np.array(model.dof_frictionloss)
    result.upperDryFrictionLimit = np.array(model.dof_frictionloss)
    weightless = int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    result.gravity = pin.Motion(
        np.zeros(3) if weightless else np.array(model.opt.gravity), np.zeros(3)
    )


def _reorder_quaternions(
    model: mujoco.MjModel, q: NDArray[np.float64], order: list[int]
) -> NDArray[np.float64]:
    if model.nq == model.nv:
        return q
    result = np.array(q, dtype=float)
    for index in np.flatnonzero((model.jnt_type == BALL) | (model.jnt_type == FREE)):
        start = int(model.jnt_qposadr[index]) + (3 if int(model.jnt_type[index]) == FREE else 0)
        result[..., start : start + 4] = q[..., start : start + 4][..., order]
    return result


def _rotate_free_velocities(
    model: mujoco.MjModel, qpos: NDArray[np.float64], v: NDArray[np.float64], into_body: bool
) -> NDArray[np.float64]:
    if model.nq == model.nv:
        return v
    result = np.array(v, dtype=float)
    for index in np.flatnonzero(model.jnt_type == FREE):
        start, at = int(model.jnt_qposadr[index]), int(model.jnt_dofadr[index])
        rotation = _se3(qpos[start : start + 3], qpos[start + 3 : start + 7]).rotation
        result[at : at + 3] = (rotation.T if into_body else rotation) @ v[at : at + 3]
    return result
