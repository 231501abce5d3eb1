"""Make the explorable: ``python -m farhand_lab.explorable --out out/docs/explorable.html``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from farhand.analysis.stability.sweep import sweep
from farhand.files import write_text
from farhand.report.output import counting
from farhand_lab.explorable.page import write_page
from farhand_lab.explorable.runs import ExplorableRun, Grid, drawing, predict, record

OUT = Path("out/docs/explorable.html")


def main(words: Sequence[str] | None = None, grid: Grid | None = None) -> Path:
    """Run all cells and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m farhand_lab.explorable",
        description="One HTML file with runs of the dual-arm rig over delay, law, layer and wall.",
    )
    add = parser.add_argument
    add("--out", type=Path, default=OUT, help=f"where to write it ({OUT})")
    add("--workers", type=int, help="processes; one per core by default")
    add("--done", type=Path, help="keep finished runs in this file, and continue from it")
    options = parser.parse_args(words)
    began = time.monotonic()
    grid = grid or Grid()
    page = write_page(grid, *make(grid, options.done, options.workers), drawing())
    write_text(options.out, page)
    took = time.monotonic() - began
    size = len(page.encode()) / 1e6
    print(f"{len(grid.cells())} runs, {size:.1f} MB, {took:.0f} s: {options.out}")
    return Path(options.out)


def make(
    grid: Grid, done: Path | None = None, workers: int | None = None
) -> tuple[dict[str, dict[str, Any]], dict[str, list[list[float]]]]:
    """Runs by cell, and calm delays by law and wall."""
    cells = grid.cells()
    with counting("runs") as progress:
        rows = sweep(record, cells, _name, done, workers, progress=progress)
    named = {cell.name: row for cell, row in zip(cells, rows, strict=True)}
    pairs = product(grid.laws, grid.walls)
    return named, {f"{law}/{wall:g}": predict(law, wall, grid.delays) for law, wall in pairs}


def _name(cell: ExplorableRun) -> str:
    return cell.name


if __name__ == "__main__":
    main()
