"""What ``farhand leader`` and ``farhand follower`` are told on the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import typer

KeyFile = Annotated[Path, typer.Option("--key", metavar="FILE", help="The key both sides hold; see farhand key.")]
Transport = Annotated[Literal["udp", "zenoh"], typer.Option(help="UDP, or Zenoh across routers.")]
Headless = Annotated[bool, typer.Option("--headless", help="No page; in real time all the same.")]
LinkName = Annotated[str, typer.Option(metavar="NAME", help="Of the link, where several share a Zenoh router.")]
ZenohConfig = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Zenoh configuration (JSON5), such as certificates for TLS.")
]


@dataclass
class Wanted:
    """Everything a user asks of one side."""

    rig: str
    key: Path
    transport: str
    listen: str | None
    connect: str | None
    law: str | None
    layer: str
    scenario: str | None
    seconds: float | None
    record: Path | None
    json: Path | None
    seed: int
    page: tuple[str, int] | None = None
    settings: list[str] = field(default_factory=list)
    at: list[str] = field(default_factory=list)
    patience: float = 10.0
    link_name: str = "link"
    zenoh_config: Path | None = None
