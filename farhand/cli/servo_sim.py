"""``farhand servo-sim``: the servo bus of an arm or of the humanoid, on a pseudo-terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from farhand.cli.options import Seed
from farhand.report.output import say, within
from farhand.running.arguments import check_seconds

ArmName = Annotated[
    str, Argument(metavar="ARM", help="so101, koch, … or FILE.toml; without it, a limb.")
]
LimbName = Annotated[str, Option("--limb", metavar="NAME", help="Limb of the humanoid.")]
At = Annotated[
    Path | None, Option("--at", metavar="PATH", help="Make this a link to the terminal.")
]
Drop = Annotated[float, Option(metavar="P", help="Share of answers lost, 0 to 1.")]
Corrupt = Annotated[float, Option(metavar="P", help="Share of answers with a wrong bit.")]
Late = Annotated[float, Option(metavar="P", help="Share of answers that come 20 ms late.")]
Echo = Annotated[bool, Option("--echo", help="The adaptor hears what it sends.")]
Reboot = Annotated[
    str, Option(metavar="ID:S", help="Servo that loses its power for a moment, and when.")
]
Hand = Annotated[
    float | None, Option(metavar="M", help="A hand takes the tool so far along x, and back.")
]
WallAhead = Annotated[
    float | None, Option("--wall", metavar="M", help="A wall so far ahead of the tool, along x.")
]
New = Annotated[bool, Option("--new", help="Servos as new: no offsets and ranges stored.")]
Dead = Annotated[
    int, Option(metavar="ID", min=0, max=127, help="Number of a limb's dead servo; 0 for none.")
]
Seconds = Annotated[float | None, Option(metavar="S", help="How long; default: until Ctrl-C.")]

LEFT_ARM = "left-arm"
LOOK_S = 0.5
"""How often the command looks whether its bus still runs, [s]."""


def servo_sim(
    arm: ArmName = "",
    at: At = None,
    limb: LimbName = LEFT_ARM,
    drop: Drop = 0.0,
    corrupt: Corrupt = 0.0,
    late: Late = 0.0,
    echo: Echo = False,
    reboot: Reboot = "",
    new: New = False,
    hand: Hand = None,
    wall: WallAhead = None,
    dead: Dead = 0,
    seconds: Seconds = None,
    seed: Seed = 0,
) -> None:
    """Simulate an arm's servo bus on a pseudo-terminal, for any program that drives a serial port.

    Behind the registers of an ARM are its motors and the physics of its model. Bytes take the time
    that they take at the baud rate. Without an ARM: the bus of a limb of the humanoid.

    Example: [bold]farhand servo-sim so101 --at /tmp/follower[/bold]
    """
    check_seconds(seconds)
    for option, value in (("--drop", drop), ("--corrupt", corrupt), ("--late", late)):
        within(option, value, 0.0, 1.0)
    for option, way in (("--hand", hand), ("--wall", wall)):
        within(option, way or 0.0, -1.0, 1.0, "m")
    _refuse_others(
        {"--limb": limb != LEFT_ARM, "--dead": dead}
        if arm
        else {
            "--at": at,
            "--corrupt": corrupt,
            "--late": late,
            "--echo": echo,
            "--reboot": reboot,
            "--new": new,
            "--hand": hand is not None,
            "--wall": wall is not None,
        },
        "a limb, and this is an arm" if arm else "an arm, and this is a limb: name the ARM",
    )
    if arm:
        touches = hand, wall
        _simulate_arm(arm, at, (drop, corrupt, late, echo), reboot, new, touches, seconds, seed)
    else:
        _simulate_limb(limb, drop, dead, seconds, seed)


def _refuse_others(given: Mapping[str, object], whose: str) -> None:
    """Refuse options of the other kind of bus: none is silently ignored."""
    from farhand.errors import BadValue

    others = [option for option, value in given.items() if value]
    if others:
        raise BadValue(f"{', '.join(others)}: only for {whose}")


def _simulate_arm(
    name: str,
    at: Path | None,
    wrong: tuple[float, float, float, bool],
    reboot: str,
    new: bool,
    touches: tuple[float | None, float | None],
    seconds: float | None,
    seed: int,
) -> None:
    import math
    import time

    import numpy as np

    from farhand.errors import BadValue
    from farhand.loop.interrupts import stop_event
    from farhand.plants.drivers.worker import urgent
    from farhand.plants.servo_arm.description import load_arm
    from farhand.plants.servo_arm.simulated_arm import (
        ArmBusFaults,
        ServoTerminal,
        SimulatedArm,
        SimulatedServoBus,
    )
    from farhand.realtime.privileges import collector_held

    described = load_arm(name)
    victim, _, when = reboot.partition(":")
    try:
        falls_at = (int(victim), float(when or 0.0)) if reboot else None
    except ValueError:
        raise BadValue(f"--reboot {reboot!r} must be ID:SECONDS, such as 3:10") from None
    if falls_at is not None and falls_at[0] not in described.ids:
        raise BadValue(f"--reboot: {name} has no servo {falls_at[0]}; it has {described.ids}")
    within("--reboot", falls_at[1] if falls_at else 0.0, 0.0, 1e6, "s")
    rng = np.random.default_rng(seed)
    arm = SimulatedArm(described, rng.spawn(1)[0], calibrated=not new)
    reach, ahead = touches
    if reach is not None:
        arm.put_hand(reach)
    if ahead is not None:
        arm.put_wall(ahead)
    bus = SimulatedServoBus(arm, ArmBusFaults(*wrong), rng)
    with stop_event() as stopped, urgent(), collector_held(), ServoTerminal(bus, at) as terminal:
        numbers = ", ".join(map(str, described.ids))
        say(f"{name} (servos {numbers}, {bus.baud} baud) at {at or terminal.path}")
        until = math.inf if seconds is None else time.monotonic() + seconds
        if falls_at is not None and not stopped.wait(min(falls_at[1], seconds or falls_at[1])):
            bus.reboot(falls_at[0])
            say(f"servo {falls_at[0]} has started again")
        while terminal.error is None and (left := until - time.monotonic()) > 0.0:
            if stopped.wait(min(left, LOOK_S)):
                break
    if terminal.error is not None:
        raise terminal.error
    say(f"{bus.heard} packets heard, {bus.lost} answers lost or corrupt, {bus.late} late")
    for name, forces in arm.forces.items():
        say(f"{name}: most {max(map(abs, forces)):.2f} N")


def _simulate_limb(limb: str, drop: float, dead: int, seconds: float | None, seed: int) -> None:
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
    from farhand.realtime.privileges import collector_held
    from farhand.rigs.humanoid.parts import Limb

    if limb not in LIMBS:
        raise UnknownName("limb", limb, LIMBS)
    led, rng = Limb.named(limb), np.random.default_rng(seed)
    posture = led.robot.postures.get("teach", led.robot.home)
    angles = zip(led.joints, posture, strict=True)
    counts = np.array([joint.counts(angle) for joint, angle in angles], dtype=float)
    servos = Servos(led.joints, counts, rng=rng.spawn(1)[0])
    bus = SimulatedBus(servos, BusFaults(drop, dead=dead), rng)
    with stop_event() as stopped, urgent(), collector_held(), PseudoTerminal(bus) as terminal:
        numbers = ", ".join(map(str, bus.numbers))
        say(f"{limb} (servos {numbers}) at {terminal.path}")
        stopped.wait(seconds)
    say(f"{bus.heard} frames heard")
