"""``farhand follower``: the robot's side of a rig, with its leader on another machine."""

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

Listen = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where to hear the leader: 0.0.0.0:7400.")]
Connect = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="A Zenoh router to meet the leader at.")]


def follower(
    rig: RigName,
    key: KeyFile,
    listen: Listen = None,
    connect: Connect = None,
    transport: Transport = "udp",
    law: Law = None,
    layer: Layer = "none",
    scenario: ScenarioName = None,
    seconds: Seconds = None,
    headless: Headless = False,
    host: Host = "127.0.0.1",
    port: Port = 8081,
    record: RecordPath = None,
    settings: Settings = None,
    at: Posts = None,
    seed: Seed = 0,
    json: JsonPath = None,
    link_name: LinkName = "link",
    zenoh_config: ZenohConfig = None,
) -> int:
    """Run the follower's side of a rig on the wall clock; it stands still until a leader with the key couples it.

    While it runs, type release, stop, reset or set PATH=VALUE and Enter.

    Example: [bold]farhand follower dual-arm --listen 0.0.0.0:7400 --key link.key --layer tdpa[/bold]
    """
    from farhand.cli.side import run_side

    wanted = Wanted(rig, key, transport, listen, connect, law, layer, scenario, seconds, record, json, seed)
    wanted.page = None if headless else (host, port)
    wanted.settings, wanted.at = settings or [], at or []
    wanted.link_name, wanted.zenoh_config = link_name, zenoh_config
    return run_side("follower", wanted)
