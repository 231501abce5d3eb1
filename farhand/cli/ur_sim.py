"""``farhand ur-sim``: a simulated Universal Robots controller that real clients connect to."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from farhand.cli.options import Seed
from farhand.report.output import say, within
from farhand.running.arguments import check_seconds

Host = Annotated[
    str, Option(metavar="ADDRESS", help="Where to listen; 127.0.0.2 for a second one.")
]
PortOffset = Annotated[
    int, Option(metavar="N", min=0, max=35000, help="Added to every port; most clients need 0.")
]
RobotName = Annotated[str, Option("--robot", metavar="NAME", help="Which arm; six hinges.")]
Variant = Annotated[
    str | None, Option(metavar="NAME", help="Its parameter set; default: the manufacturer's.")
]
Seconds = Annotated[float | None, Option(metavar="S", help="How long; default: until Ctrl-C.")]
Payload = Annotated[float, Option(metavar="KG", help="What it really carries at its flange.")]
Hand = Annotated[
    float, Option(metavar="M", help="A hand moves the tool up and down by this; 0 for none.")
]


def ur_sim(
    host: Host = "127.0.0.1",
    port_offset: PortOffset = 0,
    robot: RobotName = "ur5e",
    variant: Variant = None,
    seconds: Seconds = None,
    payload: Payload = 0.0,
    hand: Hand = 0.0,
    seed: Seed = 0,
) -> None:
    """Simulate the controller of a UR arm, for real clients.

    It has RTDE (30004), dashboard (29999) and script ports (30001 to 30003). The arm is simulated
    in MuJoCo in real time, at 500 cycles a second. Unmodified clients such as ur_rtde connect to
    it, upload their script and move it by servo, speed, moves and direct torque.

    Example: [bold]farhand ur-sim --host 127.0.0.1 --seconds 60[/bold]
    """
    check_seconds(seconds)
    within("--payload", payload, 0.0, 5.0, "kg")
    within("--hand", hand, 0.0, 0.5, "m")
    from farhand.loop.interrupts import stop_event
    from farhand.plants.ur_sim.build import simulated_controller
    from farhand.plants.ur_sim.server import Server
    from farhand.realtime import real_time

    controller = simulated_controller(robot, variant, payload, hand, seed)
    controller.log = lambda line: print(f"{controller.now:9.3f} s  {line}", flush=True)
    server = Server(controller, host, port_offset)
    try:
        with stop_event() as stopped, real_time():
            ports = ", ".join(f"{name} {port}" for name, port in server.ports.items())
            say(f"{robot} at {host}: {ports}")
            server.run(float("inf") if seconds is None else seconds, lambda: not stopped.is_set())
    finally:
        server.close()
    say(f"{controller.cycles} cycles, {server.late} of them late")
