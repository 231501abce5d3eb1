"""Plant: harmless defaults, wrappers that forward every verb, and samples that keep their
content.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.plants import JointTorque, Plant, Sample
from farhand.plants.wrappers.wrapped import FaultyPlant, WrappedPlant


def test_a_new_sample_has_no_wrench():
    """None, not zero."""
    assert Sample(6, 6).wrench is None


def test_a_wrench_can_be_set_and_taken_away():
    """A sensor that fails leaves none behind."""
    sample = Sample(2, 2)
    sample.set_wrench(np.arange(6.0))
    np.testing.assert_array_equal(sample.wrench, np.arange(6.0))
    sample.set_wrench(None)
    assert sample.wrench is None


def test_a_copy_keeps_its_content_when_the_original_is_reused():
    """State, time and wrench, or that there is none."""
    sample = Sample(3, 2)
    sample.time_ns, sample.q[:], sample.v[:] = 5, 1.0, 2.0
    sample.set_wrench(np.full(6, 3.0))
    kept = sample.copy()
    sample.time_ns, sample.q[:], sample.v[:] = 6, 0.0, 0.0
    sample.set_wrench(None)
    assert kept.time_ns == 5
    np.testing.assert_array_equal(kept.q, np.ones(3))
    np.testing.assert_array_equal(kept.v, [2.0, 2.0])
    np.testing.assert_array_equal(kept.wrench, np.full(6, 3.0))
    assert sample.copy().wrench is None


class Plain(Plant):
    """A plant with nothing but what it must have."""

    name, accepts, actuated = "plain", frozenset({JointTorque}), np.ones(2, dtype=bool)

    def read(self, now_ns):
        return Sample(2, 2)

    def write(self, command, now_ns):
        pass


class Logged(Plain):
    """A plant that lists the verbs it was asked."""

    fault, force_peak, period_ns = "fuse", 3.0, 7

    def __init__(self) -> None:
        self.verbs: list[str] = []

    @property
    def parameters(self):
        return {"plant": self}

    def restart(self):
        self.verbs.append("restart")

    def rearm(self):
        self.verbs.append("rearm")

    def record(self, stream):
        self.verbs.append("record")

    def close(self):
        self.verbs.append("close")


def test_a_plant_needs_only_to_be_read_and_written():
    """The other verbs do nothing, and nothing is claimed of its sensors or its force."""
    plant = Plain()
    plant.restart(), plant.rearm(), plant.record(None), plant.close()
    assert (plant.fault, plant.imperfections, plant.parameters) == (None, None, {})
    assert plant.period_ns == 1_000_000 and plant.force_peak == np.inf
    assert np.isnan(plant.wrench_sigma).all()
    with pytest.raises(TypeError):
        Plant()


@pytest.mark.parametrize("wrap", [WrappedPlant, lambda plant: FaultyPlant(plant, "frozen", 0)])
def test_a_wrapper_forwards_every_verb(wrap):
    """Even those that a wrapper knows nothing of."""
    inside = Logged()
    plant = wrap(inside)
    for verb in (plant.restart, plant.rearm, lambda: plant.record(None), plant.close):
        verb()
    assert inside.verbs == ["restart", "rearm", "record", "close"]
    assert (plant.fault, plant.force_peak, plant.period_ns) == ("fuse", 3.0, 7)
    assert plant.parameters == {"plant": inside} and plant.accepts == inside.accepts
