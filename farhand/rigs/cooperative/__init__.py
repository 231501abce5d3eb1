"""The cooperative rig: arms of the RX160 family that carry together without communication.

A leader follows a path; followers sense only the wrench at their own wrists and give way to it.
What lies between the arms is a spring, a beam that all of them hold, or an object that a person
guides. Values: sources/cooperative (the published system) where it gives them; ``assumed`` and
``recommended`` mark the rest. The parts are in :mod:`farhand.rigs.cooperative.parts`.
"""

from __future__ import annotations

import numpy as np

from farhand.analysis.team import TeamMetrics, TeamWatch
from farhand.loop.session import Session
from farhand.loop.telemetry import Telemetry
from farhand.rigs.cooperative.arms import Cooperative
from farhand.rigs.cooperative.parts import make_crew
from farhand.rigs.cooperative.scenarios import DEFAULTS, SCENARIOS, fitted
from farhand.rigs.rig import Options, Rig, choose, configure, configure_parts, split_settings

TITLE = "RX160 arms carry a beam, meet in a spring or follow a hand, without communication"
WATCH_NS = 20_000_000
"""Time between measurements of the whole team, [ns]."""

ONE_MACHINE = "it has no leader and no link, its arms tell each other nothing"
LAW = "direct-force"
"""Stands for the law: every arm has a controller of its own, and nothing couples them."""


def build(options: Options) -> Rig:
    """Assemble the rig."""
    coupling = str(dict(options.settings).get("rig.coupling", "beam"))
    scenario = choose(SCENARIOS, options, DEFAULTS.get(coupling, "carry"))
    shape = Cooperative()
    shaping, settings = split_settings(options, scenario)
    configure(shape, shaping)
    scenario = fitted(scenario, shape)
    telemetry = Telemetry()
    crew = make_crew(shape, scenario, telemetry.event, np.random.default_rng(options.seed))
    full = np.array([job.weight for job in crew.jobs])
    loads = [lambda job=job: job.loaded for job in crew.jobs]
    names, period_ns = [arm.name for arm in crew.arms], shape.period_ns
    watch = TeamWatch(telemetry, crew.world, names, crew.thing, loads, crew.lag, WATCH_NS)
    described = {"rig": "cooperative", "law": LAW, "seed": options.seed, "scenario": scenario.name}
    stations = [arm.station for arm in crew.arms]
    session = Session(
        stations,
        bridges=[],
        worlds=[crew.world],
        telemetry=telemetry,
        clock=options.clock,
        parameters=crew.parameters,
        description=described,
    )
    for job in crew.jobs:
        session.add(job.step, period_ns, after="sense")
    session.add(watch.step, WATCH_NS)
    configure_parts(session, shape, settings)
    for command in scenario.commands:
        session.commands.post_text(command)
    metrics = TeamMetrics(session, crew.world, names, crew.thing, full)
    return Rig(
        "cooperative", LAW, options, scenario, session, crew.world, metrics, shape, crew.parts
    )
