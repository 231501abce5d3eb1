"""What shapes the cooperative rig, with the source of every value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farhand.control.internal_force import nominal_shares
from farhand.parameters import parameter

Array = np.ndarray

COUPLINGS = {
    "beam": "one leader and some followers hold one rigid beam",
    "spring": "a leader and a follower face each other with a spring between their tools",
    "human": "a person guides an object that followers carry",
}
"""What lies between the arms."""

JOBS = ("carry", "weigh", "centre", "lift", "share")
"""What followers do with an object: with a leader; or with a person, SM-1 to SM-4."""

GRIPS = {
    1: ((0.0, -0.1),),
    2: ((-0.8, -0.1), (0.8, 0.1)),
    3: ((-0.8, -0.1), (0.8, -0.1), (0.0, 0.1)),
    4: ((-0.8, -0.1), (0.8, 0.1), (0.8, -0.1), (-0.8, 0.1)),
    5: ((-0.8, -0.1), (0.8, 0.1), (0.8, -0.1), (-0.8, 0.1), (0.0, -0.1)),
}
"""Where so many arms take hold of a beam of 2 m × 0.2 m, from its centre; the leader's first; assumed, [m]."""

REACH, HEIGHT = 1.1773, 0.55
"""From an arm's base to its tool in posture ``table``, and how high that is, [m]."""


@dataclass
class Cooperative:
    """What shapes the rig's parts.

    Attributes:
        coupling: one of :data:`COUPLINGS`.
        job: one of :data:`JOBS`.
        followers: how many, [-].
        rate: of the controllers, [Hz].
        plant_rate: of the physics, [Hz].
        gravity: downward acceleration, [m/s²].
        mass: of what is carried, [kg].
        size: its edges, [m].
        off_centre: of its centre of mass from what every arm was told, along the beam, [m].
        travel: how far it is carried: along x, along y, and up, [m].
        tempo: time of the path over its normal time, [-].
        misfit: how far each follower's jaws close beside where they stand, [m].
        friction: gears of the plants, one of the published sets or ``none``.
        grip: how arms hold a beam: ``pads`` in the world's own terms, or ``contact`` of the physics engine.
        spring: ``compression`` as in the published experiment, or ``ideal`` as in its simulation.
    """

    coupling: str = parameter("beam", "-", "what lies between the arms", choices=tuple(COUPLINGS))
    job: str = parameter("carry", "-", "what followers do with an object", choices=JOBS)
    followers: int = parameter(3, "-", "number of followers", 1, 4)
    rate: float = parameter(250.0, "Hz", "rate of the controllers", 50.0, 2000.0)  # spec 004 §1.2 [R]
    plant_rate: float = parameter(2000.0, "Hz", "rate of the physics", 250.0, 20_000.0)  # spec 004 §3.28
    gravity: float = parameter(9.804, "m/s²", "downward acceleration", 0.0, 30.0)  # stated in the source
    mass: float = parameter(20.0, "kg", "mass of what is carried", 0.01, 1000.0)  # the task's
    size: Array = parameter((2.0, 0.2, 0.1), "m", "edges of what is carried", 0.01, 10.0)  # assumed
    off_centre: float = parameter(0.0, "m", "centre of mass off the middle, along x", -1.0, 1.0)
    travel: Array = parameter((0.2, 0.1, 0.15), "m", "how far it is carried", -5.0, 5.0)  # assumed
    tempo: float = parameter(1.0, "-", "time of the path over its normal time", 0.1, 100.0)
    misfit: float = parameter(3e-4, "m", "how far jaws close beside where they stand", -0.05, 0.05)  # assumed
    friction: str = parameter(
        "reduced", "-", "friction of the gears", choices=("none", "zengin", "akbas", "reduced")
    )  # published
    grip: str = parameter("pads", "-", "how arms hold a beam", choices=("pads", "contact"))
    spring: str = parameter("compression", "-", "kind of spring", choices=("compression", "ideal"))

    @property
    def period_ns(self) -> int:
        """Time between ticks, [ns]."""
        return round(1e9 / self.rate)

    @property
    def plant_ns(self) -> int:
        """Step of the physics, [ns]."""
        return round(1e9 / self.plant_rate)

    @property
    def names(self) -> list[str]:
        """Of all arms, a leader's first."""
        followers = [f"follower_{number + 1}" for number in range(self.followers)]
        return followers if self.coupling == "human" else ["leader", *followers]

    @property
    def places(self) -> Array:
        """Where the arms take hold, from the object's middle, n × 3, [m]."""
        return np.array([[x, y, 0.0] for x, y in GRIPS[len(self.names)]])

    @property
    def shares(self) -> Array:
        """What part of the weight each arm is told to carry, [-]."""
        return nominal_shares(self.places)
