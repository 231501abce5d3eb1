"""Report pages stand alone, say what they are given, and are written whole or not at all."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from farhand.errors import FileError
from farhand.files import write_text
from farhand.report.page import Badge, ReportPage
from farhand_lab.harness import Entry, Figure
from farhand_lab.report import drawn, report, undrawn


def line_plot():
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas()
    canvas.subplots().plot([0, 1], [0, 1])
    return canvas


def entry(id: str, verdict: str, figures=(), group: str = "dual-arm") -> Entry:
    return Entry(
        id,
        f"Title of {id}",
        0.25,
        "mm",
        "< 1 mm",
        verdict,
        "a thesis",
        "a note",
        group,
        figures=figures,
    )


def test_text_is_shown_as_text():
    """Markup in titles, cells and captions must not become part of the page."""
    page = ReportPage("<b>", "<i>")
    page.section("<u>")
    page.paragraph("a < b & c")
    page.table(["<th>"], [["<script>"], [Badge('"><script>')]], "<caption>")
    page.figure(line_plot(), '"><script>')
    html = page.html()
    assert "<script>" not in html and "<b>" not in html and "<i>" not in html and "<u>" not in html
    assert "a &lt; b &amp; c" in html


def test_the_page_needs_nothing_from_elsewhere():
    """It opens from a disk without a network: no link, script or image outside the file."""
    page = ReportPage("Report", "A page.")
    page.figure(line_plot(), "A line")
    html = page.html()
    assert re.findall(r'(?:src|href)="(?!data:)', html) == []
    assert "url(" not in html and "@import" not in html


def test_cells_are_set_by_type():
    """Numbers have four digits or no exponent, to the right; yes and no are words; a missing value
    is a dash.
    """
    page = ReportPage("Report", "A page.")
    page.table(["a", "b", "c", "d", "e"], [[1.23456, 12345.6, True, None, Badge("differs")]])
    row = re.search(r"<tbody>\n(.*)\n</tbody>", page.html()).group(1)
    assert row == (
        '<tr><td class="number">1.235</td><td class="number">12,346</td><td>yes</td><td>–</td>'
        '<td><span class="badge differs">differs</span></td></tr>'
    )


def test_the_same_plot_gives_the_same_page():
    """Committed results change only if the results change."""
    pages = [ReportPage("Report", "A page.") for _ in range(2)]
    for page in pages:
        page.figure(line_plot(), "A line")
    assert pages[0].html() == pages[1].html()


def test_a_large_plot_is_embedded_as_an_image_of_points(monkeypatch):
    """A cloud of points as vectors would make a page of many megabytes."""
    monkeypatch.setattr("farhand.report.page.LARGEST_SVG", 100)
    page = ReportPage("Report", "A page.")
    page.figure(line_plot(), "A line")
    assert "data:image/png;base64," in page.html()


def test_saving_makes_the_folder_and_leaves_only_the_page(tmp_path):
    """No temporary file stays behind."""
    path = ReportPage("Report", "A page.").save(tmp_path / "new" / "folder")
    assert [item.name for item in path.parent.iterdir()] == ["index.html"]
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_an_unwritable_folder_is_a_clear_error(tmp_path):
    """A file where the folder should be; root may write everywhere, so permissions would prove
    nothing.
    """
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(FileError, match=r"cannot write .*taken/index.html: "):
        ReportPage("Report", "A page.").save(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_write_that_fails_half_way_leaves_the_old_file(tmp_path, monkeypatch):
    """The old page stays until the new one is complete."""
    path = tmp_path / "index.html"
    path.write_text("old")

    def full_disk(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full_disk)
    with pytest.raises(FileError, match="No space left on device"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["index.html"]


def test_the_report_counts_verdicts_and_has_a_table_per_rig(tmp_path):
    """A reader sees first how many results hold, then which."""
    arm = [entry("D-1", "pass"), entry("D-2", "pass"), entry("D-3", "differs")]
    html = report([*arm, entry("Y-1", "pass", group="youbot")], tmp_path).read_text(
        encoding="utf-8"
    )
    counts = dict(
        re.findall(r'<span class="badge \w+">(\w+)</span></td><td class="number">(\d+)</td>', html)
    )
    assert counts == {"pass": "3", "corrected": "0", "differs": "1"}
    assert re.findall("<h2>(.*?)</h2>", html) == ["dual-arm", "youbot"]
    assert "<td>D-3</td><td>Title of D-3</td><td>0.25 mm</td><td>&lt; 1 mm</td>" in html


def test_the_contents_lead_to_every_rig_and_to_what_differs(tmp_path):
    """Every link of the page leads to a place on it."""
    entries = [entry("D-1", "pass"), entry("D-3", "differs"), entry("Y-1", "pass", group="youbot")]
    html = report(entries, tmp_path).read_text(encoding="utf-8")
    links = re.findall('href="#(.*?)"', html)
    assert links == ["dual-arm", "dual-arm/D-3", "youbot"]
    assert set(links) <= set(re.findall(' id="(.*?)"', html))
    assert "http" not in html.replace("http://www.w3.org", "")


def test_a_figure_that_several_ids_share_is_shown_once(tmp_path):
    """Its caption names them all."""
    figure = Figure("error over time", line_plot)
    entries = [entry("D-1", "pass", (figure,)), entry("D-2", "pass", (figure,))]
    html = report(entries, tmp_path).read_text(encoding="utf-8")
    assert re.findall("<figcaption>(.*?)</figcaption>", html) == ["D-1, D-2: error over time"]


def test_a_report_of_figures_drawn_before_is_the_same(tmp_path):
    """Also where several ids share one; nothing is drawn again."""
    drawings = []

    def make():
        drawings.append(1)
        return line_plot()

    figure = Figure("error over time", make)
    entries = [
        entry("D-1", "pass", (figure,)),
        entry("D-2", "pass", (figure,)),
        entry("D-3", "pass"),
    ]
    before = report(entries, tmp_path / "a").read_text()
    kept = drawn(entries)
    assert report(kept, tmp_path / "b").read_text() == before and len(drawings) == 2
    assert not any(entry.figures for entry in undrawn(entries))


def test_the_harness_and_the_page_do_not_load_matplotlib():
    """A run without a report pays nothing for plots."""
    imports = "import sys, farhand.report.page, farhand_lab.mutation"
    program = f"{imports}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
