"""The page of reproduced results: what was published, what came out, and how to check it."""

from __future__ import annotations

import importlib
import json
import re
from html import unescape
from pathlib import Path

import pytest

from farhand_lab import harness, oracle
from farhand_lab.harness import Entry, Figure
from farhand_lab.publications import DOCS, places, publications
from farhand_lab.report import drawn, report, undrawn

RIGS = ("dual-arm", "hazardous", "youbot", "cooperative", "humanoid")


def line_plot():
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas()
    canvas.subplots().plot([0, 1], [0, 1])
    return canvas


def entry(id: str, verdict: str, group: str = "dual-arm", **more: object) -> Entry:
    judged = (id, f"Title of {id}", 0.25, "mm", "< 1 mm", verdict, "thesis §7.3: 26 N", "a <note>")
    return Entry(*judged, group=group, **more)


def page_of(entries: list[Entry], folder: Path) -> str:
    return report(entries, folder).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> str:
    """The page of the results in the repository, without plots."""
    groups = {id: group for group in harness.groups() for id in harness.features(group)}
    rows = json.loads((DOCS / "results" / "reproduce.json").read_text(encoding="utf-8"))
    for row in rows:
        row["group"] = groups[row["id"]]
        row["differs"] = harness.features(row["group"])[row["id"]].get("differs", "")
        del row["commit"]
    folder = tmp_path_factory.mktemp("page")
    return page_of([Entry(**{**row, "path": tuple(row["path"])}) for row in rows], folder)


def test_there_is_a_card_with_citation_picture_and_score_for_every_publication(published):
    """Five, and two for our own checks; the citation is that of docs/sources."""
    cards = re.findall(r'<section class="card">.*?</section>', published, re.DOTALL)
    assert len(cards) == 7
    for rig, card in zip(RIGS, cards, strict=False):
        source = publications()[rig]
        text = unescape(re.sub("<.*?>", "", card))
        work = source.citation.partition(",")[0].replace("*", "")
        assert source.short and source.title in text and work in text
        assert "data:image/jpeg" in card and re.search(r"\d+ pass</button>", card)


def test_every_claim_has_one_line_and_leads_to_its_line_in_the_sources(published):
    """No place that only its author can open."""
    lines = re.findall(r'<details class="claim" id="(.*?)".*?<summary.*?href="(.*?)"', published)
    known = [id for group in harness.groups() for id in harness.features(group)]
    assert sorted(id for id, _ in lines) == sorted(known)
    for id, link in lines:
        page, _, anchor = link.partition("#")
        group = Path(page).stem
        line = (
            (DOCS / "sources" / f"{group}.md")
            .read_text(encoding="utf-8")
            .splitlines()[places(group)[id].line - 1]
        )
        assert anchor == id and f'<a id="{id}"></a>{id} |' in line
    assert not re.search(r"seed L\d+", published)


def test_what_differs_is_said_in_words(published):
    """Each of them has a sentence; results of one cause share it."""
    shown = "".join(re.findall(r"<b>What differs</b><ul>.*?</ul>", published))
    assert "asked for" not in shown
    assert re.search(r">F-21</a>, <a href=\"#X-11\">X-11</a>", shown)


def test_the_page_is_small_and_needs_nothing_from_elsewhere(published):
    """It opens from a disk at once: 358 claims and five pictures in less than a megabyte."""
    assert len(published.encode()) < 1_000_000
    assert re.findall(r'src="(?!data:)', published) == []
    assert "url(" not in published and "@import" not in published


def test_a_claim_can_be_checked_from_its_line(tmp_path):
    """Published, ours, tolerance and verdict; below them note, code, setting and command."""
    more = {"path": ("farhand.arm.Arm",), "configuration": "noise off"}
    html = page_of([entry("D-51", "differs", **more)], tmp_path)
    row = unescape(re.sub("<.*?>", "|", re.search("<details.*?</details>", html, re.DOTALL)[0]))
    for text in ("D-51", "thesis §7.3: 26 N", "0.2500 mm", "< 1 mm", "differs", "a <note>"):
        assert f"|{text}|" in row
    for text in ("farhand.arm.Arm", "noise off", "farhand reproduce D-51"):
        assert f"|{text}|" in row
    assert re.search(r"\d{4}-\d\d-\d\d, commit [0-9a-f]{12}\+?; Python 3\.\d+.*, numpy \d", html)


def test_places_that_a_source_names_are_links(tmp_path):
    """Sections of our own pages and errata, but not those of the thesis."""
    claim = entry("D-02", "pass")
    claim = Entry(
        **{**claim.__dict__, "source": "thesis §3.5; sources/dual-arm §2.5; erratum E-07"}
    )
    html = page_of([claim], tmp_path)
    assert re.search(r'dual-arm\.md#s2-5" title=".*?">sources/dual-arm §2.5</a>', html)
    assert re.search(r'dual-arm\.md#E-07" title=".*?">E-07</a>', html)
    assert "thesis §3.5;" in html


def test_a_plot_is_folded_and_shown_once(tmp_path):
    """Claims that share it lead to the first."""
    figure = Figure("error over time", line_plot)
    entries = [entry(id, "pass", figures=(figure,)) for id in ("D-01", "D-02")]
    html = page_of(entries, tmp_path)
    assert html.count('<img loading="lazy" src="data:image/svg+xml') == 1
    assert 'Plot: error over time, under <a href="#D-01">D-01</a>' in html


def test_a_large_plot_is_small_on_the_page(tmp_path):
    """A noisy curve of 20,000 points would be half a megabyte of vectors."""
    import numpy as np

    def noisy():
        canvas = line_plot()
        canvas.axes[0].plot(np.random.default_rng(0).standard_normal(20_000))
        return canvas

    html = page_of([entry("D-01", "pass", figures=(Figure("noise", noisy),))], tmp_path / "with")
    bare = page_of([entry("D-01", "pass")], tmp_path / "bare")
    assert "data:image/png" in html and len(html) - len(bare) < 80_000


def test_a_report_of_figures_drawn_before_is_the_same(tmp_path):
    """Also where several ids share one; nothing is drawn again."""
    drawings = []

    def make():
        drawings.append(1)
        return line_plot()

    figure = Figure("error over time", make)
    entries = [entry(id, "pass", figures=(figure,)) for id in ("D-01", "D-02")]
    before = page_of([*entries, entry("D-03", "pass")], tmp_path / "a")
    kept = drawn([*entries, entry("D-03", "pass")])
    assert page_of(kept, tmp_path / "b") == before and len(drawings) == 2
    assert not any(kept.figures for kept in undrawn(entries))


def test_the_summary_in_the_repository_has_the_same_cards(monkeypatch):
    """It is what its program makes of its data: publication, score and, in words, what differs."""
    monkeypatch.syspath_prepend(DOCS / "results")
    page = importlib.import_module("summarise")
    text = page.summary(page.read())
    assert (DOCS / "results" / "README.md").read_text(encoding="utf-8") == text
    for source in publications().values():
        (row,) = re.findall(rf"^\| \[{source.title}\].*$", text, re.MULTILINE)
        assert (source.short or "our own checks") in row
    assert (
        "[F-21](../sources/cooperative.md#F-21), [X-11](../sources/cooperative.md#X-11): At" in text
    )


def test_the_oracle_keeps_the_published_verdicts() -> None:
    """A refactoring is judged by what the results say today, not by what they said once."""
    rows = json.loads((DOCS / "results" / "reproduce.json").read_text(encoding="utf-8"))
    kept = json.loads(oracle.KEPT.read_text(encoding="utf-8"))["verdicts"]
    assert kept == {row["id"]: row["verdict"] for row in rows}
