"""``farhand key``: the key that both sides of a link must hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from farhand.report.output import say

Out = Annotated[Path, Option("--out", metavar="FILE", help="Where to write it; never overwrites.")]


def key(out: Out) -> None:
    """Make a key for a leader and a follower on two machines, readable by you alone.

    Whoever holds it can move the follower. Copy it to the other machine over a way you trust, such
    as scp.

    Example: [bold]farhand key --out link.key[/bold]
    """
    from farhand.link.seal import write_key

    write_key(out)
    say(f"key: {out} (keep it secret; both sides need the same file)")
