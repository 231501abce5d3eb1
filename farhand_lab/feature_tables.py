"""Feature tables of the documentation, written from the ``features.toml`` of every rig.

``python -m farhand_lab.feature_tables`` rewrites the text between the two markers in
``docs/sources/RIG.md``.
"""

from __future__ import annotations

import re
from pathlib import Path

from farhand_lab import harness

PAGES = Path(__file__).parents[1] / "docs" / "sources"
BEGIN, END = "<!-- features: begin -->", "<!-- features: end -->"
COLUMNS = ("title", "criterion", "unit", "source")


def table(group: str) -> str:
    """The features of a rig as a Markdown table; each id is an anchor."""
    lines = ["| id | feature | criterion | unit | source |", "| --- | --- | --- | --- | --- |"]
    for id, row in harness.features(group).items():
        cells = " | ".join(_escaped(row[column]) for column in COLUMNS)
        lines.append(f'| <a id="{id}"></a>{id} | {cells} |')
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return re.sub(r"([|*])", r"\\\1", text)


def updated(page: str, group: str) -> str:
    """The text of a page with the table of a rig between the markers."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(group)}\n\n{END}{after}"


def main() -> None:
    """Rewrite all tables."""
    for group in harness.groups():
        path = PAGES / f"{group}.md"
        path.write_text(updated(path.read_text(encoding="utf-8"), group), encoding="utf-8")


if __name__ == "__main__":
    main()
