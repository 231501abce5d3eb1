"""Summarise the last ``farhand reproduce``: counts for each rig, and why some results differ.

    python docs/results/summarise.py          # reads reproduce.json, writes README.md beside it
    python docs/results/summarise.py --age    # says whether the code has changed since

The documentation site uses the same functions for its pages of results.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farhand_lab import harness
from farhand_lab.publications import places, publication, publications

HERE = Path(__file__).parent
VERDICTS = ("pass", "corrected", "differs")


@dataclass(frozen=True)
class Result:
    """One line of the reproduction."""

    id: str
    title: str
    value: Any
    unit: str
    criterion: str
    verdict: str
    source: str
    note: str
    commit: str = ""

    @property
    def group(self) -> str:
        """The rig, or the other part of Farhand, that the result belongs to."""
        return next((group for group in groups() if self.id in harness.features(group)), "other")

    @property
    def measured(self) -> str:
        """The value with its unit, four digits."""
        return harness.measured(self.value, self.unit)

    @property
    def differs(self) -> str:
        """In one sentence why it differs, where that is known."""
        return harness.features(self.group)[self.id].get("differs", "")


def read(path: Path = HERE / "reproduce.json") -> list[Result]:
    """The results of the last run; keys that are not known here are left out."""
    names = Result.__dataclass_fields__
    lines = json.loads(path.read_text(encoding="utf-8"))
    return [Result(**{name: line.get(name, "") for name in names}) for line in lines]


def groups() -> list[str]:
    """The rigs in the order of docs/sources/index.md, then our own checks."""
    return list(dict.fromkeys([*publications(), *harness.groups()]))


def grouped(results: list[Result]) -> dict[str, list[Result]]:
    """Results by rig, in the order of :func:`groups`; each rig's in the order of their ids."""
    found: dict[str, list[Result]] = {group: [] for group in (*groups(), "other")}
    for result in results:
        found[result.group].append(result)
    return {
        group: sorted(mine, key=lambda result: result.id) for group, mine in found.items() if mine
    }


def cell(text: str) -> str:
    """Text that stays inside one cell of a Markdown table and means only itself."""
    text = " ".join(str(text).split())
    for sign in ("\\", "|", "*", "_", "<", "`", "$", "[", "]"):
        text = text.replace(sign, f"\\{sign}")
    return text


def cards(results: list[Result]) -> list[str]:
    """Markdown lines: one row per rig with its publication, score, and what differs in words."""
    lines = [
        "| rig | publication | pass | corrected | differ | what differs |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    for group, found in grouped(results).items():
        counts = Counter(result.verdict for result in found)
        numbers = " | ".join(str(counts[verdict]) for verdict in VERDICTS)
        causes: dict[str, list[str]] = {}
        for result in found:
            if result.verdict == "differs":
                why = result.differs or f"{result.title}: {result.measured}."
                causes.setdefault(why, []).append(source_link(result))
        words = "<br>".join(f"{', '.join(ids)}: {cell(why)}" for why, ids in causes.items())
        source = publication(group)
        link = f"[{source.title}](../sources/{group}.md)"
        lines.append(
            f"| {link} | {source.short or 'our own checks'} | {numbers} | {words or '–'} |"
        )
    total = Counter(result.verdict for result in results)
    numbers = " | ".join(f"**{total[verdict]}**" for verdict in VERDICTS)
    return [*lines, f"| **all** | | {numbers} | |"]


def source_link(result: Result) -> str:
    """The id, with a link to its line in docs/sources."""
    place = places(result.group).get(result.id)
    return f"[{result.id}](../{place.page}#{place.anchor})" if place else result.id


def differences(results: list[Result]) -> list[str]:
    """Markdown lines: every result that differs, with value, criterion and cause."""
    lines: list[str] = []
    explained: dict[str, str] = {}
    for group, found in grouped(results).items():
        chosen = [result for result in found if result.verdict == "differs"]
        if chosen:
            lines += [f"### {publication(group).title}", ""]
        for result in chosen:
            head = f"- **{source_link(result)} {cell(result.title)}**: {cell(result.measured)}."
            again = f"Repeat: `farhand reproduce {result.id}`."
            lines += [f"{head} Criterion: {cell(result.criterion)}. {again}", ""]
            note = result.note.removesuffix(f"; measured {result.value} {result.unit}".rstrip())
            if note in explained:
                note = f"As {explained[note]}."
            explained.setdefault(note, result.id)
            lines += [f"  {cell(note)}", ""]
    return lines


def errata_anchors() -> dict[str, str]:
    """Anchor of the section of docs/errata.md that derives a corrected criterion, by id."""
    titles = re.findall(
        r"^### +((\w+-\d+) .*)$",
        (HERE.parent / "errata.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    return {
        id: re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title, id in titles
    }


def corrected_table(results: list[Result]) -> list[str]:
    """Markdown lines: the results whose published criterion was wrong, linked to the derivation."""
    anchors = errata_anchors()
    lines = ["| id | title | value |", "| --- | --- | --- |"]
    for result in (result for found in grouped(results).values() for result in found):
        if result.verdict == "corrected":
            link = (
                f"[{result.id}](../errata.md#{anchors[result.id]})"
                if result.id in anchors
                else result.id
            )
            lines.append(f"| {link} | {cell(result.title)} | {cell(result.measured)} |")
    return lines


def commit_of(results: list[Result]) -> str:
    """The commit whose code gave all of these results; empty if they do not name one."""
    commits = {result.commit for result in results}
    return commits.pop() if len(commits) == 1 else ""


def age(results: list[Result]) -> str:
    """How far the code that the results judge has gone on since they were measured, in words."""
    commit = commit_of(results)
    if not commit:
        return "the published results do not name one commit: run 'make reproduce'"
    what = [
        f"{commit.rstrip('+')}..HEAD",
        "--",
        ":/farhand",
        ":/farhand_lab",
    ]  # from the top of the tree
    answers = [
        subprocess.run(["git", "-C", str(HERE), *words, *what], capture_output=True, text=True)
        for words in (("rev-list", "--count"), ("diff", "--name-only"))
    ]
    if any(answer.returncode for answer in answers):
        return f"the published results are of commit {commit}, which is not in this checkout"
    commits, files = int(answers[0].stdout), len(answers[1].stdout.split())
    if not files and not commit.endswith("+"):
        return f"the published results are of this code (commit {commit})"
    behind = f"{commits} commits and {files} files behind the code they judge"
    return f"the published results are of commit {commit}, {behind}: run 'make reproduce'"


def summary(results: list[Result]) -> str:
    """The page ``docs/results/README.md``."""
    commit = commit_of(results)
    of = f"commit `{commit}`" if commit else "an unknown commit"
    lines = [
        "# Results",
        "",
        f"`farhand reproduce` of {of}. `python docs/results/summarise.py`",
        "writes this page from [reproduce.json](reproduce.json); do not edit it by hand.",
        "`make reproduce` makes both, and a report in `out/results/index.html` with a line per",
        "claim, its plot, and a filter. `farhand reproduce dual-arm` repeats the results of a rig,",
        "`farhand reproduce D-40` one of them.",
        "",
        *cards(results),
        "",
        "- **pass**: the criterion is met.",
        "- **corrected**: the published criterion was wrong. Farhand meets the corrected one,",
        "  which is derived in the [errata](../errata.md).",
        "- **differs**: the criterion is not met. The size and the cause are listed below.",
        "",
        "More results: the [soak test](soak.md) of every rig, the accuracy of the",
        "[stability](../stability.md) predictions, [single changes](mutants.md) of the code that",
        "tests notice, and what outside trials found of [the page](page.md) and of "
        "[the rest](findings.md).",
        "",
        "## What differs, and why",
        "",
        *differences(results),
        "## What is corrected",
        "",
        *corrected_table(results),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--age" in sys.argv[1:]:
        print(age(read()))
        sys.exit()
    (HERE / "README.md").write_text(summary(read()), encoding="utf-8")
    print(f"wrote {HERE / 'README.md'}")
