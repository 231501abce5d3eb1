"""What recording costs per tick, and the file's speed and size beside CSV and Parquet."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from farhand.loop.telemetry import Reader, Telemetry
from farhand.recording.recorder import Recorder
from farhand.rigs import Options, build_rig
from farhand_lab.benchmarks.measure import Benchmark, Prepared

META: dict[str, Any] = {}


def _commit() -> Prepared:
    """Publish as many numbers as the dual-arm rig has; the floor is the bare copies."""
    telemetry = Telemetry()
    streams = [telemetry.stream(name, 1000.0) for name in ("leader", "follower", "coupling")]
    sizes = zip(streams, (50, 50, 11), strict=True)
    places = [stream.channel("all", size, "-") for stream, size in sizes]
    telemetry.freeze()
    values = [np.arange(len(place), dtype=float) for place in places]
    times = iter(range(1 << 62))

    def commit() -> None:
        t_ns = next(times)
        for stream, place, value in zip(streams, places, values, strict=True):
            place[:] = value
            stream.commit(t_ns)

    def copies() -> None:
        for place, value in zip(places, values, strict=True):
            place[:] = value

    commit.telemetry = telemetry  # type: ignore[attr-defined]  # lives as long as the work
    return commit, copies, {}


def _second(meta: dict[str, Any]) -> Prepared:
    """Write one second of the dual-arm rig at 1 kHz, beside the same as CSV and Parquet."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    rig = build_rig("dual-arm", Options())
    reader = Reader(rig.session.telemetry.path)
    rig.session.run(1.0)
    drained = {name: reader.drain(name)[:2] for name in reader.header["streams"]}
    rig.close()
    folder = TemporaryDirectory()
    root = Path(folder.name)
    recorder = Recorder(root / "r.mcap", reader.header)
    header = [f"{n}{i}" for n, (_, rows) in drained.items() for i in range(rows.shape[1])]
    table = np.concatenate([rows for _, rows in drained.values()], axis=1)
    text = open(root / "r.csv", "w", newline="")  # noqa: SIM115  (closed with the folder)
    rows_out = csv.writer(text)
    sheet = parquet.ParquetWriter(root / "r.parquet", _schema(arrow, header))
    clock = iter(range(0, 1 << 62, 1_000_000_000))

    def mcap() -> None:
        start = next(clock)
        for name, (times, rows) in drained.items():
            recorder.write(name, times + start, rows)
        recorder.flush()

    def as_csv() -> None:
        rows_out.writerows(table.tolist())
        text.flush()

    def as_parquet() -> None:
        sheet.write_table(arrow.table(dict(zip(header, table.T, strict=True)), schema=sheet.schema))

    _sizes(meta, root, {"mcap": mcap, "csv": as_csv, "parquet": as_parquet}, len(header))
    mcap.folder = folder  # type: ignore[attr-defined]
    return mcap, None, {"csv": as_csv, "parquet": as_parquet}


def _schema(arrow: Any, header: list[str]) -> Any:
    return arrow.schema([(name, arrow.float64()) for name in header])


def _sizes(
    meta: dict[str, Any], root: Path, works: dict[str, Callable[[], None]], numbers: int
) -> None:
    """Size of one more second in each format, [MB]; Parquet writes a row group per second."""
    meta["numbers_per_tick"] = numbers
    for name, work in works.items():
        work()
        path = root / f"r.{name}"
        before = path.stat().st_size
        work()
        meta[f"{name}_MB_per_second"] = round((path.stat().st_size - before) / 1e6, 4)


BENCHMARKS = [
    Benchmark("recording/commit", _commit, calls=2000, each=True),
    Benchmark("recording/second", partial(_second, META), calls=1, unit="s", meta=META),
]
