"""The synthetic force: a lift everywhere, pushes at limits, never more than the device's peak."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farhand.arm import Arm
from farhand.control.controller import ControlRequest
from farhand.control.haptic.haptic_objects import HalfSpace, exact_arm
from farhand.control.haptic.synthetic import SyntheticController, SyntheticForce
from farhand.mapping.limbs import ArmChain
from farhand.parameters import assign
from farhand.robots import load_robot

coordinate = st.floats(-0.5, 0.5)


def force(**settings: object) -> SyntheticForce:
    return SyntheticForce(objects=exact_arm(ArmChain()), **settings)  # type: ignore[arg-type]


@given(st.tuples(coordinate, coordinate, coordinate))
def test_it_never_exceeds_the_peak(place: tuple[float, float, float]) -> None:
    """Far out as well."""
    assert np.linalg.norm(force().force(np.array(place))) <= 3.3 * (1 + 1e-12)


def test_free_space_is_the_lift_alone_and_so_is_an_uncoupled_pen() -> None:
    """0.441 N up."""
    middle = ArmChain().forward(np.radians([40.0, 35.0, 75.0]))
    for shown in (force().force(None), force().force(middle, 0.0)):
        np.testing.assert_allclose(shown, [0.0, 0.0, 0.44145])


def test_the_outer_limit_pulls_back_to_the_shoulder() -> None:
    """A stretched arm."""
    place = 0.228 * np.array([0.7, 0.5, -0.5]) / np.linalg.norm([0.7, 0.5, -0.5])
    push = force().raw(place)
    assert push @ place < -0.9 * 2.4 * np.linalg.norm(place)


def test_a_board_pushes_along_its_normal() -> None:
    """In free space, 1 mm in front of it."""
    middle = ArmChain().forward(np.radians([40.0, 35.0, 75.0]))
    without, made = force().raw(middle), force()
    made.board.surface = HalfSpace("board", (middle[0] + 1e-3, 0.0, 0.0), (-1.0, 0.0, 0.0))
    np.testing.assert_allclose(
        made.raw(middle) - without, [-float(made.contact.magnitude(1e-3)), 0.0, 0.0], atol=1e-12
    )


def test_half_coupled_is_half_pushed() -> None:
    """The lift stays whole."""
    place = np.array([0.15, 0.12, -0.11])
    law = force(peak=100.0)
    half, whole = law.force(place, 0.5).copy(), law.force(place).copy()
    np.testing.assert_allclose(half - law.lift, 0.5 * (whole - law.lift), atol=1e-12)
    np.testing.assert_allclose(whole - law.lift, law.raw(place), atol=1e-12)
    assert np.linalg.norm(law.raw(place)) > 1.0


WALL = HalfSpace("wall", (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
SENT, REPORTED = np.array([0.0, 0.01, 0.0]), np.array([0.0, 0.02, 0.0])


def rendered(**asked: object) -> tuple[SyntheticController, np.ndarray]:
    """A device beside a wall, and the force that its torque makes beside its weight."""
    robot = load_robot("ur5e")
    arm = Arm.of(robot)
    arm.update(robot.home + 0.3, np.zeros(6))
    law = SyntheticForce(objects=[WALL])
    controller = SyntheticController(arm, 1_000_000, law, lambda: SENT, lambda: REPORTED)
    controller._recorded[:] = 7.0
    request = ControlRequest()
    request.valid, request.gain = True, 1.0
    for name, value in asked.items():
        assign({"law": law}, name, value) if "." in name else setattr(request, name, value)
    torque = controller.step(request, 0).value - arm.gravity
    wrench = np.linalg.solve(arm.J.T, torque)
    np.testing.assert_allclose(wrench[3:], 0.0, atol=1e-9)
    return controller, wrench[:3]


@pytest.mark.parametrize("gain", [1.0, 0.5])
@pytest.mark.parametrize(("update", "place"), [("decoupled", SENT), ("coupled", REPORTED)])
def test_the_device_renders_the_force_at_the_chosen_place(gain, update, place) -> None:
    """As torque and in the recording; the board knows where the limb is."""
    controller, found = rendered(**{"gain": gain, "law.update": update})
    law = controller.synthetic
    np.testing.assert_allclose(found, law.lift + gain * law.raw(place), atol=1e-9)
    np.testing.assert_allclose(controller._recorded, found, atol=1e-9)
    np.testing.assert_array_equal(law.board._here, place)


@pytest.mark.parametrize("asked", [{"gain": 0.0}, {"tripped": True, "gain": 1.0}])
def test_a_device_that_is_not_coupled_or_has_tripped_only_lifts_its_tip(asked) -> None:
    """And the board gets no news."""
    controller, found = rendered(**asked)
    np.testing.assert_allclose(found, controller.synthetic.lift, atol=1e-9)
    assert controller.synthetic.board._here is None


def test_without_a_sample_nothing_is_rendered() -> None:
    """Not even the lift, since the Jacobian is not known."""
    controller, found = rendered(valid=False)
    np.testing.assert_allclose(found, 0.0, atol=1e-9)
    assert not controller._recorded.any()


def test_the_recording_holds_the_distances_to_the_limits_while_coupled() -> None:
    """Not a number where no limb follows."""

    class Stream(dict):
        def channel(self, name: str, size: int, unit: str) -> np.ndarray:
            self[name] = np.zeros(size)
            return self[name]

    stream, request = Stream(), ControlRequest()
    controller, _ = rendered()
    controller.record(stream)
    request.valid = True
    for gain, distance in ((1.0, 0.01), (0.0, np.nan)):
        request.gain = gain
        controller.step(request, 0)
        np.testing.assert_allclose(stream["distances_to_limits"], [distance])
