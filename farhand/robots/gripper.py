"""The gripper of an arm: the last joint, which opens and closes it and does not move the tool."""

from __future__ import annotations

from typing import Any

import mujoco

from farhand.errors import BadValue, UnknownName
from farhand.robots.limits import single_dof
from farhand.robots.model_file import JAW_BODIES, JAW_JOINTS, TOOL


def find_gripper(table: dict[str, Any], model: mujoco.MjModel, where: str) -> str | None:
    """The joint that a description names as the gripper, or else a last joint with such a name.

    Raises:
        UnknownName: the description names a joint that is not there.
        BadValue: it names one that cannot be a gripper.
    """
    last = model.njnt - 1
    reason = _no_gripper(model, last)
    if "gripper" not in table:
        joint, body = model.joint(last).name, model.body(int(model.jnt_bodyid[last])).name
        named = joint and (JAW_JOINTS.search(joint) or JAW_BODIES.search(body))
        return joint if named and not reason else None
    name, names = table["gripper"], [model.joint(i).name for i in range(model.njnt)]
    if name not in names:
        raise UnknownName("joint", str(name), [one for one in names if one])
    if name != names[last]:
        reason = f"the last joint must be the gripper, and that is {names[last]}"
    if reason:
        raise BadValue(f"{where}: gripper = {name!r}: {reason}")
    return str(name)


def _no_gripper(model: mujoco.MjModel, joint: int) -> str:
    """Why a joint cannot be the gripper, or nothing."""
    if not single_dof(model)[joint] or model.njnt == 1:
        return "it must be a hinge or a slide of an arm"
    body = int(model.site_bodyid[model.site(TOOL).id])
    while body:
        if body == model.jnt_bodyid[joint]:
            return "it moves the tool, which must be on the part that the gripper closes against"
        body = int(model.body_parentid[body])
    return ""
