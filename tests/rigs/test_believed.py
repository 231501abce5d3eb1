"""--model: an identified model in a rig's observers, gravity compensation and laws."""

from __future__ import annotations

import json

import numpy as np
import pytest

from farhand.errors import Mismatch
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot
from farhand.robots.edits import scale_mass
from farhand.torque.fit import data_sheet

ARMS = [("rig.leader_plant", "koch-leader"), ("rig.follower_plant", "koch")]


def written(path, robot, *edits):
    """The model of an edited robot, in a file."""
    path.write_text(json.dumps(data_sheet(load_robot(robot).edited(*edits)).to_json()))
    return str(path)


def built(*settings, **options):
    """The pair with these settings."""
    chosen = Options(law="four-channel-sensorless", settings=[*ARMS, *settings], **options)
    return build_rig("pair", chosen)


@pytest.mark.parametrize("delay", [0.0, 20.0])
def test_the_arm_it_fits_believes_the_model_and_the_world_does_not(tmp_path, delay):
    """Twice the mass is twice the gravity to compensate, on both ends of a link."""
    file = written(tmp_path / "m.json", "koch", scale_mass(2.0))
    plain, heavy = built(delay=delay), built(("model", file), delay=delay)
    try:
        for rig in (plain, heavy):
            rig.session.run(0.01)
        arms = [[station.arm for station in rig.session.stations] for rig in (plain, heavy)]
        names = [station.name for station in plain.session.stations]
        ratio = [np.linalg.norm(b.M) / np.linalg.norm(a.M) for a, b in zip(*arms, strict=True)]
        # the leader has joints of the same names, and is another robot
        assert ratio[names.index("leader")] == pytest.approx(1.0, rel=1e-3)
        assert ratio[names.index("follower")] == pytest.approx(2.0, rel=0.02)
        truths = [rig.world.model.body_mass.sum() for rig in (plain, heavy)]
        assert truths[0] == truths[1]
        observer = heavy.session.stations[names.index("follower")].observer
        assert observer is not None and observer.arm.dry is not None
        assert heavy.options.settings[-1] == ("model", file)
    finally:
        plain.close()
        heavy.close()


def test_a_model_of_another_arm_is_refused(tmp_path):
    """The message names the joints of both."""
    with pytest.raises(Mismatch, match="fits no arm of rig pair"):
        built(("model", written(tmp_path / "m.json", "elbow6")))
