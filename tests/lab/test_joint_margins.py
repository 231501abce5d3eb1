"""A sample of the cells on which pairs coupled by their joints are predicted and tried."""

from __future__ import annotations

import pytest

from farhand_lab.laws.joint_margins import JointCell, cells, judge, within

SAMPLE = [
    JointCell("openarm", "openarm", "position-force", "gain", 20.0, 20.0, 1000.0),
    pytest.param(
        JointCell("so101-leader", "so101", "position-position", "gain", 40.0, 60.0, 1000.0),
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize("cell", SAMPLE, ids=lambda cell: cell.name)
def test_a_pair_begins_to_shake_within_fifteen_per_cent_of_the_prediction(cell):
    """Calm at 0.85 of the predicted onset, shaking at 1.15 of it."""
    assert cell in cells()
    row = judge(cell)
    assert row["onset"] is not None
    assert within(row), row


def test_there_are_cells_for_every_pair_law_and_question():
    """And none twice."""
    every = cells()
    assert len({cell.name for cell in every}) == len(every) >= 100
    assert len({(cell.leader, cell.follower) for cell in every}) == 4
    assert {cell.question for cell in every} == {"gain", "wall", "delay"}
