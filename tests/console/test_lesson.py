"""The lesson is true: what it says shakes does shake, and what it says is calm is calm."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.analysis.oscillation import oscillation
from farhand.console.lesson import LESSON, lesson
from farhand.console.scene import scene_of
from farhand.rigs import Options, build_rig

LAW, LAYER = LESSON["law"], LESSON["layer"]
# What the third step asks for
(STIFF_WALL,), (DELAY,) = ([value for _, value in ask[2]] for ask in LESSON["steps"][2]["do"])
BEYOND = 0.05  # [m], how far the hand pushes beyond the wall


@pytest.mark.parametrize(
    ("layer", "delay", "shakes"),
    [("none", 0.0, False), ("none", DELAY, True), (LAYER, DELAY, False)],
)
def test_a_hand_that_pushes_into_the_stiff_wall(layer, delay, shakes):
    """Calm without delay, shaking with it, calm again with the layer; in contact each time."""
    settings = [("wall.stiffness", STIFF_WALL), ("link.delay", delay)]
    rig = build_rig(
        "dual-arm", Options(law=LAW, layer=layer, scenario="rest", settings=settings, linked=True)
    )
    try:
        session, wall, tool = rig.session, rig.parts.wall, rig.world.ports["follower"].tool
        session.run(1.0, rig.metrics.pull, every=0.1)
        into = -wall.normal / np.linalg.norm(wall.normal)
        way = float((wall.point - tool.position) @ into) + BEYOND
        session.commands.post("set", "hand.open", False)
        for share in np.linspace(0.0, 1.0, 31)[1:]:
            session.commands.post("set", "hand.drag", (share * way * into).tolist())
            session.run(0.05, rig.metrics.pull, every=0.05)
        session.run(6.0, rig.metrics.pull, every=0.1)
        history = rig.metrics.history
        force = history.signal("follower", "wrench_measured_in_world")[-2000:, :3]
        assert not session.trips
        assert np.linalg.norm(force, axis=1).max() > 10.0
        assert (oscillation(history, "follower") is not None) is shakes
    finally:
        rig.close()


def test_rigs_on_which_it_was_not_tried_have_no_lesson():
    """Five steps where it can be taught; every button asks for something that is there."""
    found = {}
    for name in ("dual-arm", "cooperative", "hazardous"):
        rig = build_rig(name, Options(linked=True))
        scene = scene_of(rig)
        rig.close()
        found[name] = lesson(scene)
        knobs = {knob["path"] for knob in scene["knobs"]}
        for step in found[name]:
            for _, what, value in step["do"]:
                if what == "set":
                    assert {path for path, _ in value} <= knobs
                else:
                    assert value.get("law", LAW) in scene["menus"]["laws"]
                    assert value["layer"] in scene["menus"]["layers"]
    assert [len(steps) for steps in found.values()] == [5, 0, 0]
