"""What may happen in the cooperative rig."""

from __future__ import annotations

from farhand.rigs.rig import Scenario

ARMS = ("leader", "follower_1", "follower_2", "follower_3", "follower_4")


def orders(time: float, order: str, followers: int, leader: bool = True) -> tuple[str, ...]:
    """The same order to every arm, one by one, as an operator gives it."""
    arms = ARMS[0 if leader else 1 : followers + 1]
    return tuple(f"{time:g}:set {arm}.job.orders.order={order}" for arm in arms)


def carrying(followers: int = 3, tempo: float = 1.0) -> tuple[str, ...]:
    """Grasp, take up the load, carry, put down, release."""
    end = 7.0 + 22.0 * tempo
    return (
        *orders(0.5, "grasp", followers),
        *orders(3.5, "lift", followers, leader=False),
        "6.5:set leader.job.orders.order=go",
        *orders(end + 0.5, "lower", followers, leader=False),
        *orders(end + 3.5, "release", followers),
    )


SCENARIOS = {
    item.name: item
    for item in (
        Scenario("carry", "a 20 kg beam is lifted, carried along five points and set down by four arms", 33.5, commands=carrying()),
        Scenario(
            "kill",
            "as carry, but the controller of one follower dies on the way",
            18.0,
            commands=(*carrying(), "13:set follower_2.drive.dead=true"),
        ),
        Scenario(
            "switch",
            "as carry, with gains, mode and filter changed on the way",
            20.0,
            commands=(
                *carrying(),
                "11:set follower_1.force.kp=5",
                "12:set follower_2.force.mode=compliance",
                "13:set follower_3.filters.r_wrench=500",
                "14:set leader.loop.kp=300",
                "15:set leader.filters.r_velocity=50",
            ),
        ),
        Scenario(
            "pair",
            "a leader pushes a follower along by a spring, there and back",
            16.0,
            settings={"rig.coupling": "spring", "rig.followers": 1},
            commands=("1:set leader.job.orders.order=go",),
        ),
    )
}

DEFAULTS = {"beam": "carry", "spring": "pair", "human": "guide"}
"""What happens in each coupling if nothing is said."""
