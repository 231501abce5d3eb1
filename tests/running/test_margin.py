"""A run says beforehand how far it is from shaking, and afterwards what to change."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.rigs import Options, build_rig
from farhand.rigs.margin import margin
from farhand.running.margin import shaking


def test_the_margin_is_one_line_that_names_the_hand():
    """Calm where it is calm, not where it is not, nothing where nothing can be predicted."""
    words = []
    for name, law, delay, settings in (
        ("dual-arm", "position-force", 0.0, []),
        ("dual-arm", "position-force", 200.0, [("hand.stiffness", 200.0), ("hand.damping", 5.0)]),
        ("hazardous", None, 0.0, []),
    ):
        rig = build_rig(name, Options(law=law, delay=delay, settings=settings))
        words.append(margin(rig))
        rig.close()
    assert words[0] is not None and words[0].startswith("predicted to be calm: a wall of 6000 N/m")
    assert words[0].endswith("hand: the rig's own, 1000 N/m, 100 N·s/m, 0 kg")
    assert words[1] is not None and words[1].startswith("predicted to shake")
    assert words[2] is None


def test_a_run_that_shook_is_told_what_to_change_and_a_calm_one_nothing(monkeypatch):
    """The advice comes from the prediction, with the parameters of the end."""
    soft = [("hand.stiffness", 200.0), ("hand.damping", 5.0)]
    rig = build_rig(
        "dual-arm", Options(law="position-force", delay=200.0, scenario="wall", settings=soft)
    )
    rig.session.run(0.2, rig.metrics.pull)
    assert list(shaking(rig)) == []
    times = np.arange(0.0, 5.0, 1e-3)
    wave = np.zeros((len(times), 6))
    wave[:, 0] = 10.0 * np.sin(2 * np.pi * 3.0 * times)
    monkeypatch.setattr(rig.metrics.history, "times", lambda stream: times)
    monkeypatch.setattr(rig.metrics.history, "signal", lambda stream, channel: wave)
    told = list(shaking(rig))
    rig.close()
    assert told[0].startswith("it shakes: the tracking error oscillates")
    assert told[1].startswith("calm again with --delay ≤ ")
    assert "law.mapping.force_scale ≤" in told[1]
    assert "wall.stiffness ≤" in told[1]


def test_a_layer_is_named_where_the_prediction_leaves_it_out():
    """Bare, the law would shake; whether it does with the layer is not what was predicted."""
    soft = [("hand.stiffness", 200.0), ("hand.damping", 5.0)]
    rig = build_rig(
        "dual-arm", Options(law="position-force", layer="tank", delay=200.0, settings=soft)
    )
    words = margin(rig)
    rig.close()
    assert words is not None
    assert words.startswith("predicted to shake, without the layer tank,")


def test_the_lag_of_drives_that_nothing_comes_back_from_is_not_shaking(monkeypatch):
    """Servos on a slow bus go in steps: an error that swings with them is no loop that swings."""
    rig = build_rig("humanoid")
    times = np.arange(0.0, 5.0, 1e-3)
    wave = np.zeros((len(times), 6))
    wave[:, 0] = 0.002 * np.sin(2 * np.pi * 25.0 * times)  # [m]: no contact force oscillates by 2 N
    monkeypatch.setattr(rig.metrics.history, "times", lambda stream: times)
    monkeypatch.setattr(rig.metrics.history, "signal", lambda stream, channel: wave)
    told = list(shaking(rig))
    rig.close()
    assert told == []


def swinging(rig, monkeypatch, size, pace, seconds=5.0):
    """Let all signals of a rig have swung by ``size`` at ``pace`` [Hz]."""
    times = np.arange(0.0, seconds, 1e-3)
    wave = np.zeros((len(times), 6))
    wave[:, 0] = size * np.sin(2 * np.pi * pace * times)
    monkeypatch.setattr(rig.metrics.history, "times", lambda stream: times)
    monkeypatch.setattr(rig.metrics.history, "signal", lambda stream, channel: wave)


def test_advice_after_a_run_is_for_where_it_stood_before(monkeypatch):
    """A run leaves the arms in the middle of a swing; what is said after it agrees with what was
    said before.
    """
    rig = build_rig("dual-arm", Options(law="position-force", delay=190.0, scenario="press"))
    before = margin(rig)
    rig.session.run(3.0, rig.metrics.pull)  # pressed on the wall, where 208 ms would do
    swinging(rig, monkeypatch, 10.0, 3.0)
    told = list(shaking(rig))
    after = margin(rig)
    rig.close()
    assert before is not None and before.startswith("predicted to shake") and after == before
    assert told[1].startswith("calm again with --delay ≤ 118 ms (now 190)")


@pytest.mark.parametrize("dragged", [False, True])
def test_slow_shaking_is_told_unless_somebody_drags_the_hand(dragged, monkeypatch):
    """The scenario knows what it asks of the hand; a visitor's drag is his own."""
    rig = build_rig("dual-arm", Options(law="unilateral", scenario="rest"))
    if dragged:
        rig.session.commands.post("set", "hand.drag", (0.0, 0.0, 0.01))
    rig.session.run(0.01, rig.metrics.pull)
    swinging(rig, monkeypatch, 0.01, 1.0, 8.0)
    told = [line.partition(" by ")[0] for line in shaking(rig)]
    rig.close()
    assert told[:1] == ([] if dragged else ["it shakes: the tracking error oscillates"])


@pytest.mark.parametrize(
    ("coulomb", "before", "after"),
    [
        (0.0, "predicted to shake: ", "calm again with --delay ≤ "),
        (0.5, "predicted to be calm by dry friction alone: ", "calm again with --delay ≤ "),
    ],
)
def test_forecast_and_verdict_go_by_one_prediction(monkeypatch, coulomb, before, after):
    """A loop that dry friction holds is not called shaking; if it shakes, friction did not do."""
    settings = [("hand.stiffness", 200.0), ("hand.damping", 5.0), ("rig.coulomb", coulomb)]
    rig = build_rig("dual-arm", Options(law="position-force", delay=60.0, settings=settings))
    forecast = margin(rig)
    rig.session.run(0.01, rig.metrics.pull)
    swinging(rig, monkeypatch, 10.0, 3.0)
    told = list(shaking(rig))
    rig.close()
    assert forecast is not None and forecast.startswith(before)
    assert told[1].startswith(after)


def test_a_prediction_that_no_single_change_helps_is_not_denied(monkeypatch):
    """It was predicted, so it is not said to be unexplained."""
    settings = [("hand.stiffness", 200.0), ("hand.damping", 5.0)]
    rig = build_rig("dual-arm", Options(law="position-force", delay=60.0, settings=settings))
    rig.session.run(0.01, rig.metrics.pull)
    swinging(rig, monkeypatch, 10.0, 3.0)
    monkeypatch.setattr("farhand.running.margin.remedies", lambda *_, **__: [])
    told = list(shaking(rig))
    rig.close()
    assert told[1].startswith("it was predicted to; none of")


@pytest.mark.parametrize(("armature", "words"), [(0.0, "shake"), (0.1, "be calm")])
def test_a_leader_too_light_for_its_hand_is_predicted_to_shake(armature, words):
    """Its wrist has next to no inertia where the file states none of the motors."""
    settings = [("rig.leader_robot", "iiwa14"), ("rig.armature", armature)]
    rig = build_rig(
        "dual-arm", Options(law="position-position", scenario="free", settings=settings)
    )
    said = margin(rig)
    rig.close()
    assert said is not None and said.startswith(f"predicted to {words}")
