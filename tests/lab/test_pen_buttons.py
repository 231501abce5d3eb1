"""Buttons of the pen: one change per press."""

from __future__ import annotations

from farhand_lab.humanoid.pen_buttons import MODELS, PenButtons


def test_a_held_button_counts_once() -> None:
    """On, still on, off at the next press."""
    panel = PenButtons()
    states = [panel.step({"toggle": down}) and panel.running for down in (True, True, False, True)]
    assert (states[0], panel.running) == (True, False)


def test_the_second_button_goes_round_all_models_but_not_while_the_loop_runs() -> None:
    """A limb is not exchanged under way."""
    panel, seen = PenButtons(), []
    for _ in MODELS:
        panel.step({"model": True})
        panel.step({"model": False})
        seen.append(panel.model)
    assert seen == [*MODELS[1:], MODELS[0]]
    panel.step({"toggle": True, "model": True})
    assert panel.model == MODELS[0]
