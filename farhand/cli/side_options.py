"""What ``farhand leader`` and ``farhand follower`` are told on the command line: the same words for both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

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
from farhand.report.output import JsonPath, Seed
from farhand.running.side import Wanted

KeyFile = Annotated[
    Path, typer.Option("--key", metavar="FILE", help="The key both sides hold; see farhand key.")
]
Listen = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Where to be found, such as 0.0.0.0:7400.")
]
Connect = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Where the follower, or a Zenoh router, is.")
]
Transport = Annotated[Literal["udp", "zenoh"], typer.Option(help="UDP, or Zenoh across routers.")]
Headless = Annotated[bool, typer.Option("--headless", help="No page; in real time all the same.")]
Patience = Annotated[
    float, typer.Option(metavar="S", help="How long a leader waits for the first answer.")
]
LinkName = Annotated[
    str, typer.Option(metavar="NAME", help="Of the link, where several share a Zenoh router.")
]
ZenohConfig = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Zenoh configuration (JSON5), such as certificates for TLS."),
]

PAGES = {"leader": 8080, "follower": 8081}
"""Ports of the two sides' pages, unlike so that both may run on one machine."""


def command_of(side: str, words: str) -> Callable[..., int]:
    """The command that runs one side.

    Args:
        side: ``"leader"`` or ``"follower"``.
        words: its help.
    """

    def command(
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
        port: Port = PAGES[side],
        record: RecordPath = None,
        settings: Settings = None,
        at: Posts = None,
        seed: Seed = 0,
        json: JsonPath = None,
        patience: Patience = 10.0,
        link_name: LinkName = "link",
        zenoh_config: ZenohConfig = None,
    ) -> int:
        from farhand.running.side import run_side

        wanted = Wanted(
            rig, key, transport, listen, connect, law, layer, scenario, seconds, record, json, seed
        )
        wanted.page = None if headless else (host, port)
        wanted.settings, wanted.at, wanted.patience = settings or [], at or [], patience
        wanted.link_name, wanted.zenoh_config = link_name, zenoh_config
        return run_side(side, wanted)

    command.__doc__ = words
    return command
