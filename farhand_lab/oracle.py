"""The oracle of a refactoring: every rig's recordings by hash and every verdict, kept and compared.

``python -m farhand_lab.oracle keep`` writes what this code does, ``compare`` runs everything again
and names each difference. Hashes depend on processor and library versions, so keep and compare on
one machine. Only the command line is used: the same script judges code of any layout.
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
SCENARIO_SECONDS = 40.0
LINKED_SECONDS = 10.0
TEXT_TOPICS = ("/events", "/rosout")
"""Their texts may be reworded; only their times count."""

DELAY = ("--delay", "40")
LINKS = {"delay": DELAY, "delay-tdpa": (*DELAY, "--layer", "tdpa")}
"""How every scenario is run again across an emulated link."""

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
"""How every rig is run once more in its own scenario; a refusal counts as an outcome."""


def main() -> int:
    """Keep what this code does, or compare it with what was kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("keep", "compare"))
    parser.add_argument("--file", type=Path, default=KEPT, help="Where the kept outcomes are.")
    parser.add_argument(
        "--verdicts", type=Path, help="A JSON of farhand reproduce to take instead of running it."
    )
    parser.add_argument("--recordings-only", action="store_true", help="Leave the verdicts out.")
    parser.add_argument("--only", default="", help="Cases whose name begins so, such as youbot/.")
    options = parser.parse_args()

    cases = {name: words for name, words in all_cases().items() if name.startswith(options.only)}
    print(f"{len(cases)} recordings", file=sys.stderr)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        recordings = dict(zip(cases, pool.map(outcome_of, cases.values()), strict=True))
    found: dict[str, Any] = {"machine": _machine(), "recordings": recordings}
    if not options.recordings_only:
        found["verdicts"] = _verdicts(options.verdicts)
    if options.action == "keep":
        options.file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return 0
    return _compare(json.loads(options.file.read_text(encoding="utf-8")), found, options.only)


def all_cases() -> dict[str, tuple[str, ...]]:
    """Every run by name, as the words after ``farhand run``."""
    listed = json.loads(_farhand("list", "--json", "-").stdout)
    cases: dict[str, tuple[str, ...]] = {}
    for rig, scenarios in _scenarios(listed).items():
        for scenario, seconds in scenarios.items():
            words = (rig, "--scenario", scenario, "--seed", "7")
            length = ("--seconds", f"{min(seconds, SCENARIO_SECONDS):g}")
            short = ("--seconds", f"{min(seconds, LINKED_SECONDS):g}")
            cases[f"{rig}/{scenario}"] = (*words, *length)
            cases |= {
                f"{rig}/{scenario}/{name}": (*words, *short, *more) for name, more in LINKS.items()
            }
        cases |= {
            f"{rig}/{name}": (rig, "--seed", "7", "--seconds", "10", *more)
            for name, more in MORE.items()
        }
    return cases


def _scenarios(listed: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Scenario names and seconds by rig."""
    return {
        rig["name"]: {s["name"]: s["seconds"] for s in rig["scenarios"]} for rig in listed["rigs"]
    }


def outcome_of(words: tuple[str, ...]) -> str:
    """The hash of one run's recording, or the exit code of a run that was refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.mcap"
        result = _farhand("run", *words, "--headless", "--record", str(path))
        return hash_of(path) if path.exists() else f"exit code {result.returncode}"


def hash_of(path: Path) -> str:
    """A hash over every message of a recording: topic, time and bytes, without the wording of its events."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for _, channel, message in make_reader(stream).iter_messages():
            digest.update(f"{channel.topic} {message.log_time} ".encode())
            if channel.topic not in TEXT_TOPICS:
                digest.update(message.data)
    return digest.hexdigest()[:32]


def _farhand(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "farhand", *words], capture_output=True, text=True, check=False
    )


def _verdicts(path: Path | None) -> dict[str, str]:
    """Verdict by id, from a file or from a run of everything."""
    if path is None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "reproduce.json"
            _farhand("reproduce", "--json", str(path))
            rows = json.loads(path.read_text(encoding="utf-8"))
    else:
        rows = json.loads(path.read_text(encoding="utf-8"))
    return {row["id"]: row["verdict"] for row in rows}


def _machine() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}


def _compare(kept: dict[str, Any], found: dict[str, Any], only: str) -> int:
    """Print every difference and count them; 0 if there is none."""
    if kept["machine"] != found["machine"]:
        print(
            f"kept with {kept['machine']}, now {found['machine']}: hashes may differ for that alone"
        )
    differences = 0
    for kind in ("recordings", "verdicts"):
        if kind not in found or kind not in kept:
            continue
        before = {
            name: value
            for name, value in kept[kind].items()
            if kind == "verdicts" or name.startswith(only)
        }
        after = found[kind]
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                differences += 1
                print(
                    f"{kind} {name}: {before.get(name, 'not there')} before, {after.get(name, 'not there')} now"
                )
        print(
            f"{kind}: {sum(before.get(name) == value for name, value in after.items())} of {len(before)} equal"
        )
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
