"""Performance: a skill as a law, on a tool that is a point mass and a wall that is a spring."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.coupling.side import Side
from farhand.learning.performance import Performance, performing
from farhand.learning.skill import learn
from tests.learning.conftest import pressing

DT, MASS, WALL = 1e-3, 2.0, 5000.0


@pytest.fixture(scope="module")
def law_class() -> type[Performance]:
    """Of a reach to a wall at 0.3 m, a wipe along it under 20 N, and the way back."""
    return performing(learn("wipe", [pressing(seed) for seed in range(5)]))


def performed(law: Performance, wall_at: float | None, seconds: float) -> dict[str, np.ndarray]:
    """Let the law move a point mass whose x is stopped by a spring from ``wall_at`` [m] on."""
    a, b = Side("leader"), Side("follower")
    b.position[:] = 0.0, 0.0, 0.2
    b.wrench = np.zeros(6)
    law.engage(a, b)
    seen: dict[str, list[float]] = {"x": [], "force": [], "wanted": [], "phase": []}
    for _ in range(round(seconds / DT)):
        b.wrench[0] = -WALL * max(0.0, b.position[0] - wall_at) if wall_at is not None else 0.0
        _, effort = law.step(a, b, DT)
        b.twist[:3] += DT * (effort.wrench[:3] + b.wrench[:3]) / MASS
        b.position += DT * b.twist[:3]
        b.rotation[:] = law.target.rotation
        for key, value in zip(
            seen, (b.position[0], -b.wrench[0], law._learnt_force, law.phase), strict=True
        ):
            seen[key].append(float(value))
    return {key: np.array(values) for key, values in seen.items()}


def test_in_free_space_it_goes_where_it_was_shown(law_class):
    """To the goal, also where it looked for a contact on the way and found none."""
    for aware in (True, False):
        seen = performed(law_class(force_aware=aware), None, 12.0)
        assert seen["phase"][-1] == 1.0 and abs(seen["x"][-1]) < 5e-3


def test_the_force_is_kept_on_a_wall_that_has_moved(law_class):
    """A wall 2 cm further away: the aware one looks for it and presses as learnt, the other one
    never does.
    """
    touching = {}
    for aware in (True, False):
        law = law_class(force_aware=aware)
        seen = performed(law, 0.32, 7.0)
        force = seen["force"][seen["wanted"] > law.skill.threshold]
        touching[aware] = force[force > 1.0]
    assert len(touching[True]) > 0.7 * len(force) and abs(touching[True].mean() - 20.0) < 4.0
    assert not len(touching[False])


def test_the_offset_never_exceeds_the_reach(law_class):
    """However long it looks for a wall that is not there."""
    law = law_class(reach=0.02)
    performed(law, None, 3.0)
    assert np.linalg.norm(law._offset) <= 0.02 + 1e-3


def test_without_a_measurement_it_is_a_movement_alone(law_class):
    """No force is not zero force: nothing is looked for."""
    law, a, b = law_class(), Side("leader"), Side("follower")
    law.engage(a, b)
    for _ in range(6500):
        law.step(a, b, DT)
    assert law.phase == 1.0 and not law._offset.any()
