"""The oracle of a refactoring: hashes of every rig's recordings, and every verdict.

``python -m farhand_lab.oracle keep`` writes them, ``compare`` runs everything again and names each
difference. Hashes depend on processor and library versions, so keep and compare on one machine. It
uses only the command line and so works with any layout of the code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcap.reader import make_reader

KEPT = Path(__file__).with_name("oracle.json")
LIBRARIES = ("numpy", "scipy", "mujoco", "pin", "numba")
SCENARIO_SECONDS = 12.0
LINKED_SECONDS = 4.0
TEXT_TOPICS = ("/events", "/rosout")
"""Only the times of these messages count; their words may change."""

DELAY = ("--delay", "40")
LINKS = {"delay": DELAY, "delay-tdpa": (*DELAY, "--layer", "tdpa")}
"""Options with which every scenario is repeated across an emulated link."""

MORE = {
    "tank": (*DELAY, "--layer", "tank"),
    "waves": (*DELAY, "--layer", "waves", "--law", "position-position"),
    "loss": (*DELAY, "--jitter", "10", "--loss", "0.05"),
    "law-none": ("--law", "none"),
    "law-unilateral": ("--law", "unilateral"),
    "law-position-position": ("--law", "position-position"),
    "law-position-force": ("--law", "position-force"),
    "law-four-channel": ("--law", "four-channel"),
    "law-four-channel-sensorless": ("--law", "four-channel-sensorless"),
    "law-virtual-constraints": ("--law", "virtual-constraints"),
    "law-admittance": ("--law", "admittance"),
}
"""Options with which every rig runs its own scenario again; a refusal is an outcome too."""


def main() -> int:
    """Keep the outcomes of this code, or compare them with the kept ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("keep", "compare"))
    parser.add_argument("--file", type=Path, default=KEPT, help="Where the kept outcomes are.")
    parser.add_argument(
        "--verdicts", type=Path, help="JSON of farhand reproduce; runs it if absent."
    )
    parser.add_argument("--recordings-only", action="store_true", help="Leave the verdicts out.")
    parser.add_argument(
        "--only", default="", help="Start of the names of the cases, such as youbot/."
    )
    options = parser.parse_args()

    cases = {name: words for name, words in all_cases().items() if name.startswith(options.only)}
    print(f"{len(cases)} recordings", file=sys.stderr)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        recordings = dict(zip(cases, pool.map(outcome_of, cases.values()), strict=True))
    machine = {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}
    outcomes: dict[str, Any] = {"machine": machine, "recordings": recordings}
    if not options.recordings_only:
        outcomes["verdicts"] = _verdicts(options.verdicts)
    if options.action == "keep":
        options.file.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
        return 0
    return _compare(json.loads(options.file.read_text(encoding="utf-8")), outcomes, options.only)


def all_cases() -> dict[str, tuple[str, ...]]:
    """Every run by name, as the words after ``farhand run``."""
    cases: dict[str, tuple[str, ...]] = {}
    for rig in json.loads(_farhand("list", "--json", "-").stdout)["rigs"]:
        name = rig["name"]
        for scenario in rig["scenarios"]:
            words = (name, "--scenario", scenario["name"], "--seed", "7", "--seconds")
            length, short = (
                f"{min(scenario['seconds'], limit):g}"
                for limit in (SCENARIO_SECONDS, LINKED_SECONDS)
            )
            case = f"{name}/{scenario['name']}"
            cases[case] = (*words, length)
            cases |= {f"{case}/{link}": (*words, short, *more) for link, more in LINKS.items()}
        own = (name, "--seed", "7", "--seconds", "10")
        cases |= {f"{name}/{variant}": (*own, *more) for variant, more in MORE.items()}
    return cases


def outcome_of(words: tuple[str, ...]) -> str:
    """The hash of one run's recording, or the exit code of a run that was refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.mcap"
        result = _farhand("run", *words, "--headless", "--record", str(path))
        return hash_of(path) if path.exists() else f"exit code {result.returncode}"


def hash_of(path: Path) -> str:
    """A hash over every message of a recording, without the wording of its events.

    The order of messages with one time depends on the recorder's timing, so it does not count.
    """
    rows: list[tuple[str, int, bytes]] = []
    with path.open("rb") as stream:
        for _, channel, message in make_reader(stream).iter_messages():
            data = b"" if channel.topic in TEXT_TOPICS else message.data
            rows.append((channel.topic, message.log_time, data))
    digest = hashlib.sha256()
    for topic, time_ns, data in sorted(rows):
        digest.update(f"{topic} {time_ns} ".encode() + data)
    return digest.hexdigest()[:32]


def _farhand(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "farhand", *words], capture_output=True, text=True, check=False
    )


def _verdicts(path: Path | None) -> dict[str, str]:
    """Verdict by id, from a file or from a run of everything."""
    with tempfile.TemporaryDirectory() as folder:
        if path is None:
            path = Path(folder) / "reproduce.json"
            _farhand("reproduce", "--json", str(path))
        rows = json.loads(path.read_text(encoding="utf-8"))
    return {row["id"]: row["verdict"] for row in rows}


def _compare(kept: dict[str, Any], now: dict[str, Any], only: str) -> int:
    """Print every difference; 1 if there is any."""
    if kept["machine"] != now["machine"]:
        print(f"kept with {kept['machine']}, now {now['machine']}: this alone may change hashes")
    differences = 0
    for kind in kept.keys() & now.keys() - {"machine"}:
        prefix = only if kind == "recordings" else ""
        before = {name: value for name, value in kept[kind].items() if name.startswith(prefix)}
        after = now[kind]
        changed = [n for n in sorted(before | after) if before.get(n) != after.get(n)]
        for name in changed:
            old, new = (outcomes.get(name, "missing") for outcomes in (before, after))
            print(f"{kind} {name}: {old} before, {new} now")
        equal = sum(before.get(name) == value for name, value in after.items())
        print(f"{kind}: {equal} of {len(before)} equal")
        differences += len(changed)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
