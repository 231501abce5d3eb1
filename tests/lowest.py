"""Run the tests in an environment of its own, with the lowest or the newest allowed versions."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def lowest(requirement: str) -> str:
    """``name==floor`` for ``name>=floor``; the requirement itself where it has no floor."""
    found = re.fullmatch(r"([\w.-]+)>=([\w.]+)(,.*)?", requirement.replace(" ", ""))
    return f"{found[1]}=={found[2]}" if found else requirement


def interpreter(version: str | None) -> str:
    """The Python of that version."""
    if version is None:
        return sys.executable
    # pyenv puts a command for each of its versions on the path, also for those that are not active
    there = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), reverse=True)
    for path in [*there, shutil.which(f"python{version}")]:
        if path is not None:
            return str(path)
    raise SystemExit(f"Python {version} is not installed; install it, or leave it out")


def main() -> int:
    """Make the environment if it is not there, and run the suite in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", type=Path, required=True, help="folder of the environment")
    parser.add_argument("--python", help="version, such as 3.12; the running one by default")
    parser.add_argument("--newest", action="store_true", help="newest versions, not the lowest")
    options, rest = parser.parse_known_args()
    venv = ROOT / options.venv
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([interpreter(options.python), "-m", "venv", str(venv)], check=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = ["-e", f"{ROOT}[dev]"]
    if not options.newest:
        wanted += [lowest(requirement) for requirement in project["dependencies"]]
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *wanted], check=True)
    return subprocess.call([str(python), "-m", "pytest", "-n", "2", "-q", *rest], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
