"""Run many independent jobs on all cores or a Ray cluster; resume where they stopped."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from farhand.errors import BadValue, FileError, Mismatch
from farhand.files import real_file, write_text
from farhand.loop.interrupts import end_with_parent, ending_workers, ignoring_interrupts

Item = TypeVar("Item")
Row = dict[str, Any]
Progress = Callable[[int, int, str], None]


def sweep(
    work: Callable[[Item], Row],
    items: Sequence[Item],
    name: Callable[[Item], str],
    done: Path | None = None,
    workers: int | None = None,
    ray: str | None = None,
    progress: Progress = lambda done, total, name: None,
    rows: dict[str, Row] | None = None,
) -> list[Row]:
    """Do ``work`` for every item and return the rows in the items' order.

    Args:
        work: a function of a module, so that other processes find it.
        items: to work on.
        name: identifies an item in the file and on the progress bar.
        done: a file of finished rows, one JSON object per line; new rows are added as they come.
        workers: processes; one per core by default, 1 works in this process.
        ray: address of a Ray cluster (``auto``, ``local`` or ``ray://host:port``) to use instead.
        progress: called with how many are done, of how many, and the last name.
        rows: finished ones by name; new rows are added as they come.
    """
    rows = {} if rows is None else rows
    rows |= _read(done)
    left = [(index, item) for index, item in enumerate(items) if name(item) not in rows]
    total, count = len(items), len(items) - len(left)
    for index, row in _results(work, left, workers, ray):
        item = name(items[index])
        rows[item] = row
        _append(done, {"name": item, **row})
        count += 1
        progress(count, total, item)
    return [rows[name(item)] for item in items]


def _results(
    work: Callable[[Item], Row], left: list[tuple[int, Item]], workers: int | None, ray: str | None
) -> Iterator[tuple[int, Row]]:
    if ray is not None and left:
        yield from _on_ray(work, left, ray)
    elif workers == 1 or len(left) < 2:
        yield from ((index, work(item)) for index, item in left)
    else:
        count, context = workers or os.cpu_count(), get_context("spawn")
        executor = ProcessPoolExecutor(count, context, initializer=end_with_parent)
        with ending_workers(), executor as pool:
            # The workers start here, and leave Ctrl-C to the process that started them.
            with ignoring_interrupts():
                futures = {pool.submit(work, item): index for index, item in left}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


def _on_ray(
    work: Callable[[Item], Row], left: list[tuple[int, Item]], address: str
) -> Iterator[tuple[int, Row]]:
    try:
        import ray
    except ImportError:
        raise Mismatch("--ray needs Ray: pip install 'farhand[ray]'") from None
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:80]
        raise BadValue(f"--ray {address}: no Ray cluster answers there ({reason})") from None
    try:
        remote = ray.remote(work)
        waiting = {remote.remote(item): index for index, item in left}
        while waiting:
            ready, _ = ray.wait(list(waiting))
            for reference in ready:
                yield waiting.pop(reference), ray.get(reference)
    finally:
        ray.shutdown()


def _read(path: Path | None) -> dict[str, Row]:
    """Rows by name; a last line that was cut off is removed and done again."""
    if path is None or not path.exists():
        return {}
    real_file(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from None
    lines = text.splitlines()
    rows: dict[str, Row] = {}
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            rows[row.pop("name")] = row
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            if number < len(lines) or number == 1:
                problem = "is not a row of a sweep; choose a new file"
                raise BadValue(f"{path} line {number} {problem}") from None
            lines.pop()
    whole = "".join(f"{line}\n" for line in lines)
    if whole != text:
        write_text(path, whole)
    return rows


def _append(path: Path | None, row: Row) -> None:
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, sort_keys=True) + "\n")
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None
