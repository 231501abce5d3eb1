"""Pictures of a session, drawn from its model and its joints."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# In a process of its own: how MuJoCo draws is settled when it is imported
DRAW = """
from types import SimpleNamespace
import numpy as np
from farhand.errors import FileError
from farhand.rigs import Options, build_rig
from farhand.running.camera import VIEWS, SessionCamera, save_scene

rig = build_rig("pair", Options(scenario="rest"))
save_scene(rig, "seen")

class Session:
    name, turn = "seen", 0.0
    def signals(self):
        return {name: {"q": SimpleNamespace(size=len(q))} for name, q in homes.items()}
    def latest(self, stream, signal):
        q = homes[stream].copy()
        q[0] += self.turn
        return 0.5, q

homes = {s.name: s.arm.q.copy() for s in rig.session.stations}
session = Session()
for view in VIEWS:
    try:
        camera = SessionCamera(session, view, 64, 48)
    except FileError as error:
        print("skip", error)
        break
    session.turn = 0.0
    frames = camera.frames(1000.0)
    t, first = next(frames)
    session.turn = 0.4
    _, turned = next(frames)
    assert first.shape == (48, 64, 3) and t == 0.5
    changed = np.abs(first.astype(int) - turned).max(axis=2) > 20
    print(view, first.std() > 5, changed.mean() > 0.005)
    camera.close()
rig.close()
"""


def test_every_view_sees_the_arm_and_its_motion(tmp_path):
    """Arm, wall and floor; the picture changes when the first joint turns."""
    environment = {**os.environ, "MUJOCO_GL": "egl", "XDG_RUNTIME_DIR": str(tmp_path)}
    command = [sys.executable, "-c", DRAW]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith("skip"):
        pytest.skip(done.stdout)
    views = done.stdout.splitlines()
    assert views == [f"{view} True True" for view in ("overview", "follower", "tool")]
