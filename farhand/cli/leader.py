"""``farhand leader``: the operator's side of a rig, with its follower on another machine."""

from __future__ import annotations

from farhand.cli.side_options import command_of

leader = command_of(
    "leader",
    """Run the leader's side of a rig on the wall clock, and couple it to a follower elsewhere.

    While it runs, type engage, release, stop, reset or set PATH=VALUE and Enter.

    Example: [bold]farhand leader dual-arm --connect 192.168.1.20:7400 --key link.key --layer tdpa[/bold]
    """,
)
