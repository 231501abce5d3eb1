"""Two UR5e arms tied tool to tool, from their parts: the model, the stations, the loop.

A hand moves the leader's tool 0.42 m along x. The follower, a quarter as heavy, does the same until
a wall stops it; the hand then feels the wall. Run: ``python examples/two_arms.py``
"""

from __future__ import annotations

import numpy as np

import farhand as fh
from farhand.analysis.history import History
from farhand.robots.edits import scale_mass, set_damping

SECONDS = 4.0

# The model: two robots, where they stand, and what touches their tools.
heavy = fh.load_robot("ur5e").edited(set_damping([2.0, 2.0, 2.0, 0.5, 0.5, 0.5]))  # [N·m·s/rad]
world = fh.World(
    {
        "leader": fh.Placed(heavy),
        "follower": fh.Placed(heavy.edited(scale_mass(0.25)), fh.Placement((0.0, 0.75, 0.0))),
    }
)
hand = fh.ImpedanceHand(path=fh.HandPath([fh.Move(0.5, 2.5, (0.42, 0.0, 0.0))]))
world.touch("leader", "hand", hand)
world.touch("follower", "wall", fh.Wall(point=np.array([0.45, 0.0, 0.0]), stiffness=6000.0))

# The parts: a station per arm (plant, model, control, guard), and a law between them.
leader = fh.Station.of(world, "leader", "leader", rest="free")
follower = fh.Station.of(world, "follower", "follower")
bridge = fh.DirectBridge(fh.law_named("position-force")(), leader, follower)

# The loop: 1 kHz of virtual time. The history is taken from the telemetry between ticks.
session = fh.Session([leader, follower], bridges=[bridge], worlds=[world])
history = History(session.telemetry.path)
session.commands.post("engage")
session.run(SECONDS, between=history.pull)
session.close()

force_hand = history.signal("leader", "wrench_measured_in_world")[:, 0]  # along x, [N]
force_wall = history.signal("follower", "wrench_measured_in_world")[:, 0]
error = np.linalg.norm(history.signal("coupling", "error")[:, :3], axis=1)  # [m]
print(f"{'time':>5} {'hand':>8} {'wall':>8} {'apart':>8}")
for t in np.arange(0.5, SECONDS, 0.5):
    row = np.searchsorted(history.times("leader"), t)
    apart = 1e3 * error[row]
    print(f"{t:3.1f} s {force_hand[row]:6.1f} N {force_wall[row]:6.1f} N {apart:5.1f} mm")
print(f"energy balance closes to {abs(world.energy_residual()) / world.energy_exchanged():.1e}")
