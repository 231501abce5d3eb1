"""Parameters at the ends of their ranges: a rig runs, holds still or is refused in words, and its world has numbers."""

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
    """Every parameter with each value at an end of its range, each other choice, or the other truth."""
    for path, value, _, _ in describe(root):
        about = declared(root, path)
        if isinstance(value, bool):
            yield path, not value
        elif isinstance(value, str):
            yield from ((path, choice) for choice in about["choices"] if choice != value)
        else:
            bounds = [bound for bound in (about["low"], about["high"]) if np.isfinite(bound)]
            yield from ((path, [bound] * len(value) if np.ndim(value) else bound) for bound in bounds)


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
            assert np.isfinite(rig.world.data.qpos).all() or rig.world.unstable, (path, value)
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
