"""One run of a rig for an experiment, and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farhand.control.trajectory.paths import HandPath, Move
from farhand.errors import FarhandError
from farhand.plants.wrappers.wrapped import FaultyPlant
from farhand.rigs import Options, Rig, build_rig
from farhand.spatial import Array
from farhand.world import ImpedanceHand

QUIET: tuple[tuple[str, object], ...] = tuple(
    (f"{side}.plant.{noise}", 0.0)
    for side in ("leader", "follower")
    for noise in ("force_noise", "torque_noise")
)
"""Settings that silence the sensors of a rig with a leader and a follower."""


@dataclass
class Run:
    """A finished run: signals by stream and channel, metrics, and the closed rig."""

    rig: Rig
    metrics: dict[str, dict[str, object]]

    def value(self, name: str) -> float:
        """A metric's number."""
        value = self.metrics[name]["value"]
        assert isinstance(value, float)
        return value

    def times(self, stream: str) -> Array:
        """Times of a stream, [s]."""
        return self.rig.metrics.history.times(stream)

    def signal(self, stream: str, channel: str) -> Array:
        """A channel's values, one row per record."""
        return self.rig.metrics.history.signal(stream, channel)


def run(rig: Rig, seconds: float | None = None, *commands: str) -> Run:
    """Run a rig, by default for its scenario, with commands like ``"4.2:engage"``; close it."""
    for command in commands:
        rig.session.commands.post_text(command)
    rig.session.run(seconds or rig.scenario.seconds, rig.metrics.pull)
    result = Run(rig, rig.metrics.result())
    rig.close()
    return result


def with_moves(rig: Rig, *moves: Move) -> Rig:
    """The rig with a hand that makes these moves instead of the scenario's."""
    assert isinstance(rig.parts.hand, ImpedanceHand)
    rig.parts.hand.path = HandPath(moves)
    return rig


def inject_fault(rig: Rig, station: str, fault: str, from_s: float) -> Rig:
    """The rig with a plant that fails from ``from_s`` [s] on."""
    target = next(item for item in rig.session.stations if item.name == station)
    target.plant = FaultyPlant(target.plant, fault, round(from_s * 1e9))
    return rig


def dual_arm(law: str, scenario: str, *settings: tuple[str, object], **options: Any) -> Rig:
    """The dual-arm rig with silent sensors."""
    everything = [*QUIET, *settings]
    return build_rig(
        "dual-arm", Options(law=law, scenario=scenario, settings=everything, **options)
    )


def refusal(call: Callable[..., object], *inputs: Any) -> str:
    """The message with which a call is refused; empty if it is not."""
    try:
        call(*inputs)
    except FarhandError as error:
        return str(error)
    return ""


def processor_wait() -> float:
    """How long this thread was ready to run and had no processor, so far, [s]; Linux only."""
    times = Path("/proc/thread-self/schedstat")
    return 1e-9 * int(times.read_text().split()[1]) if times.exists() else 0.0


def blame(share: float) -> str:
    """What the load of the machine had to do with a miss, by the ``share`` of time it took, [-]."""
    taken = f"other programs kept it from the processor for {share:.0%} of the time"
    return f"cause: a busy machine, {taken}" if share > 0.1 else f"the machine was free: {taken}"
