"""A sample of the cells on which pairs coupled by their joints are predicted and tried."""

from __future__ import annotations

import pytest

from farhand_lab.laws.joint_margins import JointCell, cells, predicted, shakes

SAMPLE = [
    JointCell("openarm", "openarm", "position-force", "gain", 20.0, 20.0, 1000.0),
    pytest.param(
        JointCell("so101-leader", "so101", "position-position", "gain", 40.0, 60.0, 1000.0),
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize("cell", SAMPLE, ids=lambda cell: cell.name)
def test_a_pair_begins_to_shake_about_where_it_is_predicted_to(cell):
    """Calm at half of the predicted onset, shaking at twice; the whole sweep asks for 15 %."""
    assert cell in cells()
    onset = predicted(cell)
    assert not shakes(cell, 0.5 * onset) and shakes(cell, 2.0 * onset)


def test_there_are_cells_for_every_pair_law_and_question():
    """And none twice."""
    every = cells()
    assert len({cell.name for cell in every}) == len(every) >= 100
    assert len({(cell.leader, cell.follower) for cell in every}) == 4
    assert {cell.question for cell in every} == {"gain", "wall", "delay"}
