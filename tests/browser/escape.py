"""How soon Escape stops the arms: on every rig, stopped or not, whatever has the focus.

Run by itself, with the rigs if not all, it prints the times; they mean something on a machine
that does nothing else::

    python -m tests.browser.escape
"""

from __future__ import annotations

import sys
import time
from typing import Any

from farhand.rigs import rig_names
from farhand.running.gallery import open_browser
from tests.browser.visiting import Run, Visitor, eventually

ALLOWED_S = 0.2  # from the key to the session's log

FOCUS = {
    "the picture": "document.querySelector('canvas').focus()",
    "nothing": "document.activeElement && document.activeElement.blur()",
    "a field": "[...document.querySelectorAll('input')].find(i => i.type === 'text').focus()",
    "an open menu": "(() => { const m = document.querySelector('[aria-haspopup=listbox]');"
    " if (m) { m.focus(); m.click(); } })()",
    "a button": "document.querySelector('.mantine-Button-root').focus()",
    "the page's own button": "document.getElementById('fh-sound').focus()",
}
"""What has the focus when Escape is pressed."""

STATES = ("as it is", "stopped")

NOTE_TIMES = (
    """() => window.addEventListener("keydown", () => { window.pressed = Date.now() }, true)"""
)


def stop_times(run: Run) -> list[float]:
    """When a session writes stops into its log, by the wall clock, [s]; it grows."""
    commands, times = run.rig.session.commands, list[float]()
    note = commands.note

    def timed(logged: Any) -> None:
        note(logged)
        if logged.request.name == "stop" and logged.outcome.done:
            times.append(time.time())

    commands.note = timed
    return times


def waits(browser: Any, rig: str) -> dict[tuple[str, str], float]:
    """From each press to its stop in the log, by state and focus, [s].

    Raises:
        AssertionError: a stop did not arrive, or the page does not say that the arms are stopped.
    """
    run = Run(None, rig=rig)
    times = stop_times(run)
    visitor = Visitor(browser, run.served.address)
    page, found = visitor.page, dict[tuple[str, str], float]()
    try:
        assert eventually(lambda: page.evaluate("!!document.getElementById('fh-stop')"))
        assert eventually(lambda: page.locator("#fh-stop:visible").count() == 1)
        page.evaluate(NOTE_TIMES)
        for state in STATES:
            for focus, script in FOCUS.items():
                if state == "as it is":
                    run.rig.session.commands.post("reset")
                page.evaluate(script)
                count = len(times)
                page.keyboard.press("Escape")
                assert eventually(lambda count=count: len(times) > count), (state, focus)
                found[state, focus] = times[count] - 1e-3 * page.evaluate("window.pressed")
        assert eventually(lambda: "Stopped" in page.inner_text("#fh-state"))
    finally:
        page.close()
        run.close()
    return found


def main() -> None:
    """Press Escape on every rig, and print how soon the arms stopped."""
    found = dict[tuple[str, str, str], float]()
    with open_browser() as browser:
        for rig in sys.argv[1:] or rig_names():
            times = waits(browser, rig)
            print(f"{rig}: {', '.join(f'{1e3 * t:.0f}' for t in times.values())} ms", flush=True)
            found |= {(rig, *case): wait for case, wait in times.items()}
    good = sum(wait <= ALLOWED_S for wait in found.values())
    slowest = max(found, key=lambda case: found[case])
    print(f"{good} of {len(found)} stops within {1e3 * ALLOWED_S:.0f} ms", end="; ")
    print(f"the slowest after {1e3 * found[slowest]:.0f} ms: {', '.join(slowest)}")


if __name__ == "__main__":
    main()
