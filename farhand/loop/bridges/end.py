"""One station's end of a bridge: what the law asks of it, and the energy that passes there."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from farhand.coupling import Coupling, Effort, Side
from farhand.coupling.port import TOOL, Port
from farhand.loop.station import Station
from farhand.spatial import Array

PARTING_WORK = 0.2
"""Most work that an effort may do on an arm while it fades, [J]: as of 10 kg at 0.2 m/s."""

NOT_A_NUMBER = "gave an effort that is not a number"


class End:
    """One station's end of a bridge: the faded effort of the law, and the energy that passes.

    Args:
        station: the local station.
        remote: the other side, as this end knows it.
        port: what the law couples.
    """

    def __init__(self, station: Station, remote: Side, port: Port = TOOL) -> None:
        self.station, self.remote, self._port = station, remote, port
        self.contribution, self._rate = station.join(), port.rate(station.side)
        self.energy = 0.0  # put into the coupling by this side, net [J]
        self._drives = station.drives
        if port.space == "joints":
            station.couple_joints()
            self._drives = station.plant.actuated
        self.asked, self._faded = np.zeros(len(self._rate)), np.zeros(len(self._rate))
        self.effort: Array  #: what the station is asked for, faded
        self.hand_over(self.asked)
        # power of what the law asks for on the arm [W], and whether it is of this tick
        self._power, self._known = 0.0, False
        self._cut, self._parting, self._work = False, False, 0.0
        self._pulls = station.controller.exerts_effort
        self._passive = None if self._drives.all() else ~self._drives

    @property
    def dropped(self) -> str:
        """Which of a law's efforts this station cannot exert, in words; empty if none."""
        station = self.station
        if self._port.space == "joints":
            joints = list(station.arm.model.names)[1:]
            words = {"in": _passive(joints, station.plant.actuated)}
        else:
            drives = station.drives
            words = {"along": _passive("xyz", drives[:3]), "about": _passive("xyz", drives[3:])}
        where = " and ".join(f"{word} {axes}" for word, axes in words.items() if axes)
        return f"the {station.name} has no motor {where}: the law cannot act there" if where else ""

    def take(self, effort: Effort) -> bool:
        """Remember the effort of the law; False if it is not a number.

        Raises:
            Exception: of any kind, if it is no effort at all.
        """
        wrench = effort.wrench
        if wrench.shape != self.asked.shape:
            raise ValueError(f"an effort of shape {wrench.shape}")
        # not finite if one of the numbers is not
        power = float(wrench.dot(self._rate))
        if not -math.inf < power < math.inf:
            return False
        if self._pulls:
            self.asked[:], self._power, self._known = wrench, power, True
            if self._passive is not None:
                self.asked[self._passive] = 0.0  # nor do they count as energy put in
                self._power = float(self.asked.dot(self._rate))
        if self._port is TOOL:
            self.contribution.target = effort.target
        if self._parting:
            # a new engagement, perhaps in the very tick of a reset
            self._parting = self._cut = False
        return True

    def part(self) -> None:
        """Forget where the law wanted the tool: what fades out pulls no further."""
        self.contribution.target = None
        if not self._parting:
            self._parting, self._work = True, 0.0

    def apply(self, gain: float, dt: float) -> None:
        """Hand the faded effort to the station and account for its energy."""
        if not self._known:
            self._power = float(self.asked.dot(self._rate))
        self._known = False
        self.contribution.gain = gain = self.bounded(gain, dt)
        effort = self.asked if gain == 1.0 else np.multiply(self.asked, gain, self._faded)
        if effort is not self.effort:
            self.hand_over(effort)
        self.energy -= gain * self._power * dt

    def hand_over(self, effort: Array) -> None:
        """Ask the station for this effort."""
        self.effort = effort
        if self._port is TOOL:
            self.contribution.wrench = effort
        else:
            self.contribution.torque = effort

    def bounded(self, gain: float, dt: float) -> float:
        """The gain that the last effort still gets while the coupling parts.

        Nothing, once the station itself has tripped: it is not pushed on. Else as much as keeps the
        work on the arm below :data:`PARTING_WORK`: the law no longer answers to where the arm goes.
        """
        if self.station.guard.trip is not None:
            self._cut = True
        elif gain == 0.0:
            # a reset alone does not bring the old effort back
            self._cut = False
        if self._cut:
            return 0.0
        if not self._parting:
            return gain
        self._work += max(0.0, float(self.effort.dot(self._rate)) * dt)
        return gain * max(0.0, 1.0 - self._work / PARTING_WORK)

    def stop(self, now_ns: int, law: Coupling, why: str) -> None:
        """Trip the station's guard because the law failed; ``why`` follows the law's name."""
        self.station.guard.stop(now_ns, "invalid", f"law {law.name!r} {why}")


def _passive(axes: Iterable[str], driven: Iterable[bool]) -> str:
    return ", ".join(axis for axis, drives in zip(axes, driven, strict=True) if not drives)
