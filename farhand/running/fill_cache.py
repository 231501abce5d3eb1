"""``python -m farhand.running.fill_cache``: compile all that a tick calls, once per installation.

The first run of a fresh installation starts it in the background and does without; see
:mod:`farhand.compiled`.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys

from farhand.compiled import VARIABLE, enabled, stamp
from farhand.report.output import note

LAWS = ("virtual-constraints", "four-channel", "admittance")
"""Laws of the dual-arm rig that have compiled functions of their own."""

RIGS = ("hazardous", "youbot", "cooperative", "humanoid")


COMMAND = (sys.executable, "-m", "farhand.running.fill_cache")


def in_background() -> None:
    """Fill the cache by a process of low priority, and say so; nothing if that is done already."""
    if enabled() or VARIABLE in os.environ:
        return
    subprocess.Popen(
        COMMAND,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, VARIABLE: "compiled"},
        start_new_session=True,
    )
    note("this first run is slower: its code is compiled in the background for the next run")


def at_once() -> None:
    """Fill the cache before work that takes longer than that; workers use it too."""
    if not enabled() and VARIABLE not in os.environ:
        note("compiling first, once per installation: about half a minute")
        os.environ[VARIABLE] = "compiled"
        enabled.cache_clear()
        subprocess.run(COMMAND, stdin=subprocess.DEVNULL)


def fill() -> None:
    """Run every rig for a moment, and leave a note that this was done."""
    os.nice(10)
    from farhand.rigs import Options, build_rig

    done = stamp()
    done.parent.mkdir(parents=True, exist_ok=True)
    with done.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        for name, law in [("dual-arm", law) for law in LAWS] + [(name, None) for name in RIGS]:
            rig = build_rig(name, Options(law=law))
            rig.session.run(0.05)
            rig.close()
        done.touch()


if __name__ == "__main__":
    fill()
