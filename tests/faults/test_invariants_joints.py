"""The bounds that hold in every tick where joints are coupled, grippers included."""

from __future__ import annotations

import numpy as np
import pytest

from tests.faults.conftest import TICK, Pair
from tests.faults.test_invariants import MODE_TRIPPED, Chaos, check_energy


class JointChaos(Chaos):
    """The same with what a map of joints has."""

    def turn_a_knob(self) -> None:
        """Typed at either machine, in range or not."""
        path, value = [
            ("law.mapping.force_scale", f"{self.rng.uniform(0.0, 2.0):.3f}"),
            ("law.mapping.force_scale", "nan"),
            ("law.mapping.offsets", "1"),
        ][self.rng.integers(3)]
        self.pair.post(self.role(), f"set {path}={value}")

    def throw_the_offset(self) -> None:
        """A leader with the key whose map has gone wrong."""
        self.mapping.offsets += self.rng.uniform(-0.5, 0.5, len(self.mapping.offsets))


def check(pair: Pair) -> None:
    """All bounds, from what was recorded."""
    for role in ("leader", "follower"):
        rig = pair.rigs[role]
        [station], history = rig.session.stations, rig.metrics.history
        limits = station.guard.limits
        torque = history.signal(role, "torque_commanded")
        assert (np.abs(torque) <= limits.torque * (1.0 + 1e-9)).all()
    v = history.signal("follower", "v")
    push = np.abs(np.diff(v, axis=0)).max(axis=0)
    assert (np.abs(v).max(axis=0) <= station.guard.speed * limits.velocity + push).all()
    check_target(pair)
    check_energy(pair)


def check_target(pair: Pair) -> None:
    """The target of no joint jumps while the sides are coupled: hinges by angle, slides by way."""
    leader, follower = (pair.rigs[role].metrics.history for role in ("leader", "follower"))
    end = pair.end("follower")
    mapping = end.law.mapping
    speed = np.abs(leader.signal("leader", "v") @ mapping.matrix.T).max(axis=0)
    own = np.abs(follower.signal("follower", "v")).max(axis=0)
    gain = follower.signal("coupling", "engagement")[:, 0]
    mode = follower.signal("follower", "mode")[:, 0]
    error = follower.signal("coupling", "error")
    coupled = (gain[1:] > 0.0) & (gain[:-1] > 0.0) & (gain[1:] >= gain[:-1])
    coupled &= mode[1:] != MODE_TRIPPED
    age = follower.signal("coupling", "age")[:, 1]
    seen = TICK + np.maximum(0.0, age[:-1] - age[1:])
    jump = np.where(mapping.slides, end.watchdog.jump, end.watchdog.turn)
    most = jump + speed * seen[:, None] + own * TICK + 1e-3
    assert (np.abs(np.diff(error, axis=0)) <= most)[coupled].all()


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_every_bound_holds_in_every_tick_of_coupled_joints(pair):
    """Coupled again and again, and each time something goes wrong."""
    settings = [(f"rig.{role}_robot", "panda") for role in ("leader", "follower")]
    made = pair(rig="pair", law="four-channel", settings=settings).on(0.6)
    assert made.coupled[1] > 0.0
    JointChaos(made, seed=3).run()
    check(made)


@pytest.mark.parametrize("joint", [0, -1])
def test_a_map_that_throws_a_joint_is_not_followed(pair, joint):
    """A hinge by a radian, or a gripper by three centimetres: the follower parts instead."""
    settings = [(f"rig.{role}_robot", "panda") for role in ("leader", "follower")]
    made = pair(rig="pair", law="position-position", settings=settings).on(0.6)
    mapping = made.end("leader").law.mapping
    assert mapping.slides[-1] and not mapping.slides[0]
    before = made.rigs["follower"].session.stations[0].arm.q.copy()
    mapping.offsets[joint] += 1.0 if joint == 0 else 0.03
    made.on(0.3)
    assert made.coupled[1] == 0.0
    assert any("a new map would move the target" in reason for reason in made.trips("follower"))
    after = made.rigs["follower"].session.stations[0].arm.q
    np.testing.assert_allclose(after[joint], before[joint], atol=5e-3)
