"""``farhand follower``: the robot's side of a rig, with its leader on another machine."""

from __future__ import annotations

from farhand.cli.side_options import command_of

follower = command_of(
    "follower",
    """Run the follower's side of a rig on the wall clock; it stands still until a leader with the key couples it.

    While it runs, type release, stop, reset or set PATH=VALUE and Enter.

    Example: [bold]farhand follower dual-arm --listen 0.0.0.0:7400 --key link.key --layer tdpa[/bold]
    """,
)
