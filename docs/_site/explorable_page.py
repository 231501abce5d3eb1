"""The explorable, a page that ``make explorable`` puts into the site; until then, a page that says so.

It takes minutes of simulation, so building the site does not make it.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

NAME = "explorable.html"
NOT_YET = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Not made yet – Farhand</title>
<body style="font: 1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem">
<h1>This page is not made yet</h1>
<p>It shows recorded runs, which take some ten minutes of simulation. In the repository, run</p>
<pre>make explorable</pre>
<p>and reload. <a href="index.html">Back to the documentation</a></p>
"""


def leave_note(app: Sphinx, error: Exception | None) -> None:
    """Give the link on the front page somewhere to lead, and leave a page that is there."""
    page = Path(app.outdir) / NAME
    if error is None and app.builder.format == "html" and not page.exists():
        page.write_text(NOT_YET, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("build-finished", leave_note)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
