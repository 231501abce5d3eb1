"""The sensor's experiments come out as built, and fail when the part they watch is broken."""

from __future__ import annotations

import pytest

from farhand_lab import harness
from farhand_lab.dual_arm import sensor
from farhand_lab.mutation import NUMERICAL_FAILURES, Mutation

OFF_LINE = ("D-41", "D-42", "D-43", "D-52")
CONTACT = ("D-44", "D-45")


def mutations_of(*ids: str) -> list[Mutation]:
    """The mutations that these ids watch."""
    return [mutation for mutation in sensor.MUTATIONS if set(mutation.watched) <= set(ids)]


def verdicts(*ids: str) -> dict[str, str]:
    """Verdicts of new measurements."""
    harness.clear_shared()
    items = [item for item in harness.experiments_of("dual-arm") if item.id in ids]
    entries = harness.measure(items, failures=NUMERICAL_FAILURES)
    harness.clear_shared()
    return {entry.id: entry.verdict for entry in entries}


def test_the_off_line_experiments_pass():
    """Counts, compensation, calibration and grip."""
    assert verdicts(*OFF_LINE) == dict.fromkeys(OFF_LINE, "pass")


def test_the_contact_experiments_come_out_as_they_should():
    """The point of reference and the saturated sensor."""
    assert verdicts(*CONTACT) == {"D-44": "pass", "D-45": "pass"}


def test_saturation_is_flagged_in_the_very_sample():
    """On every axis and in both directions."""
    assert {sensor._samples_late(axis, sign) for axis in range(6) for sign in (1.0, -1.0)} == {0}


@pytest.mark.parametrize("mutation", mutations_of(*OFF_LINE), ids=lambda m: m.name)
def test_an_off_line_experiment_notices_a_broken_part(mutation: Mutation):
    """The ids that watch it no longer pass."""
    with mutation.apply():
        assert verdicts(*mutation.watched) == dict.fromkeys(mutation.watched, "differs")


@pytest.mark.slow
@pytest.mark.parametrize("mutation", mutations_of(*CONTACT), ids=lambda m: m.name)
def test_a_contact_experiment_notices_a_broken_part(mutation: Mutation):
    """The ids that watch it no longer pass."""
    with mutation.apply():
        assert verdicts(*mutation.watched) == dict.fromkeys(mutation.watched, "differs")


@pytest.mark.parametrize(
    "make", [lambda: sensor.overload(3000.0), lambda: sensor.pressed((0.0, 0.0, 0.0))]
)
def test_a_push_leaves_the_arms_with_finite_states(make):
    """Whatever the sensor says, nothing trips and nothing blows up."""
    pushed = make()
    assert pushed.error.max() < 0.15  # 93 mm: without the saturated sensor the tie is soft
    assert not pushed.run.rig.session.trips
