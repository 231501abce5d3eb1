"""A board is known by three touches, in order, and by where the limb came from."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.control.haptic.synthetic import Board
from farhand.errors import BadValue
from farhand.parameters import assign


def touch(board: Board, number: int, *place: float) -> None:
    board.observe(np.array(place))
    assign({"board": board}, "board.touches", number)


def test_three_touches_make_a_plane_that_is_free_where_the_limb_came_from() -> None:
    """On either side of it; none before the third."""
    for side in (0.1, -0.1):
        board = Board()
        board.observe(np.array([0.0, 0.0, side]))
        touch(board, 1, 0.1, 0.0, 0.0)
        touch(board, 2, 0.0, 0.1, 0.0)
        assert board.surface is None
        touch(board, 3, -0.1, 0.0, 0.0)
        assert board.surface is not None
        np.testing.assert_allclose(board.surface.normal, [0.0, 0.0, np.sign(side)], atol=1e-12)


def test_zero_forgets_it() -> None:
    """And another one can be made."""
    board = Board()
    board.observe(np.array([0.0, 0.0, 0.1]))
    for number, place in enumerate([(0.1, 0.0), (0.0, 0.1), (-0.1, 0.0)], 1):
        touch(board, number, *place, 0.0)
    assign({"board": board}, "board.touches", 0)
    assert board.surface is None
    touch(board, 1, 0.1, 0.0, 0.0)
    assert board.touches == 1


def test_a_corner_left_out_a_line_or_no_limb_is_refused_and_changes_nothing() -> None:
    """The corner can be touched again elsewhere."""
    board = Board()
    with pytest.raises(BadValue, match="engage"):
        assign({"board": board}, "board.touches", 1)
    with pytest.raises(BadValue, match="corner 1"):
        touch(board, 2, 0.0, 0.0, 0.1)
    touch(board, 1, 0.1, 0.0, 0.0)
    touch(board, 2, 0.2, 0.0, 0.0)
    with pytest.raises(BadValue, match="on a line"):
        touch(board, 3, 0.3, 0.0, 0.0)
    assert board.touches == 2 and board.surface is None
    touch(board, 3, 0.3, 0.1, 0.0)
    assert board.surface is not None


def test_a_second_board_is_free_where_the_limb_comes_from_then() -> None:
    """Not where it came from to the first."""
    board = Board()
    for side in (0.1, -0.1):
        board.observe(np.array([0.0, 0.0, side]))
        for number, place in enumerate([(0.1, 0.0), (0.0, 0.1), (-0.1, 0.0)], 1):
            touch(board, number, *place, 0.0)
        assert board.surface is not None and board.surface.normal[2] == np.sign(side)
        assign({"board": board}, "board.touches", 0)
