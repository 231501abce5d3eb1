"""Delay-robust layers up to 700 ms of round trip, judged by a press on a wall and a retreat."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from farhand.coupling import Spring
from farhand.coupling.port import ToolHandle
from farhand.coupling.side import Side
from farhand.link.layers import EnergyPort, FollowerPort, LeaderPort, Playout
from farhand.link.layers.waves import WaveFollower, WavePort
from farhand.loop.bridges.linked import LinkEnd
from farhand.spatial import Array
from farhand_lab.harness import Finding, experiment, shared
from farhand_lab.mutation import Mutation, Mutations, patched
from farhand_lab.trial import dual_arm, run


@dataclass(frozen=True)
class Link:
    """Conditions of the link."""

    delay: float = 0.0  #: round trip, [ms]
    jitter: float = 0.0  #: of one packet, [ms]
    loss: float = 0.0  #: share of packets, [-]


UNDELAYED = Link()


@dataclass(frozen=True)
class TaskOutcome:
    """What came of the task."""

    free: float  #: RMS of the tracking error in the free move, [m]
    contact: float  #: mean force on the wall over the last second before the retreat, [N]
    peak: float  #: largest force on the wall, [N]
    drift: float  #: tracking error two seconds after the contact, [m]
    created: float  #: largest excess of the coupling's energy output over its input, [J]
    trips: int  #: number of guards that stopped the run


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
        drift=float(error[later : later + 100].mean()),
        created=float(max(0.0, -energy.min())),
        trips=len(done.rig.session.trips),
    )


LINKS = (
    *(UNDELAYED, Link(200.0, 40.0, 0.05), Link(300.0, 40.0, 0.05)),
    *(Link(700.0), Link(700.0, 40.0, 0.05)),
)
"""The corners of the range, and two in between."""

NOISY = tuple(
    (f"{side}.plant.{name}_noise", sigma)
    for side in ("leader", "follower")
    for name, sigma in (("force", 0.1), ("torque", 0.002))
)
"""The rig's own sensor noise instead of silent sensors, [N] and [N·m]."""

SPRINGS = ("position-position", "position-force")
STIFFNESS = Spring().stiffness
"""Of the law that the waves wrap, [N/m]."""

LENT_J = 0.06
"""Energy that the layers lend to both ends together by default, once, [J]."""

Grid = dict[tuple[str, Link], TaskOutcome]


@shared
def grid(layer: str, laws: tuple[str, ...], *settings: tuple[str, object]) -> Grid:
    """The task under every law and link."""
    return {(law, link): task(law, layer, link, *settings) for law in laws for link in LINKS}


def bare(law: str, *settings: tuple[str, object]) -> TaskOutcome:
    """The undelayed run without a layer."""
    return task(law, "none", UNDELAYED, *settings)


def energy(outcomes: Grid, lent: float = LENT_J) -> Finding:
    """Most energy created anywhere, against the energy lent, [J]."""
    worst = max(outcomes, key=lambda at: outcomes[at].created)
    created = outcomes[worst].created
    return Finding(created, created <= lent, f"worst: {_name(worst)}; lent: {lent:g} J")


def force(outcomes: Grid) -> Finding:
    """Largest force on the wall over that of the undelayed bare run."""
    ratios = {at: outcome.peak / bare(at[0]).peak for at, outcome in outcomes.items()}
    worst = max(ratios, key=ratios.__getitem__)
    tripped = sum(outcome.trips for outcome in outcomes.values())
    note = f"worst: {_name(worst)}, {outcomes[worst].peak:.0f} N; {tripped} trips"
    return Finding(ratios[worst], ratios[worst] <= 2.0 and not tripped, note)


def drift(outcomes: Grid) -> Finding:
    """Largest tracking error 2 s after contact, beyond the undelayed bare run's, [mm]."""
    drifts = {at: 1e3 * (outcome.drift - bare(at[0]).drift) for at, outcome in outcomes.items()}
    worst = max(drifts, key=drifts.__getitem__)
    return Finding(drifts[worst], drifts[worst] <= 2.0, f"worst: {_name(worst)}")


def free(outcomes: Grid, *settings: tuple[str, object]) -> Finding:
    """Largest free-motion RMS error over that of the undelayed bare run."""
    ratios = {at: outcome.free / bare(at[0], *settings).free for at, outcome in outcomes.items()}
    worst = max(ratios, key=ratios.__getitem__)
    law, link = worst
    runs = (outcomes[worst], bare(law, *settings), task(law, "none", link, *settings))
    ours, undelayed, without = (1e3 * outcome.free for outcome in runs)
    note = (
        f"worst: {_name(worst)}, {ours:.4f} mm against {undelayed:.4f} mm; "
        f"without a layer over that link {without:.4f} mm"
    )
    return Finding(ratios[worst], ratios[worst] <= 2.0, note)


def contact(outcomes: Grid) -> Finding:
    """Smallest steady contact force over that of the undelayed bare run."""
    shares = {at: outcome.contact / bare(at[0]).contact for at, outcome in outcomes.items()}
    worst, most = min(shares, key=shares.__getitem__), max(shares.values())
    note = f"least: {_name(worst)}, {outcomes[worst].contact:.1f} N; most: {most:.2f}"
    return Finding(shares[worst], shares[worst] >= 0.7, note)


def _name(at: tuple[str, Link]) -> str:
    law, link = at
    return f"{law} at {link.delay:g} ms ± {link.jitter:g} ms, {100 * link.loss:g} % lost"


@experiment("L-01")
def bare_law() -> Finding:
    """Energy created at 400 ms."""
    short, long = (task("position-force", "none", Link(delay)) for delay in (20.0, 400.0))
    note = (
        f"{short.created:.3f} J at 20 ms; {long.peak:.0f} N on the wall at 400 ms, "
        f"{short.peak:.0f} N at 20 ms"
    )
    return Finding(long.created, short.created <= 0.01 and long.created > 1.0, note)


def _ids(layer: str, first: int) -> None:
    """Five ids of one layer, over both spring laws and every link."""
    for number, judge in enumerate((energy, force, drift, free, contact), first):

        def measured(judge=judge) -> Finding:
            return judge(grid(layer, SPRINGS))

        experiment(f"L-{number:02d}", name=f"{layer}-{judge.__name__}")(measured)


_ids("tdpa", 2)
_ids("tank", 7)


@experiment("L-12", "L-13")
def four_channels() -> dict[str, Finding]:
    """The smallest share of the contact force (L-12), and the error over the bare run's (L-13).

    With silent sensors and an exact model the undelayed bare error is rounding. So free motion is
    judged with the rig's own sensors; the note has the error with silent ones.
    """
    law = ("four-channel",)
    outcomes, noisy = grid("tdpa", law), grid("tdpa", law, *NOISY)
    created, left, pressed = energy(outcomes), drift(outcomes), contact(outcomes)
    moved, silent = free(noisy, *NOISY), free(outcomes)
    contact_note = f"made {created.value:.3f} J; {pressed.note}"
    motion_note = (
        f"{moved.note}; drift {left.value:.1f} mm, {left.note}; "
        f"with silent sensors {silent.value:.1f} ×, {silent.note}"
    )
    return {
        "L-12": Finding(pressed.value, created.ok and pressed.ok, contact_note),
        "L-13": Finding(moved.value, moved.ok and left.ok, motion_note),
    }


@experiment("L-14")
def sent_command() -> Finding:
    """Free-motion error at 100 ms, with the leader's command in the packet."""
    error = 1e3 * task("four-channel", "tdpa", Link(100.0)).free
    return Finding(error, error < 0.05)


@experiment("L-15", "L-16")
def waves() -> dict[str, Finding]:
    """Energy (L-15) and the smallest share of the contact force (L-16); nothing is lent."""
    law = SPRINGS[0]
    outcomes = grid("waves", (law,))
    moved, pressed, left = free(outcomes), contact(outcomes), drift(outcomes)
    without = task(law, "waves", Link(700.0), ("layer.recovery", 0.0))
    note = (
        f"{pressed.note}; free {moved.value:.2f} ×, {moved.note}; drift {left.value:.2f} mm, "
        f"{left.note}; at 700 ms the hand feels a damper of {STIFFNESS * 0.35:g} N·s/m; "
        f"without the reserve contact {without.contact / bare(law).contact:.2f}"
    )
    return {
        "L-15": energy(outcomes, 0.0),
        "L-16": Finding(pressed.value, pressed.ok and moved.ok and left.ok, note),
    }


@contextmanager
def _layer_off() -> Iterator[None]:
    def push(self: LeaderPort, wrench: Array, twist: Array, dt: float, gain: float = 1.0) -> Array:
        return gain * wrench

    allow = patched(FollowerPort, "_allow", lambda self, energy_out: 1.0)
    with patched(LeaderPort, "push", push), allow:
        yield


MUTATIONS = Mutations(
    [
        Mutation("layer-off", "neither end keeps to its account", ("L-02",), _layer_off),
        Mutation("empty-account", "the follower's account is always empty", ("L-06",)).patch(
            FollowerPort, "budget", 0.0
        ),
        Mutation("no-reserve", "nobody pays in advance", ("L-06",)).patch(
            EnergyPort, "reserve_target", 0.01
        ),
    ]
)


@MUTATIONS.of(Playout, "_adapt", "L-05 L-10")
def uneven(adapt, self: Playout, now_ns: int, age_ns: int) -> None:
    """Both ends act on the newest packet at any age."""
    self.age_ns = age_ns


@MUTATIONS.of(LeaderPort, "_watch", "L-04")
def nothing_sent_ahead(watch, self: LeaderPort, dt: float) -> None:
    """The energy that the follower needs is not sent ahead."""


_STARTS: dict[int, Array] = {}


@MUTATIONS.of(FollowerPort, "lead", "L-03")
def too_far(lead, self: FollowerPort, remote: Side, heard: ToolHandle, *rest: Any) -> None:
    """The follower's reference goes twice as far as the leader."""
    if not self._started:
        _STARTS[id(self)] = heard.position.copy()
    lead(self, remote, heard, *rest)
    remote.position += heard.position - _STARTS[id(self)]


@MUTATIONS.of(FollowerPort, "lead", "L-04")
def no_recovery(lead, self: FollowerPort, *inputs: Any) -> None:
    """Motion that was held back is never given back."""
    self.settings.recovery = 0.0
    lead(self, *inputs)


@MUTATIONS.of(LinkEnd, "_play", "L-14")
def command_not_sent(play, self: LinkEnd, playout: Playout, now_ns: int) -> None:
    """The follower guesses the leader's command."""
    play(self, playout, now_ns)
    self.remote.commanded = None


@MUTATIONS.of(WavePort, "wave", "L-15")
def waves_doubled(wave, self: WavePort, dt: float) -> Array:
    """Waves arrive twice as high."""
    return 2.0 * self._wave


@MUTATIONS.of(WaveFollower, "_moved", "L-16")
def waves_reflected(moved, self: WaveFollower, wave: Array, force: Array, dt: float) -> Array:
    """There is no damper at the reference.

    It ends in the law alone, v = (√(2b) u − F)/b, which moves it twice as far at first.
    """
    self.taken += self.energy(wave, dt)
    return (wave + force + self.damping * self.twist) / (self.impedance + self.damping)


@MUTATIONS.of(WavePort, "fit", "L-16")
def soft_link(fit, self: WavePort) -> None:
    """The impedance is the law's damper at any delay."""
    fit(self)
    self.impedance[:] = self.damping
