"""``farhand camera``: pictures of a served session, for programs that learn from pictures."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from farhand.errors import BadValue
from farhand.report.output import say, within

Session = Annotated[str, Argument(metavar="NAME", help="Of the session, see farhand serve.")]
View = Annotated[
    Literal["overview", "follower", "tool"],
    Option("--view", help="All arms, one arm, or from behind its tool."),
]
Station = Annotated[str, Option("--station", metavar="NAME", help="Which arm that is.")]
Width = Annotated[int, Option("--width", metavar="PIXELS", help="Of the pictures.")]
Height = Annotated[int, Option("--height", metavar="PIXELS", help="Of the pictures.")]
Fps = Annotated[int, Option("--fps", metavar="N", help="Pictures per second.")]
Save = Annotated[Path | None, Option("--save", metavar="F.png", help="Only one, as a file.")]


def camera(
    session: Session,
    view: View = "overview",
    station: Station = "follower",
    width: Width = 320,
    height: Height = 240,
    fps: Fps = 30,
    save: Save = None,
) -> None:
    """Draw a served session as a camera sees it, in a process of its own.

    Without --save the pictures go to the standard output, for a program that reads them: each is
    the time in the session, a float of 8 bytes, then red, green, blue by pixel.

    Example: [bold]farhand camera demo --view tool --save tool.png[/bold]
    """
    within("--width", width, 16, 640)
    within("--height", height, 16, 480)
    within("--fps", fps, 1, 120, "Hz")
    if save is None and sys.stdout.isatty():
        raise BadValue("pictures are for a program that reads them; give --save F.png for one")
    # before MuJoCo is imported
    os.environ.setdefault("MUJOCO_GL", "egl")
    from farhand.client import attach
    from farhand.running.camera import SessionCamera

    with attach(session) as client:
        eye = SessionCamera(client, view, width, height, station)
        for t, picture in eye.frames(fps):
            if save is not None:
                from matplotlib.image import imsave

                imsave(save, picture)
                say(f"{save}: session {session} at {t:.3f} s")
                break
            try:
                sys.stdout.buffer.write(struct.pack("<d", t) + picture.tobytes())
                sys.stdout.buffer.flush()
            except BrokenPipeError:
                break
        eye.close()
