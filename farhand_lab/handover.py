r"""Handovers at random between a policy and a person, and what the hand feels of them.

``python -m farhand_lab.handover --count 100 --space joints`` repeats the trials, one per seed.

A trial: the hand is open and a policy drives the follower at 10 to 60 Hz to random postures; the
leader follows. At a random time the hand takes hold, and takes the follower: by the command
``take``, or by a push in a random direction. A while later, when it does not push any more, the
command ``give`` hands it back, while the hand still holds.

What is measured: each handover is compared with a twin, the same run without that handover.
:math:`\Delta F` is the difference of the hand's force on the leader's tool, from the handover on
for 1.2 s, which is longer than either fades. The *force step* is the largest change of
:math:`\Delta F` within 10 ms. A hand of 1000 N/m that holds still beside a tool of 0.2 m/s feels
2 N in 10 ms without any step, so this is a strict measure. The *velocity step* is the largest
change of the difference of any joint's velocity, of both arms, within one tick of 1 ms, as a share
of that joint's speed limit.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

import numpy as np

from farhand.control.trajectory.paths import HandPath, Move
from farhand.loop.session import Session
from farhand.loop.target import StationTarget, accept_targets
from farhand.rigs import Options, Rig, build_rig
from farhand.spatial import Array
from farhand.world import ImpedanceHand

MAX_FORCE_STEP = 2.0
"""[N]."""

MAX_VELOCITY_STEP = 0.01
"""Of a joint's speed limit, within a tick."""

STEP_S, WINDOW_S = 0.010, 1.2
GIVEN_S, HELD_S = 0.3, 1.5
PAIRS = {
    "joints": (("so101-leader", "so101"), ("openarm", "openarm"), ("panda", "fr3")),
    "tool": (("so101-leader", "so101"), ("ur5e", "ur5e"), ("ur5e", "panda")),
}
PUSH, LIGHT_PUSH = 5.0, 1.0
"""Push that takes the follower, [N], and a tenth of that in [N·m]."""

NEVER = 1e6
"""A push that nobody reaches, [N] and [N·m]."""


@dataclass(frozen=True)
class HandoverPlan:
    """What happens in a trial, drawn from its seed."""

    seed: int
    space: str
    law: str
    arms: tuple[str, str]
    rate: float  #: of the policy, [Hz]
    reach: float  #: of its targets about the home posture, [rad] or a share of a slide's range
    jump: float  #: time between two goals of the policy, [s]
    grip: float  #: when the hand takes hold, [s]
    by_push: bool  #: takes the follower by pushing, not by the command
    push: tuple[float, float, float]  #: where to, as force over what takes the follower, [-]
    takes: bool = True
    gives: bool = True

    @classmethod
    def drawn(cls, seed: int, space: str, law: str) -> HandoverPlan:
        """The trial of this seed."""
        rng = np.random.default_rng([seed, ("joints", "tool").index(space)])
        direction = rng.normal(size=3)
        direction *= rng.uniform(4.0, 8.0) / np.linalg.norm(direction)
        return cls(
            seed=seed,
            space=space,
            law=law,
            arms=PAIRS[space][rng.integers(len(PAIRS[space]))],
            rate=float(rng.uniform(10.0, 60.0)),
            reach=float(rng.uniform(0.1, 0.4)),
            jump=float(rng.uniform(0.1, 1.0)),
            grip=float(rng.uniform(0.6, 1.4)),
            by_push=bool(rng.integers(2)),
            push=(float(direction[0]), float(direction[1]), float(direction[2])),
        )

    @property
    def threshold(self) -> float:
        """Push that takes the follower, [N]; a light arm yields to less."""
        return LIGHT_PUSH if self.arms[0].startswith("so101") else PUSH

    @property
    def command(self) -> float:
        """When the command ``take`` comes, if it does, [s]."""
        return self.grip + 0.1


@dataclass
class HandoverRun:
    """A run of a plan."""

    force: Array  #: of the hand on the leader's tool, [N], in every tick
    velocity: Array  #: of all joints of both arms, as shares of their limits
    trips: list[str]
    taken: float | None  #: when the person had the follower, [s]


@dataclass
class HandoverResult:
    """What a trial showed."""

    plan: HandoverPlan
    took: bool  #: whether the person got the follower
    force: dict[str, float]  #: force step of each handover, [N]
    velocity: dict[str, float]  #: velocity step of each, share of the limit
    trips: list[str]

    @property
    def ok(self) -> bool:
        """Whether all criteria are met."""
        smooth = max(self.force.values()) <= MAX_FORCE_STEP
        even = max(self.velocity.values()) <= MAX_VELOCITY_STEP
        return self.took and smooth and even and not self.trips


def trial(seed: int, space: str, law: str = "position-position") -> HandoverResult:
    """One trial and its twins."""
    plan = HandoverPlan.drawn(seed, space, law)
    gives = plan.command + HELD_S
    whole = perform(plan, gives + WINDOW_S)
    kept = perform(replace(plan, gives=False), gives + WINDOW_S)
    took = kept.taken
    until = gives if took is None else took + WINDOW_S
    driven = perform(replace(plan, gives=False, takes=False), until)
    force, velocity = {"take": np.nan}, {"take": np.nan}
    if took is not None:
        h = round(1e3 * STEP_S)
        for name, at, twin in (("take", took, driven), ("give", gives, kept)):
            end = min(round(1e3 * (at + WINDOW_S)), len(whole.force), len(twin.force))
            # before the handover there is no difference
            window = slice(round(1e3 * at) - h, end)
            differs = whole.force[window] - twin.force[window]
            force[name] = float(np.linalg.norm(differs[h:] - differs[:-h], axis=1).max())
            differs = whole.velocity[window] - twin.velocity[window]
            velocity[name] = float(np.abs(np.diff(differs, axis=0)).max())
    return HandoverResult(plan, took is not None, force, velocity, whole.trips)


def perform(plan: HandoverPlan, seconds: float) -> HandoverRun:
    """Run a plan for some seconds."""
    settings = [
        ("rig.leader_plant", plan.arms[0]),
        ("rig.follower_plant", plan.arms[1]),
        ("rig.space", plan.space),
        ("wall.present", False),
    ]
    rig = build_rig("pair", Options(law=plan.law, scenario="rest", settings=settings))
    session = rig.session
    accept_targets(session)
    _schedule(rig, plan, seconds)
    target: StationTarget = session.parameters["follower"]["target"]
    taken: list[float] = []
    force: list[Array] = []
    hand = next(touch for touch in rig.world.ports["leader"].touches if touch[0] == "hand")

    def watch(now_ns: int) -> None:
        force.append(hand[2][:3].copy())
        if target.taken and not taken:
            taken.append(now_ns * 1e-9)

    session.add(watch)
    session.run(seconds, rig.metrics.pull)
    history = rig.metrics.history
    shares = [
        history.signal(station.name, "v") / station.guard.limits.velocity
        for station in session.stations
        if station.guard.limits is not None
    ]
    trips = [f"{record.where}: {record.trip.reason}" for record in session.trips]
    run = HandoverRun(np.array(force), np.hstack(shares), trips, taken[0] if taken else None)
    rig.close()
    return run


def _schedule(rig: Rig, plan: HandoverPlan, end: float) -> None:
    """Post what policy and person do."""
    session = rig.session
    post = session.commands.post
    post("give", at_ns=_ns(GIVEN_S))
    _stream(session, plan, end)
    # the hand's moves begin when it has taken hold
    hand = rig.parts.hand
    assert isinstance(hand, ImpedanceHand)
    x, y, z = (share * plan.threshold / hand.stiffness for share in plan.push)
    # it comes back, so that it does not push any more when it gives
    there, back = Move(plan.command, 0.5, (x, y, z)), Move(plan.command + 0.7, 0.5, (-x, -y, -z))
    hand.path = HandPath((there, back))
    post("set", "hand.open", False, at_ns=_ns(plan.grip))
    push = plan.threshold if plan.takes and plan.by_push else NEVER
    for name, value in (("push", push), ("twist", 0.1 * push)):
        post("set", f"follower.target.{name}", value, at_ns=0)
    if plan.takes and not plan.by_push:
        post("take", at_ns=_ns(plan.command))
    if plan.gives:
        post("give", at_ns=_ns(plan.command + HELD_S))


def _stream(session: Session, plan: HandoverPlan, end: float) -> None:
    """The policy's targets: now and then it wants to be somewhere else."""
    rng = np.random.default_rng([plan.seed, 2])
    follower = next(station for station in session.stations if station.name == "follower")
    home, limits = follower.arm.q.copy(), follower.guard.limits
    assert limits is not None
    slides = np.isin(np.arange(len(home)), list(limits.slides))
    size = np.where(slides, plan.reach * (limits.upper - limits.lower), plan.reach)
    t, next_goal, goal = GIVEN_S + 0.01, 0.0, home
    while t < end:
        if t >= next_goal:
            goal = home + size * rng.uniform(-1.0, 1.0, len(home))
            next_goal = t + plan.jump
        session.commands.post("set", "follower.target.joints", goal.tolist(), at_ns=_ns(t))
        t += 1.0 / plan.rate


def _ns(seconds: float) -> int:
    return round(seconds * 1e3) * 1_000_000


def main() -> None:
    """Run the trials and print a line for each, and the worst."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--space", choices=sorted(PAIRS), default="joints")
    parser.add_argument("--law", default="position-position")
    chosen = parser.parse_args()
    began, trials = time.time(), []
    for seed in range(chosen.first, chosen.first + chosen.count):
        one = trial(seed, chosen.space, chosen.law)
        trials.append(one)
        how = "push" if one.plan.by_push else "take"
        steps = "; ".join(
            f"{name} {one.force[name]:.2f} N, {1e2 * one.velocity[name]:.2f} %"
            for name in one.force
        )
        verdict = "ok" if one.ok else "FAILS"
        arms = " → ".join(one.plan.arms)
        print(f"{seed:4d} {arms:24s} {how}: {steps} {verdict}", *one.trips, flush=True)
    forces = [step for one in trials for step in one.force.values()]
    speeds = [step for one in trials for step in one.velocity.values()]
    print(
        f"{sum(one.ok for one in trials)} of {len(trials)} trials pass; largest force step "
        f"{max(forces):.2f} N, velocity step {1e2 * max(speeds):.2f} % of the limit, "
        f"{sum(bool(one.trips) for one in trials)} with a trip; {time.time() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
