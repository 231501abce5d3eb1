"""Safety of the hazardous rig: each reaction through the whole rig, from a fault by parameter or
command.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from farhand.cli.main import main
from farhand.control.trajectory.paths import HandPath, Move
from farhand.parameters import assign
from farhand.rigs import Options, Rig, build_rig
from farhand.safety.retreating import RetreatPhase
from tests.conftest import Run


@pytest.fixture
def hazardous() -> Iterator[Callable[..., Run]]:
    """Build the rig with its sensor as it is: ``hazardous(scenario=…, settings=[…], …)``."""
    rigs: list[Rig] = []

    def build(settings: list[tuple[str, object]] | None = None, **options: Any) -> Run:
        rigs.append(build_rig("hazardous", Options(settings=settings or [], **options)))
        return Run(rigs[-1])

    yield build
    for rig in rigs:
        rig.close()


def told(run: Run, words: str) -> list[float]:
    """When an event with these words was reported, [s]."""
    return [t_ns * 1e-9 for t_ns, text in run.history.events if words in text]


def contact(run: Run, since: float = 0.0, until: float = np.inf) -> np.ndarray:
    """Size of the contact force before smoothing, [N]."""
    force = run.signal("operator", "wrench_contact_raw_in_world", since, until)[:, :3]
    return np.linalg.norm(force, axis=1)


def test_a_rammed_wall_makes_the_follower_retreat_hold_and_follow_again_after_a_reset(hazardous):
    """After the trip it does not go on pressing: it is free within a second, holds, and a new
    engagement works.
    """
    run = hazardous(scenario="collision").on(6.9)
    (where, kind), *others = run.trips
    assert where == "follower" and kind in ("force", "collision") and not others
    tripped = run.session.trips[0].trip.time_ns * 1e-9
    assert contact(run, tripped + 1.5).max() < 8.0
    assert run.follower.controller.collision.phase is RetreatPhase.HOLDING
    assert told(run, "retreats") and told(run, "holds after its retreat")
    assert run.tool_speed("follower", 5.0, 6.9) < 1e-3
    run.on(1.1)
    assert run.follower.controller.collision.phase is RetreatPhase.CLEAR
    assert run.signal("coupling", "engagement", 7.5)[-1, 0] == 1.0


def test_a_tool_that_presses_and_no_longer_moves_is_stuck(hazardous):
    """Against metal, pushed by a strong hand, with the guard's own limit out of the way: the
    collision has its word.
    """
    stiff = [
        ("wall.stiffness", 1e5),
        ("wall.damping", 300.0),
        ("hand.stiffness", 2000.0),
        ("hand.damping", 200.0),
    ]
    run = hazardous(
        settings=[*stiff, ("follower.guard.force", 500.0), ("leader.guard.force", 500.0)]
    )
    run.rig.parts.hand.path = HandPath((Move(0.5, 3.0, (0.2, 0.0, 0.0)),))
    run.on(4.0)
    assert run.trips[0] == ("follower", "collision")
    assert "stuck at" in run.session.trips[0].trip.reason
    above = np.flatnonzero(contact(run) > 60.0)[0] * 1e-3
    assert run.session.trips[0].trip.time_ns * 1e-9 - above < 0.4
    assert contact(run, 3.5).max() < 8.0


def test_a_stop_of_the_operator_does_not_make_the_arm_retreat(hazardous):
    """It stays where it is, in contact."""
    run = hazardous(scenario="sponge").post("4:stop").on(5.0)
    assert run.follower.controller.collision.phase is RetreatPhase.CLEAR
    assert run.tool_speed("follower", 4.5) < 1e-3


def test_letting_the_handle_go_stops_both_arms_within_a_tenth_of_a_second(hazardous):
    """The follower's drives need 50 ms more, the leader is held, and its force has faded."""
    run = hazardous(scenario="let-go").on(3.4)
    assert run.tool_speed("leader", 1.4, 1.5) > 0.05
    assert run.tool_speed("leader", 1.6, 3.4) < 0.01
    assert run.tool_speed("follower", 1.5 + 0.25, 3.4) < 1e-3
    assert run.signal("coupling", "engagement", 1.8)[0, 0] == 0.0
    assert told(run, "handle let go") == [pytest.approx(1.5, abs=0.002)]
    assert run.trips == []


def test_a_released_leader_hardly_moves_under_20_newtons(hazardous):
    """Less than 5 mm, held by its spring alone."""
    run = hazardous(scenario="let-go").on(2.5)
    before = run.leader.arm.position.copy()
    weak = [("hand.stiffness", 20.0), ("hand.damping", 5.0), ("hand.open", False)]
    for path, value in weak:
        assign(run.session.parameters, path, value)
    run.rig.parts.hand.path = HandPath(())
    run.on(0.1)
    assign(run.session.parameters, "hand.drag", (1.0, 0.0, 0.0))  # 20 N
    run.on(0.8)
    push = np.linalg.norm(run.signal("leader", "wrench_measured_in_world", 3.2, 3.4)[:, :3], axis=1)
    assert push.mean() == pytest.approx(20.0, rel=0.05)
    assert np.linalg.norm(run.leader.arm.position - before) < 0.005


def test_a_new_grip_couples_again_without_a_restart_as_often_as_it_happens(hazardous):
    """Five times in a row, in motion."""
    run = hazardous(scenario="free")
    for k in range(5):
        run.post(f"{1.0 + k}:set leader.handle.grip=0", f"{1.5 + k}:set leader.handle.grip=10")
    run.on(6.5)
    assert len(told(run, "handle let go")) == len(told(run, "gripped again: coupled")) == 5
    assert run.signal("coupling", "engagement", 6.4)[-1, 0] == 1.0
    assert run.trips == []


def test_letting_go_over_a_delayed_link_stops_the_follower_a_trip_later(hazardous):
    """40 ms round trip: told in the leader's packet."""
    run = hazardous(scenario="let-go", delay=40.0).on(3.4)
    assert run.tool_speed("follower", 1.5 + 0.3, 3.4) < 1e-3
    run.on(1.5)
    assert run.signal("coupling", "engagement", 4.8)[-1, 0] == 1.0


def test_a_silent_link_stops_the_arm_after_a_tenth_of_a_second(hazardous):
    """The last packet before the outage takes 20 ms; from its arrival the watchdog counts."""
    outage = [("link.outage_start", 1.0), ("link.outage_length", 0.5)]
    run = hazardous(scenario="free", delay=40.0, settings=outage).on(1.4)
    assert {kind for _, kind in run.trips} == {"link"}
    first = min(record.trip.time_ns for record in run.session.trips) * 1e-9
    assert first == pytest.approx(1.0 + 0.02 + 0.1, abs=0.005)
    assert run.tool_speed("follower", 1.35) < 1e-3


def test_an_overheated_sensor_stops_the_follower_and_stays_stopped_while_hot(hazardous):
    """The published limit of 120 °C; a reset while hot is answered at once."""
    settings = [
        ("follower.sensor.final", 160.0),
        ("follower.sensor.heating", 0.8),
        ("follower.sensor.slope", 0.0),
    ]
    run = hazardous(scenario="free", settings=settings).post("2.5:reset").on(3.0)
    assert run.trips == [("follower", "overheat")] * 2
    assert "cannot reset" in run.session.trips[1].trip.reason
    assert run.tool_speed("follower", 2.0) < 1e-3


def test_the_leader_is_kept_off_its_joint_limit_and_says_so(hazardous):
    """Pulled up with 60 N towards the limit of joint 4: more than a degree clear, no trip, and it
    is said.
    """
    run = hazardous(scenario="free", law="none")
    hand = run.rig.parts.hand
    hand.path = HandPath((Move(0.2, 4.0, (-0.55, 0.0, 0.1)),))
    run.on(6.0)
    limits = run.leader.plant.world.placed["leader"].robot.limits
    q = run.signal("leader", "q")
    clear = np.minimum(q - limits.lower, limits.upper - q).min()
    assert np.radians(1.0) < clear < np.radians(10.0)
    assert told(run, "in the wall before its limit")
    assert run.trips == []


def test_a_target_out_of_reach_is_announced_and_the_arm_goes_as_near_as_it_can(hazardous):
    """Scaled up by 1.6 the hand leads 0.4 m ahead, beyond the follower's reach."""
    run = hazardous(scenario="free", settings=[("law.mapping.motion_scale", 1.6)])
    run.rig.parts.hand.path = HandPath((Move(0.2, 3.0, (0.25, 0.0, 0.0)),))
    run.on(4.5)
    assert told(run, "inverse kinematics of the follower: unreachable")
    assert np.isfinite(run.signal("follower", "q")).all()
    assert run.follower.plant.fault is None


def test_every_reaction_is_in_the_json_of_a_run(tmp_path):
    """Trips with kind and reason, events with time and text."""
    out = tmp_path / "run.json"
    arguments = ["--scenario", "collision", "--headless", "--seconds", "4", "--json", str(out)]
    assert main(["run", "hazardous", *arguments]) == 0
    said = json.loads(out.read_text())
    assert (
        said["trips"][0]["kind"] in ("force", "collision")
        and "N (limit" in said["trips"][0]["reason"]
    )
    assert any("retreats" in event["text"] for event in said["events"])
