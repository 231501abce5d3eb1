"""``farhand reproduce``: the published results, measured again and judged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from farhand.cli.options import JsonPath, ReportFolder, Resume, Seed
from farhand.errors import BadValue
from farhand.report.output import check_file, check_folder, counting, say, stdout, write_json
from farhand.running import fill_cache

if TYPE_CHECKING:
    from farhand_lab.harness import Entry, Verdict
    from farhand_lab.mutation import MutationResult

COLOURS: dict[Verdict, str] = {"pass": "green", "corrected": "yellow", "differs": "red"}

Selections = Annotated[
    list[str] | None,
    Argument(metavar="[RIG|ID|RIG/EXPERIMENT]...", help="Such as dual-arm or D-30 D-31."),
]
Mutations = Annotated[
    bool, Option("--mutations", help="Break parts on purpose: do the experiments notice?")
]


def reproduce(
    selections: Selections = None,
    report: ReportFolder = None,
    json: JsonPath = None,
    mutations: Mutations = False,
    seed: Seed = 0,
    resume: Resume = False,
) -> int:
    """Reproduce published results: pass, corrected (with the erratum) or differs (with the cause).

    The exit code is 0 for any verdict. With --mutations it is 1 if a broken part goes unnoticed.
    Ctrl-C shows and keeps the finished ids (with --report and its plots, those of finished rigs),
    and --resume continues with the same seed and code.

    Example: [bold]farhand reproduce dual-arm --report report --json results.json[/bold]
    """
    check_file(json)
    check_folder(report)
    fill_cache.at_once()
    if mutations:
        if report is not None or resume:
            raise BadValue("--mutations writes no report and keeps nothing to --resume")
        return _check_mutations(selections or [], json, seed)
    from farhand.running.resume import resumable
    from farhand_lab import parallel
    from farhand_lab import report as page

    work = {"seed": seed, "plots": report is not None}
    chosen = tuple(selections or ())
    with resumable("reproduce", work, resume, json, report) as pieces:
        finished = {key: page.from_row(row) for key, row in pieces.rows.items()}
        try:
            with counting("reproducing") as progress:
                entries = parallel.run(
                    *chosen,
                    progress=progress,
                    seed=seed,
                    plots=report is not None,
                    finished=finished,
                )
        except BaseException as error:
            measured = list(finished.values())
            for entry in _kept(measured, chosen, plots=report is not None):
                pieces.add(f"{entry.group}/{entry.id}", page.to_row(entry))
            if measured and isinstance(error, KeyboardInterrupt):
                _show(measured)
            raise
    write_json(json, [entry.to_json() for entry in entries])
    _show(entries)
    if report is not None:
        say(f"report: {page.report(entries, report)}")
    return 0


def _kept(entries: list[Entry], selections: tuple[str, ...], plots: bool) -> list[Entry]:
    """What --resume need not measure again; plots need the runs that a whole rig shares."""
    from farhand_lab import harness
    from farhand_lab.report import undrawn

    if not plots or not entries:
        return undrawn(entries)
    done = {f"{entry.group}/{entry.id}" for entry in entries}
    missing = {item.group for item in harness.select(*selections) if item.key not in done}
    return [entry for entry in entries if entry.group not in missing]


def list_experiments() -> list[dict[str, str]]:
    """Every experiment, for ``farhand list``."""
    from farhand_lab import harness

    return [
        {"rig": group, "id": e.id, "name": e.name, "title": e.title}
        for group in harness.groups()
        for e in harness.experiments_of(group)
    ]


def _show(entries: list[Entry]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("verdict", no_wrap=True)
    table.add_column("id", no_wrap=True)
    table.add_column("what")
    for entry in entries:
        line = Text(f"{entry.title}: ")
        line.append(entry.measured, style="bold").append(f"  ({entry.criterion})", style="dim")
        if entry.verdict != "pass":
            line.append(f"\n{entry.note}", style=COLOURS[entry.verdict])
        table.add_row(
            Text(entry.verdict, style=COLOURS[entry.verdict]),
            Text(f"{entry.group}/{entry.id}"),
            line,
        )
    console = stdout()
    if entries:
        console.print(table)
    counts = Counter(entry.verdict for entry in entries)
    console.print(
        ", ".join(f"[{COLOURS[v]}]{counts[v]} {v}[/]" for v in COLOURS if counts[v])
        or "no experiments yet"
    )


def _check_mutations(rigs: list[str], json: JsonPath, seed: int) -> int:
    from farhand_lab import harness, mutation

    for rig in rigs:
        if "/" in rig:
            whole = rig.partition("/")[0]
            raise BadValue(f"--mutations checks a whole rig: give {whole}, not {rig}")
    results: dict[str, list[MutationResult]] = {}
    for group in rigs or harness.groups():
        with counting(f"breaking {group}") as progress:
            results[group] = mutation.check(group, progress, seed=seed)
    rows = [
        {
            "rig": group,
            "name": result.name,
            "breaks": result.breaks,
            "watched": list(result.ids),
            "caught": result.flipped,
            "before": dict(result.before),
            "after": dict(result.after),
        }
        for group, checked in results.items()
        for result in checked
    ]
    write_json(json, rows)
    _show_mutations(results)
    return 0 if all(result.flipped for checked in results.values() for result in checked) else 1


def _show_mutations(results: dict[str, list[MutationResult]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for header in ("mutation", "what it breaks", "watched by", "outcome"):
        table.add_column(header)
    for group, checked in results.items():
        for result in checked:
            deaf = [
                id
                for id in result.ids
                if result.before[id] == "differs" or result.after[id] != "differs"
            ]
            outcome = (
                Text("caught", "green")
                if result.flipped
                else Text(f"missed by {', '.join(deaf) or 'all'}", "red")
            )
            table.add_row(
                Text(f"{group}/{result.name}"),
                Text(result.breaks),
                Text(", ".join(result.ids)),
                outcome,
            )
    caught = [result.flipped for checked in results.values() for result in checked]
    console = stdout()
    if caught:
        console.print(table)
    console.print(f"{sum(caught)} of {len(caught)} broken parts caught")
