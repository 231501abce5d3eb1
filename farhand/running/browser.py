"""Whether a browser window can be opened here, and opening one."""

from __future__ import annotations

import os
import sys
import webbrowser


def has_browser() -> bool:
    """Whether there is a screen and a browser for it."""
    screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if not screen:
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def open_page(address: str) -> str:
    """Open a page in the browser; what to tell the user."""
    if has_browser() and webbrowser.open(address):
        return "your browser opens it now"
    return "no browser was found here: open that address in one"
