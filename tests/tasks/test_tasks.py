"""Tasks: contact is the engine's and balances, mechanisms work as their names say, and a seed
makes a run again.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.console.menus import menus_of
from farhand.errors import BadValue, Mismatch, UnknownName
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot
from farhand.running.page import changed_options
from farhand.tasks import TASKS, make_task
from farhand.world import Placed, World

ARMS = [("rig.leader_plant", "vx300s"), ("rig.follower_plant", "vx300s"), ("rig.space", "tool")]
STRONG = [*ARMS, ("rig.frequency", 40.0)]


def built(name: str, **options):
    return build_rig("pair", Options(task=name, settings=STRONG, **options))


def alone(name: str, step_ns: int = 1_000_000) -> tuple[World, object]:
    """A task at a point that three slides move, without any coupling."""
    task = make_task(name)
    task.spread = 0.0
    task.turn = 0.0
    robot = load_robot("point3")
    world = World(task.place({"follower": Placed(robot)}, 0), step_ns, 0.0)
    task.join(world)
    return world, task


def press(world: World, force: tuple[float, float, float], seconds: float) -> float:
    """Push the tool with a force, dampened; the largest contact force, [N]."""
    port, peak = world.ports["follower"], 0.0
    for _ in range(round(seconds * 1e9 / world.step_ns)):
        port.torque[:] = np.array(force) - 5.0 * port.v
        world.advance(world.now_ns + world.step_ns)
        peak = max(peak, float(np.linalg.norm(port.contact[:3])))
    return peak


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_a_tool_that_touches_nothing_at_the_start(name):
    """And a mechanism that rests there."""
    world, task = alone(name)
    press(world, (0.0, 0.0, 0.0), 0.05)
    assert not world.ports["follower"].wrench.any()
    assert not task.done()


@pytest.mark.parametrize("name", ["door", "push"])
def test_a_mechanism_that_is_turned_has_its_site_where_it_should_be(name):
    """The site is ahead of the tip in the tool's axes, the rest turns about it."""
    task = make_task(name)
    task.spread, task.turn = 0.0, 0.5
    world = World(task.place({"follower": Placed(load_robot("point3"))}, 1), 1_000_000, 0.0)
    task.join(world)
    points = np.zeros((task.points, 3))
    task.look(points)
    assert abs(task.axes[0, 1] - task.level[0, 1]) > 0.01
    np.testing.assert_allclose(points[1] - points[0], task.level @ task.ahead, atol=1e-9)


def test_the_wrist_feels_what_the_table_gives_back():
    """At rest the contact force is the push, and its moment is that of the sponge's place."""
    world, task = alone("wipe")
    press(world, (0.0, 0.0, -5.0), 1.5)
    wrench = world.ports["follower"].wrench
    np.testing.assert_allclose(wrench[:3], (0.0, 0.0, 5.0), atol=0.02)
    np.testing.assert_allclose(wrench[3:], 0.0, atol=1e-3)


def test_an_impact_does_not_depend_on_the_step():
    """Peak force with a step of 1 ms is within a tenth of that with an eighth of it."""
    peaks = [
        press(alone("wipe", 1_000_000 // parts)[0], (0.0, 0.0, -5.0), 0.6) for parts in (1, 2, 8)
    ]
    assert peaks[0] == pytest.approx(peaks[2], rel=0.1)
    assert abs(peaks[1] - peaks[2]) <= abs(peaks[0] - peaks[2]) + 0.01 * peaks[2]


def test_a_latched_door_opens_only_while_its_lever_is_down():
    """Pushed with the same force both times."""
    opened = []
    for lever in (0.0, 1.5):
        world, task = alone("door")
        world.model.opt.gravity[:] = 0.0
        for tick in range(1500):
            world.ports["task"].torque[:] = (2.0 if tick > 500 else 0.0, lever, 0.0)
            world.advance(world.now_ns + world.step_ns)
        opened.append(task.joint("door"))
    assert opened[0] < 0.06 < 0.25 < opened[1]


def test_a_button_gives_way_at_its_click():
    """It needs more force before than after."""
    travel = []
    for force in (6.0, 7.6):
        world, task = alone("button")
        for tick in range(1000):
            world.ports["task"].torque[:] = -force * min(1.0, tick / 800.0)
            world.advance(world.now_ns + world.step_ns)
        travel.append(-task.joint("cap"))
    assert travel[0] < 0.0015 < 0.0022 < travel[1]


def test_the_same_seed_makes_the_same_trial():
    """To the bit; another seed puts the mechanism elsewhere."""
    ends = []
    for seed in (1, 1, 2):
        rig = built("peg", seed=seed, law="position-position")
        rig.session.run(0.6)
        ends.append(np.concatenate([rig.world.data.qpos, rig.trial._points.ravel()]))
        rig.close()
    np.testing.assert_array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[0], ends[2])


def test_an_expert_presses_the_button_and_nobody_does_without_coupling():
    """The score tells one from the other."""
    results = []
    for law in ("position-position", "none"):
        rig = built("button", law=law)
        rig.session.run(12.0)
        results.append(rig.trial.result())
        rig.close()
    assert results[0]["success"] and 5.0 < results[0]["peak_force"] < results[0]["damage_limit"]
    assert not results[1]["success"] and results[1]["peak_force"] == 0.0


def test_a_button_is_pressed_only_when_it_is_let_go():
    """Switched, and up again."""
    world, task = alone("button")
    done = []
    for force in (0.0, 7.6, 0.0):
        for _ in range(1000):
            world.ports["task"].torque[:] = -force
            world.advance(world.now_ns + world.step_ns)
            task.observe(np.zeros(3), 1e-3)
        done.append(task.done())
    assert done == [False, False, True]


def test_who_feels_the_table_wipes_it_and_who_does_not_breaks_it():
    """The harder the push, the harder it is to slide."""
    results = []
    for law in ("position-position", "unilateral"):
        rig = built("wipe", law=law, seed=2)
        rig.session.run(rig.trial.task.seconds)
        results.append(rig.trial.result())
        rig.close()
    felt, numb = results
    assert felt["success"] and felt["peak_force"] < 0.6 * felt["damage_limit"]
    assert numb["damaged"] and not numb["success"]


def test_what_does_not_fit_is_refused_in_one_line():
    """An unknown name, a scenario beside a task, a rig without a follower."""
    with pytest.raises(UnknownName, match="task"):
        built("pge")
    with pytest.raises(UnknownName, match="operator"):
        built("peg", operator="exprt")
    with pytest.raises(BadValue, match="--scenario"):
        built("peg", scenario="wall")
    with pytest.raises(Mismatch, match="does no tasks"):
        build_rig("cooperative", Options(task="peg"))


def test_the_page_of_a_task_offers_no_other_scenario_and_begins_it_again():
    """With another law, and the same task."""
    rig = built("push", operator="none")
    menus = menus_of(rig)
    rig.close()
    assert list(menus["scenarios"]) == ["push"] and rig.parts.operator is None
    again = changed_options(rig.options, {"law": "unilateral", "scenario": "push"}, menus)
    assert (again.task, again.scenario, again.law) == ("push", None, "unilateral")
