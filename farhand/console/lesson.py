"""The guided lesson: push, add delay until it shakes, switch on a layer, feel it calm down."""

from __future__ import annotations

from typing import Any

from farhand.console.scene import Scene

DELAYS, STIFF_WALL = (40.0, 100.0, 200.0), 6000.0  # [ms] of round trip, [N/m]
LAW, LAYER = "position-force", "tdpa"


def lesson(scene: Scene) -> list[dict[str, Any]]:
    """The steps for a rig with a wall, a link and layers; none for any other.

    Each has a title, a text, buttons (what they say, what they ask for, with what), and which part
    of the page's state shows that it has happened.
    """
    menus = scene["menus"]
    paths = {knob["path"] for knob in scene["knobs"]}
    if not menus["restartable"] or LAW not in menus["laws"]:
        return []
    if not {"wall.stiffness", "link.delay"} <= paths:
        return []
    return [
        {
            "title": "Push",
            "text": "Drag the green handle at the leader's tool away from you until the follower "
            "touches the pink wall. The orange arrow is the force that your hand feels.",
            "do": [
                [f"Law {LAW}", "restart", {"law": LAW, "layer": "none"}],
                ["No delay, soft wall", "set", [["link.delay", 0.0], ["wall.stiffness", 1500.0]]],
            ],
            "seen": "contact",
            "done": "Contact: the follower touches the wall, and your hand feels it.",
        },
        {
            "title": "Add delay",
            "text": "Real links are slow. Hold the arm against the wall, add delay, and watch the "
            "margin bar at the top move towards red.",
            "do": [[f"{delay:g} ms", "set", [["link.delay", delay]]] for delay in DELAYS],
            "seen": "delayed",
            "done": "What you feel is now old: the wall pushes back late.",
        },
        {
            "title": "Until it shakes",
            "text": "A stiff wall and a late answer feed each other: each bounce brings back more "
            "energy than your hand put in. Push into the stiff wall.",
            "do": [
                ["Stiff wall", "set", [["wall.stiffness", STIFF_WALL]]],
                ["More delay", "set", [["link.delay", DELAYS[-1]]]],
            ],
            "seen": "shakes",
            "done": "It shakes. The frame is orange, and the top of the page tells how fast.",
        },
        {
            "title": "Switch on a layer",
            "text": "A passivity layer counts the energy on both sides and lets none be created. "
            "The arms start again with the same delay and the same wall.",
            "do": [["Layer " + LAYER, "restart", {"layer": LAYER}]],
            "seen": "layered",
            "done": "The layer is on. Press into the wall again.",
        },
        {
            "title": "Feel it calm down",
            "text": "Push into the wall as before. It feels softer, because the layer takes out "
            "what the delay would have added.",
            "do": [["Without the layer again", "restart", {"layer": "none"}]],
            "seen": "calm",
            "done": "Calm contact over a slow link. That is what a layer is for.",
        },
    ]
