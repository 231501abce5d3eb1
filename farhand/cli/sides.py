"""``farhand leader`` and ``farhand follower``: the two sides of a rig on two machines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from farhand.cli.options import (
    Host,
    JsonPath,
    Law,
    Layer,
    Port,
    Publish,
    PublishDrive,
    PublishRate,
    RecordPath,
    RigName,
    ScenarioName,
    Seconds,
    Seed,
    Settings,
    TimedCommands,
)

KeyFile = Annotated[
    Path, Option("--key", metavar="FILE", help="The key both sides hold; see farhand key.")
]
Listen = Annotated[
    str | None, Option(metavar="HOST:PORT", help="Where to listen, such as 0.0.0.0:7400.")
]
Connect = Annotated[
    str | None, Option(metavar="HOST:PORT", help="Where the follower, or a Zenoh router, is.")
]
Transport = Annotated[Literal["udp", "zenoh"], Option(help="UDP, or Zenoh across routers.")]
Headless = Annotated[bool, Option("--headless", help="No page; still in real time.")]
Patience = Annotated[
    float, Option(metavar="S", help="How long a leader waits for the first answer.")
]
LinkName = Annotated[
    str, Option(metavar="NAME", help="Name of the link, if several share a Zenoh router.")
]
ZenohConfig = Annotated[
    Path | None,
    Option(metavar="FILE", help="Zenoh configuration (JSON5), such as certificates for TLS."),
]

PAGE_PORTS = {"leader": 8080, "follower": 8081}
"""Ports of the two pages; they differ so that both sides can run on one machine."""


def _command(side: str, help: str) -> Callable[..., int]:
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
        port: Port = PAGE_PORTS[side],
        record: RecordPath = None,
        settings: Settings = None,
        at: TimedCommands = None,
        seed: Seed = 0,
        json: JsonPath = None,
        patience: Patience = 10.0,
        link_name: LinkName = "link",
        zenoh_config: ZenohConfig = None,
        publish: Publish = None,
        publish_drive: PublishDrive = False,
        publish_rate: PublishRate = 100.0,
    ) -> int:
        from farhand.running.side import SideOptions, run_side

        options = SideOptions(
            side,
            rig,
            key,
            transport,
            listen,
            connect,
            law=law,
            layer=layer,
            scenario=scenario,
            seconds=seconds,
            page=None if headless else (host, port),
            record=record,
            settings=settings or [],
            at=at or [],
            seed=seed,
            json=json,
            patience=patience,
            link_name=link_name,
            zenoh_config=zenoh_config,
            publish=publish or [],
            publish_drive=publish_drive,
            publish_rate=publish_rate,
        )
        return run_side(options)

    command.__doc__ = help
    return command


leader = _command(
    "leader",
    """Run the leader's side of a rig in real time, and couple it to a follower elsewhere.

    While it runs, type engage, release, stop, reset or set PATH=VALUE and Enter.

    Example: [bold]farhand leader dual-arm --connect 192.168.1.20:7400 --key link.key --layer
    tdpa[/bold]
    """,
)
follower = _command(
    "follower",
    """Run the follower's side of a rig in real time; it stands still until a leader couples it.

    While it runs, type release, stop, reset or set PATH=VALUE and Enter.

    Example: [bold]farhand follower dual-arm --listen 0.0.0.0:7400 --key link.key --layer
    tdpa[/bold]
    """,
)
