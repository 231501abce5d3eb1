"""Joints that a description locks: fixed at their zero, with all that the model says about them taken out."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from farhand.errors import UnknownName
from farhand.robots.model_file import compile_spec


def lock(spec: mujoco.MjSpec, names: Sequence[str], where: str) -> None:
    """Take joints out of a spec, in place, and with them their actuators, tendons and places in keyframes.

    A constraint that makes a locked joint follow another goes too. One that makes another joint
    follow a locked one stays, for that other joint is tied all the same. Sensors go in any case, no
    robot keeps them.

    Args:
        spec: the model.
        names: the joints.
        where: file for error messages.

    Raises:
        UnknownName: there is no such joint.
    """
    for name in names:
        if spec.joint(name) is None:
            raise UnknownName("joint", name, [item.name for item in spec.joints])
    if not names:
        return
    if spec.keys:
        _shorten_keyframes(spec, names, where)
    tendons = [
        tendon for tendon in spec.tendons if all(name in names for name in _joints_of(tendon))
    ]
    targets = {*names, *(tendon.name for tendon in tendons)}
    kinds = (
        mujoco.mjtTrn.mjTRN_JOINT,
        mujoco.mjtTrn.mjTRN_JOINTINPARENT,
        mujoco.mjtTrn.mjTRN_TENDON,
    )
    actuators = [one for one in spec.actuators if one.trntype in kinds and one.target in targets]
    follow = [
        one for one in spec.equalities if one.type == mujoco.mjtEq.mjEQ_JOINT and one.name1 in names
    ]
    for element in [
        *spec.sensors,
        *actuators,
        *follow,
        *tendons,
        *(spec.joint(name) for name in names),
    ]:
        spec.delete(element)


def _joints_of(tendon: mujoco.MjsTendon) -> list[str | None]:
    """Names of the joints that a tendon runs over; None for a site, a geom or a pulley."""
    return [
        wrap.target.name if wrap.type == mujoco.mjtWrap.mjWRAP_JOINT else None
        for wrap in tendon.path
    ]


def _shorten_keyframes(spec: mujoco.MjSpec, names: Sequence[str], where: str) -> None:
    """Keep the positions of the joints that stay; speeds and commands are of no use."""
    model = compile_spec(spec.copy(), where)
    widths = {int(mujoco.mjtJoint.mjJNT_FREE): 7, int(mujoco.mjtJoint.mjJNT_BALL): 4}
    stays = np.ones(model.nq, dtype=bool)
    for name in names:
        joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        at = int(model.jnt_qposadr[joint])
        stays[at : at + widths.get(int(model.jnt_type[joint]), 1)] = False
    for key in spec.keys:
        positions = np.array(key.qpos)
        key.qpos = positions[stays] if positions.size == model.nq else []
        key.qvel = key.act = key.ctrl = []
