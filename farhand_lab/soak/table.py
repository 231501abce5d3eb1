"""Table: the results of a soak as a page of Markdown."""

from __future__ import annotations

from typing import Any

HEAD = """# Soak

Random operators and random faults in virtual time, from a seed. Made by `make soak`
(`farhand soak`); everything in numbers is in `soak.json`. A trip is *explained* by an injected
fault of its kind, place and time, or by the limit it names. Memory is the resident size of the process: its growth
within the long session, once the history of signals is full, and from the first short session to the last built alike.

| rig | time | sessions | ticks | commands (refused) | acts | trips (unexplained) | NaN | MB | growth | verdict |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def as_markdown(results: dict[str, dict[str, Any]]) -> str:
    """The page."""
    rows = [_row(name, found) for name, found in sorted(results.items()) if "ticks" in found]
    return (
        HEAD
        + "\n".join(rows)
        + "\n"
        + _friction(results.get("friction"))
        + _code(results)
        + _failures(results)
    )


def _row(name: str, found: dict[str, Any]) -> str:
    trips, acts = sum(found["trips"].values()), sum(found["acts"].values())
    counted = {
        word: sum(line.startswith(word) for line in found["failures"])
        for word in ("unexplained", "not a number")
    }
    growth = ", ".join(_share(found[f"memory_growth_{kind}"]) for kind in ("within", "across"))
    cells = (
        name,
        f"{found['seconds']:g} s",
        found["sessions"],
        f"{found['ticks']:,}",
        f"{found['commands']:,} ({found['refused']:,})",
        f"{acts:,}",
        f"{trips:,} ({counted['unexplained']})",
        counted["not a number"],
        f"{max(found['memory_mb'].values()):g}",
        growth,
        "ok" if found["ok"] else "**failed**",
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _share(growth: float | None) -> str:
    return "–" if growth is None else f"{100 * growth:+.1f} %"


def _friction(found: dict[str, Any] | None) -> str:
    if found is None or "models" not in found:
        return ""
    verdict = "no NaN, no energy created" if found["ok"] else "; ".join(found["failures"])
    return f"\nFriction: {found['models']} models, {found['seconds']:g} s of random motion each: {verdict}.\n"


def _code(results: dict[str, dict[str, Any]]) -> str:
    codes = sorted({found["code"] for found in results.values() if "code" in found})
    return f"\nCode: {', '.join(codes)} (over every Python file of the package).\n" if codes else ""


def _failures(results: dict[str, dict[str, Any]]) -> str:
    lines = [f"- {name}: {words}" for name, found in results.items() for words in found["failures"]]
    return "\n## Failures\n\n" + "\n".join(lines) + "\n" if lines else ""
