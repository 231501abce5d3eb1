"""The task that judges laws and layers: a free move, a press on a wall and a retreat."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from farhand_lab.harness import shared
from farhand_lab.trial import dual_arm, run

Array = np.ndarray


@dataclass(frozen=True)
class Link:
    """Conditions of the link.

    Attributes:
        delay: round trip, [ms].
        jitter: of one packet, [ms].
        loss: share of packets, [-].
    """

    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0


UNDELAYED = Link()


@dataclass(frozen=True)
class TaskOutcome:
    """What came of the task.

    Attributes:
        free: RMS of the tracking error in the free move, [m].
        contact: mean force on the wall over the last second before the retreat, [N].
        peak: largest force on the wall, [N].
        late_peak: the same over the last second before the retreat, [N].
        drift: tracking error two seconds after the contact, [m].
        created: largest excess of the coupling's energy output over its input, [J].
        trips: number of guards that stopped the run.
    """

    free: float
    contact: float
    peak: float
    late_peak: float
    drift: float
    created: float
    trips: int


RISE, PRESS, RETREAT = (1.5, 3.25), (9.0, 10.0), 10.0
"""Free move, last second of the press, and start of the retreat in the scenario, [s]."""


@shared
def task(law: str, layer: str, link: Link, *settings: tuple[str, object]) -> TaskOutcome:
    """Run the task on the dual-arm rig with silent sensors.

    The delay itself is no tracking error: the leader is taken from when the packet left.
    """
    done = run(dual_arm(law, "press-and-leave", *settings, layer=layer, **asdict(link)))
    t = done.times("follower")
    leader = done.signal("leader", "position_tool_in_world")
    follower = done.signal("follower", "position_tool_in_world")
    age = np.interp(t, done.times("coupling"), done.signal("coupling", "age")[:, 1])
    sent = np.column_stack([np.interp(t - age, t, leader[:, k]) for k in range(3)])
    error = np.linalg.norm((sent - leader[0]) - (follower - follower[0]), axis=1)
    force = np.linalg.norm(done.signal("follower", "wrench_measured_in_world")[:, :3], axis=1)
    touching = np.flatnonzero(force > 0.5)
    left = min(t[touching[-1]] if len(touching) else RETREAT, t[-1] - 2.0)
    later = int(np.searchsorted(t, left + 2.0))
    window = (t >= PRESS[0]) & (t < PRESS[1])
    free = (t >= RISE[0]) & (t < RISE[1] + age.max())
    energy = done.signal("coupling", "port_energy").sum(axis=1)
    return TaskOutcome(
        free=float(np.sqrt((error[free] ** 2).mean())),
        contact=float(force[window].mean()),
        peak=float(force.max()),
        late_peak=float(force[window].max()),
        drift=float(error[later : later + 100].mean()),
        created=float(max(0.0, -energy.min())),
        trips=len(done.rig.session.trips),
    )
