"""Plots, tables and the page of ``farhand torque``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from farhand.report.figures import GREY, LOOKS, dress, new_figure, thinned
from farhand.report.numbers import number
from farhand.report.output import note, say, show_table, show_values
from farhand.report.page import ReportPage
from farhand.torque.check import TorqueCheck, to_json
from farhand.torque.floor import DIRECTIONS, NoiseFloor

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

    from farhand.friction.fit.sliding import Estimate

Floors = dict[str, NoiseFloor]

HAND_N = 0.5
"""What a hand notices on a light handle, about."""

GOOD_N, USABLE_N = 2.0, 6.0
"""Floors up to which a law that feels through motor torque is good, and still usable; assumed:
light manual work takes 5 to 20 N."""

MODEL = "#c0392b"
SHEET_COLOUR, FITTED_COLOUR = str(LOOKS[1]["color"]), str(LOOKS[0]["color"])
_COLOURS = {"data sheet": SHEET_COLOUR, "fitted model": FITTED_COLOUR}
_MUST_MEND = ("scale", "sign", "swapped", "delay")


def sentence(floor: NoiseFloor) -> str:
    """The number that a person understands."""
    forward, sideways, up = (number(max(value, HAND_N), 2) for value in floor.force)
    words = f"you will feel contacts above {sideways} N sideways, {forward} N forward and {up} N up"
    if floor.force.min() < HAND_N:
        words += f"; less than about {HAND_N:g} N no hand notices"
    return words


def verdicts(result: TorqueCheck, floors: Floors) -> list[tuple[str, str]]:
    """What each kind of law can do with these torques."""
    mend, after = to_mend(result), floors["fitted model"]
    rows = []
    for law in ("four-channel-sensorless", "position-force"):
        if mend:
            answer = f"no, as the readings are: mend {mend} first"
        else:
            start = floors.get("data sheet", after)
            answer = f"{_grade(start)} with the robot's file, {_grade(after)} with a fitted model"
        needs = "" if law != "position-force" else "; with a force sensor it needs no motor torque"
        rows.append((law, answer + needs))
    dry = max(2.0 * joint.coulomb.value for joint in result.joints)
    rows.append(
        ("position-position", f"yes: it does not read torque; {dry:.2g} N·m of hysteresis is felt")
    )
    return rows


def to_mend(result: TorqueCheck) -> str:
    """What is wrong with the readings themselves, which no model puts right; empty if nothing."""
    kinds = (one.kind for one in result.findings if one.kind in _MUST_MEND)
    return ", ".join(dict.fromkeys(kinds))


def _grade(floor: NoiseFloor) -> str:
    worst = float(floor.force.max())
    word = "good" if worst <= GOOD_N else "usable" if worst <= USABLE_N else "too coarse"
    return f"{word} (floor {number(worst, 2)} N)"


def check_json(result: TorqueCheck, floors: Floors) -> dict[str, Any]:
    """Everything ``--json`` writes."""
    floor = {
        name: {
            "force": dict(zip(DIRECTIONS, one.force.tolist(), strict=True)),
            "hard": dict(zip(DIRECTIONS, one.hard.tolist(), strict=True)),
            "moment": dict(zip(DIRECTIONS, one.moment.tolist(), strict=True)),
            "torque": one.torque.tolist(),
        }
        for name, one in floors.items()
    }
    laws = dict(verdicts(result, floors))
    feels = sentence(floors["fitted model"])
    return {**to_json(result), "floor": floor, "laws": laws, "feels": feels}


def show(result: TorqueCheck, floors: Floors) -> None:
    """Print the check."""
    say(f"{result.log.name}: torque of {result.robot.name}", style="bold")
    show_findings(result)
    show_table(joint_table(result))
    show_values("the arm", arm_rows(result, floors))
    show_values("laws", verdicts(result, floors))
    for line in result.open_questions():
        note(f"cannot be identified from this log: {line}")
    mended = f", once {to_mend(result)} is mended" if to_mend(result) else ""
    say(f"{sentence(floors['fitted model'])} (with a model from farhand torque fit{mended})")


def show_findings(result: TorqueCheck) -> None:
    """Print what is wrong."""
    for one in result.findings:
        say(f"  wrong: {one.text}")
    if not result.findings:
        say("  nothing wrong was found")


def joint_table(result: TorqueCheck) -> Table:
    """One row per joint."""
    from rich.table import Table

    current = result.log.kind == "current"
    table = Table(box=None, header_style="bold")
    for heading in (
        "joint",
        "scale\nA/(N·m)" if current else "scale",
        f"offset\n{'A' if current else 'N·m'}",
        "delay\nms",
        "dry friction\nN·m",
        "viscous\nN·m·s/rad",
        "noise\nN·m",
        "left over\nN·m",
        "hold-out\nN·m",
    ):
        justify: Any = "left" if heading == "joint" else "right"
        table.add_column(heading, justify=justify, no_wrap=True)
    for joint in result.joints:
        table.add_row(
            joint.name,
            spread(joint.scale),
            spread(joint.offset),
            spread(joint.delay, 1e3),
            spread(joint.coulomb),
            spread(joint.viscous),
            number(joint.noise),
            number(joint.left),
            number(joint.held_out),
        )
    return table


def spread(one: Estimate, factor: float = 1.0) -> str:
    """A value and half of its interval."""
    if not one.identified or one.low is None or one.high is None:
        return "unknown"
    half = 0.5 * factor * (one.high - one.low)
    decimals = max(0, 1 - int(np.floor(np.log10(max(half, 1e-12)))))
    # no minus before a zero
    value = round(factor * one.value, decimals) + 0.0
    return f"{value:.{decimals}f} ± {half:.{decimals}f}"


def arm_rows(result: TorqueCheck, floors: Floors) -> list[tuple[str, str]]:
    """What concerns the whole arm."""
    tilt = ", ".join(spread(one, 180.0 / np.pi) for one in result.tilt)
    rows = [
        ("gravity error", f"{100 * result.gravity_error:.2g} % of the gravity torque in the file"),
        ("inertia error", f"{100 * result.inertia_error:.2g} % of the inertial torque in the file"),
        ("unknown tool mass", f"{spread(result.tool_mass)} kg"),
        ("tilt of the base", f"{tilt}° about x and y"),
        ("delay", f"{spread(result.delay, 1e3)} ms"),
    ]
    for name, floor in floors.items():
        force, hard = (
            ", ".join(
                f"{number(value, 2)} N {way}" for value, way in zip(values, DIRECTIONS, strict=True)
            )
            for values in (floor.force, floor.hard)
        )
        moment = ", ".join(number(value, 2) for value in floor.moment)
        rows.append((f"floor, {name}", f"{force}; {moment} N·m about x, y, z"))
        rows.append((f"hardest tenth, {name}", hard))
    return rows


def fit_rows(result: TorqueCheck, floors: Floors) -> list[tuple[str, str]]:
    """What ``torque fit`` prints."""
    rows = [
        (
            joint.name,
            f"left over {number(joint.data_sheet_left)} N·m with the file, {number(joint.left)} "
            f"fitted, {number(joint.held_out)} on what the fit did not see; "
            f"scale {spread(joint.scale)}, dry friction {spread(joint.coulomb)} N·m",
        )
        for joint in result.joints
    ]
    return [*rows, *arm_rows(result, floors)]


def check_page(result: TorqueCheck, floors: Floors) -> ReportPage:
    """The page of ``--report``."""
    feels = sentence(floors["fitted model"])
    page = ReportPage("Motor torque", f"{result.log.name}, {result.robot.name}: {feels}.")
    page.section("What is wrong")
    for line in [one.text for one in result.findings] or ["Nothing wrong was found."]:
        page.paragraph(line)
    page.section("What this log cannot tell")
    for line in result.open_questions() or ["Nothing is open."]:
        page.paragraph(line)
    page.section("What could be felt")
    page.table(("law", "verdict"), verdicts(result, floors))
    page.figure(floor_figure(floors), "Least force that tells from free motion, per direction")
    page.section("Numbers")
    page.table(("what", "value ± half of the 95 % interval"), arm_rows(result, floors))
    page.figure(torque_figure(result), "Readings of the log as torque, and the fitted model")
    return page


def floor_figure(floors: Floors) -> Figure:
    """The floor per direction, of each model."""
    figure = new_figure(7.0, 3.6)
    ax, width = figure.add_subplot(), 0.8 / len(floors)
    for k, (name, floor) in enumerate(sorted(floors.items())):
        places = np.arange(3) + (k - 0.5 * (len(floors) - 1)) * width
        bars = ax.bar(places, floor.force, 0.9 * width, label=name, color=_COLOURS[name])
        ax.bar_label(bars, labels=[number(value, 2) for value in floor.force], padding=2)
    ax.set_axisbelow(True)
    ax.margins(y=0.12)
    ax.set_xticks(
        range(3), [f"{way} ({axis})" for way, axis in zip(DIRECTIONS, "xyz", strict=True)]
    )
    ax.legend(frameon=False, title="model")
    title = "A contact must exceed this to be felt"
    if "data sheet" in floors:
        gain = floors["data sheet"].force.max() / max(
            float(floors["fitted model"].force.max()), 1e-9
        )
        title = f"The fitted model lowers the worst floor {gain:.2g} times"
    dress(ax, "direction in the base frame", "noise floor [N]", title)
    return figure


def torque_figure(result: TorqueCheck) -> Figure:
    """Torque of every joint over time, read and modelled."""
    from farhand.torque.identify import predicted

    problem = result.solution.problem
    samples, count = problem.samples, len(result.joints)
    figure = new_figure(9.0, 1.5 * count + 0.6)
    axes = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    scale, offset = result.solution.value("scale"), result.solution.value("offset")
    modelled = predicted(result.solution)
    keep = thinned(len(samples.time))
    for j, (ax, joint) in enumerate(zip(axes, result.joints, strict=True)):
        read = (samples.effort[keep, j] - offset[j]) / scale[j]
        ax.plot(samples.time[keep], read, color=GREY, linewidth=1.0, label="read")
        own = np.where(samples.moving[keep, j], modelled[keep, j], np.nan)
        ax.plot(samples.time[keep], own, color=MODEL, linewidth=0.8, label="fitted model")
        share = 100.0 * joint.left / max(joint.torque, 1e-9)
        dress(ax, "", "[N·m]", f"{joint.name}: {share:.2g} % of the torque is left unexplained")
    # above the first plot, where no curve is
    axes[0].legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 0.95))
    axes[-1].set_xlabel("time [s]")
    return figure
