"""The five threads as real threads in wall time. Values are yes, no and counts: times vary."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from farhand.control.trajectory.paths import Move
from farhand.plants.drivers.worker import Latest, Timing
from farhand_lab.dual_arm.threads import Rates, RealThreads, ThreadSetup
from farhand_lab.harness import Figure, Finding, experiment, shared

MEASURES_TIME = True
"""Whether these experiments read the wall clock."""

RUNS = 5
SHORT_RUN_S = 1.0
LONG_RUN_S = 60.0
# the published threads ran as fast as they could
RATES = Rates(500.0, 500.0, 100.0, 500.0, 25.0)
# mean [Hz] and variance as printed, free-space test, thesis Tables 7.1 and 7.2
PUBLISHED = {
    "regulator": (47.14, 0.91),
    "communication": (119.19, 0.62),
    "wrench": (86.02, 1.02),
    "simulation": (157.37, 1.30),
    "visualisation": (1.20, 0.10),
}
CONSUMED = {
    "q1": "communication",
    "q2": "simulation",
    "h1": "wrench",
    "h2": "simulation",
    "u1": "regulator",
}
MOVES = (Move(0.2, 0.6, (0.0, 0.0, 0.05), label="+z"),)


@dataclass(frozen=True)
class WallOutcome:
    """Timing by thread and the faults of one run."""

    timing: dict[str, Timing]
    faults: tuple[str, ...]


def run_threads(seconds: float) -> WallOutcome:
    """Run the five threads for ``seconds`` and look at the bus afterwards."""
    threads = RealThreads(ThreadSetup(RATES, MOVES))
    threads.run(seconds)
    faults = [f"{name} did not end" for name, ended in threads.ended.items() if not ended]
    workers = threads.workers.items()
    faults += [f"{name}: {worker.error}" for name, worker in workers if worker.error]
    faults += [f"trip: {record.trip.reason}" for record in threads.session.trips]
    for name, record in threads.bus().items():
        if record.number < 2 or (name in CONSUMED and record.producer != CONSUMED[name]):
            faults.append(f"{name}: {record.number} values from {record.producer}")
        broken = record.value.flags.writeable or not np.isfinite(record.value).all()
        if broken or record.time_ns <= 0:
            faults.append(f"{name} is not a finite, stamped, read-only value")
    return WallOutcome(threads.timing(), tuple(faults))


@shared
def five_runs() -> tuple[WallOutcome, ...]:
    """Five short runs."""
    return tuple(run_threads(SHORT_RUN_S) for _ in range(RUNS))


@shared
def torn_reads(values: int = 20_000) -> int:
    """Records that changed or mixed while a producer publishes one buffer as fast as it can."""
    place, torn, done = Latest("producer", np.zeros(64)), 0, threading.Event()

    def produce() -> None:
        buffer = np.zeros(64)
        for number in range(1, values + 1):
            buffer[:32] = number
            buffer[32:] = number
            place.put(buffer)
        done.set()

    thread = threading.Thread(target=produce, daemon=True)
    thread.start()
    while not done.is_set():
        held = place.get()
        # long enough for the producer to go on
        done.wait(1e-4)
        torn += not (held.value == held.number).all()
    thread.join()
    return torn


@experiment("D-46")
def five_threads() -> Finding:
    """Five short runs, then a minute in wall time unless a read was torn."""
    torn = torn_reads()
    outcomes = five_runs() if torn else (*five_runs(), run_threads(LONG_RUN_S))
    faults = [fault for outcome in outcomes for fault in outcome.faults]
    ran = min(len(outcome.timing) for outcome in outcomes)
    note = "; ".join(faults) or f"a run of {LONG_RUN_S:g} s and {RUNS} of {SHORT_RUN_S:g} s"
    ok = ran == 5 and not faults and torn == 0
    return Finding(ran, ok, note if not torn else f"{torn} torn reads; {note}")


@experiment("D-47")
def rate_monitor() -> Finding:
    """Counts the threads with a full row; the figure has the rates, which belong to one machine."""
    rows = table(five_runs())
    full = sum(all(np.isfinite(row)) and row[0] > 0.0 for row in rows.values())
    known = Timing.of(np.cumsum([0] + 99 * [8_000_000, 12_000_000] + [8_000_000, 30_000_000]))
    intervals = np.array(99 * [0.008, 0.012] + [0.008, 0.030])
    mean = 1.0 / intervals.mean()
    right = abs(known.mean - mean) < 1e-9 and abs(known.p99 - 0.012) < 1e-9
    right = right and abs(known.variance - mean**4 * intervals.var()) < 1e-9 * known.variance
    note = (
        f"{RUNS} runs of {SHORT_RUN_S:g} s; the published variance has no certain unit (E-24), "
        "ours is in Hz²"
    )
    figures = (Figure("Rates of the five threads", _table_plot),)
    return Finding(full, full == 5 and right, note, figures=figures)


def table(outcomes: tuple[WallOutcome, ...]) -> dict[str, tuple[float, float, float]]:
    """Mean over the runs, by thread: rate [Hz], variance [Hz²], 99th percentile [ms]."""
    rows = {}
    for name in PUBLISHED:
        timings = [outcome.timing[name] for outcome in outcomes if name in outcome.timing]
        values = [(t.mean, t.variance, 1e3 * t.p99) for t in timings]
        mean, variance, p99 = np.mean(values, axis=0).tolist()
        rows[name] = (mean, variance, p99)
    return rows


def _table_plot():
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7, 2.2), layout="constrained")
    axes = figure.subplots()
    axes.axis("off")
    cells = [
        [name, f"{getattr(RATES, name):g}", *(f"{value:.2f}" for value in row)]
        + [f"{value:g}" for value in PUBLISHED[name]]
        for name, row in table(five_runs()).items()
    ]
    heads = "thread, set [Hz], mean [Hz], variance [Hz²], p99 [ms], thesis mean [Hz], variance"
    grid = axes.table(cells, colLabels=heads.split(", "), loc="center")
    grid.auto_set_font_size(False)
    grid.set_fontsize(8)
    axes.set_title("Rates on the machine that wrote this report, means of five runs")
    return figure


def soak(seconds: float = 60.0) -> int:
    """Run for ``seconds`` and print the table; returns the number of faults."""
    outcome = run_threads(seconds)
    for name, (mean, variance, p99) in table((outcome,)).items():
        print(f"{name:14s} {mean:8.2f} Hz  variance {variance:10.2f} Hz²  p99 {p99:7.2f} ms")
    print("; ".join(outcome.faults) or "no faults")
    return len(outcome.faults)
