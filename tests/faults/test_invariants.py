"""The bounds that hold in every tick, whatever is typed, sent, lost or late.

For each station: torques stay inside the robot's limits; a tripped one carries no effort of a law,
and loses motion. For a follower that is led over a link: no joint gets faster than its limit by
more than one tick's push, and its target never jumps further than the leader has gone between the
packets, plus what a new map may move it.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.coupling import LAWS
from farhand.link.layers import LAYERS
from farhand.plants import JointTorque
from tests.faults.conftest import TICK, Pair

MODE_TRIPPED = 3
LARGEST_SCALE = 3.0


class Chaos:
    """A person and a line that do what they should not, by a seed."""

    def __init__(self, pair: Pair, seed: int) -> None:
        self.pair, self.rng = pair, np.random.default_rng(seed)
        self.mapping = pair.end("leader").law.mapping

    def run(self) -> None:
        """Every deed once while the sides are coupled, and another one on top of it."""
        deeds = [self.turn_a_knob, self.say_a_word, self.bend_the_line, self.hold_a_side]
        deeds += [self.send_noise, self.throw_the_offset]
        for first in self.rng.permutation(len(deeds)):
            self.couple()
            for deed in (deeds[first], deeds[self.rng.integers(len(deeds))]):
                deed()
                self.pair.on(float(self.rng.uniform(0.02, 0.15)))

    def couple(self) -> None:
        """Bring everything back in order."""
        pair = self.pair
        pair.frozen.clear()
        for cable in (pair.to_follower, pair.to_leader):
            cable.cut, cable.loss, cable.delay_ns = False, 0.0, 0
        pair.post("leader", "reset").post("follower", "reset").on(0.25)
        pair.post("leader", "engage").on(0.1)

    def role(self) -> str:
        return str(self.rng.choice(["leader", "follower"]))

    def turn_a_knob(self) -> None:
        """Typed at either machine, in range or not."""
        path, value = [
            ("law.mapping.motion_scale", f"{self.rng.uniform(0.3, LARGEST_SCALE):.3f}"),
            ("law.mapping.force_scale", f"{self.rng.uniform(0.0, 2.0):.3f}"),
            ("law.mapping.axes", ",".join(f"{x:.3f}" for x in self.rng.uniform(-1.5, 1.5, 3))),
            ("law.mapping.motion_scale", "nan"),
        ][self.rng.integers(4)]
        self.pair.post(self.role(), f"set {path}={value}")

    def say_a_word(self) -> None:
        """Any command at any time; more often those that couple."""
        words = ["engage", "reset", "engage", "reset", "release", "stop"]
        self.pair.post(self.role(), str(self.rng.choice(words)))

    def bend_the_line(self) -> None:
        """Cut, lossy or slow."""
        cable = (self.pair.to_follower, self.pair.to_leader)[self.rng.integers(2)]
        cable.cut = bool(self.rng.random() < 0.5)
        cable.loss = float(self.rng.choice([0.0, 0.0, 0.3]))
        cable.delay_ns = int(self.rng.choice([0, 5_000_000, 40_000_000]))

    def hold_a_side(self) -> None:
        """Its process does not run for a while."""
        self.pair.frozen.add(self.role())

    def send_noise(self) -> None:
        """Bytes of a stranger, and old packets again."""
        cable = (self.pair.to_follower, self.pair.to_leader)[self.rng.integers(2)]
        for _ in range(20):
            cable.inject(self.rng.bytes(int(self.rng.integers(1, 700))))
            if cable.taps:
                cable.inject(cable.taps[self.rng.integers(len(cable.taps))])

    def throw_the_offset(self) -> None:
        """A leader with the key whose map has gone wrong."""
        moved = self.mapping.offset_position + self.rng.uniform(-0.5, 0.5, 3)
        self.mapping.offset_position = moved


def check(pair: Pair) -> None:
    """All bounds, from what was recorded."""
    for role in ("leader", "follower"):
        rig = pair.rigs[role]
        [station], history = rig.session.stations, rig.metrics.history
        limits = station.guard._limits
        tripped = history.signal(role, "mode")[:, 0] == MODE_TRIPPED
        effort = history.signal(role, "wrench_commanded_in_world")
        assert not effort[tripped].any()
        if station.controller.commands is JointTorque:
            torque = history.signal(role, "torque_commanded")
            assert (np.abs(torque) <= limits.torque * (1.0 + 1e-9)).all()
        if role == "leader":
            continue
        v = history.signal(role, "v")
        push = np.abs(np.diff(v, axis=0)).max(axis=0)
        assert (np.abs(v).max(axis=0) <= station.guard.speed * limits.velocity + push).all()
    check_target(pair)
    check_energy(pair)


def check_target(pair: Pair) -> None:
    """The follower's target does not jump while the sides are coupled."""
    leader, follower = (pair.rigs[role].metrics.history for role in ("leader", "follower"))
    end = pair.end("follower")
    twist = leader.signal("leader", "twist_tool_in_world")[:, :3]
    speed = float(np.linalg.norm(twist, axis=1).max())
    gain = follower.signal("coupling", "engagement")[:, 0]
    error = follower.signal("coupling", "error")[:, :3]
    # Not the tick in which a coupling begins, and where the error is that of the law.
    coupled = (gain[1:] > 0.0) & (gain[:-1] > 0.0) & (gain[1:] >= gain[:-1])
    steps = np.linalg.norm(np.diff(error, axis=0), axis=1)
    # In one tick the leader is seen to move for as long as its newest packet gets younger.
    age = follower.signal("coupling", "age")[:, 1]
    seen = TICK + np.maximum(0.0, age[:-1] - age[1:])
    most = end.watchdog.jump + LARGEST_SCALE * speed * seen + 0.002
    assert (steps <= most)[coupled].all()


def check_energy(pair: Pair) -> None:
    """A tripped follower in free space only slows down."""
    rig = pair.rigs["follower"]
    [station], history = rig.session.stations, rig.metrics.history
    if station.controller.commands is not JointTorque:
        return
    tripped = history.signal("follower", "mode")[:, 0] == MODE_TRIPPED
    q, v = history.signal("follower", "q"), history.signal("follower", "v")
    force = history.signal("follower", "wrench_measured_in_world")
    free = ~(np.abs(np.nan_to_num(force)).max(axis=1) > 5.0)
    arm = station.arm
    energy = np.full(len(q), np.nan)
    for tick in np.flatnonzero(tripped & free)[::10]:
        arm.update(q[tick], v[tick])
        energy[tick] = 0.5 * v[tick] @ arm.M @ v[tick]
    for began in np.flatnonzero(tripped[1:] & ~tripped[:-1]) + 1:
        ended = began + int(np.argmin(np.append(tripped[began:], False)))
        arm.update(q[began], v[began])
        before = 0.5 * v[began] @ arm.M @ v[began]
        after = energy[began:ended]
        assert not (after > 1.05 * before + 0.02).any()


COMBINATIONS = [("dual-arm", law, "none") for law in sorted(LAWS)]
COMBINATIONS += [("dual-arm", "position-position", layer) for layer in LAYERS]
COMBINATIONS += [("dual-arm", "four-channel", "tdpa"), ("dual-arm", "unilateral", "tank")]
COMBINATIONS += [("hazardous", None, "none"), ("youbot", None, "none"), ("humanoid", None, "none")]


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize(("rig", "law", "layer"), COMBINATIONS)
def test_every_bound_holds_in_every_tick(pair, rig, law, layer):
    """Coupled again and again, and each time something goes wrong."""
    made = pair(rig=rig, law=law, layer=layer, settings=[]).on(0.6)
    assert made.coupled[1] > 0.0
    Chaos(made, seed=len(f"{rig}{law}{layer}")).run()
    check(made)
