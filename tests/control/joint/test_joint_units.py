"""Units of joints: slides in metres, hinges in radians, whatever the robot has of either."""

from __future__ import annotations

import pinocchio as pin
import pytest

from farhand.control.joint.joint_units import join_units, joint_units
from farhand.recording.export import component_units


def chain(*joints: pin.JointModel) -> pin.Model:
    """A model of these joints, one after the other."""
    model = pin.Model()
    for number, joint in enumerate(joints):
        model.addJoint(number, joint, pin.SE3.Identity(), f"j{number}")
    return model


PEN = chain(pin.JointModelPX(), pin.JointModelPY(), pin.JointModelPZ(), *[pin.JointModelRX()] * 3)
BASE = chain(
    pin.JointModelPX(), pin.JointModelPrismaticUnaligned(0.6, 0.8, 0.0), pin.JointModelRZ()
)


def test_slides_are_metres_and_newtons_hinges_radians_and_newton_metres():
    """Three and three read like a wrench; anything else gives counts; one unit stands once."""
    said = [joint_units(PEN, unit) for unit in ("rad", "rad/s", "N·m")]
    assert said == ["m, rad", "m/s, rad/s", "N, N·m"]
    assert [joint_units(BASE, unit) for unit in ("rad", "N·m")] == ["m ×2, rad", "N ×2, N·m"]
    assert joint_units(chain(pin.JointModelRX(), pin.JointModelRY()), "rad") == "rad"


@pytest.mark.parametrize(
    ("joint", "position", "velocity"),
    [
        (pin.JointModelFreeFlyer(), "m ×3, - ×4", "m/s, rad/s"),
        (pin.JointModelSpherical(), "-", "rad/s"),
        (pin.JointModelRUBZ(), "-", "rad/s"),
        (pin.JointModelPlanar(), "m ×2, - ×2", "m/s ×2, rad/s"),
    ],
)
def test_what_turns_freely_has_a_position_without_a_unit(joint, position, velocity):
    """A quaternion, or a sine and a cosine; its velocity is an angular one all the same."""
    model = chain(joint)
    assert (joint_units(model, "rad"), joint_units(model, "rad/s")) == (position, velocity)
    assert len(component_units(position, model.nq)) == model.nq


def test_nothing_to_join_has_the_unit_of_hinges():
    """A robot without joints."""
    assert joint_units(chain(), "rad") == "rad" and join_units([]) == "-"


@pytest.mark.parametrize(
    "joints", ["PPPRRR", "PPRRRRRR", "PRPR", "RPPPPP", "PRPRPR", "PR", "RRRPPP", "PPPPPPPRRRRRRR"]
)
def test_tables_read_the_unit_of_every_joint_back(joints):
    """What the telemetry says in one text, the columns of a table say joint by joint."""
    kinds = {"P": pin.JointModelPX(), "R": pin.JointModelRX()}
    said = joint_units(chain(*(kinds[joint] for joint in joints)), "rad")
    assert component_units(said, len(joints)) == [{"P": "m", "R": "rad"}[joint] for joint in joints]
