"""Publications behind the rigs, read from ``docs/sources``: citation, picture, line of an id."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
"""The documentation of this checkout; an installed copy has none."""


@dataclass(frozen=True)
class Publication:
    """What a rig, or a list of our own checks, is judged by."""

    group: str
    title: str  #: such as "The dual-arm rig"
    short: str = ""  #: author, title, university and year, as Markdown; empty for our own checks
    citation: str = ""  #: all that is known of it, as Markdown

    @property
    def picture(self) -> Path | None:
        """A film of the rig, if there is one."""
        path = DOCS / "images" / f"{self.group}.gif"
        return path if path.is_file() else None


@dataclass(frozen=True)
class Place:
    """A line of the documentation."""

    page: str  #: such as ``sources/dual-arm.md``
    anchor: str
    line: int


@functools.cache
def publications() -> dict[str, Publication]:
    """By rig, in the order of docs/sources/index.md; our own checks come last."""
    found = {}
    listed = re.findall(r"^\| `([\w-]+)` \| (.*?) \|", _text("sources/index.md"), re.MULTILINE)
    own = re.findall(r"\[([\w-]+)\]\(\1\.md\)", _text("sources/index.md"))
    for group, short in dict.fromkeys([*listed, *((name, "") for name in own)]):
        if group in found:
            continue
        heading, _, rest = _text(f"sources/{group}.md").partition("\n")
        title = heading.removeprefix("# ").replace("Source of the", "The")
        citation = " ".join(rest.strip().partition("\n\n")[0].split())
        found[group] = Publication(group, title, short, citation)
    return found


def publication(group: str) -> Publication:
    """Of a rig; only its name if the documentation does not know it."""
    return publications().get(group, Publication(group, group))


@functools.cache
def places(group: str) -> dict[str, Place]:
    """Where the page of a rig lists each id, such as D-40, E-07 or §2.5."""
    page = f"sources/{group}.md"
    found = {}
    for line, text in enumerate(_text(page).splitlines(), 1):
        for anchor in re.findall(r'<a id="([\w-]+)"></a>', text):
            name = re.sub(r"^s(\d+)-(\d+)$", r"§\1.\2", anchor)
            found[name] = Place(page, anchor, line)
    return found


def _text(page: str) -> str:
    path = DOCS / page
    return path.read_text(encoding="utf-8") if path.is_file() else ""
