"""Delay-robust layers: no energy is made, nothing drifts, and it still works, from no delay to 700 ms round trip."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from farhand.coupling import Spring
from farhand.coupling.side import Side
from farhand.link.layers import (
    EnergyPort,
    FollowerPort,
    LeaderPort,
    Playout,
    WaveFollower,
    WavePort,
)
from farhand.loop.bridges.linked import LinkEnd
from farhand_lab.harness import Finding, experiment, shared
from farhand_lab.laws.task import UNDELAYED, Link, TaskOutcome, task
from farhand_lab.mutation import Mutation, patched

LINKS = (
    UNDELAYED,
    Link(200.0, 40.0, 0.05),
    Link(300.0, 40.0, 0.05),
    Link(700.0),
    Link(700.0, 40.0, 0.05),
)
"""The corners of the range, and two in between."""

NOISY = (("leader.plant.force_noise", 0.1), ("leader.plant.torque_noise", 0.002)) + (
    ("follower.plant.force_noise", 0.1),
    ("follower.plant.torque_noise", 0.002),
)
"""The rig's own sensors in place of silent ones, [N] and [N·m]."""

SPRINGS = ("position-position", "position-force")
STIFFNESS = Spring().stiffness
"""Of the law that waves are tried around, [N/m]."""

LENT = 0.06
"""What the ends are lent in all at the layers' defaults, [J]: it may be out at any time, and never
comes again."""

Grid = dict[tuple[str, Link], TaskOutcome]


@shared
def grid(layer: str, laws: tuple[str, ...], *settings: tuple[str, object]) -> Grid:
    """The task under every law and link."""
    return {(law, link): task(law, layer, link, *settings) for law in laws for link in LINKS}


def bare(law: str, *settings: tuple[str, object]) -> TaskOutcome:
    """The undelayed run without a layer."""
    return task(law, "none", UNDELAYED, *settings)


def energy(found: Grid, lent: float = LENT) -> Finding:
    """Most energy made anywhere, where the ends are lent so much in all, [J]."""
    worst = max(found, key=lambda at: found[at].created)
    return Finding(
        found[worst].created,
        found[worst].created <= lent,
        f"worst: {_name(worst)}; lent: {lent:g} J",
    )


def force(found: Grid) -> Finding:
    """Largest force on the wall over that of the undelayed bare run."""
    ratios = {at: found[at].peak / bare(at[0]).peak for at in found}
    worst = max(ratios, key=ratios.__getitem__)
    tripped = sum(outcome.trips for outcome in found.values())
    note = f"worst: {_name(worst)}, {found[worst].peak:.0f} N; {tripped} trips"
    return Finding(ratios[worst], ratios[worst] <= 2.0 and not tripped, note)


def drift(found: Grid, *settings: tuple[str, object]) -> Finding:
    """Largest tracking error two seconds after the contact has ended, beyond the undelayed bare run's, [mm]."""
    drifts = {at: 1e3 * (found[at].drift - bare(at[0], *settings).drift) for at in found}
    worst = max(drifts, key=drifts.__getitem__)
    return Finding(drifts[worst], drifts[worst] <= 2.0, f"worst: {_name(worst)}")


def free(found: Grid, *settings: tuple[str, object]) -> Finding:
    """Largest free-motion RMS error over that of the undelayed bare run."""
    ratios = {at: found[at].free / bare(at[0], *settings).free for at in found}
    worst = max(ratios, key=ratios.__getitem__)
    sizes = (
        f"{1e3 * found[worst].free:.4f} mm against {1e3 * bare(worst[0], *settings).free:.4f} mm"
    )
    without = 1e3 * task(worst[0], "none", worst[1], *settings).free
    note = f"worst: {_name(worst)}, {sizes}; without a layer over that link {without:.4f} mm"
    return Finding(ratios[worst], ratios[worst] <= 2.0, note)


def contact(found: Grid) -> Finding:
    """Smallest steady contact force over that of the undelayed bare run."""
    shares = {at: found[at].contact / bare(at[0]).contact for at in found}
    worst, most = min(shares, key=shares.__getitem__), max(shares.values())
    note = f"least: {_name(worst)}, {found[worst].contact:.1f} N; most: {most:.2f}"
    return Finding(shares[worst], shares[worst] >= 0.7, note)


def _name(at: tuple[str, Link]) -> str:
    law, link = at
    return f"{law} at {link.delay:g} ms ± {link.jitter:g} ms, {100 * link.loss:g} % lost"


@experiment("L-01")
def bare_law() -> Finding:
    """Energy made at 400 ms."""
    short, long = (task("position-force", "none", Link(delay)) for delay in (20.0, 400.0))
    note = f"{short.created:.3f} J at 20 ms; {long.peak:.0f} N on the wall at 400 ms, {short.peak:.0f} N at 20 ms"
    return Finding(long.created, short.created <= 0.01 and long.created > 1.0, note)


def _ids(layer: str, first: int) -> None:
    """Five ids of one layer, over both spring laws and every link."""
    for number, judge in enumerate((energy, force, drift, free, contact), first):

        def measured(judge=judge) -> Finding:
            return judge(grid(layer, SPRINGS))

        experiment(f"L-{number:02d}", name=f"{layer}-{judge.__name__}")(measured)


_ids("tdpa", 2)
_ids("tank", 7)

FOUR = ("four-channel",)


@experiment("L-12", "L-13")
def four_channels() -> dict[str, Finding]:
    """The value of L-12 is the smallest share of the contact force, that of L-13 the error over the bare run's.

    With silent sensors and an exact model the undelayed bare error is rounding; free motion is
    judged with the rig's own sensors, and the size with silent ones is told.
    """
    found, noisy = grid("tdpa", FOUR), grid("tdpa", FOUR, *NOISY)
    made, left, pressed, moved = energy(found), drift(found), contact(found), free(noisy, *NOISY)
    silent = free(found)
    told = f"drift {left.value:.1f} mm, {left.note}; with silent sensors {silent.value:.1f} ×, {silent.note}"
    return {
        "L-12": Finding(
            pressed.value, made.ok and pressed.ok, f"made {made.value:.3f} J; {pressed.note}"
        ),
        "L-13": Finding(moved.value, moved.ok and left.ok, f"{moved.note}; {told}"),
    }


@experiment("L-14")
def told_command() -> Finding:
    """Free-motion error at 100 ms."""
    error = 1e3 * task("four-channel", "tdpa", Link(100.0)).free
    return Finding(error, error < 0.05)


@experiment("L-15", "L-16")
def waves() -> dict[str, Finding]:
    """The value of L-16 is the smallest share of the contact force. Nothing is lent to waves."""
    found = grid("waves", SPRINGS[:1])
    made, moved, pressed, left = energy(found, 0.0), free(found), contact(found), drift(found)
    shares = f"{pressed.note}; free {moved.value:.2f} ×, {moved.note}; drift {left.value:.2f} mm, {left.note}"
    plain = (
        task(SPRINGS[0], "waves", Link(700.0), ("layer.recovery", 0.0)).contact
        / bare(SPRINGS[0]).contact
    )
    price = f"at 700 ms the hand feels a damper of {STIFFNESS * 0.35:g} N·s/m; without the reserve contact {plain:.2f}"
    return {
        "L-15": made,
        "L-16": Finding(pressed.value, pressed.ok and moved.ok and left.ok, f"{shares}; {price}"),
    }


@contextmanager
def _layer_off() -> Iterator[None]:
    def push(
        self: LeaderPort, wrench: np.ndarray, twist: np.ndarray, dt: float, gain: float = 1.0
    ) -> np.ndarray:
        return gain * wrench

    with (
        patched(LeaderPort, "push", push),
        patched(FollowerPort, "_allow", lambda self, energy_out: 1.0),
    ):
        yield


@contextmanager
def _too_far() -> Iterator[None]:
    whole, starts = FollowerPort.lead, {}

    def lead(self: FollowerPort, remote: Side, position: np.ndarray, *rest: Any) -> None:
        if not self._started:
            starts[id(self)] = position.copy()
        whole(self, remote, position, *rest)
        remote.position += position - starts[id(self)]

    with patched(FollowerPort, "lead", lead):
        yield


@contextmanager
def _no_recovery() -> Iterator[None]:
    whole = FollowerPort.lead

    def lead(self: FollowerPort, *args: Any) -> None:
        self.settings.recovery = 0.0
        whole(self, *args)

    with patched(FollowerPort, "lead", lead):
        yield


@contextmanager
def _empty() -> Iterator[None]:
    FollowerPort.budget = 0.0  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        del FollowerPort.budget


@contextmanager
def _guessing() -> Iterator[None]:
    whole = LinkEnd._play

    def play(self: LinkEnd, playout: Playout, now_ns: int) -> None:
        whole(self, playout, now_ns)
        self.remote.commanded = None

    with patched(LinkEnd, "_play", play):
        yield


def _doubled(self: WavePort, dt: float) -> np.ndarray:
    return 2.0 * self._wave


@contextmanager
def _reflecting() -> Iterator[None]:
    """The reference ends in the law alone: v = (√(2b) u − F)/b, which moves it twice as far at first."""

    def moved(self: WaveFollower, wave: np.ndarray, force: np.ndarray, dt: float) -> np.ndarray:
        self.taken += self.energy(wave, dt)
        return (wave + force + self.damping * self.twist) / (self.impedance + self.damping)

    with patched(WaveFollower, "_moved", moved):
        yield


@contextmanager
def _soft_link() -> Iterator[None]:
    whole = WavePort.fit

    def fit(self: WavePort) -> None:
        whole(self)
        self.impedance[:] = self.damping

    with patched(WavePort, "fit", fit):
        yield


@contextmanager
def _hand_to_mouth() -> Iterator[None]:
    with patched(LeaderPort, "_watch", lambda self, dt: None):
        yield


@contextmanager
def _newest() -> Iterator[None]:
    """Both ends act on the newest packet, whatever its age."""

    def adapt(self: Playout, now_ns: int, age_ns: int) -> None:
        self.age_ns = age_ns

    with patched(Playout, "_adapt", adapt):
        yield


MUTATIONS = [
    Mutation("uneven", "packets are acted on as they come", ("L-05", "L-10"), _newest),
    Mutation(
        "hand-to-mouth", "what the follower takes on is not sent ahead", ("L-04",), _hand_to_mouth
    ),
    Mutation("layer-off", "neither end looks at its account", ("L-02",), _layer_off),
    Mutation(
        "too-far", "the follower's reference goes twice as far as the leader", ("L-03",), _too_far
    ),
    Mutation("no-recovery", "what was held back stays held back", ("L-04",), _no_recovery),
    Mutation("empty-account", "the follower's account is always empty", ("L-06",), _empty),
    Mutation("no-reserve", "nobody pays beforehand", ("L-06",)).patch(EnergyPort, "wanted", 0.01),
    Mutation(
        "own-idea", "the follower guesses what the leader was asked for", ("L-14",), _guessing
    ),
    Mutation("waves-doubled", "waves arrive twice as high", ("L-15",)).patch(
        WavePort, "wave", _doubled
    ),
    Mutation("waves-reflected", "there is no damper at the reference", ("L-16",), _reflecting),
    Mutation("soft-link", "b is the law's damper at any delay", ("L-16",), _soft_link),
]
