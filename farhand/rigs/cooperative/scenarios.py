"""What may happen in the cooperative rig."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from farhand.control.trajectory.paths import Move
from farhand.rigs.cooperative.arms import Cooperative
from farhand.rigs.rig import Scenario, by_name
from farhand.world import ForcePulse

ARMS = ("leader", "follower_1", "follower_2", "follower_3", "follower_4")


def orders(time: float, order: str, followers: int, leader: bool = True) -> tuple[str, ...]:
    """The same order to every arm, one by one, as an operator gives it."""
    arms = ARMS[0 if leader else 1 : followers + 1]
    return tuple(f"{time:g}:set {arm}.job.orders.order={order}" for arm in arms)


GO, PATH = 6.5, 26.0
"""When the leader of a carry begins, and how long its path takes at normal tempo, [s]."""


def carrying(followers: int = 3, tempo: float = 1.0) -> tuple[str, ...]:
    """Grasp, take up the load, carry in ``tempo`` times the normal time, put down, release."""
    end = GO + 0.5 + PATH * tempo
    return (
        *orders(0.5, "grasp", followers),
        *orders(3.5, "lift", followers, leader=False),
        f"{GO:g}:set leader.job.orders.order=go",
        *orders(end + 0.5, "lower", followers, leader=False),
        *orders(end + 3.5, "release", followers),
    )


def on_the_way(commands: tuple[str, ...], tempo: float) -> tuple[str, ...]:
    """Commands of a carry, each at the same place of the path at any tempo."""
    parts = [command.split(":", 1) for command in commands]
    return tuple(f"{GO + tempo * (float(time) - GO):g}:{what}" for time, what in parts)


KILLED = ("13:set follower_2.drive.dead=true",)
SWITCHED = (
    "11:set follower_1.force.kp=5",
    "12:set follower_2.force.mode=hold-moment",
    "13:set follower_3.filters.r_wrench=500",
    "14:set leader.loop.kp=300",
    "15:set leader.filters.r_velocity=50",
)
"""What happens on the way, at normal tempo."""

SOFT = {"stiffness": 200, "damping": 40, "rotational_stiffness": 5, "rotational_damping": 1}
"""A person's grip while guiding; assumed, [N/m], [N·s/m], [N·m/rad], [N·m·s/rad]."""

ALONE: dict[str, object] = {"rig.coupling": "human", "rig.followers": 1, "rig.size": "0.12,0.1,0.1"}

CLAMPED = {"rig.coupling": "human", "rig.job": "share", "rig.followers": 2, "rig.mass": 5.2}

GIVEN = ("1:set follower_1.job.orders.order=grasp", "1.8:set hand.open=true")
"""A person holds an object between the jaws, and lets go when they have closed."""

TAKEN = (
    *(f"5:set hand.{name}={value}" for name, value in SOFT.items()),
    "5.5:set hand.open=false",
    "12.5:set hand.open=true",
    "12.9:set hand.stiffness=5e4",
    "12.9:set hand.damping=1e3",
    "13:set hand.open=false",
    "13.3:set follower_1.job.orders.order=release",
)
"""The person takes hold again to guide, lets go, and takes the object back in the end."""

SCENARIOS = by_name(
    Scenario(
        "carry",
        "a 20 kg beam is lifted, carried along five points and set down by four arms",
        37.5,
        commands=carrying(),
    ),
    Scenario(
        "kill",
        "as carry, but the controller of one follower dies on the way",
        18.0,
        commands=(*carrying(), *KILLED),
    ),
    Scenario(
        "switch",
        "as carry, with gains, mode and filter changed on the way",
        20.0,
        commands=(*carrying(), *SWITCHED),
    ),
    Scenario(
        "pair",
        "a leader pushes a follower along by a spring, there and back",
        17.0,
        settings={"rig.coupling": "spring", "rig.followers": 1},
        commands=("5:set leader.job.orders.order=go",),
    ),
    Scenario(
        "weigh",
        "SM-1: a person puts an object into the jaws; it is weighed, guided and given back",
        14.0,
        moves=(
            Move(6.0, 3.0, (0.0, 0.0, 0.1), label="up"),
            Move(9.0, 3.0, (0.15, 0.0, 0.0), label="aside"),
        ),
        settings={**ALONE, "rig.job": "weigh", "rig.mass": 2.122},
        commands=(*GIVEN, *TAKEN),
    ),
    Scenario(
        "centre",
        "SM-2: mass and centre of gravity of an object from two poses, then guiding",
        18.0,
        moves=(),
        settings={**ALONE, "rig.job": "centre", "rig.mass": 2.002},
        commands=GIVEN,
    ),
    Scenario(
        "lift",
        "SM-3: an object is lifted from a table, a person's push and twist starts guiding",
        22.0,
        moves=(Move(15.5, 4.0, (0.2, 0.0, 0.05), label="aside and up"),),
        settings={**ALONE, "rig.job": "lift", "rig.mass": 2.122},
        commands=(
            "0:set hand.open=true",
            "1:set follower_1.job.orders.order=grasp",
            "15:set hand.stiffness=200",
            "15:set hand.damping=40",
            "15:set hand.rotational_stiffness=0",
            "15:set hand.rotational_damping=0",
            "15.1:set hand.open=false",
            "20.5:set hand.open=true",
        ),
        pulses=(ForcePulse(14.0, 0.8, (0.0, 20.0, 0.0, 0.0, 3.0, 0.0)),),
    ),
    Scenario(
        "guide",
        "SM-4: two followers clamp one object, weigh their shares, and a person guides it",
        20.0,
        moves=(Move(8.0, 8.0, (0.1, 0.0, 0.1), label="aside and up"),),
        settings=CLAMPED,
        commands=(
            "1:set follower_1.job.orders.order=grasp",
            "1:set follower_2.job.orders.order=grasp",
            "1.5:set hand.open=true",
            *(f"6:set hand.{name}={value}" for name, value in SOFT.items()),
            "6.1:set hand.open=false",
        ),
    ),
)

DEFAULTS = {"beam": "carry", "spring": "pair", "human": "guide"}
"""The scenario of each coupling if the user names none."""


def _carried(*on: str) -> Callable[[Scenario, Cooperative], Scenario]:
    """A carry by the rig's number of arms, at its tempo."""

    def fit(scenario: Scenario, shape: Cooperative) -> Scenario:
        commands = (*carrying(shape.followers, shape.tempo), *on_the_way(on, shape.tempo))
        longer = (shape.tempo - 1.0) * (scenario.seconds - GO if on else PATH)
        return replace(scenario, commands=commands, seconds=scenario.seconds + longer)

    return fit


def _pushed(scenario: Scenario, shape: Cooperative) -> Scenario:
    return replace(scenario, seconds=scenario.seconds + 10.0 * (shape.tempo - 1.0))


FITS: dict[str, Callable[[Scenario, Cooperative], Scenario]] = {
    "carry": _carried(),
    "kill": _carried(*KILLED),
    "switch": _carried(*SWITCHED),
    "pair": _pushed,
}


def fitted(scenario: Scenario, shape: Cooperative) -> Scenario:
    """The scenario for this number of followers and this tempo."""
    return FITS.get(scenario.name, lambda same, _: same)(scenario, shape)
