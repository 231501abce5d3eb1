"""The ledger against a plain sum, step by step."""

import numpy as np
import pytest

from farhand.world.ledger import PAGE_STEPS, Ledger

H = 1e-3


@pytest.mark.parametrize("steps", [1, PAGE_STEPS - 1, PAGE_STEPS, 2 * PAGE_STEPS + 7])
def test_pages_add_up_to_the_plain_sum_over_steps(steps):
    """Two robots of unlike size, one touch on the first and two on the second, some constraints."""
    rng = np.random.default_rng(5)
    robots, owners = [slice(0, 2), slice(2, 5)], [0, 1, 1]
    damping = rng.uniform(0.1, 1.0, 5)
    ledger = Ledger(robots, damping, H)
    rows = ledger.touches(owners)
    joints, touches = np.zeros((4, 2)), np.zeros(3)
    for step in range(steps):
        J, torque, push, wrenches = (rng.normal(size=shape) for shape in ((12, 5), 5, 5, (3, 6)))
        before, after, constraint = rng.normal(size=(3, 5))
        ledger.J[:], ledger.torque[:], ledger.push[:], rows[:] = J, torque, push, wrenches
        wrench, applied = rng.normal(size=12), np.zeros(5)
        ledger.before(before, wrench, applied)
        np.testing.assert_allclose(applied, wrench @ J + torque + push, atol=1e-13)
        ledger.after(after, constraint if step % 3 else None)
        moved = 0.5 * H * (before + after)
        for robot, at in enumerate(robots):
            for kind, force in enumerate(
                (torque, -damping * after, constraint if step % 3 else 0.0 * torque, push)
            ):
                joints[kind, robot] += force[at] @ moved[at]
        for touch, owner in enumerate(owners):
            touches[touch] += wrenches[touch] @ (J[6 * owner : 6 * owner + 6] @ moved)
    for robot in range(2):
        np.testing.assert_allclose(ledger.joint_work(robot), joints[:, robot], atol=1e-14)
    np.testing.assert_allclose([ledger.touch_work(k) for k in range(3)], touches, atol=1e-14)


def test_a_new_touch_keeps_the_accounts_of_the_others():
    """Energy noted before a touch was added is not lost, and the new account starts at zero."""
    ledger = Ledger([slice(0, 1)], np.zeros(1), H)
    rows = ledger.touches([0])
    ledger.J[:], rows[0, 0] = 1.0, 2.0
    ledger.before(np.ones(1), np.zeros(6), np.zeros(1))
    ledger.after(np.ones(1), None)
    ledger.touches([0, 0])
    assert ledger.touch_work(0) == pytest.approx(2.0 * H)
    assert ledger.touch_work(1) == 0.0
