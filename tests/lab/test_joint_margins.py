"""A sample of the cells on which pairs coupled by their joints are predicted and tried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np
import pytest

from farhand.analysis.stability.loop import LoopArm
from farhand.analysis.stability.operating_point import operating_point
from farhand.analysis.stability.spectrum import CharacteristicCircle, unrolled
from farhand.running import stability_trial
from farhand_lab.laws.joint_margins import (
    ABOVE,
    BELOW,
    GRIDS,
    LONGEST_S,
    SHORTEST_S,
    JointCell,
    leading_swing,
    loop_at,
    predicted,
    shakes,
    trial_of,
    trial_rule,
)

SAMPLE = [
    JointCell("openarm", "openarm", "position-force", "gain", 25.0, 10.0, 1000.0, 1.0),
    pytest.param(
        JointCell("so101-leader", "so101", "position-force", "gain", 25.0, 60.0, 1000.0, 1.0),
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize("cell", SAMPLE, ids=lambda cell: cell.name)
def test_a_pair_begins_to_shake_about_where_it_is_predicted_to(cell):
    """Calm 15 % below the predicted onset, shaking 15 % above; the whole sweep has more cells."""
    assert cell in GRIDS["first"].cells()
    onset = predicted(cell)
    assert not shakes(cell, BELOW * onset) and shakes(cell, ABOVE * onset)


@pytest.mark.parametrize("grid", GRIDS)
def test_there_are_cells_for_every_pair_law_and_question(grid):
    """And none twice."""
    every = GRIDS[grid].cells()
    assert len({cell.name for cell in every}) == len(every) >= 100
    assert len({(cell.leader, cell.follower) for cell in every}) == len(GRIDS[grid].pairs)
    assert {cell.question for cell in every} == {"gain", "wall", "delay"}


def test_a_trial_takes_as_long_as_its_predicted_swing_needs():
    """Eight periods or two e-folds in each of two windows of 0.4; half the decay is still calm."""
    assert trial_rule((-3.0, 5.0)) == (SHORTEST_S, 0.05)
    assert trial_rule((0.5, 1.0)) == (pytest.approx(1.2 + 20.0), 0.05)
    assert trial_rule((-0.25, 3.0)) == (pytest.approx(1.2 + 20.0), 0.05)
    assert trial_rule((-0.06, 3.0)) == (LONGEST_S, 0.03)
    assert trial_rule(None) == (LONGEST_S, 0.05)


def test_the_leading_swing_of_a_loop_falls_below_the_onset_and_grows_above_it():
    """Its frequency is about the same."""
    cell = JointCell("openarm", "openarm", "position-force", "gain", 25.0, 10.0, 1000.0, 1.0)
    below, above = (leading_swing(loop_at(cell, s * predicted(cell))) for s in (BELOW, ABOVE))
    assert below[0] < 0.0 < above[0]
    assert below[1] == pytest.approx(above[1], rel=0.2)


@dataclass(frozen=True)
class PressedArm(LoopArm):
    """An arm whose Jacobian turns the steady force at its tool as the joints move."""

    turning: Any = 0.0  #: −∂(Jᵀ w)/∂q, [N·m/rad]

    @property
    def contact(self):
        K, B = super().contact
        return K + self.turning, B


def turning(world, name, start):
    """−∂(Jᵀ w)/∂q of a robot under its present wrench, by differences."""
    port, model, data = world.ports[name], world.model, mujoco.MjData(world.model)
    columns = []
    for joint in range(start, start + port.nv):
        torques = []
        for step in (1e-6, -1e-6):
            data.qpos[:] = world.data.qpos
            data.qpos[joint] += step
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            J = np.zeros((6, model.nv))
            mujoco.mj_jacSite(model, data, J[:3], J[3:], port.site)
            torques.append(J[:, start : start + port.nv].T @ port.wrench)
        columns.append((torques[1] - torques[0]) / 2e-6)
    return np.array(columns).T


def test_a_press_drives_the_free_elbow_of_redundant_arms_away_and_that_is_not_shaking(monkeypatch):
    """It creeps as fast as the change of the Jacobian under the press says; nothing holds it."""
    cell = JointCell("iiwa14", "fr3", "admittance", "wall", 22.0, 4.0, 0.0, 1.0)
    seen = {}

    def look(rig, seconds, window):
        world, hand = rig.world, rig.parts.hand
        held = f"{hand.stiffness},{hand.damping},0"
        loop = operating_point(rig.session, world, rig.parts, held, friction=0.0).whole
        starts = {"leader": 0, "follower": world.ports["leader"].nv}
        limbs = (
            PressedArm(**vars(limb) | {"turning": turning(world, name, starts[name])})
            for limb, name in zip(loop.limbs, starts, strict=True)
        )
        seen["loops"] = loop, replace(loop, limbs=tuple(limbs))
        times, v = rig.metrics.history.times("leader"), rig.metrics.history.signal("leader", "v")
        elbow = v[:, 2]
        seen["rate"] = np.log(elbow[times > 9.0][0] / elbow[times > 6.0][0]) / 3.0
        return speeds(rig, seconds, window)

    speeds = stability_trial._joint_speeds
    monkeypatch.setattr(stability_trial, "_joint_speeds", look)
    trial = replace(trial_of(cell, BELOW * predicted(cell)), seconds=9.1)
    assert not stability_trial.attempt(trial)["shakes"]
    growth = []
    for loop in seen["loops"]:
        z = np.linalg.eigvals(unrolled(*loop.matrices(), loop.delay))
        growth.append(float(np.log(np.abs(z).max()) / loop.period))
    assert abs(growth[0]) < 1e-3
    assert growth[1] == pytest.approx(seen["rate"], rel=0.1)
    assert seen["rate"] > 0.05


@pytest.mark.parametrize("times", [0.9604, 0.9747, 1.1])
def test_round_the_circle_like_arms_are_counted_as_their_eigenvalues_say(times):
    """Two xArm7 have the same roots twice: turns of both factors may cancel between two points."""
    cell = JointCell("xarm7", "xarm7", "four-channel", "gain", 23.0, 12.0, 900.0, 1.0)
    loop = loop_at(cell, times)
    assert np.abs(np.linalg.eigvals(unrolled(*loop.matrices(), loop.delay))).max() < 1.0
    assert CharacteristicCircle(loop, loop.delay).stable(loop.delay)
