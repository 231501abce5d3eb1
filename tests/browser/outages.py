"""What a visitor has after his connection was gone for a while, or the server was killed.

Run by itself, with the lengths of the outages [s]::

    python -m tests.browser.outages 5 60 600
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from farhand.running.gallery import open_browser
from tests.browser.visiting import FEW_FRAMES, Visitor, Wire, eventually

LOST = "STOP does not reach the arms"


def covered(visitor: Visitor) -> bool:
    """Whether the page says that its connection is lost, and hides the picture."""
    return visitor.page.locator("#fh-cover", has_text=LOST).is_visible()


def lose_the_line(browser: Any, length: float) -> None:
    """Cut it for some seconds: the page comes back by itself, and Escape stops the arms again."""
    with serving(0) as (_, address):
        wire = Wire(address)
        visitor = Visitor(browser, wire.address, script=FEW_FRAMES)
        assert eventually(lambda: "engaged" in visitor.text())
        began = time.monotonic()
        wire.cut()
        assert eventually(lambda: covered(visitor))
        print(f"line cut: covered after {time.monotonic() - began:.1f} s", flush=True)
        time.sleep(max(0.0, began + length - time.monotonic()))
        assert covered(visitor)
        wire.mend()
        mended = time.monotonic()
        assert eventually(lambda: not covered(visitor))
        assert eventually(lambda: "engaged" in visitor.text())
        back = time.monotonic() - mended
        stop(visitor)
        print(f"{length:g} s: back after {back:.1f} s, Escape stops", flush=True)
        visitor.page.close()
        wire.close()


def stop(visitor: Visitor) -> None:
    """Press Escape, and see that the session says it has stopped."""
    visitor.page.keyboard.press("Escape")
    assert eventually(lambda: "Stopped" in visitor.page.inner_text("#fh-state"))


@contextmanager
def serving(port: int, scenario: str = "rest") -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``farhand run`` on a port, and its address."""
    command = [sys.executable, "-m", "farhand", "run", "dual-arm", "--scenario", scenario]
    # A busy machine is late, which is not what is tried here
    command += ["--port", str(port), "--set", "deadlines.storm=1000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = (re.search(r"http://\S+", line) for line in process.stdout)
        try:
            yield process, next(match.group() for match in found if match)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


def kill_the_server(browser: Any) -> None:
    """``kill -9``, then the same command again: the open page shows the new session."""
    with serving(0) as (process, address):
        visitor = Visitor(browser, address, script=FEW_FRAMES)
        assert eventually(lambda: "engaged" in visitor.text())
        process.kill()
        killed = time.monotonic()
        assert eventually(lambda: covered(visitor))
        print(f"server killed: covered after {time.monotonic() - killed:.1f} s", flush=True)
    with serving(int(address.rpartition(":")[2])):
        served = time.monotonic()
        assert eventually(lambda: not covered(visitor))
        assert eventually(lambda: "engaged" in visitor.text())
        print(f"server started again: back after {time.monotonic() - served:.1f} s")
        stop(visitor)
        print("Escape stops the new session", flush=True)
        visitor.page.close()


def main() -> None:
    """Lose the line for some times, and kill the server."""
    with open_browser() as browser:
        kill_the_server(browser)
        for length in sys.argv[1:]:
            lose_the_line(browser, float(length))


if __name__ == "__main__":
    main()
