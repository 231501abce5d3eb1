"""The ledger against a plain sum, step by step."""

from types import SimpleNamespace

import numpy as np
import pytest

from farhand.world.ledger import Ledger

H = 1e-3


def ledger_of(robots: list[slice], damping: np.ndarray) -> tuple[Ledger, SimpleNamespace]:
    """A ledger, and the engine's arrays that it looks at."""
    nv = len(damping)
    model = SimpleNamespace(nv=nv, dof_damping=damping, opt=SimpleNamespace(timestep=H))
    names = ("qvel", "qfrc_applied", "qfrc_constraint")
    data = SimpleNamespace(**{name: np.zeros(nv) for name in names})
    return Ledger(robots, model, data), data


def test_work_is_the_plain_sum_over_steps():
    """Two robots of unlike size, one touch on the first and two on the second, some constraints."""
    rng = np.random.default_rng(5)
    robots, owners = [slice(0, 2), slice(2, 5)], [0, 1, 1]
    damping = rng.uniform(0.1, 1.0, 5)
    ledger, data = ledger_of(robots, damping)
    rows = ledger.touches(owners)
    joints, touches = np.zeros((4, 2)), np.zeros(3)
    for _ in range(7):
        J, torque, push, wrenches = (rng.normal(size=shape) for shape in ((12, 5), 5, 5, (3, 6)))
        before, after, constraint = rng.normal(size=(3, 5))
        contact = rng.normal(size=12)
        ledger.J[:], ledger.torque[:], ledger.push[:], rows[:] = J, torque, push, wrenches
        ledger.contact[:], data.qvel[:] = contact, before
        touching = np.concatenate([wrenches[0], wrenches[1] + wrenches[2]])
        ledger.sum_touches()
        np.testing.assert_allclose(ledger.wrench, touching + contact, atol=1e-13)
        ledger.begin()
        # the engine adds its own contacts
        np.testing.assert_allclose(data.qfrc_applied, touching @ J + torque + push, atol=1e-13)
        data.qvel[:], data.qfrc_constraint[:] = after, constraint
        assert ledger.end()
        moved = 0.5 * H * (before + after)
        for robot, at in enumerate(robots):
            for kind, force in enumerate((torque, -damping * after, constraint, push)):
                joints[kind, robot] += force[at] @ moved[at]
        for touch, owner in enumerate(owners):
            touches[touch] += wrenches[touch] @ (J[6 * owner : 6 * owner + 6] @ moved)
    for robot in range(2):
        np.testing.assert_allclose(ledger.joint_work(robot), joints[:, robot], atol=1e-14)
    np.testing.assert_allclose([ledger.touch_work(k) for k in range(3)], touches, atol=1e-14)


@pytest.mark.parametrize("speed", [2e6, np.nan])
def test_a_step_that_diverges_does_not_count(speed):
    """The accounts stay as they are, and the world is told."""
    ledger, data = ledger_of([slice(0, 1)], np.ones(1))
    ledger.torque[:] = 1.0
    ledger.begin()
    data.qvel[:] = speed
    assert not ledger.end()
    assert ledger.joint_work(0) == [0.0] * 4


def test_a_new_touch_keeps_the_accounts_of_the_others():
    """Energy noted before a touch was added is not lost, and the new account starts at zero."""
    ledger, data = ledger_of([slice(0, 1)], np.zeros(1))
    rows = ledger.touches([0])
    ledger.J[:], rows[0, 0], data.qvel[:] = 1.0, 2.0, 1.0
    ledger.begin()
    ledger.end()
    ledger.touches([0, 0])
    assert ledger.touch_work(0) == pytest.approx(2.0 * H)
    assert ledger.touch_work(1) == 0.0
