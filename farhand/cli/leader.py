"""``farhand leader``: the operator's side of a rig, with its follower on another machine."""

from __future__ import annotations

from typing import Annotated

import typer

from farhand.cli.output import JsonPath, Seed
from farhand.cli.run import (
    Host,
    Law,
    Layer,
    Port,
    Posts,
    RecordPath,
    RigName,
    ScenarioName,
    Seconds,
    Settings,
)
from farhand.cli.sideways import Headless, KeyFile, LinkName, Transport, Wanted, ZenohConfig

Connect = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where the follower, or a Zenoh router, is.")]
Patience = Annotated[float, typer.Option(metavar="S", help="How long to wait for the follower's first answer.")]


def leader(
    rig: RigName,
    key: KeyFile,
    connect: Connect = None,
    transport: Transport = "udp",
    law: Law = None,
    layer: Layer = "none",
    scenario: ScenarioName = None,
    seconds: Seconds = None,
    headless: Headless = False,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    record: RecordPath = None,
    settings: Settings = None,
    at: Posts = None,
    seed: Seed = 0,
    json: JsonPath = None,
    patience: Patience = 10.0,
    link_name: LinkName = "link",
    zenoh_config: ZenohConfig = None,
) -> int:
    """Run the leader's side of a rig on the wall clock, and couple it to a follower elsewhere.

    While it runs, type engage, release, stop, reset or set PATH=VALUE and Enter.

    Example: [bold]farhand leader dual-arm --connect 192.168.1.20:7400 --key link.key --layer tdpa[/bold]
    """
    from farhand.cli.side import run_side

    wanted = Wanted(rig, key, transport, None, connect, law, layer, scenario, seconds, record, json, seed)
    wanted.page = None if headless else (host, port)
    wanted.settings, wanted.at, wanted.patience = settings or [], at or [], patience
    wanted.link_name, wanted.zenoh_config = link_name, zenoh_config
    return run_side("leader", wanted)
