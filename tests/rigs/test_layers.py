"""Every rig takes a layer around its law, says what the layer does, and refuses one that does not
fit.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.cli.main import main
from farhand.errors import Mismatch
from farhand.parameters import assign
from farhand.rigs import Options, build_rig

CHANNELS = ("layer_energy", "layer_damping", "layer_held_back")


@pytest.mark.parametrize(
    ("rig", "law", "layer"),
    [
        ("dual-arm", "position-force", "tdpa"),
        ("dual-arm", "position-position", "waves"),
        ("hazardous", None, "tank"),
        ("youbot", None, "tdpa"),
        ("youbot", None, "waves"),
    ],
)
def test_a_layer_is_recorded_where_there_is_one_and_set_live(rig, law, layer):
    """Energies, damping and what is held back are channels of the coupling; its parameters go by
    ``layer.``.
    """
    made = build_rig(rig, Options(law, layer, "free", delay=40.0))
    made.session.run(0.8, made.metrics.pull)
    history = made.metrics.history
    energy, damping, held = (history.signal("coupling", channel) for channel in CHANNELS)
    assert energy.shape[1] == 4
    assert (np.diff(energy[:, [0, 2]], axis=0) >= 0.0).all()
    assert (damping >= 0.0).all()
    assert np.isfinite(held).all()
    assign(made.session.parameters, "layer.recovery", 3.0)
    assert made.session.bridges[0].b.port.settings.recovery == 3.0
    assert not made.session.trips
    made.close()


def test_the_round_trip_a_layer_reckons_with_is_the_age_of_what_both_ends_use():
    """Over an uneven link packets wait at either end, and both waits count."""
    options = Options(
        "position-position", "waves", "free", settings=[("rig.rate", 200)], delay=30.0, jitter=12.0
    )
    made = build_rig("dual-arm", options)
    ends, ages = (made.session.bridges[0].a, made.session.bridges[0].b), []
    for _ in range(80):
        made.session.run(0.01)
        ages.append(sum(end.playout.age_ns for end in ends) * 1e-9)
    for end in ends:
        assert end.port.round_trip == pytest.approx(np.mean(ages[20:]), rel=0.1)
    made.close()


def test_without_a_layer_nothing_of_it_is_recorded():
    """Channels that would only hold zeros are not declared."""
    made = build_rig("dual-arm", Options(delay=40.0))
    made.session.run(0.01, made.metrics.pull)
    assert not set(CHANNELS) & set(made.metrics.history.reader.columns("coupling"))
    made.close()


def test_waves_around_a_measured_force_are_refused(capsys):
    """One line, code 2, and what would do instead."""
    with pytest.raises(Mismatch):
        build_rig("hazardous", Options(layer="waves"))
    assert (
        main(
            [
                "run",
                "dual-arm",
                "--law",
                "position-force",
                "--layer",
                "waves",
                "--headless",
                "--seconds",
                "1",
            ]
        )
        == 2
    )
    told = capsys.readouterr().err.strip()
    assert "velocity–force port" in told
    assert "\n" not in told
