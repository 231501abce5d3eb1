"""Plants around another plant: the base of all, and those that break, mirror or brake it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from farhand.errors import UnknownName
from farhand.parameters import parameter
from farhand.plants.plant import Brake, Channels, Command, InnerLoop, Plant, Sample
from farhand.spatial import Array
from farhand.world.world import World

FAULTS = ("nan-position", "nan-velocity", "nan-wrench", "frozen", "no-wrench")


class WrappedPlant(Plant):
    """A plant that forwards every verb to the plant inside; a subclass overrides what it changes.

    ``imperfections`` and ``wrench_sigma`` are not forwarded: they describe the samples of the plant
    inside, which a wrapper may change.
    """

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        self.name = plant.name
        self.accepts = plant.accepts
        self.actuated = plant.actuated
        self.period_ns, self.loop_delay = plant.period_ns, plant.loop_delay
        self.notes = plant.notes

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """Why the plant has switched itself off, or None."""
        return self._plant.fault

    @property
    def force_peak(self) -> float:  # type: ignore[override]
        """Largest force of a haptic device, [N]."""
        return self._plant.force_peak

    @property
    def acted(self) -> Array | None:  # type: ignore[override]
        """Mean joint torque of the motors between the last two samples, [N·m]."""
        return self._plant.acted

    @property
    def acted_time(self) -> float:  # type: ignore[override]
        """Time between these samples, [s]."""
        return self._plant.acted_time

    @property
    def external(self) -> Array | None:  # type: ignore[override]
        """Joint torque that the machine measures from outside, [N·m]."""
        return self._plant.external

    @property
    def compensates_friction(self) -> bool:  # type: ignore[override]
        """Whether the plant inside makes up for its own friction."""
        return self._plant.compensates_friction

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set of the plant inside."""
        return self._plant.parameters

    @property
    def inner_loop(self) -> InnerLoop | None:
        """The loop of the plant inside."""
        return self._plant.inner_loop

    def read(self, now_ns: int) -> Sample:
        """The plant's sample."""
        return self._plant.read(now_ns)

    def write(self, command: Command, now_ns: int) -> None:
        """Pass the command on."""
        self._plant.write(command, now_ns)

    def restart(self) -> None:
        """Restart the plant inside."""
        self._plant.restart()

    def rearm(self) -> None:
        """Rearm the plant inside."""
        self._plant.rearm()

    def record(self, stream: Channels) -> None:
        """Let the plant inside declare its signals."""
        self._plant.record(stream)

    def close(self) -> None:
        """Close the plant inside."""
        self._plant.close()


def inject_fault(sample: Sample, fault: str) -> None:
    """Put a fault other than ``frozen`` into a sample."""
    if fault == "nan-position":
        sample.q[0] = math.nan
    elif fault == "nan-velocity":
        sample.v[0] = math.nan
    elif fault == "no-wrench":
        sample.set_wrench(None)
    elif sample.wrench is not None:
        sample.wrench[0] = math.nan


class FaultyPlant(WrappedPlant):
    """A plant whose samples are wrong from ``from_ns`` until ``to_ns``; commands still reach it.

    Args:
        plant: the plant that works.
        fault: one of :data:`FAULTS`. ``frozen`` repeats the last good sample with its old time.
        from_ns: when it begins, [ns].
        to_ns: when it ends, [ns]; never by default.
    """

    def __init__(self, plant: Plant, fault: str, from_ns: int, to_ns: int = 1 << 62) -> None:
        if fault not in FAULTS:
            raise UnknownName("fault", fault, FAULTS)
        super().__init__(plant)
        self._fault, self._from_ns, self._to_ns = fault, from_ns, to_ns
        self._last = Sample(0, 0)

    def read(self, now_ns: int) -> Sample:
        """The plant's sample, with the fault while it lasts."""
        if not self._from_ns <= now_ns < self._to_ns:
            sample = self._plant.read(now_ns)
            self._last = sample.copy()
            return sample
        sample = self._plant.read(now_ns).copy()
        if self._fault == "frozen":
            # Without a good sample before it, the first one stays.
            if not len(self._last.q):
                self._last = sample
            return self._last
        inject_fault(sample, self._fault)
        return sample


class MirroredPlant(WrappedPlant):
    """An external plant whose state is copied to a robot of the world, so that pictures show it.

    The energy account of the world does not include what moves the plant, so it stays open.
    """

    def __init__(self, plant: Plant, world: World) -> None:
        super().__init__(plant)
        self.plant = plant  #: the external plant
        self._port = world.ports[plant.name]
        world.externally_driven = True
        world.mirrored.add(plant.name)

    def read(self, now_ns: int) -> Sample:
        """The plant's sample, copied to the world."""
        sample = self._plant.read(now_ns)
        self._port.q[:], self._port.v[:] = sample.q, sample.v
        return sample


@dataclass
class Lifeline:
    """What a drive expects of its controller."""

    dead: bool = parameter(False, "-", "whether the controller is gone")
    patience: float = parameter(0.02, "s", "silence after which the brakes close", 0.0, 10.0)


class DrivePlant(WrappedPlant):
    """A plant with a watchdog in its drives: without commands it closes its brakes.

    Args:
        plant: the plant; it accepts :class:`Brake`.
        nv: size of its velocity.
        lifeline: what it expects.
    """

    def __init__(self, plant: Plant, nv: int, lifeline: Lifeline | None = None) -> None:
        super().__init__(plant)
        self.lifeline = lifeline or Lifeline()
        self._brake = Brake(nv)
        self._heard_ns = 0
        self._reason: str | None = None

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """Why the brakes are closed, or None."""
        return self._reason or super().fault

    def restart(self) -> None:
        """Open the brakes again at the next command."""
        self._reason = None
        super().restart()

    def write(self, command: Command, now_ns: int) -> None:
        """Pass the command on, or close the brakes when there has been none for too long."""
        life = self.lifeline
        if not life.dead and self._reason is None:
            self._heard_ns = now_ns
            super().write(command, now_ns)
            return
        if self._reason is None and (now_ns - self._heard_ns) * 1e-9 > life.patience:
            silence = f"no command for {1e3 * life.patience:g} ms"
            self._reason = f"{silence}: the drives closed the brakes"
        if self._reason is not None:
            super().write(self._brake, now_ns)
