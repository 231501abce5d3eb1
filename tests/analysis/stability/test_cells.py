"""Prediction and simulation agree, cell by cell."""

from __future__ import annotations

import pytest

from farhand.analysis.stability.cells import Cell, grid, judge


def test_the_grid_spans_every_axis_with_at_least_two_hundred_cells():
    """Rate, damping, quantisation, delay and hand, and no cell twice."""
    cells = grid()
    assert len(cells) >= 200
    assert len({cell.name for cell in cells}) == len(cells)
    for axis, least in (
        ("rate", 3),
        ("damping", 3),
        ("quantum", 3),
        ("delay", 3),
        ("hand", 3),
        ("law", 3),
    ):
        assert len({getattr(cell, axis) for cell in cells}) >= least


@pytest.mark.parametrize(
    "cell",
    [
        Cell("rendered-wall", "wall", 1000.0, 5.0, 5e-6, 0.0, "relaxed"),
        Cell("rendered-wall", "wall", 1000.0, 5.0, 25e-6, 0.0, "soft", 1.0),
        Cell("position-force", "wall", 500.0, 5.0, 5e-6, 0.02, "soft"),
        Cell("position-position", "spring", 500.0, 20.0, 1e-6, 0.01, "firm"),
        Cell("position-position", "delay", 1000.0, 10.0, 5e-6, 0.0, "relaxed"),
    ],
    ids=lambda cell: cell.name,
)
def test_the_prediction_is_within_fifteen_per_cent_of_the_simulated_onset(cell):
    """A few cells of the grid; the command runs them all."""
    row = judge(cell)
    assert row["within"], row
    assert 0.85 <= row["ratio"] <= 1.15
