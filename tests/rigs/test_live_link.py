"""The link of a run on a page: perfect at first, disturbed live, and near to no link at all."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.console.menus import menus_of
from farhand.loop.bridges.direct import DirectBridge
from farhand.loop.bridges.linked import LinkedBridge
from farhand.rigs import Options, build_rig


def pressed(law: str, linked: bool, seconds: float = 4.0):
    """Tool of the follower over time while it is pressed on the wall, and how long that took."""
    rig = build_rig("dual-arm", Options(law=law, scenario="press", linked=linked))
    rig.session.run(seconds, rig.metrics.pull)
    tool = rig.metrics.history.signal("follower", "position_tool_in_world").copy()
    gain = rig.metrics.history.signal("coupling", "engagement")[:, 0].copy()
    assert rig.session.trips == []
    rig.close()
    return tool, int(np.argmax(gain > 0.0))


@pytest.mark.parametrize("law", ["virtual-constraints", "position-force"])
def test_a_perfect_link_is_as_good_as_none(law):
    """It couples two ticks later and is one tick behind each way: less than half a millimetre."""
    direct, first = pressed(law, False)
    linked, later = pressed(law, True)
    assert later - first == 2
    assert np.abs(direct - linked).max() < 5e-4 and np.ptp(direct, axis=0).max() > 0.3


def test_a_delay_set_live_is_felt_and_taken_back_without_a_trip():
    """In steps as the page's slider makes them; the age of what each side knows follows."""
    rig = build_rig("dual-arm", Options(scenario="press", linked=True))
    ages = []
    for delay in (0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 0.0):
        rig.session.commands.post("set", "link.delay", delay)
        rig.session.run(0.4)
        ages.append(rig.session.bridges[0].a.remote.age)
    assert ages == pytest.approx([0.001, 0.05, 0.1, 0.15, 0.2, 0.25, 0.001], abs=2e-3)
    assert rig.session.trips == [] and rig.session.bridges[0].b.engagement.wanted
    rig.close()


def test_nothing_changes_for_a_run_that_does_not_ask_for_it():
    """Headless runs and their recordings stay as they were."""
    rig = build_rig("dual-arm")
    assert isinstance(rig.session.bridges[0], DirectBridge) and not rig.options.linked
    rig.close()


@pytest.mark.parametrize(
    ("name", "settings", "linked", "why"),
    [
        ("dual-arm", [], True, ""),
        ("hazardous", [], True, ""),
        ("humanoid", [], True, ""),
        ("youbot", [], True, ""),
        ("youbot", [("rig.startup", True)], False, "start-up sequence"),
        ("cooperative", [], False, "No data link couples"),
    ],
)
def test_every_coupled_rig_has_a_link_on_its_page_or_says_why_not(name, settings, linked, why):
    """In one line, instead of a form that does nothing."""
    rig = build_rig(name, Options(linked=True, settings=settings))
    menus = menus_of(rig)
    bridges = rig.session.bridges
    rig.close()
    assert any(isinstance(bridge, LinkedBridge) for bridge in bridges) == linked
    assert menus["linked"] == linked and why in menus["unlinked"]
    assert bool(menus["unlinked"]) != linked
