"""Two UR5e arms tied tool to tool, without a rig: the model, the parts, the loop.

A hand moves the leader's tool 0.42 m along x. A quarter as heavy, the follower does the same, until
a wall stops it; the hand then feels the wall. Run with ``python examples/two_arms.py``.
"""

from __future__ import annotations

import argparse

import numpy as np

from farhand.analysis.history import History
from farhand.arm import Arm
from farhand.control.trajectory.paths import HandPath, Move
from farhand.coupling import PositionForce
from farhand.loop.bridges.direct import DirectBridge
from farhand.loop.session import Session
from farhand.loop.station import Station
from farhand.plants import SimulatedPlant
from farhand.robots import Placement, load_robot
from farhand.robots.edits import scale_mass, set_damping
from farhand.safety import Guard
from farhand.world import ImpedanceHand, Placed, Wall, World


def main(seconds: float) -> None:
    """Run for ``seconds`` of virtual time and print what happened."""
    # The model: two robots, where they stand, and what touches their tools.
    heavy = load_robot("ur5e").edited(set_damping([2.0, 2.0, 2.0, 0.5, 0.5, 0.5]))  # [N·m·s/rad]
    robots = {"leader": heavy, "follower": heavy.edited(scale_mass(0.25))}
    placements = {"leader": Placement(), "follower": Placement((0.0, 0.75, 0.0))}
    world = World({name: Placed(robots[name], placements[name]) for name in robots})
    world.touch("leader", "hand", ImpedanceHand(path=HandPath([Move(0.5, 2.5, (0.42, 0.0, 0.0))])))
    world.touch("follower", "wall", Wall(point=np.array([0.45, 0.0, 0.0]), stiffness=6000.0))

    # The parts: a station per arm, a law between them.
    stations = {}
    for name, robot in robots.items():
        guard = Guard(force=200.0)  # [N]
        guard.watch(robot.limits)
        rest = "free" if name == "leader" else "hold"
        arm = Arm.of(robot, placements[name])
        stations[name] = Station(name, name, SimulatedPlant(world, name), arm, guard, rest=rest)
    bridge = DirectBridge(PositionForce(), stations["leader"], stations["follower"])

    # The loop: 1 kHz of virtual time; the history is taken from the telemetry between ticks.
    session = Session(stations.values(), bridges=[bridge], worlds=[world])
    history = History(session.telemetry.path)
    session.commands.post("engage")
    session.run(seconds, between=history.pull)
    session.close()

    # along x, [N]
    hand, wall = (history.signal(name, "wrench_measured_in_world")[:, 0] for name in stations)
    error = np.linalg.norm(history.signal("coupling", "error")[:, :3], axis=1)  # [m]
    print(f"{'time':>5} {'hand':>8} {'wall':>8} {'apart':>8}")
    for t in np.arange(0.5, seconds, 0.5):
        row = np.searchsorted(history.times("leader"), t)
        print(f"{t:3.1f} s {hand[row]:6.1f} N {wall[row]:6.1f} N {1e3 * error[row]:5.1f} mm")
    print(f"trips: {', '.join(record.trip.reason for record in session.trips) or 'none'}")
    print(f"energy balance closes to {abs(world.energy_residual()) / world.energy_exchanged():.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Two UR5e arms tied tool to tool, without a rig.")
    parser.add_argument("--seconds", type=float, default=6.0, help="virtual time to run, [s]")
    main(parser.parse_args().seconds)
