"""The cooperative rig: still at rest, the same every time, arms that share nothing, and jobs that
do their work.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import FarhandError
from farhand.parameters import assign
from farhand.rigs import Options, Rig, build_rig, scenarios_of
from farhand.rigs.cooperative.guiding import Guided
from farhand.rigs.cooperative.jobs import Job
from farhand_lab.cooperative.isolation import shared_between


def made(scenario: str, *settings: tuple[str, object], seed: int = 0) -> Rig:
    """The rig."""
    return build_rig("cooperative", Options(scenario=scenario, seed=seed, settings=list(settings)))


def jobs(rig: Rig) -> list[Job]:
    """What its arms do."""
    bound = [getattr(part.step, "__self__", None) for part in rig.session.parts]
    return [item for item in bound if isinstance(item, Job)]


@pytest.fixture
def ran():
    """Builds and runs rigs, and gives them back."""
    rigs = []

    def run(scenario: str, seconds: float, *settings: tuple[str, object], seed: int = 0) -> Rig:
        rig = made(scenario, *settings, seed=seed)
        rigs.append(rig)
        rig.session.run(seconds, rig.metrics.pull)
        return rig

    yield run
    for rig in rigs:
        rig.close()


@pytest.mark.parametrize("scenario", ["carry", "pair", "weigh", "guide"])
def test_at_rest_every_arm_holds_still(ran, scenario):
    """Before the first order nothing moves by more than a millimetre, though the cells are
    noisy.
    """
    quiet = [("follower_1.job.press.force", 0.0)] if scenario == "pair" else []
    rig = ran(scenario, 0.45, *quiet)
    for station in rig.session.stations:
        position = rig.metrics.history.signal(station.name, "position_tool_in_world")
        assert np.ptp(position, axis=0).max() < 1e-3
    assert not rig.session.trips


def test_the_same_seed_gives_the_same_run_and_another_seed_another(ran):
    """To the bit, in virtual time."""
    first, again, other = (ran("pair", 1.0, seed=seed).metrics.result() for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_the_arms_share_nothing_but_the_world():
    """No bridge, no object, no memory that two arms could both write; and a shared one would be
    found.
    """
    rig = made("carry")
    assert rig.session.bridges == []
    assert shared_between(rig)[0] == set()
    rig.session.stations[1].controller.zone = rig.session.stations[2].controller.zone
    assert any("DeadZone" in name for name in shared_between(rig)[0])
    rig.close()


@pytest.mark.parametrize("scenario", ["carry", "guide"])
def test_a_gain_of_one_arm_is_not_that_of_another(scenario):
    """Each arm has loops of its own, made from the same published numbers."""
    rig = build_rig("cooperative", Options(scenario=scenario))
    try:
        before = dict(path[:2] for path in rig.parameters())
        for path in ("follower_1.force.kp", "follower_1.loop.kpo"):
            assign(rig.session.parameters, path, 1.5 * float(before[path]))
        after = dict(path[:2] for path in rig.parameters())
        others = [p for p in before if not p.startswith("follower_1.") and p in after]
        assert [p for p in others if str(before[p]) != str(after[p])] == []
        assert after["follower_1.force.kp"] == 1.5 * before["follower_1.force.kp"]
    finally:
        rig.close()


def test_a_cell_reads_what_the_grip_does_to_its_own_arm(ran):
    """The conditioned reading, behind noise and a filter, is the true wrench at rest."""
    rig = ran("weigh", 3.0)
    measured = rig.metrics.history.signal("follower_1", "wrench_measured_in_world")[-1]
    np.testing.assert_allclose(measured, rig.world.ports["follower_1"].wrench, atol=0.3)
    assert measured[2] == pytest.approx(-2.122 * 9.804, abs=0.3)


def test_an_object_is_weighed_to_a_per_cent(ran):
    """SM-1."""
    rig = ran("weigh", 4.5)
    (work,) = jobs(rig)
    assert isinstance(work, Guided) and work.machine.state == "guide"
    assert work.mass == pytest.approx(2.122, rel=0.01)


def test_followers_take_up_their_shares_while_the_table_carries_the_rest(ran):
    """Three followers lift with a quarter each; the leader has not begun; nothing moves, nothing
    trips.
    """
    rig = ran("carry", 6.3)
    lift = -np.array([rig.world.ports[s.name].wrench[2] for s in rig.session.stations])
    np.testing.assert_allclose(lift, [0.0, 49.0, 49.0, 49.0], atol=3.0)
    assert [job.machine.state for job in jobs(rig)] == ["gripped", "carry", "carry", "carry"]
    assert float(rig.world.ports["object"].tool.position[2]) == pytest.approx(0.55, abs=2e-3)
    assert not rig.session.trips
    assert rig.metrics.result()["energy_balance_error"]["value"] < 1e-3


def test_a_dead_controller_stops_its_arm_with_the_reason(ran):
    """The drives close the brakes, the trip is recorded."""
    rig = made("carry")
    rig.session.commands.post_text("0.1:set follower_2.drive.dead=true")
    rig.session.run(0.3, rig.metrics.pull)
    assert [(r.where, r.trip.kind) for r in rig.session.trips] == [("follower_2", "plant")]
    assert "no command" in rig.session.trips[0].trip.reason
    assert rig.world.ports["follower_2"].braking
    rig.close()


def test_a_reset_after_a_stop_lets_every_arm_go_on_with_what_it_holds(ran):
    """Stopped while the followers carry: after the reset they carry again, nothing falls, and the
    arms may let go.
    """
    quick = [(f"follower_{n}.job.pace.{name}", value) for n in (1, 2, 3) for name, value in
             (("rate", 200.0), ("settle", 0.1))]  # fmt: skip
    rig = made("carry", *quick)
    rig.session.commands.clear()
    arms = ("leader", "follower_1", "follower_2", "follower_3")
    orders = [f"0.1:set {arm}.job.orders.order=grasp" for arm in arms]
    orders += [f"0.6:set {arm}.job.orders.order=lift" for arm in arms[1:]]
    orders += [
        "1.2:stop",
        "1.6:reset",
        *(f"2.0:set {arm}.job.orders.order=lower" for arm in arms[1:]),
    ]
    for order in orders:
        rig.session.commands.post_text(order)
    rig.session.run(1.5, rig.metrics.pull)
    assert [job.machine.state for job in jobs(rig)] == ["fault"] * 4
    rig.session.run(0.4, rig.metrics.pull)
    assert [job.machine.state for job in jobs(rig)] == ["gripped", "carry", "carry", "carry"]
    assert not any(station.guard.trip for station in rig.session.stations)
    rig.session.run(0.8, rig.metrics.pull)
    assert [job.machine.state for job in jobs(rig)] == ["gripped", "away", "away", "away"]
    rig.session.run(1.0, rig.metrics.pull)
    # arms that have let go hardly move: a share that they still expected would lift them
    heights = [float(rig.world.ports[arm].tool.position[2]) for arm in arms]
    assert np.ptp(heights) < 0.05
    rig.session.run(1.0, rig.metrics.pull)
    later = [float(rig.world.ports[arm].tool.position[2]) for arm in arms]
    np.testing.assert_allclose(later, heights, atol=2e-4)
    assert float(rig.world.ports["object"].tool.position[2]) == pytest.approx(0.55, abs=2e-3)
    rig.close()


def test_a_reset_while_the_reason_lasts_is_refused_with_the_reason(ran):
    """A force that nobody can explain stops the arm again."""
    rig = ran("carry", 1.0, ("follower_1.job.pace.settle", 0.1))
    work = jobs(rig)[1]
    work.pace.alarm = 1e-3
    rig.session.run(0.4)
    assert work.machine.trip is not None and work.machine.trip.kind == "overload"
    rig.session.commands.post_text("1.45:reset")
    rig.session.run(0.2)
    assert work.machine.state == "fault"
    assert "cannot be reset" in work.arm.station.guard.trip.reason


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (
            ("rig.mass", 100.0),
            r"at \(-0.800, -0.100, 0.550\) m, where joint 5 would need -\d+ N·m .* outside",
        ),
        (("rig.mass", 40.0), r"joint 5 would need -\d+ N·m to stand still \(limit 29 N·m\)"),
        (
            ("rig.travel", "0.2,0.1,1.5"),
            r"way-point 2 .*out of reach by \d+ mm: .* joint 2 \(limit at most 1.450 m, joint 3",
        ),
        (("rig.travel", "0.2,0.1,1.0"), "singular"),
        (("rig.coupling", "rope"), "rope"),
    ],
)
def test_what_cannot_be_done_is_refused_before_motion(setting, words):
    """With the reason."""
    with pytest.raises(FarhandError, match=words):
        made("carry", setting)


def test_an_object_too_heavy_for_one_arm_is_refused_with_a_person_too():
    """The weight that a follower would have to hold counts, not who leads it."""
    with pytest.raises(
        FarhandError, match=r"follower_1: .* joint 5 would need -\d+ N·m to stand still"
    ):
        made("weigh", ("rig.mass", 12.0))
    with pytest.raises(FarhandError, match=r"rig.grip = contact holds a beam only"):
        made("weigh", ("rig.grip", "contact"))


@pytest.mark.parametrize(("followers", "tempo"), [(1, 1.0), (4, 2.0)])
def test_orders_reach_as_many_arms_as_there_are_and_wait_for_the_path(followers, tempo):
    """Every arm is told to grasp and to release; nobody is told to lower before the path is
    over.
    """
    rig = made("carry", ("rig.followers", followers), ("rig.tempo", tempo), ("rig.mass", 8.0))
    orders = [command.split(":") for command in rig.scenario.commands]
    for word in ("grasp", "release"):
        assert sum(text.endswith(f"={word}") for _, text in orders) == followers + 1
    lowered = min(float(time) for time, text in orders if text.endswith("=lower"))
    assert lowered > 6.5 + 26.0 * tempo
    assert rig.scenario.seconds > max(float(time) for time, _ in orders)
    rig.close()


def test_a_centre_of_mass_off_the_middle_loads_the_arms_at_that_end(ran):
    """On its table the beam presses harder there; the arms were told nothing of it."""
    rig = made("carry", ("rig.off_centre", 0.3))
    body = rig.world.model.body("object/object")
    np.testing.assert_allclose(body.ipos, [0.3, 0.0, 0.0])
    assert float(body.mass[0]) == 20.0
    assert [job.pace.share for job in jobs(rig)] == pytest.approx([5.0] * 4)
    rig.close()


def test_the_engines_contact_holds_the_beam_and_the_cells_see_what_it_does(ran):
    """Followers lift with their shares through jaws that only touch the beam; what the cells read
    is what acts.
    """
    quick = [(f"follower_{n}.job.pace.rate", 200.0) for n in (1, 2, 3)]
    quick += [(f"follower_{n}.job.pace.settle", 0.1) for n in (1, 2, 3)]
    rig = ran("carry", 2.4, ("rig.grip", "contact"), *quick)
    lift = -np.array([rig.world.ports[s.name].wrench[2] for s in rig.session.stations])
    table = 20.0 * 9.804 - lift.sum()
    assert not rig.session.trips
    assert float(rig.world.ports["object"].tool.position[2]) == pytest.approx(0.55, abs=2e-3)
    assert table > 0.0 and rig.world.data.ncon >= 32


def test_orders_that_fit_no_state_are_ignored_and_said(ran):
    """An illegal event changes nothing."""
    rig = made("carry")
    rig.session.commands.post_text("0.1:set follower_1.job.orders.order=lower")
    rig.session.run(0.2, rig.metrics.pull)
    assert jobs(rig)[1].machine.state == "ready"
    assert any("ignored" in text for _, text in rig.metrics.history.events)
    rig.close()


def test_every_scenario_can_be_built_and_says_what_it_is():
    """All of them, with the couplings they are for."""
    for name, scenario in scenarios_of("cooperative").items():
        assert scenario.title
        made(name).close()
