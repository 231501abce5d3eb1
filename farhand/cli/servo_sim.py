"""``farhand servo-sim``: the servo bus of the humanoid, simulated on a pseudo-terminal."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from farhand.cli.options import Seed
from farhand.report.output import say, within
from farhand.running.arguments import check_seconds

LimbName = Annotated[str, Option("--limb", metavar="NAME", help="Which limb hangs on the bus.")]
Drop = Annotated[float, Option(metavar="P", help="Share of answers lost, 0 to 1.")]
Dead = Annotated[
    int, Option(metavar="ID", min=0, max=127, help="Number of a dead servo; 0 for none.")
]
Seconds = Annotated[float | None, Option(metavar="S", help="How long; default: until Ctrl-C.")]


def servo_sim(
    limb: LimbName = "left-arm",
    drop: Drop = 0.0,
    dead: Dead = 0,
    seconds: Seconds = None,
    seed: Seed = 0,
) -> None:
    """Simulate the servo bus of a limb on a pseudo-terminal, for drivers of a serial port.

    19 200 baud, frames of seven bytes, 2.65 ms to an answer. The servos move without load, and
    their potentiometers have the errors of real ones.

    Example: [bold]farhand servo-sim --limb left-arm --seconds 60[/bold]
    """
    check_seconds(seconds)
    within("--drop", drop, 0.0, 1.0)
    import numpy as np

    from farhand.errors import UnknownName
    from farhand.loop.interrupts import stop_event
    from farhand.plants.drivers.worker import urgent
    from farhand.plants.servo_bus.joints import LIMBS
    from farhand.plants.servo_bus.simulated_bus import (
        BusFaults,
        PseudoTerminal,
        Servos,
        SimulatedBus,
    )
    from farhand.rigs.humanoid.parts import Limb

    if limb not in LIMBS:
        raise UnknownName("limb", limb, LIMBS)
    led, rng = Limb.named(limb), np.random.default_rng(seed)
    posture = led.robot.postures.get("teach", led.robot.home)
    angles = zip(led.joints, posture, strict=True)
    counts = np.array([joint.counts(angle) for joint, angle in angles], dtype=float)
    servos = Servos(led.joints, counts, rng=rng.spawn(1)[0])
    bus = SimulatedBus(servos, BusFaults(drop, dead=dead), rng)
    with stop_event() as stopped, urgent(), PseudoTerminal(bus) as terminal:
        numbers = ", ".join(map(str, bus.numbers))
        say(f"{limb} (servos {numbers}) at {terminal.path}")
        stopped.wait(seconds)
    say(f"{bus.heard} frames heard")
