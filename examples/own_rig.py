"""A rig of your own: assembly only. ``build`` puts parts together, ``SCENARIOS`` says what happens.

As a plug-in, name the module in an entry point of the group ``farhand.rigs`` (see examples/plugin);
then ``farhand run two-pens`` finds it.
"""

from __future__ import annotations

import farhand as fh
from farhand.rigs.coupled import CoupledBuild, hand_and_wall
from farhand.safety import Watchdog

TITLE = "two point devices, one moved by a hand"
PUSH = fh.Move(0.2, 1.0, (0.03, 0.0, 0.0))
SCENARIOS = {"push": fh.Scenario("push", "the hand pushes the follower into a wall", 2.0, (PUSH,))}


def build(options: fh.Options) -> fh.Rig:
    """Assemble the rig."""
    work = CoupledBuild("two-pens", options, SCENARIOS, "push")
    law = fh.law_named(options.law or "position-position")
    robot = fh.load_robot("point3")
    places = {"leader": fh.Placement(), "follower": fh.Placement((0.0, 0.3, 0.0))}
    world = fh.World({n: fh.Placed(robot, places[n]) for n in options.roles}, gravity=0.0)
    hand = fh.ImpedanceHand(path=fh.HandPath(work.scenario.moves))
    parts = hand_and_wall(world, hand, fh.Wall(stiffness=2000.0), Watchdog(), ahead=0.02)
    stations = {n: fh.Station.of(world, n, n, rest="free", gravity=0.0) for n in options.roles}
    bridge = work.couple(
        law,
        lambda role, arms: law(),
        stations,
        parts,
        models=lambda: {n: fh.Arm.of(robot, places[n], 0.0) for n in places},
        identity=1,
    )
    parameters = {**parts.settable(), "law": tuple(bridge.laws)}
    parameters |= {n: {"guard": station.guard} for n, station in stations.items()}
    session = work.session(law.name, stations.values(), bridge, [world], parameters)
    work.configure(session, shape=None)
    return work.rig(law.name, session, world, None, parts)


if __name__ == "__main__":
    for delay in (0.0, 20.0):
        rig = build(fh.Options(delay=delay))
        rig.session.run(rig.scenario.seconds, rig.metrics.pull)
        metric = rig.metrics.result()["tracking_error_max"]
        print(f"{delay:g} ms: tools apart by at most {1e3 * metric['value']:.2f} mm")
        rig.close()
