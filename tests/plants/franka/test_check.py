"""``farhand franka-check``: what it finds is what is there."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.plants.franka import check
from farhand.plants.franka.check import LinkCheck, ModelCheck, compare_models, judge
from farhand.plants.franka.plant import FrankaPlant, FrankaSettings
from farhand.robots import load_robot

ROBOT = load_robot("fr3-arm")
GOOD_LINK = LinkCheck(1000.0, 1e-4, 1e-4, 3e-3, 1.0, 0, 0)
GOOD_MODEL = ModelCheck(100, 0.01, 0.01, 0.1, 0.1, 1e-6)


def answers(error: float):
    """A client whose model is ours without rotors, except for its last link's weight."""

    def probe(host, q, v):
        arm, rotors = Arm.of(ROBOT), np.diag(ROBOT.compile().dof_armature)
        found = {name: [] for name in ("mass_matrix", "coriolis", "gravity", "jacobian")}
        for one, speed in zip(q, v, strict=True):
            arm.update(one, speed)
            found["mass_matrix"].append((arm.M - rotors).tolist())
            found["coriolis"].append((arm.bias - arm.gravity).tolist())
            found["gravity"].append(((1.0 + error) * arm.gravity).tolist())
            found["jacobian"].append(arm.J.tolist())
        return found

    return probe


@pytest.mark.parametrize("error", [0.0, 0.1])
def test_models_are_compared_term_by_term_and_rotors_are_left_out(monkeypatch, error) -> None:
    """A client's model has no rotors; a tenth more weight is seen in the weight alone."""
    monkeypatch.setattr(check, "probe", answers(error))
    found = compare_models("arm", ROBOT)
    assert max(found.inertia, found.inertia_most, found.coriolis, found.jacobian) < 1e-9
    assert (found.gravity > 3.0) == (error > 0.0) and found.postures == 100


def test_dry_friction_is_found_by_a_short_motion(monkeypatch) -> None:
    """There and back again; the arm ends where it was."""
    from tests.plants.franka.test_plant import STAND_IN

    monkeypatch.setenv("PYTHONPATH", STAND_IN)
    monkeypatch.setattr(check, "STROKE_RAD", 0.02)
    plant = FrankaPlant(
        "check", "arm,friction=0.3", ROBOT, settings=FrankaSettings(patience=0.5, most_delay=1.0)
    )
    try:
        springs = check.SpringHold(plant, ROBOT)
        springs.follow(0, 0.0, 0.3)
        found = check.measure_friction(springs, ROBOT)
        away = plant.read(0).q - springs.start
    finally:
        plant.close()
    np.testing.assert_allclose(found, 0.3, atol=0.1)
    np.testing.assert_allclose(away, 0.0, atol=0.01)


def test_a_law_is_judged_by_what_it_needs() -> None:
    """Friction does not matter to a law without force, nor the model to one without a model."""
    assert set(judge(GOOD_LINK, GOOD_MODEL, 1.0).values()) == {"ok"}
    sticky = judge(GOOD_LINK, GOOD_MODEL, 10.0)
    assert (sticky["position-position"], sticky["four-channel-sensorless"]) == ("ok", "no")
    wrong = judge(GOOD_LINK, ModelCheck(100, 0.2, 0.1, 0.1, 0.1, 1e-6), 1.0)
    assert (wrong["position-force"], wrong["four-channel-sensorless"]) == ("ok", "marginal")
    slow = judge(LinkCheck(1000.0, 1e-4, 1e-3, 3e-3, 1.0, 0, 0), GOOD_MODEL, 1.0)
    lossy = judge(LinkCheck(1000.0, 1e-4, 1e-4, 3e-3, 0.7, 0, 0), GOOD_MODEL, 1.0)
    assert set(slow.values()) == set(lossy.values()) == {"no"}


def test_friction_hides_what_the_weakest_joint_of_an_axis_holds() -> None:
    """With friction in the shoulder alone, another joint gives way."""
    only_first = np.array([1.0, 0, 0, 0, 0, 0, 0])
    assert check.hidden_force(ROBOT, ROBOT.home, np.zeros(7)) == 0.0
    assert check.hidden_force(ROBOT, ROBOT.home, only_first) < 1e-3
    assert check.hidden_force(ROBOT, ROBOT.home, np.ones(7)) > 1.0
