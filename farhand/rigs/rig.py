"""What every rig is: a session ready to run, a scenario, parts, and parameters by path."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from farhand import plugins
from farhand.analysis.metrics import RunMetrics
from farhand.analysis.stability.operating_point import Stance, stances
from farhand.control.trajectory.paths import Move
from farhand.errors import FarhandError, Mismatch, UnknownName
from farhand.link.layers import make_layer
from farhand.loop.clock import Clock
from farhand.loop.session import Session
from farhand.parameters import assign, describe
from farhand.rigs.believed import MODEL, believe
from farhand.world import ForcePulse, World

if TYPE_CHECKING:
    from farhand.control.haptic.fixtures import Fixture
    from farhand.learning.demonstration import Teaching
    from farhand.link.layers import Layer
    from farhand.link.network import EmulatedLink
    from farhand.safety import Watchdog
    from farhand.safety.watches import Lateness, Switch
    from farhand.tasks import Person, Trial
    from farhand.world import ForceHand, ImpedanceHand, Wall

RIGS = ("dual-arm", "pair", "cooperative", "hazardous", "humanoid", "youbot")
"""The rigs that come with Farhand; other packages bring more.

A rig is a module with ``TITLE`` (one line), ``SCENARIOS`` (by name) and ``build(options) -> Rig``,
registered as an entry point of the group ``farhand.rigs``. An optional ``ONE_MACHINE`` says why the
rig cannot be split between two machines.
"""

SEVERAL = "pairs"
"""The rig of ``farhand run FILE.toml`` and of rig pair with more than two arms."""

PRESETS = {"openarm": "openarm"}
"""Short names of rig pair with two arms of one kind."""

GROUP = "farhand.rigs"
SIMULATED = "simulated"
"""The plant of a role unless the user names a machine."""

Settings = list[tuple[str, object]]
"""Parameter paths and values, applied in order."""


@dataclass(frozen=True)
class Scenario:
    """What happens during a run."""

    name: str  #: on the command line
    title: str  #: one line
    seconds: float  #: how long it takes by default, [s]
    moves: tuple[Move, ...] = ()  #: what the hand does
    #: parameter paths and values that belong to it
    settings: dict[str, object] = field(default_factory=dict)
    #: what to post, written as ``SECONDS:NAME`` or ``SECONDS:set PATH=VALUE``
    commands: tuple[str, ...] = ("0:engage",)
    #: what a hand that pushes with given forces does, where the rig has one
    pulses: tuple[ForcePulse, ...] = ()
    #: makes moves that differ a little with every seed; None for the same moves always
    varied: Callable[[np.random.Generator], tuple[Move, ...]] | None = None

    @property
    def eventful(self) -> bool:
        """Whether anything happens after the arms are coupled."""
        return bool(self.moves or self.pulses or self.varied) or len(self.commands) > 1

    def moves_for(self, seed: int) -> tuple[Move, ...]:
        """What the hand does in a run with this seed."""
        return self.moves if self.varied is None else self.varied(np.random.default_rng([seed, 1]))


def by_name(*scenarios: Scenario) -> dict[str, Scenario]:
    """The table of a rig's scenarios."""
    return {scenario.name: scenario for scenario in scenarios}


@dataclass
class Options:
    """What a user may choose when building a rig."""

    law: str | None = None  #: name of the coupling law; the rig's own choice by default
    layer: str = "none"  #: passivity layer around the law
    scenario: str | None = None  #: name of the scenario; the rig's own choice by default
    seed: int = 0  #: of every random number in the run
    delay: float = 0.0  #: round-trip delay of the link, [ms]
    jitter: float = 0.0  #: deviation of one packet's delay, [ms]
    loss: float = 0.0  #: share of packets lost, [-]
    #: whether to build the link even if it is perfect, so that it can be disturbed live
    linked: bool = False
    #: parameter paths and values, applied in order
    settings: Settings = field(default_factory=list)
    clock: Clock | None = None  #: virtual by default
    #: ``"leader"`` or ``"follower"`` to build that side alone; both by default
    side: str | None = None
    task: str | None = None  #: name of a task for the follower, in place of a scenario
    operator: str = "expert"  #: who does it

    @property
    def roles(self) -> tuple[str, ...]:
        """The sides to build, the leader first."""
        return ("leader", "follower") if self.side is None else (self.side,)


@dataclass
class RigParts:
    """What a rig is made of beside its stations; None where it has no such part."""

    hand: ImpedanceHand | ForceHand | None = None  #: that moves the leader
    wall: Wall | None = None  #: that the follower may meet
    watchdog: Watchdog | None = None  #: of the link
    link: EmulatedLink | None = None  #: emulated between the sides
    layer: Layer | None = None  #: passivity layer around the law
    lateness: Lateness | None = None  #: how late one side's ticks may come
    deadman: Switch | None = None  #: switch that the operator holds, at the leader's side of two
    fixture: Fixture | None = None  #: virtual fixture that guides a tool
    demonstration: Teaching | None = None  #: mark of a demonstration
    startup: Any = None  #: sequence that brings the rig to life
    operator: Person | None = None  #: who does a task

    def settable(self) -> dict[str, Any]:
        """The parts there are, by the name under which a user sets their parameters."""
        return {name: part for name, part in vars(self).items() if part is not None}


@dataclass
class Rig:
    """A system ready to run."""

    name: str  #: of the rig
    law: str  #: name of its coupling law
    options: Options  #: what it was built from
    scenario: Scenario  #: what will happen
    session: Session  #: what runs
    world: World  #: the simulated physics
    metrics: RunMetrics  #: what is measured on the way
    construction: object  #: parameters that shape the parts; fixed once built
    parts: RigParts = field(default_factory=RigParts)  #: what it is made of beside its stations
    notes: tuple[str, ...] = ()  #: what its user should know about how it was built, one line each
    trial: Trial | None = None  #: of a task, if there is one
    #: how its robots stood before the first tick; predictions are made for this
    standing: dict[str, Stance] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Remember how everything stands, because a run does not come back there."""
        self.standing = stances(self.world)

    def parameters(self) -> list[tuple[str, object, str, str]]:
        """Every parameter as (path, value, unit, meaning)."""
        return [*describe({"rig": self.construction}), *describe(self.session.parameters)]

    def close(self) -> None:
        """Release what the rig holds, including external arms and devices."""
        for station in self.session.stations:
            station.plant.close()
        self.session.close()


def rig_names() -> list[str]:
    """The rigs there are: those that come with Farhand, then those of other packages."""
    return list(dict.fromkeys([*RIGS, *plugins.found(GROUP)]))


def rig_title(name: str) -> str:
    """One line on what a rig is."""
    return str(_module(name).TITLE)


def scenarios_of(name: str) -> dict[str, Scenario]:
    """The scenarios of a rig by name."""
    return _module(name).SCENARIOS


def build_rig(name: str, options: Options | None = None) -> Rig:
    """Assemble a rig.

    Args:
        name: one of :func:`rig_names`.
        options: the user's choices.
    """
    module = _module(name)
    options = options or Options()
    if name in PRESETS:
        both = [(f"rig.{role}_plant", PRESETS[name]) for role in ("leader", "follower")]
        # a copy: the caller may build again
        options = replace(options, settings=[*both, *options.settings])
    # Refuse an unknown layer before anything is built.
    make_layer(options.layer)
    if options.side is not None and (why := _one_machine(module)):
        able = ", ".join(rig for rig in rig_names() if not _one_machine(_module(rig)))
        raise Mismatch(f"rig {name!r} does not run on two machines: {why}; those that do: {able}")
    models = [str(value) for path, value in options.settings if path == MODEL]
    plain = [(path, value) for path, value in options.settings if path != MODEL]
    rig: Rig = module.build(replace(options, settings=plain) if models else options)
    if models:
        # so that a recording of it can be run again
        rig.options = options
    try:
        if options.task is not None and rig.trial is None:
            able = "dual-arm, pair, hazardous"
            raise Mismatch(f"rig {name!r} does no tasks; rigs that do: {able}")
        for file in models:
            believe(rig, file)
    except FarhandError:
        rig.close()
        raise
    return rig


def _one_machine(module: Any) -> str:
    """Why a rig cannot be split between two machines; empty if it can."""
    return str(getattr(module, "ONE_MACHINE", ""))


def _module(name: str) -> Any:
    name = "pair" if name in PRESETS else name
    if name in (*RIGS, SEVERAL):
        return importlib.import_module(f"farhand.rigs.{name.replace('-', '_')}")
    if name not in plugins.found(GROUP):
        raise UnknownName("rig", name, rig_names())
    return plugins.load(GROUP, name)


def choose(scenarios: dict[str, Scenario], options: Options, default: str) -> Scenario:
    """The scenario a user asked for, or the default."""
    name = options.scenario or default
    if name not in scenarios:
        raise UnknownName("scenario", name, scenarios)
    if options.side is not None and (why := _together(scenarios[name])):
        able = ", ".join(other for other in scenarios if not _together(scenarios[other]))
        raise Mismatch(
            f"scenario {name!r} needs both sides in one process: {why}; on two machines: {able}"
        )
    return scenarios[name]


def _together(scenario: Scenario) -> str:
    """Why a scenario cannot be split between two machines; empty if it can."""
    if any(path.startswith("link.") for path in scenario.settings):
        return "it disturbs the emulated link; disturb the network itself"
    if any(command.endswith(":reset") for command in scenario.commands):
        return "it resets the follower by the leader's clock, and each side is reset by itself"
    if scenario.settings.get("rig.startup"):
        return "its start-up sequence knows both"
    return ""


def split_settings(options: Options, scenario: Scenario) -> tuple[Settings, Settings]:
    """Settings of the scenario, then of the user: those that shape the rig, and those of parts."""
    absent = {"leader", "follower"} - set(options.roles)
    skipped = skipped_settings(options, scenario)
    own = [
        (path, value)
        for path, value in scenario.settings.items()
        if path.partition(".")[0] not in absent and path not in skipped
    ]
    settings = [*own, *options.settings]
    shaping = [item for item in settings if item[0].startswith("rig.")]
    return shaping, [item for item in settings if not item[0].startswith("rig.")]


def skipped_settings(options: Options, scenario: Scenario) -> list[str]:
    """Settings that a scenario makes for simulated plants where the user has put a machine."""
    chosen = dict(options.settings)
    outside = tuple(
        f"{role}.plant."
        for role in options.roles
        if chosen.get(f"rig.{role}_plant", SIMULATED) != SIMULATED
    )
    return [path for path in scenario.settings if path.startswith(outside)] if outside else []


def post_scenario(session: Session, scenario: Scenario, options: Options) -> None:
    """Post a scenario's commands, without those of an absent side.

    A follower alone leaves out the commands of the coupling too: those are the leader's.
    """
    absent = tuple(f"{role}." for role in ("leader", "follower") if role not in options.roles)
    for command in scenario.commands:
        _, sets, path = command.partition(":set ")
        if (sets or options.side != "follower") and not path.startswith(absent):
            session.commands.post_text(command)


def configure(construction: Any, settings: Settings) -> None:
    """Apply the settings that shape the parts."""
    for path, value in settings:
        assign({"rig": construction}, path, value)


def configure_parts(session: Session, construction: Any, settings: Settings) -> None:
    """Apply the settings of the parts; an unknown path is refused with a list of those known."""
    for path, value in settings:
        try:
            assign(session.parameters, path, value)
        except UnknownName as error:
            if error.kind != "parameter":
                raise
            session.close()
            rows = (*describe({"rig": construction}), *describe(session.parameters))
            raise UnknownName("parameter", path, [known for known, *_ in rows]) from None
        except FarhandError:
            session.close()
            raise
    for world in session.worlds if settings else ():
        if isinstance(world, World):
            world.refresh()
