"""Closed forms of the limbs: inverse, mirrored, differentiated, and a status if out of reach."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.arm import Arm
from farhand.mapping.limbs import ArmChain, LegChain
from farhand.robots import load_robot
from farhand.spatial import rotation_from_vector

SIDES = {"left": 1, "right": -1}
CHAINS = [
    pytest.param(kind(side=side), id=f"{name} {kind.__name__}")
    for kind in (ArmChain, LegChain)
    for name, side in SIDES.items()
]
share = st.floats(0.0, 1.0)
shares = st.tuples(share, share, share)


def posture(chain: ArmChain | LegChain, parts: tuple[float, float, float]) -> np.ndarray:
    return np.array(chain.lowest) + np.array(parts) * np.subtract(chain.highest, chain.lowest)


@pytest.mark.parametrize("chain", CHAINS)
@given(parts=shares)
def test_a_place_that_a_posture_reaches_is_reached_again(chain: ArmChain | LegChain, parts) -> None:
    """Whatever branch is taken, the end comes to the same place inside the limits."""
    q = posture(chain, parts)
    found = chain.solve(chain.forward(q), q)
    assert found.status == "solved"
    assert found.position_error < 1e-9


@pytest.mark.parametrize("chain", CHAINS)
def test_the_branch_nearest_the_present_posture_is_taken(chain: ArmChain | LegChain) -> None:
    """Small steps of the end make small steps of the joints, away from singular postures."""
    q = np.array(chain.lowest) + 0.3 * np.subtract(chain.highest, chain.lowest)
    for _ in range(20):
        after = chain.solve(chain.forward(q) + 1e-4, q).q
        assert np.abs(after - q).max() < 0.01
        q = after


@pytest.mark.parametrize("chain", CHAINS)
@given(parts=shares)
def test_jacobians_are_derivatives(chain: ArmChain | LegChain, parts) -> None:
    """Central differences, of the end and of the leg's centre of gravity."""
    q, h = posture(chain, parts), 1e-6
    pairs = [(chain.forward, chain.jacobian)]
    if isinstance(chain, LegChain):
        pairs.append((chain.centre, chain.centre_jacobian))
    for function, jacobian in pairs:
        numeric = np.stack(
            [(function(q + h * e) - function(q - h * e)) / (2 * h) for e in np.eye(3)], axis=-1
        )
        np.testing.assert_allclose(jacobian(q), numeric, atol=1e-9)


@pytest.mark.parametrize("kind", [ArmChain, LegChain])
@given(parts=shares)
def test_the_right_side_mirrors_the_left(kind: type, parts) -> None:
    """The same anatomical angles put the end at the mirrored place."""
    q = posture(kind(), parts)
    np.testing.assert_allclose(
        kind(side=-1).forward(q), kind().forward(q) * [1.0, -1.0, 1.0], atol=1e-15
    )


@pytest.mark.parametrize("side", SIDES)
def test_the_closed_form_of_the_arm_is_that_of_the_model(side: str) -> None:
    """Limits, and place, axes and Jacobian at random postures."""
    robot, chain = load_robot("phua", f"{side}-arm"), ArmChain(side=SIDES[side])
    arm = Arm.of(robot)
    np.testing.assert_allclose(robot.limits.lower, chain.lowest, atol=1e-6)
    np.testing.assert_allclose(robot.limits.upper, chain.highest, atol=1e-6)
    shoulder = np.array([0.0, 0.085 * SIDES[side], 0.547])
    for q in np.random.default_rng(1).uniform(chain.lowest, chain.highest, (20, 3)):
        arm.update(q, np.zeros(3))
        np.testing.assert_allclose(arm.position, shoulder + chain.forward(q), atol=1e-12)
        np.testing.assert_allclose(arm.rotation, chain.rotation(q), atol=1e-12)
        np.testing.assert_allclose(arm.J[:3], chain.jacobian(q), atol=1e-12)


@pytest.mark.parametrize("side", SIDES)
def test_the_closed_form_of_the_leg_is_that_of_the_model_and_its_centre_nearly_so(
    side: str,
) -> None:
    """The published centre of gravity leaves out offsets below 3 mm; it is within 2 mm."""
    robot, chain = load_robot("phua_leg", side), LegChain(side=SIDES[side])
    arm, model = Arm.of(robot), robot.compile()
    np.testing.assert_allclose(robot.limits.lower, chain.lowest, atol=1e-6)
    np.testing.assert_allclose(robot.limits.upper, chain.highest, atol=1e-6)
    data = mujoco.MjData(model)
    for q in np.random.default_rng(2).uniform(chain.lowest, chain.highest, (20, 3)):
        arm.update(q, np.zeros(3))
        np.testing.assert_allclose(arm.position, chain.forward(q), atol=1e-12)
        np.testing.assert_allclose(arm.J[:3], chain.jacobian(q), atol=1e-12)
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        centre = model.body_mass @ data.xipos / model.body_mass.sum()
        assert np.linalg.norm(centre - chain.centre(q)) < 2e-3


@pytest.mark.parametrize("side", [1, -1])
@given(parts=shares)
def test_the_angles_of_the_arm_make_up_its_rotation(side: int, parts) -> None:
    """About z, then y, then x, in any posture."""
    arm = ArmChain(side=side)
    q = posture(arm, parts)
    phi, theta, psi = (
        rotation_from_vector(angle * axis)
        for angle, axis in zip(arm.angles(q), np.eye(3)[::-1], strict=True)
    )
    np.testing.assert_allclose(phi @ theta @ psi, arm.rotation(q), atol=1e-12)


@given(parts=shares)
def test_the_centre_of_gravity_is_that_of_three_masses_turned_by_the_joints(parts) -> None:
    """Lean about x, then the shank about y, then the thigh: on either side to the outside."""
    for leg in (LegChain(), LegChain(side=-1)):
        lean, flex, knee = posture(leg, parts)
        tilt = rotation_from_vector(np.array([-leg.side * lean, 0.0, 0.0]))
        shank = tilt @ rotation_from_vector(np.array([0.0, flex, 0.0]))
        thigh = tilt @ rotation_from_vector(np.array([0.0, flex - knee, 0.0]))
        up, ankle = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, leg.sole])
        places = [
            [leg.foot_com[0], 0.0, leg.foot_com[1]],
            ankle + shank @ [0.0, leg.side * leg.shank_out, leg.along[0]],
            ankle + leg.shank * shank @ up + leg.along[1] * thigh @ up,
        ]
        centre = np.average(places, axis=0, weights=leg.masses)
        np.testing.assert_allclose(leg.centre(posture(leg, parts)), centre, atol=1e-12)


def test_the_centre_of_gravity_is_where_the_source_has_it() -> None:
    """Its own example, to the digits that are printed [mm]; the source counts lean inwards."""
    leg = LegChain()
    for degrees, place in (
        ((0.0, 0.0, 0.0), (3.905, 5.282, 128.278)),
        ((-10.0, 15.0, 40.0), (9.924, -9.004, 123.591)),
    ):
        np.testing.assert_allclose(1e3 * leg.centre(np.radians(degrees)), place, atol=6e-4)


@pytest.mark.parametrize("chain", CHAINS)
def test_both_ways_lead_to_the_place_and_are_allowed_inside_the_limits_only(chain) -> None:
    """Many places at once, of postures inside the limits and far beyond them."""
    bent = np.random.default_rng(5).uniform([-3.0, -3.0, 0.05], [3.0, 3.0, 3.0], (300, 3))
    place = chain.forward(bent)
    q, allowed = chain.candidates(place)
    np.testing.assert_allclose(chain.forward(q), np.stack([place, place], axis=1), atol=1e-9)
    same = np.abs(np.exp(1j * q) - np.exp(1j * bent)[:, None]).max(axis=-1).min(axis=-1)
    assert same.max() < 1e-6
    inside = ((q > chain.lowest) & (q < chain.highest)).all(axis=-1)
    np.testing.assert_array_equal(allowed, inside)
    assert 0.02 < allowed.mean() < 0.5


@pytest.mark.parametrize("chain", CHAINS)
def test_a_place_at_the_edge_of_reach_is_reached_and_one_beyond_is_not(chain) -> None:
    """Straight limbs and sideways arms, whatever the rounding; nothing is ever not-a-number."""
    parts = np.random.default_rng(6).uniform(0.1, 0.9, (200, 3))
    q = np.array(chain.lowest) + parts * np.subtract(chain.highest, chain.lowest)
    q[:100, 2] = 0.0
    if isinstance(chain, ArmChain):
        q[100:, 1] = np.pi / 2
    places = chain.forward(q)
    assert chain.candidates(places)[1].any(axis=-1).all()
    base = np.zeros(3) if isinstance(chain, ArmChain) else np.array([0.0, 0.0, chain.sole])
    beyond = [base + 1.001 * (places[:100] - base), base + 0.001 * (places[:100] - base)]
    angles, allowed = chain.candidates(np.array(beyond))
    assert np.isfinite(angles).all() and not allowed.any()


@pytest.mark.parametrize("chain", CHAINS)
def test_the_reach_is_that_of_the_bent_and_of_the_straight_limb(chain) -> None:
    """Distances from the first joint to the end, with the other angles anywhere."""
    base = np.zeros(3) if isinstance(chain, ArmChain) else np.array([0.0, 0.0, chain.sole])
    for bend, reach in zip((chain.highest[2], chain.lowest[2]), chain.reach, strict=True):
        end = chain.forward(np.array([0.3, -0.4, bend])) - base
        assert np.linalg.norm(end) == pytest.approx(reach, rel=1e-12)


@pytest.mark.parametrize(
    ("place", "status"),
    [
        ((1.0, 0.0, 0.0), "unreachable"),
        ((0.02, 0.0, 0.0), "limited"),
        ((-0.1, 0.05, 0.0), "limited"),
        ((np.nan, 0.0, 0.0), "invalid"),
        ((0.0, -np.inf, 0.0), "invalid"),
    ],
)
def test_a_place_out_of_reach_holds_the_posture_and_says_so(
    place: tuple[float, ...], status: str
) -> None:
    """Never not-a-number; the error is how far the held posture is away."""
    near = np.array([0.1, 0.2, 0.3])
    found = ArmChain().solve(np.array(place), near)
    assert found.status == status
    np.testing.assert_array_equal(found.q, near)
    away = float(np.linalg.norm(ArmChain().forward(near) - place))
    assert found.position_error == (np.inf if status == "invalid" else pytest.approx(away))
    assert found.rotation_error == found.iterations == 0


def test_a_straight_elbow_and_a_sideways_arm_are_singular() -> None:
    """The determinant of the arm vanishes there and nowhere near a bent elbow."""
    arm = ArmChain()
    for q, singular in (
        ([0.5, 0.7, 0.0], True),
        ([0.5, np.pi / 2, 1.0], True),
        ([0.5, 0.7, 1.0], False),
    ):
        assert bool(arm.singular(np.array(q))) is singular
        assert arm.determinant(np.array(q)) == pytest.approx(
            np.linalg.det(arm.jacobian(np.array(q))), abs=1e-15
        )
    # the closed form of det J, at an elbow bent so little that it is a share of the arm's size
    size = arm.upper * arm.fore * (arm.upper + arm.fore)
    for elbow in (1e-4, 0.01, 0.5):
        q = np.array([0.5, 0.7, elbow])
        limit = abs(float(arm.determinant(q))) / size
        assert arm.singular(q, 1.001 * limit) and not arm.singular(q, 0.999 * limit)
    nearly = np.array([[0.5, 0.0, 0.0099], [0.5, 0.0, 0.0101]])
    assert arm.singular(nearly).tolist() == [True, False]
