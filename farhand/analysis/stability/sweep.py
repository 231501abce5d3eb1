"""Many independent pieces of work: over the cores of this computer or a Ray cluster, and resumed where they stopped."""

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
from farhand.files import write_text
from farhand.loop.interrupts import ending_workers, ignoring_interrupts

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
) -> list[Row]:
    """Do ``work`` for every item and return the rows in the items' order.

    Args:
        work: a function of a module, so that other processes find it.
        items: what to do it for.
        name: tells items apart, in the file and on the progress bar.
        done: a file of rows already there, one JSON object per line; what is new is added to it as
            it comes.
        workers: processes; one per core by default, 1 does the work in this process.
        ray: address of a Ray cluster (``auto``, ``local`` or ``ray://host:port``) that does it
            instead.
        progress: told how many are done, of how many, and the last one's name.
    """
    rows = _read(done)
    left = [(index, item) for index, item in enumerate(items) if name(item) not in rows]
    total, count = len(items), len(items) - len(left)
    for index, row in _results(work, left, workers, ray):
        word = name(items[index])
        rows[word] = row
        _append(done, {"name": word, **row})
        count += 1
        progress(count, total, word)
    return [rows[name(item)] for item in items]


def _results(
    work: Callable[[Item], Row], left: list[tuple[int, Item]], workers: int | None, ray: str | None
) -> Iterator[tuple[int, Row]]:
    if ray is not None and left:
        yield from _on_ray(work, left, ray)
    elif workers == 1 or len(left) < 2:
        yield from ((index, work(item)) for index, item in left)
    else:
        with (
            ending_workers(),
            ProcessPoolExecutor(workers or os.cpu_count(), get_context("spawn")) as pool,
        ):
            # the workers start here, and leave Ctrl-C to the one that started them
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
        raise BadValue(
            f"--ray {address}: no Ray cluster answers there ({' '.join(str(error).split())[:80]})"
        ) from None
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
    """Rows by name; a last line that was cut off is done again."""
    if path is None or not path.exists():
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from None
    rows: dict[str, Row] = {}
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            rows[row.pop("name")] = row
        except (ValueError, KeyError, AttributeError):
            if number < len(lines) or number == 1:
                raise BadValue(
                    f"{path} line {number} is not a row of a sweep; name a new file"
                ) from None
            write_text(path, "".join(f"{whole}\n" for whole in lines[:-1]))
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
