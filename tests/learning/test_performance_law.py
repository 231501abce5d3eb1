"""Performance, term by term: a skill that is a straight line, and a force that is given."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.coupling.side import Side
from farhand.learning.performance import Performance, performing
from farhand.learning.primitives import ProbabilisticPrimitive
from farhand.learning.skill import Facts, Skill, learn
from farhand.spatial import rotation_from_vector, rotation_vector
from tests.learning.conftest import ROBOT, pressing

DT, DURATION = 1e-3, 2.0
PHASE = np.linspace(0.0, 1.0, 201)


def line(push: float = 10.0, **facts) -> Skill:
    """0.4 m along x and 0.1 m along z in 2 s, a turn of 0.6 rad about z, a push [N] in −z
    from a third to two thirds of the way.
    """
    touching = np.clip(np.minimum(PHASE - 0.3, 0.7 - PHASE) / 0.05, 0.0, 1.0)
    zero = np.zeros_like(PHASE)
    motion = np.stack([0.4 * PHASE, zero + 0.1, 0.1 * PHASE, zero, zero, 0.6 * PHASE], axis=1)
    force = np.stack([zero, zero, -push * touching], axis=1)
    shown = np.concatenate([motion, force], axis=1)[None]
    given = {"force_kind": "measured", "duration": DURATION} | facts
    about = Facts("line", "promp", ROBOT, demonstrations=5, sources=(), force_mean=push,
                  contact_share=0.4, deviation=0.0, settings={}, **given)  # fmt: skip
    turned = rotation_from_vector(np.array([0.3, 0.0, 0.0]))
    return Skill(about, ProbabilisticPrimitive.fit(PHASE, shown, 60), turned, 2.0)


def engaged(law: Performance, force: list[float] | None = None) -> tuple[Side, Side]:
    """At the start of the skill, with this force on the tool."""
    a, b = Side("leader"), Side("follower")
    b.position[:] = law._table[0, :3]
    b.rotation[:] = rotation_from_vector(law._table[0, 3:6]) @ law.skill.reference
    b.wrench = None if force is None else np.array([*force, 0.0, 0.0, 0.0])
    law.engage(a, b)
    return a, b


def run(law: Performance, sides: tuple[Side, Side], seconds: float, dt: float = DT) -> None:
    """Make this number of steps; the tool is wherever the target is."""
    for _ in range(round(seconds / dt)):
        law.step(*sides, dt)


def test_without_force_the_target_runs_along_the_skill_at_its_pace():
    """Position, orientation and twist at every phase; it stands at the end."""
    law = performing(line())(approach=0.5, pace=2.0)
    sides = engaged(law)
    run(law, sides, 0.5 + 0.25)
    assert law.phase == pytest.approx(0.25 * 2.0 / DURATION, abs=2e-3)
    for phase in (0.25, 0.5, 0.9):
        law.phase = phase
        law.step(*sides, DT)
        target = law.target
        np.testing.assert_allclose(target.position, [0.4 * phase, 0.1, 0.1 * phase], atol=2e-4)
        turn = rotation_vector(target.rotation @ law.skill.reference.T)
        np.testing.assert_allclose(turn, [0.0, 0.0, 0.6 * phase], atol=1e-3)
        np.testing.assert_allclose(target.twist, [0.4, 0, 0.1, 0, 0, 0.6], atol=0.01)
        assert law.phase == pytest.approx(phase + 2.0 * DT / DURATION)
    run(law, sides, 1.0)
    assert law.phase == 1.0 and not law.target.twist.any()
    np.testing.assert_allclose(law.target.position, [0.4, 0.1, 0.1], atol=2e-4)


def test_a_row_between_two_samples_is_on_the_line_between_them():
    """Also the last one."""
    law = performing(learn("wipe", [pressing(seed) for seed in range(5)]))()
    for phase in (0.0, 0.12345, 0.5004, 0.9999, 1.0):
        row, slope = law._at(phase)
        whole = law.skill.primitive.movement(np.array([phase]))[0]
        np.testing.assert_allclose(row, whole, atol=0.02)
        np.testing.assert_allclose(row[:6], whole[:6], atol=1e-5)
        if 0.01 < phase < 0.99:
            ahead = law._at(phase + 1e-4)[0]
            np.testing.assert_allclose(slope[:6], (ahead - row)[:6] / 1e-4, atol=0.05)


def test_the_way_to_the_start_is_smooth_in_place_and_turn():
    """From rest at the present pose to rest at the skill's start; half way after half the time."""
    law = performing(line())(approach=1.0)
    a, b = Side("leader"), Side("follower")
    b.position[:] = 0.2, -0.3, 0.4
    b.rotation[:] = rotation_from_vector(np.array([0.0, 0.5, 0.0]))
    law.engage(a, b)
    start, begin = law._table[0], b.position.copy()
    first = rotation_from_vector(start[3:6]) @ law.skill.reference
    turn = rotation_vector(first @ b.rotation.T)
    places = []
    for _ in range(999):
        law.step(a, b, DT)
        places.append(law.target.position.copy())
        if len(places) == 500:
            np.testing.assert_allclose(places[-1], 0.5 * (begin + start[:3]), atol=1e-6)
            half = rotation_vector(law.target.rotation @ b.rotation.T)
            np.testing.assert_allclose(half, 0.5 * turn, atol=1e-6)
            np.testing.assert_allclose(law.target.twist[:3], 1.875 * (start[:3] - begin), atol=1e-6)
            np.testing.assert_allclose(law.target.twist[3:], 1.875 * turn, atol=1e-6)
    np.testing.assert_allclose(places[0], begin, atol=1e-6)
    np.testing.assert_allclose(places[-1], start[:3], atol=1e-6)
    assert law.phase == 0.0
    np.testing.assert_allclose(law.target.rotation, first, atol=1e-6)
    law.step(a, b, DT)
    assert law.phase > 0.0


def test_a_skill_may_begin_where_the_tool_is():
    """Then the whole of it is shifted, and only then."""
    for relative in (True, False):
        law = performing(line())(approach=0.1, relative=relative)
        a, b = Side("leader"), Side("follower")
        b.position[:] = 0.2, -0.3, 0.4
        law.engage(a, b)
        shift = np.array([0.2, -0.4, 0.4]) if relative else np.zeros(3)
        run(law, (a, b), 0.05)
        half = [0.2, -0.3, 0.4] if relative else [0.1, -0.1, 0.2]
        np.testing.assert_allclose(law.target.position, half, atol=1e-3)
        run(law, (a, b), 0.05 + 1.0)
        np.testing.assert_allclose(
            law.target.position, [0.2 + shift[0], 0.1 + shift[1], 0.05 + shift[2]], atol=1e-3
        )


def test_the_follower_feels_a_spring_to_the_target_and_the_leader_nothing():
    """Of the error in place and turn, and of its rate."""
    law = performing(line())(approach=0.1)
    sides = engaged(law)
    run(law, sides, 0.6)
    b = sides[1]
    b.position[:] = law.target.position + [0.001, 0.0, 0.0]
    b.rotation[:] = rotation_from_vector(np.array([0.0, 0.02, 0.0])) @ law.target.rotation
    b.twist[:] = 0.01
    on_a, on_b = law.step(*sides, DT)
    error = np.concatenate(
        [law.target.position - b.position, rotation_vector(law.target.rotation @ b.rotation.T)]
    )
    expected = type(law)().spring.pull(error, law.target.twist - b.twist)
    np.testing.assert_allclose(on_b.wrench, expected)
    assert not np.any(on_a.wrench) and on_b.target is law.target


def at_contact(law: Performance, force: list[float], phase: float = 0.5) -> tuple[Side, Side]:
    """In the middle of the push, with this force, just after the way to the start."""
    sides = engaged(law, force)
    run(law, sides, law.approach)
    law.phase = phase
    law._offset[:] = law._normal[:] = 0.0
    return sides


def test_the_offset_yields_to_too_much_force_and_follows_too_little():
    """ȯ = n (v_s·n_s − v_s·n + c (f_n − F_s)), no faster than the largest speed."""
    for push, speed in ((10.0, 0.0), (15.0, 0.03), (7.0, -0.018), (40.0, 0.08), (1.5, -0.051)):
        law = performing(line())(approach=0.1, yielding=0.006)
        sides = at_contact(law, [0.0, 0.0, -push])
        law.step(*sides, DT)
        np.testing.assert_allclose(law._offset, [0.0, 0.0, -speed * DT], atol=3e-4 * DT)
        velocity = [0.2, 0.0, 0.05 - speed]
        np.testing.assert_allclose(law.target.twist[:3], velocity, atol=3e-3)
    tilted = performing(line())(approach=0.1)
    sides = at_contact(tilted, [-6.0, 0.0, -8.0])
    tilted.step(*sides, DT)
    # the learnt normal −z meets v_s with −0.05 m/s, the present one with −0.16 m/s
    n = np.array([-0.6, 0.0, -0.8])
    np.testing.assert_allclose(tilted._offset, n * (-0.05 + 0.16) * DT, atol=2e-3 * DT)


def test_the_normal_is_the_force_s_direction_with_a_lag_of_50_ms():
    """From the first touch on; 63 % of a turn of the force after that time."""
    law = performing(line())(approach=0.1, yielding=0.0)
    sides = at_contact(law, [0.0, 0.0, -10.0])
    law.step(*sides, DT)
    np.testing.assert_allclose(law._normal, [0.0, 0.0, -1.0])
    sides[1].wrench[:3] = 0.1, 0.0, -10.0
    for _ in range(50):
        law.step(*sides, DT)
    assert law._normal[0] == pytest.approx(0.01 * (1.0 - np.exp(-1.0)), rel=0.03)
    assert np.linalg.norm(law._normal) == pytest.approx(1.0)
    law._estimate(np.array([1.0, 0.0, 0.0]), 1.0)
    np.testing.assert_allclose(law._normal, [1.0, 0.0, 0.0])


@pytest.mark.parametrize(("felt", "waits"), [(0.9, True), (1.1, False)])
def test_the_phase_waits_for_a_contact_that_is_missing(felt, waits):
    """Below half the threshold; the tool goes on along the learnt push to look for it."""
    law = performing(line())(approach=0.1)
    sides = at_contact(law, [0.0, 0.0, -felt])
    before = law.phase
    law.step(*sides, DT)
    assert (law.phase == before) == waits
    speed = 0.006 * (felt - 10.0)
    np.testing.assert_allclose(law._offset[2] / DT, -speed, atol=2e-3)
    free = at_contact(law, [0.0, 0.0, 0.0], phase=0.1)
    law.step(*free, DT)
    assert law.phase > 0.1


def test_a_search_ends_at_its_reach_and_the_movement_goes_on():
    """It is given up until the contact comes or is no longer expected; then the offset fades."""
    law = performing(line())(approach=0.1, reach=0.01, fastest=0.05)
    sides = at_contact(law, [0.0, 0.0, 0.0])
    run(law, sides, 0.15)
    assert law.phase == 0.5 and not law._given_up
    run(law, sides, 0.1)
    assert law._given_up and law.phase > 0.5
    assert np.linalg.norm(law._offset) == pytest.approx(0.01, abs=1e-4)
    gone = law._offset.copy()
    sides[1].wrench[2] = -10.0
    law.step(*sides, DT)
    assert not law._given_up
    sides[1].wrench[2] = 0.0
    law.phase = 0.9
    law.step(*sides, DT)
    np.testing.assert_allclose(law._offset, gone * (1.0 - DT), atol=1e-5)
    assert not law._normal.any()


def test_a_contact_that_was_not_learnt_is_given_way_to():
    """Before the push is due: the tool never presses into it, and moves along as it was shown."""
    law = performing(line())(approach=0.1)
    sides = at_contact(law, [0.0, 0.0, -5.0], phase=0.1)
    law.step(*sides, DT)
    # v_s leads away from the surface: nothing but the 5 N of excess
    assert law._offset[2] / DT == pytest.approx(-(0.05 + 0.03), abs=2e-3)
    sides = at_contact(law, [5.0, 0.0, 0.0], phase=0.1)
    law.step(*sides, DT)
    assert law._offset[0] / DT == pytest.approx(0.03, abs=2e-3)


@pytest.mark.parametrize("kind", ["synthetic", "none"])
def test_a_force_that_was_not_measured_is_not_kept(kind):
    """However hard it pushes."""
    law = performing(line(force_kind=kind))(approach=0.1)
    sides = at_contact(law, [0.0, 0.0, -40.0])
    run(law, sides, 0.2)
    assert not law._offset.any() and law.phase > 0.59


def test_phase_force_and_offset_are_recorded():
    """As they are after the step; engaging again starts from zero."""
    law = performing(line())(approach=0.1)
    kept = {}

    class Stream:
        def channel(self, name, width, unit):
            kept[name] = np.zeros(width)
            return kept[name]

    law.record(Stream())
    assert [part.shape for part in kept.values()] == [(1,), (1,), (3,)]
    sides = at_contact(law, [0.0, 0.0, -15.0])
    run(law, sides, 0.05)
    assert kept["phase"][0] == law.phase > 0.5
    assert kept["force_wanted"][0] == pytest.approx(10.0, rel=0.02)
    np.testing.assert_array_equal(kept["offset_in_world"], law._offset)
    assert law._offset.any()
    engaged(law)
    assert law.phase == 0.0 and not law._offset.any() and not law._normal.any()


@pytest.mark.parametrize(("felt", "touching"), [(0.95, False), (1.05, True)])
def test_a_touch_of_half_the_threshold_has_a_direction(felt, touching):
    """A weaker one has none: the learnt push is the direction to look for the surface in, until
    there is one; where no contact is expected, nothing is yielded to.
    """
    law = performing(line())(approach=0.1)
    sides = at_contact(law, [felt, 0.0, 0.0])
    law.step(*sides, DT)
    np.testing.assert_allclose(law._normal, [1, 0, 0] if touching else [0, 0, -1], atol=1e-6)
    if not touching:
        law._normal[:] = 0.0, 1.0, 0.0  # from an earlier touch, it stays
        law.step(*sides, DT)
        np.testing.assert_allclose(law._normal, [0.0, 1.0, 0.0])
    sides = at_contact(law, [felt, 0.0, 0.0], phase=0.1)
    law._offset[:] = 0.0, 0.01, 0.0
    law.step(*sides, DT)
    if touching:
        np.testing.assert_allclose(law._normal, [1.0, 0.0, 0.0], atol=1e-6)
        assert law._offset[1] == 0.01
    else:
        assert not law._normal.any()
        np.testing.assert_allclose(law._offset, [0.0, 0.01 * (1.0 - DT), 0.0], atol=1e-9)


def test_contact_is_expected_from_the_threshold_on():
    """A learnt force just below it is not searched for."""
    for push, waits in ((1.9, False), (2.1, True)):
        law = performing(line(push))(approach=0.1)
        sides = at_contact(law, [0.0, 0.0, 0.0])
        law.step(*sides, DT)
        assert (law.phase == 0.5) == waits and bool(law._normal.any()) == waits


def test_at_its_reach_it_presses_no_further_but_still_yields():
    """With a contact that is there, too weak or too strong."""
    for push, speed in ((5.0, 0.0), (15.0, 0.03)):
        law = performing(line())(approach=0.1, reach=0.02)
        sides = at_contact(law, [0.0, 0.0, -push])
        law._offset[:] = 0.0, 0.0, 0.0201
        law.step(*sides, DT)
        np.testing.assert_allclose(law._offset[2], 0.0201 - speed * DT, atol=1e-6)
