"""The status says what a person wants to know, and never shows a missing measurement as zero."""

from __future__ import annotations

import numpy as np

from farhand.console.scene import scene_of
from farhand.console.status import Reading, in_words, newtons, panel
from farhand.telemetry import Reader


def status_of(rig) -> str:
    """The panel for a rig's ring as it is now."""
    reading, scene = Reading(), scene_of(rig)
    reading.refresh(Reader(rig.session.telemetry.path), scene)
    return panel(reading, scene)


def test_the_panel_of_a_coupled_run_has_time_error_and_forces(rig):
    """After the ramp the coupling is engaged and its error is shown in millimetres."""
    rig.session.run(0.5)
    text = status_of(rig)
    for expected in ("tracking error", " mm", "hand force", "contact force", " N<", "engaged", "0.5 s"):
        assert expected in text


def test_a_coupling_that_fades_in_says_how_far_it_is(rig):
    """Fifty milliseconds into a ramp of two hundred it is neither apart nor engaged."""
    assert "fading, " in status_of(rig)


def test_a_stop_shows_as_tripped_with_its_reason(rig):
    """The modes and the events both tell."""
    rig.session.commands.post("stop")
    rig.session.run(0.01)
    text = status_of(rig)
    assert "tripped</b>" in text
    assert "leader tripped: the operator stopped the session" in text


def test_a_refusal_is_told_with_its_reason():
    """The words of the session, without the colons of a log."""
    assert in_words("engage: refused: leader is tripped (x); reset first") == (
        "engage refused: leader is tripped (x); reset first"
    )
    assert in_words("reset: done") == "trips cleared"


def test_a_force_that_is_not_measured_is_not_zero():
    """NaN is a value of its own."""
    assert newtons(np.full(3, np.nan)) == "not measured"
    assert newtons(np.array([3.0, 0.0, 4.0])) == "5 N"


def test_words_from_outside_cannot_become_markup(rig):
    """A parameter value typed by a user is shown, not run."""
    rig.session.commands.post("set", "wall.stiffness", "<img src=x>")
    rig.session.run(0.01)
    text = status_of(rig)
    assert "<img" not in text
    assert "&lt;img" in text


def test_before_the_first_record_the_panel_says_so(rig):
    """An empty ring is no error."""
    assert "waiting" in panel(Reading(), scene_of(rig))


def test_the_panel_says_when_the_run_has_ended(rig):
    """The last state stays, with a word about it."""
    reading, scene, reader = Reading(), scene_of(rig), Reader(rig.session.telemetry.path)
    rig.close()
    reading.refresh(reader, scene)
    assert "the run has ended" in panel(reading, scene)
