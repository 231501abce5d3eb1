"""Motors that close their own loops: prediction and simulation agree, cell by cell."""

from __future__ import annotations

import pytest

from farhand.analysis.stability.drive_cells import DriveCell, grid, judge


def test_the_grid_spans_gain_rate_delay_steps_and_feed_forward():
    """At least 150 cells, and no cell twice."""
    cells = grid()
    assert len({cell.name for cell in cells}) == len(cells) >= 150
    assert {cell.question for cell in cells} == {"stiffness", "damping", "late", "period", "share"}
    for axis in ("stiffness", "damping", "period", "late", "cut_off", "steps", "dry", "hand"):
        assert len({getattr(cell, axis) for cell in cells}) >= 2


@pytest.mark.parametrize(
    "cell",
    [
        DriveCell("stiffness", late=2.5e-3, cut_off=80.0),
        DriveCell("late", stiffness=200.0),
        DriveCell("share", late=4e-3, dry=0.05, wall=0.0, steps=0.1),
    ],
    ids=lambda cell: cell.name,
)
def test_the_prediction_is_within_fifteen_per_cent_of_the_simulated_onset(cell):
    """A few cells; the command runs them all."""
    row = judge(cell)
    assert row["within"], row
