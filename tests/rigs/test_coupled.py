"""One side of a rig: its own arm and surroundings only, the same law, and what both sides must
agree on.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import Mismatch, UnknownName
from farhand.link.channel import MemoryChannel
from farhand.rigs import Options, build_rig
from farhand.rigs.coupled import terms_of
from farhand.rigs.hazardous import MOTION_SCALE
from farhand.rigs.humanoid import PLACES
from farhand.rigs.humanoid.parts import Limb
from tests.faults.conftest import Pair


@pytest.fixture
def side():
    """Build one side of the dual-arm rig: ``side("leader", law=…)``."""
    made = []

    def build(role: str, **options):
        made.append(build_rig("dual-arm", Options(side=role, **options)))
        return made[-1]

    yield build
    for rig in made:
        rig.close()


@pytest.mark.parametrize(("role", "touches"), [("leader", "hand"), ("follower", "wall")])
def test_a_side_simulates_its_own_arm_and_what_touches_it(side, role, touches):
    """The other arm is not in this process."""
    rig = side(role)
    assert list(rig.world.ports) == [role]
    assert [name for name, _, _ in rig.world.ports[role].touches] == [touches]
    assert [station.name for station in rig.session.stations] == [role]


def test_alone_each_side_is_still(side):
    """A follower holds, and a leader is moved by its hand alone; nothing is heard, nothing
    trips.
    """
    for role in ("leader", "follower"):
        rig = side(role, scenario="rest")
        rig.session.run(0.2, rig.metrics.pull)
        assert rig.session.trips == []
        assert abs(rig.world.ports[role].v).max() < 1e-3
        metrics = rig.metrics.result()
        assert metrics["link_received"]["value"] == 0.0
        assert metrics["link_loss"]["value"] is metrics["clock_offset"]["value"] is None
        assert metrics["coupled_share"]["value"] == 0.0
        assert metrics["energy_balance_error"]["value"] < 1e-3


def test_the_two_sides_agree_on_their_terms_and_a_change_on_one_shows_by_name(side):
    """Of the robots and of the law's settings, beside rig, law, layer and rate."""
    leader = terms_of(side("leader"))
    assert leader == terms_of(side("follower"))

    def changed(**options):
        other = terms_of(side("follower", **options))
        return {name for name in leader if leader[name] != other.get(name)}

    assert {"law", "law.proportional", "robots"} <= changed(law="position-force")
    assert changed(layer="tdpa") == {"layer"}
    assert changed(settings=[("rig.mass_scale", 0.5)]) == {"robots"}
    assert changed(settings=[("law.mapping.motion_scale", 0.5)]) == {"law.mapping.motion_scale"}
    assert changed(settings=[("rig.rate", 500.0)]) == {"rate"}


def test_settings_of_the_side_that_is_elsewhere_are_refused_by_path(side):
    """A user who sets the follower's guard at the leader is told so."""
    with pytest.raises(UnknownName, match=r"unknown parameter 'follower\.guard\.force'"):
        side("leader", settings=[("follower.guard.force", 10.0)])
    with pytest.raises(UnknownName, match="deadman"):
        side("follower", settings=[("deadman.held", False)])


@pytest.mark.parametrize("name", ["cooperative"])
def test_a_rig_that_runs_in_one_process_is_refused_with_the_reason(name):
    """And with those that do not."""
    able = "dual-arm, pair, hazardous, humanoid, youbot"
    with pytest.raises(
        Mismatch, match=f"rig {name!r} does not run on two machines: .*; those that do: {able}"
    ):
        build_rig(name, Options(side="leader"))


@pytest.mark.parametrize("base", [False, True])
def test_the_youbot_runs_on_two_machines_too(base):
    """Pen here, robot there, over perfect channels: coupled, and the tool follows."""
    shape, rigs = [("rig.base", base)], []
    for role in ("leader", "follower"):
        rigs.append(build_rig("youbot", Options(side=role, settings=shape)))
    ends = [rig.session.bridges[0].end for rig in rigs]
    there, back = MemoryChannel(), MemoryChannel()
    ends[0].endpoint.connect(there, back)
    ends[1].endpoint.connect(back, there)
    assert terms_of(rigs[0]) == terms_of(rigs[1])
    for _ in range(900):
        for rig in rigs:
            rig.session.run(1e-3)
    assert [end.engagement.gain for end in ends] == [1.0, 1.0]
    assert [trip for rig in rigs for trip in rig.session.trips] == []
    assert np.linalg.norm(ends[1].law.error[:3]) < 5e-3
    assert np.linalg.norm(ends[0].station.arm.position) > 1e-3
    for rig in rigs:
        rig.close()


def test_a_start_up_sequence_is_refused_on_two_machines():
    """It knows both sides."""
    with pytest.raises(Mismatch, match="start-up sequence runs in one process"):
        build_rig("youbot", Options(side="leader", settings=[("rig.startup", True)]))


@pytest.mark.parametrize("layer", ["tdpa", "tank", "waves"])
def test_every_layer_can_be_put_around_a_side(side, layer):
    """Both ends are built, each in its own process, from the same settings."""
    for role in ("leader", "follower"):
        rig = side(role, law="position-position", layer=layer)
        rig.session.run(0.05)
        assert rig.parts.layer.name == layer


@pytest.fixture
def apart():
    """Both sides of a rig as two sessions over a sealed line: ``apart("hazardous",
    scenario=…)``.
    """
    made = []

    def build(rig: str, **options) -> Pair:
        made.append(Pair(rig=rig, **options))
        return made[-1]

    yield build
    for pair in made:
        pair.close()


def test_the_powerball_follows_the_iiwa_elsewhere_and_the_wall_is_felt_there(apart):
    """Freely within what its slow drives allow, then into the wall; the forces are those of one
    process.
    """
    pair = apart("hazardous", scenario="wall").on(1.4)
    assert pair.coupled == (1.0, 1.0)
    moved = [
        np.ptp(pair.signal(role, role, "position_tool_in_world", 1.4)[:, 0]) for role in pair.rigs
    ]
    behind = np.linalg.norm(pair.signal("follower", "coupling", "error", 0.9)[:, :3], axis=1).max()
    assert moved[1] > 0.01
    assert moved[1] == pytest.approx(MOTION_SCALE * moved[0], abs=0.01)
    assert behind < 0.01
    assert np.abs(pair.end("leader").contribution.wrench[0]) < 3.0
    assert not pair.signal("leader", "operator", "cue", 1.4).any()
    pair.on(0.85)
    buzzed = [
        pair.signal(*place, "cue", 0.85).sum()
        for place in (("follower", "wrist"), ("leader", "operator"))
    ]
    assert buzzed[1] == pytest.approx(buzzed[0], abs=1)
    assert buzzed[0] > 1
    together = build_rig("hazardous", Options(scenario="wall"))
    together.session.run(2.25, together.metrics.pull, 0.5)
    for role, channel in (
        ("follower", "wrench_measured_in_world"),
        ("leader", "wrench_commanded_in_world"),
    ):
        force = pair.signal(role, role, channel, 0.25)[:, 0].mean()
        assert force == pytest.approx(
            together.metrics.history.signal(role, channel)[-250:, 0].mean(), abs=2.0
        )
        assert force < -8.0
    together.close()
    assert pair.trips("leader") == pair.trips("follower") == []
    assert list(pair.rigs["leader"].world.ports) == ["leader"]
    assert list(pair.rigs["follower"].world.ports) == ["follower"]


def test_a_powerball_whose_link_is_cut_in_motion_stops_and_the_leaders_force_fades(apart):
    """Both ends say so; it couples again only when asked."""
    pair = apart("hazardous", scenario="wall").on(1.3)
    assert pair.speed() > 0.02
    pair.to_follower.cut = pair.to_leader.cut = True
    pair.on(0.6)
    assert pair.speed() < 1e-3
    assert pair.coupled == (0.0, 0.0)
    assert not pair.end("leader").contribution.wrench.any()
    assert "nothing heard from the leader" in pair.trips("follower")[0]
    assert "nothing heard from the follower" in pair.trips("leader")[0]
    pair.to_follower.cut = pair.to_leader.cut = False
    assert pair.on(0.2).coupled == (0.0, 0.0)


def test_ring_and_grip_go_with_the_packets(apart):
    """The ring closes the jaws elsewhere while coupled; letting the handle go parts, gripping it
    again couples.
    """
    pair = apart("hazardous", scenario="free").on(0.1)
    open_wide = pair.rigs["follower"].session.parameters["follower"]["gripper"].opening
    pair.post("leader", "set leader.handle.ring=1").on(0.2)
    jaws = pair.signal("follower", "wrist", "gripper", 0.01)[-1]
    assert jaws[0] < open_wide - 2e-3
    assert pair.signal("leader", "operator", "gripper", 0.01)[-1] == pytest.approx(jaws, abs=1e-4)
    pair.post("leader", "set leader.handle.grip=0").on(0.4)
    assert pair.coupled == (0.0, 0.0)
    still = pair.signal("follower", "wrist", "gripper", 0.2)[:, 0]
    assert np.ptp(still) == 0.0
    pair.post("leader", "set leader.handle.grip=10").on(0.3)
    assert pair.coupled == (1.0, 1.0)


def test_a_pen_leads_a_limb_elsewhere_and_feels_its_limits_until_the_link_is_cut(apart):
    """The synthetic force is made at the pen's side, where it is what it is in one process; then
    nothing pushes.
    """
    pair, together = apart("humanoid", scenario="limit", settings=[]).on(2.0), build_rig("humanoid")
    together.session.run(2.0, together.metrics.pull, 0.5)
    assert pair.coupled == (1.0, 1.0)
    for role, channel, close in (
        ("leader", "force_synthetic_in_world", 0.05),
        ("follower", "q", 0.01),
    ):
        expected = together.metrics.history.signal(role, channel)[-1]
        np.testing.assert_allclose(pair.signal(role, role, channel, 0.1)[-1], expected, atol=close)
    together.close()
    pushed, lift = (
        pair.signal("leader", "leader", "force_synthetic_in_world", 2.0)[tick] for tick in (-1, 0)
    )
    assert np.linalg.norm(pushed - lift) > 1.0
    pair.to_follower.cut = pair.to_leader.cut = True
    pair.on(0.6)
    np.testing.assert_allclose(
        pair.signal("leader", "leader", "force_synthetic_in_world", 0.1)[-1], lift
    )
    assert "nothing heard from the leader" in pair.trips("follower")[0]
    assert np.ptp(pair.signal("follower", "follower", "q_commanded", 0.3), axis=0).max() == 0.0


def test_the_balance_of_a_leg_elsewhere_is_known_by_where_it_is_sent():
    """Its angles are solved at the pen's side; pushed by those that its bus reports late, the pen
    would chatter.
    """
    rig, leg = (
        build_rig("humanoid", Options(side="leader", scenario="balance")),
        Limb.named("left-leg"),
    )
    end, sent = rig.session.bridges[0].end, np.array([0.05, 0.2, 0.4])
    end.endpoint.incoming.q = [0.0, 0.1, 0.3]
    end.law.mapping.position[:] = np.array(PLACES["follower"]) + leg.base + leg.chain.forward(sent)
    synthetic = rig.session.stations[0].controller.synthetic
    np.testing.assert_allclose(synthetic.centre(), leg.chain.centre(sent), atol=1e-9)
    end.law.mapping.position[2] += 1.0
    # out of reach: the last ones
    np.testing.assert_allclose(synthetic.centre(), leg.chain.centre(sent), atol=1e-9)
    rig.close()


@pytest.mark.parametrize(
    "changed", [("rig.limb", "right-arm"), ("rig.device", "virtuose"), ("rig.exact", False)]
)
def test_both_sides_of_the_humanoid_agree_and_another_limb_or_device_shows(changed):
    """By the name of the robots."""
    rigs = [build_rig("humanoid", Options(side=role)) for role in ("leader", "follower")]
    rigs.append(build_rig("humanoid", Options(side="follower", settings=[changed])))
    leader, follower, other = (terms_of(rig) for rig in rigs)
    assert leader == follower
    assert {name for name in leader if leader[name] != other[name]} == {"robots"}
    for rig in rigs:
        rig.close()


@pytest.mark.parametrize(
    "shape",
    [
        (),
        (("rig.mapping", "joint"),),
        (("rig.mapping", "position-only"),),
        (("rig.base", "mobile"),),
    ],
)
def test_both_sides_of_the_hazardous_rig_agree_however_it_follows_and_a_change_shows(shape):
    """What shapes the rig must be alike; the rate and the law's settings have names of their
    own.
    """

    def terms(role, *more):
        rig = build_rig("hazardous", Options(side=role, settings=[*shape, *more]))
        found = terms_of(rig)
        rig.close()
        return found

    leader = terms("leader")
    assert leader == terms("follower")
    other = terms("follower", ("rig.follower_shoulder", 0.21), ("law.force_map.force_low", 9.0))
    assert {name for name in leader if leader[name] != other[name]} == {
        "robots",
        "law.force_map.force_low",
    }


@pytest.mark.parametrize(
    ("rig", "scenario", "why"),
    [
        (
            "hazardous",
            "collision",
            "it resets the follower by the leader's clock, and each side is reset by itself",
        ),
        ("hazardous", "link-loss", "it disturbs the emulated link; disturb the network itself"),
        ("humanoid", "link-loss", "it disturbs the emulated link; disturb the network itself"),
        ("youbot", "startup", "its start-up sequence knows both"),
    ],
)
def test_a_scenario_that_needs_both_sides_is_refused_with_those_that_do_not(rig, scenario, why):
    """Before anything is built."""
    with pytest.raises(
        Mismatch,
        match=f"scenario '{scenario}' needs both sides in one process: {why}; on two .*free",
    ):
        build_rig(rig, Options(side="follower", scenario=scenario))
