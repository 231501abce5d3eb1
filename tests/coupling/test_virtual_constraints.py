"""The virtual-constraint law against its own theory, with unlike postures and unlike arms."""

from __future__ import annotations

import numpy as np

from farhand.arm import Arm
from farhand.coupling import Side, VirtualConstraints
from farhand.mapping import WorkspaceMapping
from farhand.robots import Placement, load_robot
from farhand.robots.edits import scale_mass, set_damping


def pair(rng: np.random.Generator, wrenches: bool = True) -> tuple[Side, Side]:
    """A UR5e and a lighter one at random states, with random wrenches."""
    robot = load_robot("ur5e").edited(set_damping([2, 2, 2, 0.5, 0.5, 0.5]))
    sides = []
    for role, model, y in (
        ("leader", robot, 0.0),
        ("follower", robot.edited(scale_mass(0.25)), 0.75),
    ):
        arm = Arm.of(model, Placement((0.0, y, 0.0)))
        arm.update(rng.uniform(-2, 2, 6), rng.normal(size=6))
        side = Side(role, arm)
        side.wrench = rng.normal(scale=20.0, size=6) if wrenches else None
        sides.append(side)
    return sides[0], sides[1]


def acceleration(side: Side, wrench: np.ndarray) -> np.ndarray:
    """Tool acceleration when a wrench is asked for and gravity is compensated."""
    arm = side.arm
    assert arm is not None
    pushed = wrench if side.wrench is None else wrench + side.wrench
    joint = np.linalg.solve(arm.M, arm.J.T @ pushed - arm.coriolis - arm.viscous * arm.v)
    return arm.J @ joint + arm.drift


def test_the_error_obeys_the_second_order_equation_at_random_states():
    """ÿ + K_d ẏ + K_p e = 0, with exact models and wrenches."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        a, b = pair(rng)
        law = VirtualConstraints(damping=0.0)
        law.mapping.capture(
            a.position, a.rotation, b.position + 0.01 * rng.normal(size=3), b.rotation
        )
        on_a, on_b = law.step(a, b, 1e-3)
        y2 = acceleration(b, on_b.wrench) - acceleration(a, on_a.wrench)
        scale = np.abs(y2).max() + 1.0
        residual = y2 - law.derivative * law.rate - law.proportional * law.error
        np.testing.assert_allclose(residual / scale, 0.0, atol=1e-9)


def test_a_scaled_and_turned_workspace_obeys_the_same_equation():
    """With the mapping S, ÿ = ẍ_2 − S ẍ_1 and the leader feels −Sᵀu."""
    rng = np.random.default_rng(2)
    a, b = pair(rng)
    law = VirtualConstraints(
        damping=0.0, mapping=WorkspaceMapping(motion_scale=2.0, axes=np.array([0.1, -0.4, 0.3]))
    )
    law.engage(a, b)
    on_a, on_b = law.step(a, b, 1e-3)
    y2 = acceleration(b, on_b.wrench) - law.mapping.matrix @ acceleration(a, on_a.wrench)
    np.testing.assert_allclose(
        y2, law.derivative * law.rate + law.proportional * law.error, rtol=1e-8, atol=1e-8
    )


def test_a_clone_at_rest_takes_its_share_of_the_hand_force():
    """At equal joint angles with mass ratio s, u = s/(1+s) h: a fifth of the hand's force for a
    quarter of the mass.
    """
    a, b = pair(np.random.default_rng(3))
    a.arm.update(load_robot("ur5e").home, np.zeros(6))
    b.arm.update(load_robot("ur5e").home, np.zeros(6))
    a.wrench, b.wrench = np.array([10.0, -3.0, 5.0, 0.1, 0.2, -0.3]), np.zeros(6)
    law = VirtualConstraints(damping=0.0)
    law.engage(a, b)
    _, on_b = law.step(a, b, 1e-3)
    np.testing.assert_allclose(on_b.wrench, 0.2 * a.wrench, atol=1e-10)


def test_a_known_torque_of_the_joints_acts_as_the_wrench_that_causes_it():
    """On either side: Jᵀh at the joints is h at the tool, also beside another wrench."""
    a, b = pair(np.random.default_rng(7))
    law = VirtualConstraints()
    law.engage(a, b)
    law.step(a, b, 1e-3)
    expected = law.multiplier.copy()
    for side, share in ((a, 1.0), (b, 0.3)):
        side.external_torque = share * side.wrench @ side.arm.J
        side.wrench = None if share == 1.0 else (1.0 - share) * side.wrench
    law.step(a, b, 1e-3)
    np.testing.assert_allclose(law.multiplier, expected, rtol=1e-9, atol=1e-9)


def test_a_common_singularity_gives_finite_forces():
    """Both arms stretched along y with an error along y: the damped inverse stays bounded, the
    plain one does not.
    """
    a, b = pair(np.random.default_rng(5), wrenches=False)
    stretched = load_robot("ur5e").postures["q_L"]
    for side in (a, b):
        side.arm.update(stretched, np.zeros(6))
    law = VirtualConstraints()
    law.mapping.capture(a.position, a.rotation, b.position + [0.0, 0.01, 0.0], b.rotation)
    law.step(a, b, 1e-3)
    pulled = np.linalg.norm(law.proportional * law.error)
    assert np.linalg.norm(law.multiplier) <= pulled / (2.0 * law.damping)
    law.damping = 0.0
    law.refresh()
    law.step(a, b, 1e-3)
    assert np.linalg.norm(law.multiplier) > 1e6


def test_without_measured_wrenches_the_tie_is_a_spring():
    """Static: u = −Γ⁻¹ K_p e, so the stiffness felt is Γ⁻¹ K_p and not K_p."""
    a, b = pair(np.random.default_rng(6), wrenches=False)
    for side in (a, b):
        side.arm.update(load_robot("ur5e").home, np.zeros(6))
    law = VirtualConstraints(damping=0.0)
    law.mapping.capture(a.position, a.rotation, b.position + [0.01, 0.0, 0.0], b.rotation)
    _, on_b = law.step(a, b, 1e-3)
    gamma = sum(s.arm.J @ np.linalg.solve(s.arm.M, s.arm.J.T) for s in (a, b))
    stiffness = np.linalg.solve(gamma, np.diag(law.proportional))
    np.testing.assert_allclose(np.diag(stiffness)[:3], [110.0, 240.0, 132.0], rtol=0.01)
    np.testing.assert_allclose(on_b.wrench, stiffness @ law.error, rtol=1e-9)


def test_each_sensor_has_a_switch_of_its_own():
    """A sensor that is off counts like one that is not there, and the other still counts."""
    for off in ("leader", "follower"):
        a, b = pair(np.random.default_rng(8))
        law = VirtualConstraints(**{f"{off}_wrench": False})
        law.engage(a, b)
        law.step(a, b, 1e-3)
        switched = law.multiplier.copy()
        (a if off == "leader" else b).wrench = None
        law.leader_wrench = law.follower_wrench = True
        law.step(a, b, 1e-3)
        np.testing.assert_array_equal(switched, law.multiplier)


def test_the_force_is_that_of_the_written_equations():
    """Γ (Γ² + ρ²)⁻¹ (A₂ − A₁ + K_d rate + K_p error) by plain linear algebra, also scaled."""
    rng = np.random.default_rng(9)
    for scaled in (False, True):
        a, b = pair(rng)
        a.external_torque, b.external_torque = rng.normal(0.0, 5.0, (2, 6))
        law = VirtualConstraints(damping=0.3)
        if scaled:
            law.mapping = WorkspaceMapping(motion_scale=2.0, axes=np.array([0.1, -0.4, 0.3]))
        law.mapping.capture(a.position, a.rotation, b.position + 0.02, b.rotation)
        on_a, _ = law.step(a, b, 1e-3)
        gammas, tools = [], []
        for side, S in ((a, law.mapping.matrix), (b, np.eye(6))):
            arm = side.arm
            J = S @ arm.J
            pushed = arm.J.T @ side.wrench + side.external_torque
            motion = arm.coriolis + arm.viscous * arm.v - pushed
            gammas.append(J @ np.linalg.inv(arm.M) @ J.T)
            tools.append(J @ np.linalg.solve(arm.M, motion) - S @ arm.drift)
        gamma = gammas[0] + gammas[1]
        wanted = tools[1] - tools[0] + law.derivative * law.rate + law.proportional * law.error
        expected = gamma @ np.linalg.solve(gamma @ gamma + 0.3**2 * np.eye(6), wanted)
        np.testing.assert_allclose(law.gamma, gamma, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(law.multiplier, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(on_a.wrench, -law.mapping.matrix.T @ expected, atol=1e-9)
