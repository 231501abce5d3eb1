"""Pinocchio models from compiled MuJoCo models, and conversions of their state conventions."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

Array = NDArray[np.float64]

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

    Converted: the tree (any number of roots, several joints on one body, joint ``pos``, ``axis``,
    ``ref``), inertias, armature, joint ranges, viscous damping and dry friction coefficients (as
    data: no Pinocchio algorithm applies them), gravity. Every body is a ``BODY`` frame and every
    site an ``OP_FRAME`` with MuJoCo's name; a jointless body is folded into the joint that carries
    it. ``q`` and ``v`` have MuJoCo's order of joints; ball and free joints have Pinocchio's
    quaternion order (x, y, z, w) and the free joint its body-frame velocity, see
    :func:`q_to_pinocchio`.

    Not converted: springs, tendons, equality constraints, gravity compensation of bodies, contacts
    and actuators. A file in which one of the first four acts is refused when it is loaded, see
    :mod:`farhand.robots.mechanism`.

    Joint frames are turned so that every hinge and slide acts along a coordinate axis, which
    Pinocchio computes fastest; they coincide with the body's axes only if the joint axis is +x, +y
    or +z. So look up frames by body name.
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


def q_to_pinocchio(model: mujoco.MjModel, qpos: Array) -> Array:
    """MuJoCo's ``qpos`` in Pinocchio's convention: quaternions (w, x, y, z) become (x, y, z, w).

    Args:
        model: the compiled model.
        qpos: shape (..., nq), [m, rad, -]. Returned as it is, not copied, when there is no
            quaternion in it.
    """
    return _reorder_quaternions(model, qpos, _WXYZ_TO_XYZW)


def q_from_pinocchio(model: mujoco.MjModel, q: Array) -> Array:
    """Inverse of :func:`q_to_pinocchio`."""
    return _reorder_quaternions(model, q, _XYZW_TO_WXYZ)


def v_to_pinocchio(model: mujoco.MjModel, qpos: Array, qvel: Array) -> Array:
    """MuJoCo's ``qvel`` in Pinocchio's convention: free joints' linear velocity in body axes.

    The map is a rotation, so it also converts generalised forces. It does not convert
    accelerations: those differ by the term ω × v of the free joint.

    Args:
        model: the compiled model.
        qpos: the configuration in MuJoCo's convention, shape (nq,).
        qvel: shape (nv,), [m/s, rad/s]. Returned as it is, not copied, when there is no free joint.
    """
    return _rotate_free_velocities(model, qpos, qvel, into_body=True)


def v_from_pinocchio(model: mujoco.MjModel, qpos: Array, v: Array) -> Array:
    """Inverse of :func:`v_to_pinocchio`; ``qpos`` is in MuJoCo's convention here too."""
    return _rotate_free_velocities(model, qpos, v, into_body=False)


def _se3(position: Array, quaternion_wxyz: Array) -> pin.SE3:
    w, x, y, z = (float(value) for value in quaternion_wxyz)
    rotation = pin.Quaternion(w, x, y, z).normalized().toRotationMatrix()
    return pin.SE3(rotation, np.array(position, dtype=float))


def _translation(offset: Array) -> pin.SE3:
    return pin.SE3(np.eye(3), np.array(offset, dtype=float))


def _inertia(model: mujoco.MjModel, body: int) -> pin.Inertia:
    rotation = _se3(model.body_ipos[body], model.body_iquat[body]).rotation
    tensor = rotation @ np.diag(model.body_inertia[body]) @ rotation.T
    mass, centre = float(model.body_mass[body]), np.array(model.body_ipos[body])
    return pin.Inertia(mass, centre, 0.5 * (tensor + tensor.T))


def _name(model: mujoco.MjModel, kind: mujoco.mjtObj, index: int, fallback: str) -> str:
    return mujoco.mj_id2name(model, kind, index) or f"{fallback}{index}"


def _add_joint(
    result: pin.Model, model: mujoco.MjModel, index: int, parent: int, pose: pin.SE3
) -> tuple[int, pin.SE3]:
    """Add one joint to a body at ``pose`` in ``parent``: the joint, and the body's pose in it."""
    kind = int(model.jnt_type[index])
    name = _name(model, mujoco.mjtObj.mjOBJ_JOINT, index, "joint")
    anchor = _translation(model.jnt_pos[index])
    # qpos of a free joint is the pose in the world; the body's own pos and quat only set qpos0
    if kind == FREE:
        origin = pin.SE3.Identity()
        return result.addJoint(0, pin.JointModelFreeFlyer(), origin, name), origin
    if kind == BALL:
        ball = pin.JointModelSpherical()
        return result.addJoint(parent, ball, pose * anchor, name), anchor.inverse()
    axis = np.array(model.jnt_axis[index])
    reference = float(model.qpos0[model.jnt_qposadr[index]])
    direction, turn = _aligned_axis(axis)
    if kind == SLIDE:
        at_zero = pose * _translation(-reference * axis)
        body_in_joint = turn.inverse()
    else:
        back = pin.AngleAxis(-reference, axis).toRotationMatrix()
        at_zero = pose * anchor * pin.SE3(back, np.zeros(3))
        body_in_joint = turn.inverse() * anchor.inverse()
    return result.addJoint(parent, _ALIGNED[kind][direction](), at_zero * turn, name), body_in_joint


def _aligned_axis(axis: Array) -> tuple[int, pin.SE3]:
    """Coordinate axis and the rotation that turns it onto ``axis`` (identity for +x, +y, +z)."""
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
            at = model.jnt_qposadr[index]
            lower[at], upper[at] = model.jnt_range[index]
    result.lowerPositionLimit, result.upperPositionLimit = lower, upper
    result.armature = np.array(model.dof_armature)
    result.damping = np.array(model.dof_damping)
    result.lowerDryFrictionLimit = -np.array(model.dof_frictionloss)
    result.upperDryFrictionLimit = np.array(model.dof_frictionloss)
    weightless = int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    gravity = np.zeros(3) if weightless else np.array(model.opt.gravity)
    result.gravity = pin.Motion(gravity, np.zeros(3))


def _reorder_quaternions(model: mujoco.MjModel, q: Array, order: list[int]) -> Array:
    if model.nq == model.nv:
        return q
    result = np.array(q, dtype=float)
    for index in np.flatnonzero((model.jnt_type == BALL) | (model.jnt_type == FREE)):
        start = int(model.jnt_qposadr[index]) + (3 if int(model.jnt_type[index]) == FREE else 0)
        result[..., start : start + 4] = q[..., start : start + 4][..., order]
    return result


def _rotate_free_velocities(model: mujoco.MjModel, qpos: Array, v: Array, into_body: bool) -> Array:
    if model.nq == model.nv:
        return v
    result = np.array(v, dtype=float)
    for index in np.flatnonzero(model.jnt_type == FREE):
        start, at = int(model.jnt_qposadr[index]), int(model.jnt_dofadr[index])
        rotation = _se3(qpos[start : start + 3], qpos[start + 3 : start + 7]).rotation
        result[at : at + 3] = (rotation.T if into_body else rotation) @ v[at : at + 3]
    return result
