"""Robots of the dual-arm rig: any number of joints, as their own files have them, and the same on
two machines.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.link.packet import model_hash
from farhand.rigs import Options, build_rig
from farhand.rigs.dual_arm.parts import ARMATURE, VISCOUS, arms_of, numbers_of, shaped
from farhand.robots import load_robot
from tests.conftest import Run

ARM = """
<mujoco>
  <worldbody>
    <body name="one"><joint name="a" axis="0 0 1" damping="3" armature="0.2" frictionloss="0.4"/>
      <geom type="capsule" fromto="0 0 0.1 0 0 0.5" size="0.06" mass="{mass}"/>
      <body name="two" pos="0 0 0.4"><joint name="b" axis="0 1 0" damping="1"/>
        <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.06" mass="2"/>
        <body name="three" pos="0.4 0 0"><joint name="c" type="slide" axis="0 0 1"/>
          <geom type="capsule" fromto="-0.3 0 0 0.1 0 0" size="0.05" mass="1"/>
          <site name="tool" pos="0.1 0 0"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def own(tmp_path: Path) -> str:
    """The path of a robot of one's own: three joints, one of them a slide, and links that
    overlap.
    """
    path = tmp_path / "mine.xml"
    path.write_text(ARM.format(mass=4.0))
    return str(path)


@pytest.mark.parametrize(
    ("leader", "follower"), [("ur5e", "iiwa14"), ("iiwa14", "ur5e"), ("point3", "ur5e")]
)
def test_arms_with_other_numbers_of_joints_follow_each_other(leader, follower):
    """Seven and six, three and six: tied tool to tool they stay together."""
    settings = [("rig.leader_robot", leader), ("rig.follower_robot", follower)]
    rig = build_rig(
        "dual-arm", Options(scenario="free", law="position-position", settings=settings)
    )
    run = Run(rig).on(0.5)
    assert not run.trips
    assert np.abs(run.signal("coupling", "error")[:, :3]).max() < 0.05
    rig.close()


def test_of_ones_own_robots_the_file_holds_and_of_the_published_pair_what_was_published(own):
    """Mass, rotor inertia, viscous and dry friction; the published follower is a quarter as
    heavy.
    """
    shape, robots = shaped([("rig.leader_robot", own), ("rig.follower_robot", own)])
    arms = arms_of(shape, robots)
    for role in ("leader", "follower"):
        model = arms.true[role].compile()
        assert model.dof_damping.tolist() == [3.0, 1.0, 0.0]
        assert model.dof_armature.tolist() == [0.2, 0.0, 0.0]
        assert model.body_mass.sum() == 7.0
        assert model.dof_frictionloss.tolist() == [0.4, 0.0, 0.0]
    shape, robots = shaped([])
    arms = arms_of(shape, robots)
    leader, follower = (arms.true[role].compile() for role in ("leader", "follower"))
    assert leader.dof_damping.tolist() == list(VISCOUS)
    assert leader.dof_armature.tolist() == list(ARMATURE)
    assert follower.body_mass.sum() == pytest.approx(0.25 * leader.body_mass.sum(), rel=1e-12)


def test_a_published_follower_of_ones_own_leader_keeps_what_was_published(own):
    """And the other way round."""
    shape, robots = shaped([("rig.leader_robot", own)])
    assert robots["follower"].compile().dof_damping.tolist() == list(VISCOUS)
    assert shape.viscous.tolist() == [3.0, 1.0, 0.0]
    shape, robots = shaped([("rig.follower_robot", own)])
    assert robots["follower"].compile().dof_damping.tolist() == [3.0, 1.0, 0.0]
    assert (shape.mass_scale, shape.follower_offset.size, shape.push_torque.size) == (1.0, 3, 6)


def test_what_is_set_holds_for_both_and_fits_the_joints_or_is_refused(own):
    """One number for all joints, or one each where both robots have as many."""
    both = [("rig.leader_robot", own), ("rig.follower_robot", own)]
    _, robots = shaped([*both, ("rig.viscous", "1,2,3"), ("rig.armature", 0.5)])
    for robot in robots.values():
        assert robot.compile().dof_damping.tolist() == [1.0, 2.0, 3.0]
        assert robot.compile().dof_armature.tolist() == [0.5] * 3
    _, robots = shaped([both[0], ("rig.viscous", 1.5)])
    assert robots["follower"].compile().dof_damping.tolist() == [1.5] * 6
    with pytest.raises(
        BadValue, match="rig.viscous has 3 numbers, the follower 6 joints: give one number for all"
    ):
        shaped([both[0], ("rig.viscous", "1,2,3")])


def test_links_that_overlap_in_a_file_do_not_push_each_other(own):
    """As published: contact is at the tool."""
    rig = build_rig("dual-arm", Options(scenario="rest", settings=[("rig.leader_robot", own)]))
    Run(rig).on(0.01)
    assert rig.world.data.ncon == 0
    rig.close()


def test_the_first_tick_finds_the_wall_as_it_was_set(own):
    """Not as it stands by default, which would stop a follower that starts behind it."""
    there = [("wall.point", "0.1,0,0"), ("wall.stiffness", 100.0)]
    for settings, force in (
        ([*there, ("wall.present", False)], 0.0),
        (there, 100.0 * (0.131 - 0.1)),
    ):
        rig = build_rig("dual-arm", Options(scenario="rest", settings=settings))
        assert -rig.world.ports["follower"].wrench[0] == pytest.approx(force, abs=0.01)
        rig.close()


def test_a_wall_that_would_stop_the_follower_at_once_is_refused():
    """With the depth, the force and what to set; another follower than the published one has its
    wall ahead of it.
    """
    with pytest.raises(
        BadValue, match=r"starts 0.131 m inside the wall, which pushes with 786 N \(limit 400 N\)"
    ):
        build_rig("dual-arm", Options(settings=[("wall.point", "0,0,0")]))
    rig = build_rig("dual-arm", Options(settings=[("rig.follower_robot", "iiwa14")]))
    start = rig.world.ports["follower"].tool.position[0]
    assert rig.parts.wall.point[0] == pytest.approx(start + 0.45 - 0.131, abs=1e-3)
    rig.close()


def test_two_machines_compare_the_robots_and_not_what_their_files_are_called(tmp_path, own):
    """A copy elsewhere is the same robot; one link a gram heavier is another."""

    def told(path: str) -> int:
        return model_hash(*numbers_of(load_robot(path)))

    copy, heavier = tmp_path / "copy.xml", tmp_path / "heavier.xml"
    copy.write_text(ARM.format(mass=4.0))
    heavier.write_text(ARM.format(mass=4.001))
    assert told(own) == told(str(copy)) != told(str(heavier))


def test_friction_that_the_controller_does_not_know_comes_on_top_of_what_it_knows():
    """The leader has none of it."""
    arms = arms_of(*shaped([("rig.model_viscous", 5.0)]))
    for role, unknown in (("follower", 5.0), ("leader", 0.0)):
        known, true = (of[role].compile().dof_damping for of in (arms.believed, arms.true))
        np.testing.assert_allclose(true - known, unknown)
