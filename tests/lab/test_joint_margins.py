"""A sample of the cells on which pairs coupled by their joints are predicted and tried."""

from __future__ import annotations

import pytest

from farhand_lab.laws.joint_margins import ABOVE, BELOW, GRIDS, JointCell, predicted, shakes

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
