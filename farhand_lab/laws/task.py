"""The task that laws and layers are judged by: a free move, a press on a wall, a retreat, under a given link."""

from __future__ import annotations

from dataclasses import dataclass

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
        free: RMS of the tracking error in the free move, against the leader as the packet showed
            it, [m].
        contact: mean force on the wall over the last second before the retreat, [N].
        peak: largest force on the wall, [N].
        late_peak: largest force on the wall over the last second before the retreat, [N].
        drift: tracking error two seconds after the contact has ended, [m].
        created: most that the coupling had given out beyond what was put in, [J].
        trips: how many guards stopped the run, [-].
    """

    free: float
    contact: float
    peak: float
    late_peak: float
    drift: float
    created: float
    trips: int


RISE, PRESS, RETREAT = (1.5, 3.25), (9.0, 10.0), 10.0
"""The free move, the last second of the press, and the start of the retreat in the scenario,
[s]."""


@shared
def task(law: str, layer: str, link: Link, *settings: tuple[str, object]) -> TaskOutcome:
    """Run the task on the dual-arm rig with silent sensors.

    The delay itself is no tracking error: the follower is compared with the leader as it was when
    the packet left.
    """
    options = {"delay": link.delay, "jitter": link.jitter, "loss": link.loss, "layer": layer}
    done = run(dual_arm(law, "press-and-leave", *settings, **options))  # type: ignore[arg-type]
    t = done.times("follower")
    leader, follower = (
        done.signal(name, "position_tool_in_world") for name in ("leader", "follower")
    )
    age = np.interp(t, done.times("coupling"), done.signal("coupling", "age")[:, 1])
    seen = np.column_stack([np.interp(t - age, t, leader[:, k]) for k in range(3)])
    error = np.linalg.norm((seen - leader[0]) - (follower - follower[0]), axis=1)
    force = np.linalg.norm(done.signal("follower", "wrench_measured_in_world")[:, :3], axis=1)
    touching = np.flatnonzero(force > 0.5)
    left = min(t[touching[-1]] if len(touching) else RETREAT, t[-1] - 2.0)
    window = (t >= PRESS[0]) & (t < PRESS[1])
    free = (t >= RISE[0]) & (t < RISE[1] + age.max())
    energy = done.signal("coupling", "port_energy").sum(axis=1)
    return TaskOutcome(
        free=float(np.sqrt((error[free] ** 2).mean())),
        contact=float(force[window].mean()),
        peak=float(force.max()),
        late_peak=float(force[window].max()),
        drift=float(
            error[np.searchsorted(t, left + 2.0) : np.searchsorted(t, left + 2.0) + 100].mean()
        ),
        created=float(max(0.0, -energy.min())),
        trips=len(done.rig.session.trips),
    )
