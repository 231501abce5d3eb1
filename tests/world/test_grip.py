"""Fingers on a leader's gripper and an object in a follower's: springs with closed forms."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from farhand.world.joints import Fingers, HeldObject


def gripper(q: float = 0.5, v: float = 0.0) -> SimpleNamespace:
    """The world's side of an arm of two joints whose last is its gripper."""
    return SimpleNamespace(nv=2, q=np.array([7.0, q]), v=np.array([9.0, v]))


def test_fingers_close_evenly_and_pull_as_a_spring_with_a_damper():
    """τ = k (q_r − q) − d q̇, where q_r goes from open to closed in the time they take, and back."""
    port = gripper(q=0.5)
    fingers = Fingers(port, stiffness=3.0, damping=0.4, closed=0.1, time=2.0)
    fingers.at(1.0)
    np.testing.assert_array_equal(fingers.now, [0.0, 0.0])
    fingers.squeeze = 1.0
    # a quarter of the way in half a second; then they are there, and no further
    for t, wanted in ((1.5, 0.4), (2.0, 0.3), (4.0, 0.1), (9.0, 0.1)):
        port.q[1], port.v[1] = 0.45, -0.2
        fingers.at(t)
        np.testing.assert_allclose(fingers.now, [0.0, 3.0 * (wanted - 0.45) + 0.4 * 0.2])
    fingers.squeeze = 0.5
    for t, wanted in ((9.5, 0.2), (9.5, 0.2), (12.0, 0.3)):
        fingers.at(t)
        np.testing.assert_allclose(fingers.now[1], 3.0 * (wanted - 0.45) + 0.4 * 0.2)


def test_an_object_pushes_only_where_it_is_touched_and_never_pulls():
    """τ = max(0, k δ + d δ̇) while δ > 0."""
    port = gripper()
    thing = HeldObject(port, size=0.3, stiffness=10.0, damping=2.0)
    for q, v, pushed in (
        (0.2, 0.0, 1.0),
        (0.2, -0.1, 1.2),
        (0.2, 0.1, 0.8),
        (0.2, 0.9, 0.0),
        (0.31, -1.0, 0.0),
        (-0.2, 0.0, 5.0),
    ):
        port.q[1], port.v[1] = q, v
        thing.at(0.0)
        np.testing.assert_allclose(thing.now, [0.0, pushed])
        assert thing.force == pytest.approx(pushed)
    thing.present = False
    thing.at(0.0)
    np.testing.assert_array_equal(thing.now, 0.0)


def test_an_object_that_is_squeezed_and_let_go_gives_back_no_more_than_it_took():
    """Work over a cycle that ends where it began: none by the spring, and a loss by the damper."""
    dt, works = 1e-4, []
    for damping in (0.0, 0.5):
        port = gripper()
        thing = HeldObject(port, size=0.3, stiffness=10.0, damping=damping)
        t = np.arange(0.0, 2.0, dt)
        work = 0.0
        for phase in t:
            port.q[1] = 0.3 + 0.2 * np.cos(np.pi * (phase + 0.5 * dt))
            port.v[1] = -0.2 * np.pi * np.sin(np.pi * (phase + 0.5 * dt))
            thing.at(phase)
            work += thing.now[1] * port.v[1] * dt
        works.append(work)
    assert works[0] == pytest.approx(0.0, abs=1e-6)
    assert works[1] < -1e-3
