"""Parameters at the ends of their ranges: a rig runs, holds still or is refused in words, and its
world has numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from farhand.errors import FarhandError
from farhand.parameters import declared, describe
from farhand.rigs import Options, build_rig, rig_names

CASES = 30  # of each rig, drawn anew from all with a fixed seed
SECONDS = 0.05


def ends(root: object) -> Iterator[tuple[str, object]]:
    """Every parameter with each value at an end of its range, each other choice, or the other
    truth.
    """
    for path, value, _, _ in describe(root):
        about = declared(root, path)
        if isinstance(value, bool):
            yield path, not value
        elif isinstance(value, str):
            yield from ((path, choice) for choice in about["choices"] if choice != value)
        else:
            bounds = [bound for bound in (about["low"], about["high"]) if np.isfinite(bound)]
            yield from (
                (path, [bound] * len(value) if np.ndim(value) else bound) for bound in bounds
            )


def drawn(name: str) -> list[tuple[str, object]]:
    """Some of them."""
    rig = build_rig(name, Options())
    try:
        found = sorted(ends(rig.session.parameters), key=str)
    finally:
        rig.close()
    return [found[k] for k in np.random.default_rng(11).permutation(len(found))[:CASES]]


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize("name", rig_names())
def test_the_ends_of_all_ranges_are_fit_to_be_run(name):
    """Nothing but an error of Farhand's own words comes out, and that before the first tick."""
    ran = 0
    for path, value in drawn(name):
        try:
            rig = build_rig(name, Options(settings=[(path, value)]))
        except FarhandError as refused:
            assert "\n" not in str(refused)
            continue
        try:
            rig.session.run(SECONDS, rig.metrics.pull, 0.02)
            assert np.isfinite(rig.world.data.qpos).all(), (path, value)
            ran += 1
        finally:
            rig.close()
    assert ran > CASES // 2


def test_a_model_of_friction_can_be_set_where_an_object_lies_about():
    """A loose object has a joint without a name."""
    rig = build_rig("cooperative", Options(settings=[("leader.plant.friction", "coulomb")]))
    try:
        rig.session.run(0.02)
        assert not rig.session.trips
    finally:
        rig.close()


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize("name", rig_names())
def test_whatever_is_set_while_it_runs_the_session_goes_on(name):
    """A visitor of the page sets one end after the other, stops, resets and engages; nobody sees a
    traceback.
    """
    rig, rng = build_rig(name, Options()), np.random.default_rng(12)
    post, found = rig.session.commands.post, list(ends(rig.session.parameters))

    def fiddle() -> None:
        post("set", *found[rng.integers(len(found))])
        if rng.random() < 0.2:
            post(str(rng.choice(["reset", "engage", "release", "clutch", "declutch", "stop"])))

    try:
        rig.session.run(1.2, fiddle, 0.01)
        assert np.isfinite(rig.world.data.qpos).all()
        assert rig.session.commands.log[-1].time_ns > 1_100_000_000
    finally:
        rig.close()


def test_a_simulation_that_lost_itself_stops_every_robot_and_says_why():
    """Also again after a reset: nothing that comes has to do with the robots any more."""
    rig = build_rig("dual-arm", Options(settings=[("hand.damping", 10_000.0)]))
    try:
        for _ in range(2):
            rig.session.run(0.3)
            assert all(station.guard.trip for station in rig.session.stations)
            assert rig.session.stations[1].guard.trip.kind == "invalid"
            assert "too hard for steps of 1 ms" in rig.session.stations[1].guard.trip.reason
            rig.session.commands.post("reset")
    finally:
        rig.close()
