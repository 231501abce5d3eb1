"""The page of ``farhand reproduce --report``."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from farhand.report.page import Badge, Drawn, ReportPage, data_address, page_number
from farhand_lab.harness import Entry, Figure, Verdict

MEANINGS: dict[Verdict, str] = {
    "pass": "the criterion is met",
    "corrected": "the published criterion was wrong; the corrected one, derived in the errata, "
    "is met",
    "differs": "not met; the note says by how much and why",
}


def drawn(entries: Sequence[Entry]) -> list[Entry]:
    """The same entries with their figures drawn, so that the runs behind them can be dropped."""

    # A figure that several entries share stays one
    @functools.cache
    def ready(figure: Figure) -> Figure:
        picture = Drawn(data_address(figure.make()))
        return Figure(figure.title, lambda: picture)

    return [replace(entry, figures=tuple(map(ready, entry.figures))) for entry in entries]


def undrawn(entries: Sequence[Entry]) -> list[Entry]:
    """The same entries without their figures."""
    return [replace(entry, figures=()) for entry in entries]


def to_row(entry: Entry) -> dict[str, Any]:
    """An entry as plain values, its figures drawn; :func:`from_row` makes it again."""
    row = {field.name: getattr(entry, field.name) for field in fields(entry)}
    row["figures"] = [(figure.title, data_address(figure.make())) for figure in entry.figures]
    return row


def from_row(row: Mapping[str, Any]) -> Entry:
    """The entry of :func:`to_row`."""
    figures = tuple(_drawn(title, address) for title, address in row["figures"])
    return Entry(**{**row, "path": tuple(row["path"]), "figures": figures})


# A figure that several entries share is one again
@functools.cache
def _drawn(title: str, address: str) -> Figure:
    return Figure(title, lambda: Drawn(address))


def report(entries: Sequence[Entry], folder: str | Path) -> Path:
    """Write the page: counts per verdict, contents, then a table and the plots of each rig.

    Args:
        entries: what :func:`farhand_lab.harness.run` returned.
        folder: where ``index.html`` goes.

    Raises:
        FileError: the folder cannot be written.
    """
    page = ReportPage(
        "Reproduction",
        "Published results, measured again with Farhand: what was claimed and what came out.",
    )
    counts = Counter(entry.verdict for entry in entries)
    page.table(
        ("verdict", "results", "meaning"),
        [(Badge(verdict), counts[verdict], meaning) for verdict, meaning in MEANINGS.items()],
    )
    groups = dict.fromkeys(entry.group for entry in entries)
    page.contents(
        _listed(group, [entry for entry in entries if entry.group == group]) for group in groups
    )
    for group in groups:
        _add_group(page, group, [entry for entry in entries if entry.group == group])
    return page.save(folder)


def _listed(group: str, entries: list[Entry]) -> tuple[str, str, list[tuple[str, str]]]:
    """A rig in the contents: how many of its results hold, and which do not."""
    counts = Counter(entry.verdict for entry in entries)
    words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in MEANINGS if counts[verdict])
    return group, words, [(f"{group}/{e.id}", e.id) for e in entries if e.verdict == "differs"]


def _add_group(page: ReportPage, group: str, entries: list[Entry]) -> None:
    page.section(group)
    page.table(
        ("id", "title", "ours", "criterion", "verdict", "source", "note"),
        [
            (e.id, e.title, _ours(e), e.criterion, Badge(e.verdict), e.source, e.note)
            for e in entries
        ],
        cards=group,
    )
    captions: dict[Figure, list[str]] = {}
    for entry in entries:
        for figure in entry.figures:
            captions.setdefault(figure, []).append(entry.id)
    for figure, ids in captions.items():
        page.figure(figure.make(), f"{', '.join(ids)}: {figure.title}")


def _ours(entry: Entry) -> object:
    if (
        isinstance(entry.value, bool)
        or not isinstance(entry.value, int | float)
        or entry.unit in ("", "-")
    ):
        return entry.value
    return f"{page_number(entry.value)} {entry.unit}"
