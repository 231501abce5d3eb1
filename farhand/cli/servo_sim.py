"""``farhand servo-sim``: the servo bus of the humanoid on a pseudo-terminal, for drivers of a serial port."""

from __future__ import annotations

import signal
import threading
from typing import Annotated

import typer

from farhand.report.output import Seed, stdout, within

LimbName = Annotated[
    str, typer.Option("--limb", metavar="NAME", help="Which limb hangs on the bus.")
]
Drop = Annotated[float, typer.Option(metavar="P", help="Share of answers lost, 0 to 1.")]
Dead = Annotated[
    int, typer.Option(metavar="ID", min=0, max=127, help="Number of a dead servo; 0 for none.")
]
Seconds = Annotated[
    float | None, typer.Option(metavar="S", help="How long; until Ctrl-C by default.")
]


def servo_sim(
    limb: LimbName = "left-arm",
    drop: Drop = 0.0,
    dead: Dead = 0,
    seconds: Seconds = None,
    seed: Seed = 0,
) -> None:
    """Play the servo bus of a limb on a pseudo-terminal: 19 200 baud, frames of seven bytes, 2.65 ms to an answer.

    The servos move as if nothing loaded them, and their potentiometers err as real ones do.

    Example: [bold]farhand servo-sim --limb left-arm --seconds 60[/bold]
    """
    within("--seconds", 1.0 if seconds is None else seconds, 1e-3, 1e6, "s")
    within("--drop", drop, 0.0, 1.0)
    import numpy as np

    from farhand.errors import UnknownName
    from farhand.plants.drivers.worker import urgent
    from farhand.plants.servo_bus.joints import LIMBS
    from farhand.plants.servo_bus.simulated_bus import BusFaults, PseudoTerminal, SimulatedBus
    from farhand.plants.simulated.servo import Servos
    from farhand.rigs.humanoid.parts import Limb

    if limb not in LIMBS:
        raise UnknownName("limb", limb, LIMBS)
    led, rng = Limb.named(limb), np.random.default_rng(seed)
    posture = led.robot.postures.get("teach", led.robot.home)
    start = np.array(
        [joint.counts(angle) for joint, angle in zip(led.joints, posture, strict=True)], dtype=float
    )
    bus = SimulatedBus(
        Servos(led.joints, start, rng=rng.spawn(1)[0]), BusFaults(drop, dead=dead), rng
    )
    ended = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: ended.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with urgent(), PseudoTerminal(bus) as terminal:
            stdout().print(
                f"{limb} (servos {', '.join(map(str, bus.numbers))}) at {terminal.path}",
                soft_wrap=True,
            )
            ended.wait(seconds)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    stdout().print(f"{bus.heard} frames heard", soft_wrap=True)
