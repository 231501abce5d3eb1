"""Report pages stand alone, say what they are given, and are written whole or not at all."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from farhand.errors import FileError
from farhand.files import write_text
from farhand.report.page import ReportPage, TableCell


def line_plot():
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas()
    canvas.subplots().plot([0, 1], [0, 1])
    return canvas


def test_text_is_shown_as_text():
    """Markup in titles, cells and captions must not become part of the page."""
    page = ReportPage("<b>", "<i>")
    page.section("<u>")
    page.paragraph("a < b & c")
    page.table(["<th>"], [["<script>"], [TableCell("<script>", "stopped")]], "<caption>")
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
    page.table(
        ["a", "b", "c", "d", "e"], [[1.23456, 12345.6, True, None, TableCell("at 2 s", "stopped")]]
    )
    row = re.search(r"<tbody>\n(.*)\n</tbody>", page.html()).group(1)
    assert row == (
        '<tr><td class="number">1.235</td><td class="number">12,346</td><td>yes</td><td>–</td>'
        '<td class="stopped">at 2 s</td></tr>'
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


def test_the_harness_and_the_page_do_not_load_matplotlib():
    """A run without a report pays nothing for plots."""
    imports = "import sys, farhand.report.page, farhand_lab.mutation"
    program = f"{imports}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
