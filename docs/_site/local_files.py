"""Links from a page to a file of the repository that is no page.

HTML files are copied to the same place in the site and open in the browser; MyST alone would make
them downloads.
"""

from __future__ import annotations

import posixpath
import shutil
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


def open_html(app: Sphinx, doctree: nodes.document) -> None:
    """Turn the download of an HTML file into a link to its copy."""
    for download in list(doctree.findall(addnodes.download_reference)):
        target = str(download.get("reftarget", ""))
        if not target.endswith(".html"):
            continue
        here = posixpath.dirname(app.env.docname)
        path = (
            posixpath.normpath(posixpath.join(here, target))
            if not target.startswith("/")
            else target[1:]
        )
        pages = app.env.metadata[app.env.docname].setdefault("html_files", [])
        pages.append(path)
        link = nodes.reference(
            "", "", *download.children, refuri=posixpath.relpath(path, here or "."), internal=True
        )
        download.replace_self(link)


def copy_html(app: Sphinx, error: Exception | None) -> None:
    """Copy the HTML files that pages link to."""
    if error is not None or app.builder.format != "html":
        return
    for data in app.env.metadata.values():
        for path in data.get("html_files", []):
            target = Path(app.outdir) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(Path(app.srcdir) / path, target)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-read", open_html)
    app.connect("build-finished", copy_html)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
