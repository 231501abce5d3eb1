"""The youBot's friction experiments: their lab equipment measures what it says."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.friction.models.dahl import Dahl
from farhand_lab import harness
from farhand_lab.mutation import patched
from farhand_lab.youbot import friction_models, friction_properties, identification


def test_every_id_of_the_list_is_there() -> None:
    """Y-01 to Y-59; the harness refuses one that is there twice."""
    assert {f"Y-{k:02d}" for k in range(1, 60)} <= {
        item.id for item in harness.experiments_of("youbot")
    }


def test_every_speed_of_the_grid_counts_once() -> None:
    """The published table names some speeds twice."""
    speeds = identification.slow_grid(0.02, 1.0)
    assert np.all(np.diff(speeds) > 1e-6) and speeds[0] >= 0.02 and speeds[-1] <= 1.0


def test_a_sudden_push_starts_a_spring_that_a_slow_one_does_not() -> None:
    """Armstrong's presliding spring overshoots; Karnopp's band has none."""
    assert friction_models.sudden_start("armstrong") < 0.9
    assert friction_models.sudden_start("karnopp") == pytest.approx(1.0, abs=0.05)


def test_the_soak_finds_a_model_that_makes_energy(capsys) -> None:
    """Two seconds are enough for a spring that is stiffer on the way back."""
    assert friction_properties.soak(2.0, ["dahl"]) == 0

    def pushing(self: Dahl, velocity, dt, applied):
        return -0.01 * np.sign(velocity), self.state

    with patched(Dahl, "move", pushing):
        assert friction_properties.soak(2.0, ["dahl"]) == 1
    assert "1 failed: dahl" in capsys.readouterr().out
