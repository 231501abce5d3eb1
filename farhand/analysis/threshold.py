"""Threshold protocol: a force grows until it is noticed, then too much; with virtual operators."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from farhand.control.haptic.impedance import device_axes
from farhand.errors import BadValue, FileError
from farhand.parameters import parameter

Array = np.ndarray

PUBLISHED = Path(__file__).parent / "operators.toml"


class Operators(NamedTuple):
    """Thresholds of several people, as stiffness of the virtual spring: x, y, z, A, B, C."""

    names: tuple[str, ...]  #: one per person
    least: Array  #: first noticed, people × 6, [N/m] and [N·m/rad]
    most: Array  #: too much, likewise
    lengths: Array  #: of the springs, ×6, [m] and [rad]

    def limits(self, name: str | None = None) -> tuple[Array, Array]:
        """Least and most wrench of one person, or their means, [N] and [N·m].

        :meth:`farhand.control.haptic.force_map.ForceMap.use` takes them.
        """
        if name is not None and name not in self.names:
            raise BadValue(f"no operator {name!r}; known: {', '.join(self.names)}")
        rows = slice(None) if name is None else [self.names.index(name)]
        least, most = (self.lengths * table[rows].mean(axis=0) for table in (self.least, self.most))
        return device_axes(least), device_axes(most)


def load_operators(path: Path = PUBLISHED) -> Operators:
    """Read the thresholds of several people; the published seven by default.

    Raises:
        FileError: the file cannot be read or lacks something.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        people = data["operator"]
        least = np.array([person["least"] for person in people], dtype=float)
        most = np.array([person["most"] for person in people], dtype=float)
        lengths = np.repeat([float(data["length"]), float(data["angle"])], 3)
        names = tuple(str(person["name"]) for person in people)
    except (OSError, KeyError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise FileError(f"cannot read operators from {path.name}: {reason}") from None
    if least.shape != (len(names), 6) or most.shape != least.shape or not (least < most).all():
        rule = "every operator needs 6 least and 6 most values, least below most"
        raise FileError(f"{path.name}: {rule}")
    return Operators(names, least, most, lengths)


class VirtualOperators:
    """People who press a button some time after a force has passed their threshold.

    Args:
        truth: their thresholds.
        rng: source of randomness.
        delay: mean reaction time of the group, [s].
        spread: its standard deviation between people, [s].
        wobble: its standard deviation from press to press, [s].
    """

    def __init__(
        self,
        truth: Operators,
        rng: np.random.Generator,
        delay: float = 0.25,
        spread: float = 0.04,
        wobble: float = 0.02,
    ) -> None:
        self.truth = truth
        self._rng = rng
        self._wobble = wobble
        self._delay = np.maximum(rng.normal(delay, spread, (len(truth.names), 1)), 0.1)

    def react(self, onset: Array) -> Array:
        """When they press, for events at ``onset`` [s], people × anything, [s]."""
        wobble = self._rng.normal(0.0, self._wobble, np.shape(onset))
        return onset + np.maximum(self._delay + wobble, 0.05)


@dataclass
class ThresholdProtocol:
    """One axis at a time, the force grows in small steps; the operator presses a button twice.

    A press comes one reaction time after the force was right. The protocol measures each person's
    reaction time first, with sudden forces, and subtracts the growth of the force meanwhile.
    """

    force_step: float = parameter(0.1, "N", "growth of a force per step", 1e-4, 10.0)
    torque_step: float = parameter(0.02, "N·m", "growth of a torque per step", 1e-5, 10.0)
    interval: float = parameter(0.1, "s", "time between steps", 1e-3, 10.0)
    rehearsals: int = parameter(20, "-", "sudden forces to measure reaction times with", 0, 1000)

    def run(self, people: VirtualOperators) -> Operators:
        """Thresholds that the protocol measures of these people."""
        truth = people.truth
        reaction: Array | float = 0.0
        if self.rehearsals:
            presses = people.react(np.zeros((len(truth.names), self.rehearsals)))
            reaction = presses.mean(axis=1, keepdims=True)
        least, most = (
            self._ramp(people, table * truth.lengths, reaction) / truth.lengths
            for table in (truth.least, truth.most)
        )
        return Operators(truth.names, least, most, truth.lengths)

    def _ramp(self, people: VirtualOperators, threshold: Array, reaction: Array | float) -> Array:
        """The step one reaction time before the press, [N] and [N·m]."""
        step = np.repeat([self.force_step, self.torque_step], 3)
        onset = np.ceil(threshold / step - 1e-9) * self.interval  # the step that reaches it
        return np.round((people.react(onset) - reaction) / self.interval) * step
