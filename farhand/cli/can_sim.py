"""``farhand can-sim``: an arm of Damiao motors on a simulated CAN bus that real clients open."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from farhand.cli.options import Seed
from farhand.report.output import say, within
from farhand.running.arguments import check_seconds

ArmName = Annotated[str, Argument(metavar="openarm|FILE", help="Which arm: a name or a toml file.")]
Interface = Annotated[
    str, Option(metavar="NAME", help="How clients open it: slcan or udp_multicast (CAN FD).")
]
At = Annotated[
    str, Option("--at", metavar="PATH|GROUP", help="Link to the serial port; or multicast group.")
]
Fault = Annotated[
    str,
    Option(
        metavar="NAME[:MOTOR]",
        help="silent, wrong-id, same-id or hot, of a motor (from 1); bus-off or noise.",
    ),
]
FaultAt = Annotated[float, Option(metavar="S", help="When the fault begins.")]
Seconds = Annotated[float | None, Option(metavar="S", help="How long; default: until Ctrl-C.")]


def can_sim(
    arm: ArmName = "openarm",
    interface: Interface = "slcan",
    at: At = "",
    seconds: Seconds = None,
    fault: Fault = "none",
    fault_at: FaultAt = 0.0,
    seed: Seed = 0,
) -> None:
    """Simulate an arm of Damiao motors on a CAN bus, for real clients.

    The motors have MIT commands, registers, time-outs and temperatures; the bus has the times of
    real bits; the arm is simulated in MuJoCo in real time. Clients of python-can open it with the
    interface slcan, as a serial port, or with udp_multicast.

    Example: [bold]farhand can-sim openarm --at /tmp/openarm --seconds 60[/bold]
    """
    check_seconds(seconds)
    within("--fault-at", fault_at, 0.0, 1e6, "s")
    import numpy as np

    from farhand.errors import BadValue, UnknownName
    from farhand.loop.interrupts import stop_event
    from farhand.plants.damiao.arms import load_arm
    from farhand.plants.damiao.server import ADAPTORS, MotorServer
    from farhand.plants.damiao.simulated import FAULTS, MotorFaults, SimulatedCanArm
    from farhand.plants.drivers.worker import urgent
    from farhand.realtime.privileges import collector_held

    if interface not in ADAPTORS:
        raise UnknownName("interface of can-sim", interface, ADAPTORS)
    kind, _, motor = fault.partition(":")
    if kind not in FAULTS:
        raise UnknownName("fault", kind, FAULTS)
    if motor and not motor.isdecimal():
        raise BadValue(f"--fault {fault}: write a motor's number after the colon, as silent:3")
    if motor and kind in ("none", "bus-off", "noise"):
        raise BadValue(f"--fault {fault}: {kind} is of no single motor; leave out :{motor}")
    faults = MotorFaults(kind, int(motor or 1), fault_at)
    motors = load_arm(arm)
    simulated = SimulatedCanArm(motors, faults=faults, rng=np.random.default_rng(seed))
    adaptor = ADAPTORS[interface](at)
    server = MotorServer(simulated, adaptor)
    try:
        with stop_event() as stopped, urgent(), collector_held():
            count = len(motors.motors)
            say(f"{motors.robot}: {count} motors on {interface} at {adaptor.where}")
            server.run(float("inf") if seconds is None else seconds, lambda: not stopped.is_set())
    finally:
        adaptor.close()
    lost = f", {server.lost_ns * 1e-9:.1f} s slower than real time" if server.lost_ns else ""
    say(f"{server.heard} frames heard{lost}")
