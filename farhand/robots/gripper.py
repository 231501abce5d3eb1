"""Grippers: what is tied together behind the tool becomes one joint, the last of the robot.

Pinocchio knows open trees of independent joints. In a gripper, fingers follow one another, linkages
close loops and springs keep them apart. None of this moves the tool, so the arm is the same without
it: followers stand still and give their inertia to the joint they follow, loops are locked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from farhand.errors import BadValue, UnknownName
from farhand.robots.limits import actuator_force, single_dof
from farhand.robots.model_file import (
    TENDON_FORCES,
    TOOL,
    carriers,
    compile_spec,
    jaws,
    joints_of_loop,
    joints_of_tendon,
    lock,
)

_EQUALITY = mujoco.mjtEq
_TRANSMISSION = mujoco.mjtTrn


def find_gripper(table: dict[str, Any], model: mujoco.MjModel, where: str) -> str | None:
    """The joint that a description names as the gripper, or else the only one beyond the tool.

    Raises:
        UnknownName: the description names a joint that is not there.
        BadValue: it names one that cannot be a gripper.
    """
    names = [model.joint(joint).name for joint in range(model.njnt)]
    beyond, last = joints_beyond_tool(model), model.njnt - 1
    if "gripper" not in table:
        parent = int(model.body_parentid[model.jnt_bodyid[last]])
        carrier = int(model.site_bodyid[model.site(TOOL).id])
        on_tool = model.body_weldid[parent] == model.body_weldid[carrier]
        single = beyond == [last] and single_dof(model)[last]
        return names[last] or None if single and on_tool else None
    name = table["gripper"]
    if name not in names:
        raise UnknownName("joint", str(name), [one for one in names if one])
    joint = names.index(name)
    reason = ""
    if joint not in beyond:
        reason = "it moves the tool, which must be on the part that the gripper closes against"
    elif joint != last:
        reason = f"it must be the last joint, and that is {names[last] or 'unnamed'}"
    elif not single_dof(model)[joint]:
        reason = "it must be a hinge or a slide"
    if reason:
        raise BadValue(f"{where}: gripper = {name!r}: {reason}")
    return str(name)


def joints_beyond_tool(model: mujoco.MjModel) -> list[int]:
    """Numbers of the joints that do not move the tool."""
    carrying, body = set(), int(model.site_bodyid[model.site(TOOL).id])
    while body:
        carrying.add(body)
        body = int(model.body_parentid[body])
    return [joint for joint in range(model.njnt) if model.jnt_bodyid[joint] not in carrying]


def settle_gripper(spec: mujoco.MjSpec, where: str) -> list[str]:
    """Untie the joints of grippers, in place; what ties the arm itself stays.

    Args:
        spec: a model with its tool.
        where: its file, for messages.

    Returns:
        What was done, one line each.
    """
    joints = _gripper_joints(spec)
    looped = list(_open_loops(spec, joints))
    alone, followed = _followers(spec, joints)
    followed = {name: tie for name, tie in followed.items() if not {name, tie[0]} & set(looped)}
    for key in spec.keys:
        key.qvel = key.act = key.ctrl = []
    _carry(spec, followed, where)
    notes = [*_drop_tendons(spec, joints), *_drop_springs(joints)]
    for equality in [one for one in spec.equalities if one.type == _EQUALITY.mjEQ_JOINT]:
        if {equality.name1, equality.name2} & {*alone, *followed}:
            spec.delete(equality)
    lock(spec, [*looped, *alone, *followed], where)
    if looped:
        notes.append(f"the gripper's closed loops are locked at zero: {', '.join(looped)}")
    if alone:
        why = "follow joints of the arm without moving the tool"
        notes.append(f"locked at zero, because they {why}: {', '.join(alone)}")
    if followed:
        ties = ", ".join(f"{name} follows {leader}" for name, (leader, _) in followed.items())
        effect = "followers stand at zero, their inertia counts at the joint they follow"
        notes.append(f"in the gripper {ties}: {effect}")
    return notes


def _gripper_joints(spec: mujoco.MjSpec) -> list[mujoco.MjsJoint]:
    """Joints beyond the link that has the tool and of jaws anywhere, but none that moves it."""
    links = [body for body in carriers(spec.site(TOOL).parent) if body.joints]
    carrying = [joint for body in links for joint in body.joints]
    beyond = [joint for body in [*links[:1], *jaws(spec)] for joint in body.find_all("joint")]
    return [joint for joint in spec.joints if joint in beyond and joint not in carrying]


def _open_loops(spec: mujoco.MjSpec, ours: list[mujoco.MjsJoint]) -> Iterator[str]:
    """Remove constraints between bodies of the gripper, and name the joints of their loops."""
    for equality in list(spec.equalities):
        joints = joints_of_loop(spec, equality)
        if joints and all(joint in ours for joint in joints):
            for joint in joints:
                joint.name = joint.name or f"unnamed {spec.joints.index(joint) + 1}"
                yield joint.name
            spec.delete(equality)


def _followers(
    spec: mujoco.MjSpec, ours: list[mujoco.MjsJoint]
) -> tuple[list[str], dict[str, tuple[str, float]]]:
    """Joints tied to the arm or to nothing, and joints that follow others within the gripper.

    The latter with the joint that each follows in the end, and its motion per motion of that one.
    """
    motors = {one.target for one in spec.actuators if one.trntype == _TRANSMISSION.mjTRN_JOINT}
    alone: list[str] = []
    ties: dict[str, tuple[str, float]] = {}
    for equality in spec.equalities:
        follower, leader, slope = equality.name1, equality.name2, float(equality.data[1])
        if equality.type != _EQUALITY.mjEQ_JOINT or not equality.active:
            continue
        if spec.joint(follower) not in ours:
            continue
        if not leader or spec.joint(leader) not in ours:
            alone.append(follower)
            continue
        # the joint that has a motor is the one to keep
        if follower in motors and leader not in motors and slope:
            follower, leader, slope = leader, follower, 1.0 / slope
        ties[follower] = leader, slope
    roots = {name: _root(name, ties) for name in ties}
    return alone, {name: root for name, root in roots.items() if root[0] != name}


def _root(name: str, ties: dict[str, tuple[str, float]]) -> tuple[str, float]:
    """The joint that a follower follows in the end, and its motion per motion of that one."""
    slope, seen = 1.0, {name}
    while name in ties and ties[name][0] not in seen:
        name, factor = ties[name]
        slope *= factor
        seen.add(name)
    return name, slope


def _carry(spec: mujoco.MjSpec, followed: dict[str, tuple[str, float]], where: str) -> None:
    """Add inertia, friction and efforts of followers to the joints they follow, in place."""
    if not followed:
        return
    compiled = spec.copy()
    model = compile_spec(compiled, where)
    data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    slopes = {leader: (leader, 1.0) for leader, _ in followed.values()} | followed
    dofs = {name: int(model.jnt_dofadr[model.joint(name).id]) for name in slopes}
    for leader in {leader for leader, _ in followed.values()}:
        joint, alone, along = spec.joint(leader), dofs[leader], np.zeros(model.nv)
        for name, (root, slope) in slopes.items():
            along[dofs[name]] = slope if root == leader else 0.0
        # of all that move with the joint, less what stays when they stand; never less than before
        joint.armature += max(along @ M @ along - M[alone, alone], 0.0)
        joint.frictionloss = float(np.abs(along) @ model.dof_frictionloss)
        joint.damping = [along**2 @ model.dof_damping, 0.0, 0.0]
    efforts: dict[str, float] = {}
    shared = set()
    for index, actuator in enumerate(compiled.actuators):
        parts = _parts(compiled, actuator)
        if not parts or not parts.keys() <= slopes.keys():
            continue
        leader = slopes[next(iter(parts))][0]
        gain = abs(sum(share * slopes[name][1] for name, share in parts.items()))
        force = actuator_force(model, index) * abs(float(model.actuator_gear[index, 0]))
        efforts[leader] = efforts.get(leader, 0.0) + gain * force
        if parts.keys() != {leader}:
            shared.add(leader)
    for leader in shared:
        for actuator in [one for one in spec.actuators if leader in _parts(spec, one)]:
            spec.delete(actuator)
        if np.isfinite(efforts[leader]):
            joint = spec.joint(leader)
            joint.actfrcrange = [-efforts[leader], efforts[leader]]
            joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_TRUE


def _parts(spec: mujoco.MjSpec, actuator: mujoco.MjsActuator) -> dict[str, float]:
    """Joints that an actuator moves, with their share of its length; empty for other targets."""
    if actuator.trntype == _TRANSMISSION.mjTRN_JOINT:
        return {actuator.target: 1.0}
    if actuator.trntype != _TRANSMISSION.mjTRN_TENDON:
        return {}
    path = spec.tendon(actuator.target).path
    if any(wrap.type != mujoco.mjtWrap.mjWRAP_JOINT for wrap in path):
        return {}
    return {wrap.target.name: float(wrap.coef) for wrap in path}


def _drop_tendons(spec: mujoco.MjSpec, ours: list[mujoco.MjsJoint]) -> Iterator[str]:
    """Remove tendons over joints of the gripper alone, with their motors and constraints."""
    for tendon in list(spec.tendons):
        joints = joints_of_tendon(tendon)
        if not all(name is not None and spec.joint(name) in ours for name in joints):
            continue
        if any(np.any(getattr(tendon, field)) for field in TENDON_FORCES):
            yield f"forces inside the gripper's tendon {tendon.name or '(unnamed)'} are left out"
        kinds = (_TRANSMISSION.mjTRN_TENDON,)
        motors = [x for x in spec.actuators if x.trntype in kinds and x.target == tendon.name]
        ties = [x for x in spec.equalities if x.type == _EQUALITY.mjEQ_TENDON]
        for element in [*motors, *(x for x in ties if tendon.name in (x.name1, x.name2)), tendon]:
            spec.delete(element)


def _drop_springs(ours: list[mujoco.MjsJoint]) -> Iterator[str]:
    for joint in ours:
        if np.any(joint.stiffness) or np.any(joint.springdamper):
            joint.stiffness = np.zeros(np.shape(joint.stiffness))
            joint.springdamper = np.zeros(2)
            yield f"the spring of {joint.name or '(unnamed)'} in the gripper is left out"
