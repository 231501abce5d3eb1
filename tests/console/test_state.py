"""The state tells every joint and what a driver says, in a person's units."""

from __future__ import annotations

import numpy as np

from farhand.console.scene import Kinematics, scene_of
from farhand.console.status import Reading, joints, state
from farhand.loop.telemetry import Reader
from farhand.rigs import build_rig


def test_a_limb_on_a_bus_tells_its_joints_its_bus_and_its_pen():
    """Hinges in degrees, slides in millimetres; a force that is not measured says so."""
    rig = build_rig("humanoid")
    try:
        rig.session.run(0.3)
        scene, reading = scene_of(rig), Reading()
        reading.refresh(Reader(rig.session.telemetry.path), scene)
        kinematics = Kinematics(scene)
        kinematics.update(reading.q)
        leader, follower = scene["robots"]
        assert [unit for _, _, unit in joints(leader, kinematics)] == ["mm"] * 3 + ["°"] * 3
        angles = [value for _, value, _ in joints(follower, kinematics)]
        np.testing.assert_allclose(angles, np.degrees(reading.q["follower"]), atol=1e-9)
        text = state(reading, scene, kinematics)
        for expected in (
            "left elbow",
            "tool, x y z",
            "(synthetic)",
            "25.0 Hz",
            "battery",
            "solved",
            "not checked",
        ):
            assert expected in text
    finally:
        rig.close()
