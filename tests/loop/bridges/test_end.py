"""One end of a bridge: the energy that passes, what fades after parting, and passive axes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from farhand.coupling import Effort
from farhand.loop.bridges.end import PARTING_WORK, End
from farhand.loop.station import Contribution

DT = 1e-3
screws = arrays(float, 6, elements=st.floats(-5.0, 5.0))


def end_with(twist=(0.0,) * 6, drives=(True,) * 6, pulls=True) -> End:
    """An end at a station that moves with this twist and is driven along these axes."""
    station = SimpleNamespace(
        name="leader",
        join=Contribution,
        controller=SimpleNamespace(exerts_effort=pulls),
        drives=np.array(drives),
        guard=SimpleNamespace(trip=None),
        side=SimpleNamespace(twist=np.array(twist, dtype=float)),
    )
    return End(station, None)


def effort_of(wrench, target=None) -> Effort:
    """What a law may ask for."""
    effort = Effort()
    effort.wrench, effort.target = np.array(wrench, dtype=float), target
    return effort


def asking(end: End, wrench) -> End:
    """The same end after its law asked for a wrench."""
    assert end.take(effort_of(wrench))
    return end


@given(screws, screws, st.floats(0.0, 1.0))
def test_energy_put_into_the_coupling_is_minus_the_work_on_the_arm(wrench, twist, gain):
    """Faded like the wrench itself, and summed over time."""
    end = asking(end_with(twist), wrench)
    for _ in range(3):
        end.apply(gain, DT)
    np.testing.assert_allclose(end.contribution.wrench, gain * wrench)
    assert end.contribution.gain == gain
    assert end.energy == pytest.approx(-3.0 * DT * gain * wrench @ twist, abs=1e-12)


@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_what_fades_after_parting_does_at_most_its_work_on_an_arm_that_gives_way(speed):
    """Along the effort the gain falls with the work done, down to none; against it nothing is
    lost.
    """
    end = asking(end_with([speed, 0, 0, 0, 0, 0]), [10.0, 0, 0, 0, 0, 0])
    end.apply(1.0, DT)
    end.part()
    work = 0.0
    for _ in range(200):
        work += max(0.0, float(end.contribution.wrench[0]) * speed * DT)
        end.apply(1.0, DT)
        assert end.contribution.gain == pytest.approx(max(0.0, 1.0 - work / PARTING_WORK))
        end.part()
    # the gain falls as exp(−t P / W) from 1: 200 ms at 10 W
    gain = np.exp(-0.2 * 10.0 / PARTING_WORK) if speed > 0.0 else 1.0
    assert end.contribution.gain == pytest.approx(gain, abs=1e-4)
    assert 0.15 < PARTING_WORK < 0.3  # as of 10 kg at about 0.2 m/s


def test_parting_again_after_a_new_effort_counts_from_zero():
    """Each parting has its own work."""
    end = end_with([1.0, 0, 0, 0, 0, 0])
    for _ in range(2):
        asking(end, [100.0, 0, 0, 0, 0, 0])
        end.apply(1.0, DT)
        assert end.contribution.gain == 1.0
        end.part()
        end.apply(1.0, DT)
        assert end.contribution.gain == pytest.approx(0.5)


def test_a_tripped_station_is_not_pushed_on_until_the_effort_has_faded():
    """A reset alone does not bring the old effort back."""
    end = asking(end_with(), [1.0, 2.0, 3.0, 0, 0, 0])
    gains = []
    for trip, gain in ((None, 1.0), ("stop", 0.8), (None, 0.5), (None, 0.0), (None, 0.3)):
        end.station.guard.trip = trip
        end.apply(gain, DT)
        gains.append(end.contribution.gain)
    assert gains == [1.0, 0.0, 0.0, 0.0, 0.3]


def test_efforts_along_passive_axes_are_dropped_and_named():
    """Neither pushed with nor counted as energy; an end that drives all says nothing."""
    end = end_with(np.ones(6), (True, False, True, True, True, False))
    asking(end, np.full(6, 2.0)).apply(1.0, DT)
    np.testing.assert_array_equal(end.contribution.wrench, [2.0, 0.0, 2.0, 2.0, 2.0, 0.0])
    assert end.energy == pytest.approx(-8.0 * DT)
    assert end.dropped == "the leader has no motor along y and about z: the law cannot act there"
    assert end_with().dropped == ""


def test_a_station_that_takes_targets_gets_no_wrench():
    """Its controller exerts none, so that none counts."""
    end = end_with(np.ones(6), pulls=False)
    target = object()
    assert end.take(effort_of(np.ones(6), target))
    end.apply(1.0, DT)
    assert end.contribution.target is target
    assert (end.energy, end.contribution.wrench.any()) == (0.0, False)
    end.part()
    assert end.contribution.target is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_effort_that_is_not_a_number_is_not_taken(bad):
    """What was asked for before stays."""
    end = asking(end_with(), np.ones(6))
    wrench = np.zeros(6)
    wrench[4] = bad
    assert not end.take(effort_of(wrench))
    np.testing.assert_array_equal(end.asked, 1.0)


@pytest.mark.parametrize("size", [5, 7])
def test_an_effort_of_another_size_is_refused(size):
    """It would be spread over the axes in silence, or not fit."""
    with pytest.raises(ValueError, match="effort of shape"):
        end_with().take(effort_of(np.zeros(size)))
