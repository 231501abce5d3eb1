"""A UR arm leads a simulated one, in real time.

Run: ``python examples/hardware.py 192.168.0.10``.

Practise first on a simulated controller: run ``farhand ur-sim`` in another terminal and give
127.0.0.1. Needs ``pip install 'farhand[ur]'``. Read docs/universal-robots.md before you plug in.
"""

from __future__ import annotations

import argparse

import farhand as fh
from farhand.loop.clock import WallClock

parser = argparse.ArgumentParser(description="A UR arm leads a simulated one.")
parser.add_argument("host", help="address of the arm's controller")
parser.add_argument("--seconds", type=float, default=10.0, help="how long to run, [s]")
arguments = parser.parse_args()

settings = [("rig.leader_plant", f"ur:{arguments.host}"), ("rig.kinematics", "manufacturer")]
options = fh.Options(scenario="free", settings=settings, clock=WallClock())
rig = fh.build_rig("dual-arm", options)
try:
    # The scenario engages at the start; Ctrl-C releases the arm.
    rig.session.run(arguments.seconds, rig.metrics.pull)
finally:
    rig.close()
for record in rig.session.trips:
    print(f"{record.where} tripped: {record.trip.reason}")
print(f"{rig.session.ticks} ticks, {rig.session.overruns} overruns")
