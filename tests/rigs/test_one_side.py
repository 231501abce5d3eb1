"""One side of a rig: its own arm and surroundings only, the same law, and what both sides must agree on."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import Mismatch, UnknownName
from farhand.link.channel import MemoryChannel
from farhand.rigs import Options, build_rig
from farhand.rigs.one_side import terms_of


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
    """A follower holds, and a leader is moved by its hand alone; nothing is heard, nothing trips."""
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
        return {name for name in leader if leader[name] != other[name]}

    assert changed(law="position-force") == {"law", "law settings", "robots"}
    assert changed(layer="tdpa") == {"layer"}
    assert changed(settings=[("rig.mass_scale", 0.5)]) == {"robots"}
    assert changed(settings=[("law.mapping.motion_scale", 0.5)]) == {"law settings"}
    assert changed(settings=[("rig.rate", 500.0)]) == {"rate"}


def test_settings_of_the_side_that_is_elsewhere_are_refused_by_path(side):
    """A user who sets the follower's guard at the leader is told so."""
    with pytest.raises(UnknownName, match=r"unknown parameter 'follower\.guard\.force'"):
        side("leader", settings=[("follower.guard.force", 10.0)])
    with pytest.raises(UnknownName, match="deadman"):
        side("follower", settings=[("deadman.held", False)])


@pytest.mark.parametrize("name", ["hazardous", "cooperative", "humanoid"])
def test_a_rig_that_runs_in_one_process_is_refused_with_the_reason(name):
    """And with those that do not."""
    with pytest.raises(
        Mismatch, match=f"rig {name!r} does not run on two machines: .*; those that do: dual-arm, youbot"
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
        assert rig.session.parameters["layer"].name == layer
