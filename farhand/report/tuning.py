"""``farhand tune`` on paper: the trade between margin and feel, and the gains as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from farhand.errors import FileError
from farhand.files import write_text
from farhand.report.figures import dress, new_figure
from farhand.report.numbers import number
from farhand.report.page import ReportPage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from farhand.running.tuning import Candidate, Tuned


def lines(result: Tuned) -> list[tuple[str, str]]:
    """The result in words."""
    best, own = result.best, result.default
    runs = len(result.runs)
    calm = runs - sum(run["shakes"] for run in result.runs)
    rows = [
        (
            "margin",
            f"{best.margin:g} predicted, {result.wish.margin:g} asked (own: {own.margin:g})",
        ),
        ("felt", f"{_felt(best)} (own: {_felt(own)})"),
        ("runs", f"{calm} of {runs} calm with {result.wish.margin:g} × the force at the hand"),
    ]
    units = {path: unit.replace("-", "") for path, unit in result.units.items()}
    gains = best.values.items()
    return rows + [(path, f"{number(value)} {units[path]}".rstrip()) for path, value in gains]


def _felt(one: Candidate) -> str:
    stiffness = f"{number(100.0 * one.felt_stiffness)} % of the stiffest wall"
    return f"{stiffness}, {number(one.felt_inertia)} kg more in free motion"


def gains_text(result: Tuned, command: str) -> str:
    """The TOML that ``--gains`` takes."""
    values = "".join(f'"{path}" = {value!r}\n' for path, value in result.best.values.items())
    return f'# {command}\nlaw = "{result.wish.law}"\n\n[set]\n{values}'


def as_json(result: Tuned) -> dict[str, Any]:
    """Everything for programs."""
    return {
        "law": result.wish.law,
        "delay": result.wish.delay,
        "margin": result.wish.margin,
        "asked": result.asked,
        "best": vars(result.best),
        "default": vars(result.default),
        "tried": len(result.tried),
        "runs": result.runs,
    }


def write_gains(path: Path, text: str) -> None:
    """Write the gains, whole or not at all.

    Raises:
        FileError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make {path.parent}: {error.strerror}") from None
    write_text(path, text)


def trade_figure(result: Tuned) -> Figure:
    """Margin against felt stiffness and felt inertia, of all candidates."""
    figure = new_figure(11.0, 4.2)
    axes = figure.subplots(1, 2, sharey=True)
    measures = (
        ("stiffness felt over that of the stiffest wall [%]", lambda c: 100.0 * c.felt_stiffness),
        ("inertia felt beyond the leader's own [kg]", lambda c: c.felt_inertia),
    )
    for ax, (label, of) in zip(axes, measures, strict=True):
        shown = [(of(one), one.margin) for one in result.tried]
        ax.scatter(*zip(*shown, strict=True), s=14, color="#999999", label="tried")
        ax.axhline(result.wish.margin, color="#333333", lw=0.8, ls="--", label="asked")
        ax.plot(of(result.default), result.default.margin, "s", color="#d55e00", label="own")
        ax.plot(of(result.best), result.best.margin, "*", ms=14, color="#0072b2", label="tuned")
        dress(ax, label, "margin [-]" if ax is axes[0] else "")
    axes[1].legend(frameon=False, fontsize="small")
    return figure


def write_tuning(result: Tuned, folder: Path, command: str) -> Path:
    """Write the page with the trade."""
    wish = result.wish
    ends = (wish.hands.low, wish.hands.high, wish.walls.low, wish.walls.high)
    soft, firm, low, high = (number(contact.stiffness) for contact in ends)
    page = ReportPage(
        f"Gains of {wish.law}",
        f"For hands of {soft} to {firm} N/m, walls of {low} to {high} N/m and free motion at "
        f"{wish.delay:g} ms of round trip. The margin is how many times stronger the force at the "
        "hand could be before the prediction shakes, in the worst of them.",
    )
    page.figure(trade_figure(result), "What margin costs: every gain that was tried.")
    page.command(command)
    page.table(["", "value"], lines(result))
    return page.save(folder)
