"""``farhand doctor``: whether this machine can run a loop in real time, and what to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from farhand.cli.options import JsonPath
from farhand.report.output import (
    Bar,
    check_core,
    check_files,
    check_picture,
    say,
    show_values,
    stdout,
    within,
    write_json,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BARS_PER_DECADE = 8  # of the picture
RIG_SECONDS = 5.0
STYLES = {"ok": "green", "marginal": "yellow", "no": "red"}

Seconds = Annotated[float, Option("--seconds", metavar="S", help="How long the loop is measured.")]
Core = Annotated[
    int | None, Option("--core", metavar="N", min=0, help="Keep the loop on this core.")
]
Rig = Annotated[
    str | None, Option("--rig", metavar="RIG", help="Also say which rate this rig can hold here.")
]
Picture = Annotated[
    Path | None, Option("--picture", metavar="F.png", help="Draw the histogram; PNG, SVG or PDF.")
]


def doctor(
    seconds: Seconds = 10.0,
    core: Core = None,
    rig: Rig = None,
    picture: Picture = None,
    json: JsonPath = None,
) -> None:
    """Examine this machine: clock, scheduler, cores, and how late the ticks of a loop begin.

    An empty loop runs at 1 kHz. A rate is ok if 99.9 % of the ticks begin within a tenth of its
    period, marginal if 99 % do and 99.9 % within a whole one. With --rig that rig runs as well, and
    the doctor says which rate it can hold here.

    Example: [bold]farhand doctor --picture jitter.png --json doctor.json[/bold]
    """
    within("--seconds", seconds, 0.1, 3600.0, "s")
    check_picture("--picture", picture)
    check_files(picture, json, read=[])
    if rig is not None:
        from farhand.running import fill_cache

        fill_cache.at_once()
    from farhand.realtime.doctor import advice, describe_machine, measure

    machine = describe_machine()
    check_core(core)
    with Bar("measuring") as bar:
        jitter = measure(seconds, core, bar.update)
    result: dict[str, Any] = {"seconds": seconds, **jitter.result(), "machine": machine}
    if rig is not None:
        result["rig"] = {"name": rig, "holds": _rate_of(rig, core)}
    result["advice"] = advice(machine, result)
    write_json(json, result)
    _show(result)
    if picture is not None:
        from farhand.report.figures import save_figure

        save_figure(draw(result), picture)
        say(f"picture: {picture}")


def _rate_of(name: str, core: int | None) -> int | None:
    """The highest rate that a rig can hold on this machine, [Hz]."""
    from farhand.loop.clock import WallClock
    from farhand.realtime.privileges import real_time
    from farhand.rigs import Options, build_rig

    with Bar(f"running {name}"):
        built = build_rig(name, Options(clock=WallClock()))
        try:
            with real_time(core):
                built.session.run(RIG_SECONDS)
            assert built.session.cycle is not None
            return built.session.cycle.holds()
        finally:
            built.close()


def _show(result: dict[str, Any]) -> None:
    from rich.text import Text

    show_values("this machine", _facts(result))
    console = stdout()
    verdicts = Text("  ")
    for rate, word in result["verdicts"].items():
        verdicts.append(f"{rate} Hz ").append(word, f"bold {STYLES[word]}").append("   ")
    console.print(verdicts)
    if "rig" in result:
        rate = result["rig"]["holds"]
        held = "no rate" if rate is None else f"{rate:,} Hz"
        say(f"  {result['rig']['name']} can hold {held} here: 99.9 % of its ticks fit in a period")
    for line in result["advice"]:
        say(f"  change · {line}")


def _facts(result: dict[str, Any]) -> list[tuple[str, str]]:
    machine, late = result["machine"], result["lateness"]
    clock, kernel, cores, limits = (machine[n] for n in ("clock", "kernel", "cores", "limits"))
    step = "unknown" if clock["step"] is None else f"{1e9 * clock['step']:.0f} ns"
    usable = f"{len(cores['usable'])} of {cores['count']} usable"
    isolated = f"isolated: {cores['isolated'] or 'none'}"
    guest = ", a virtual machine" if kernel["virtual_machine"] else ""
    granted = [f"{g['name']} {g['what']}" for g in result["privileges"] if g["had"]]
    memory = limits["memory_lock"]
    if not isinstance(memory, str):
        memory = f"{memory / 1e6:g} MB"
    resolution = f"resolution {1e9 * clock['resolution']:g} ns, steps of {step}"
    preemption = kernel["preemption"] or "no PREEMPT"
    names = {"p50": "median", "p99": "p99", "p999": "p99.9", "max": "at most"}
    times = ", ".join(f"{name} {1e6 * late[key]:.1f} µs" for key, name in names.items())
    ticks = f"{result['ticks']:,} ticks at {result['rate']:g} Hz, {result['overruns']} overruns"
    return [
        ("clock", f"{clock['source'] or 'unknown'}, {resolution}"),
        ("kernel", f"{kernel['release']}, {kernel['hz'] or '?'} Hz, {preemption}{guest}"),
        ("cores", f"{usable}, {isolated}, governor {cores['governor'] or '–'}"),
        ("limits", f"memory lock {memory}, real-time priority {limits['priority']}"),
        ("granted", ", ".join(granted) or "nothing"),
        ("lateness", f"{times} over {ticks}"),
    ]


def draw(result: dict[str, Any]) -> Figure:
    """The histogram of lateness, with what each rate allows."""
    import numpy as np
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    starts, _, counts = (np.array(column) for column in zip(*result["histogram"], strict=True))
    edges = np.logspace(-2, 5, 7 * BARS_PER_DECADE + 1)  # [µs]
    # What is below the first edge counts as the first
    values = np.maximum(1e6 * starts, edges[0])
    style: dict[str, Any] = {"color": "#1f6fb4", "edgecolor": "white", "lw": 0.4}
    axes.hist(values, edges.tolist(), weights=counts, **style)
    for rate, word in result["verdicts"].items():
        allowed = 1e5 / float(rate)  # [µs], a tenth of the period
        axes.axvline(allowed, color="#39424e", linewidth=0.8, linestyle=":")
        label = axes.text(0.97 * allowed, 0.99, f"{rate} Hz {word}", rotation=90, fontsize=8)
        label.set(ha="right", va="top", transform=axes.get_xaxis_transform())
    axes.set(xscale="log", yscale="log", xlabel="lateness [µs]", ylabel="ticks", ylim=(0.8, None))
    axes.set_xlim(edges[0], max(1e3, 2e6 * result["lateness"]["max"]))
    p999 = 1e6 * result["lateness"]["p999"]
    ticks = f"{result['ticks']:,} ticks at {result['rate']:g} Hz, {result['scheduler']}"
    axes.set_title(f"{ticks}: p99.9 {p999:.1f} µs")
    return figure
