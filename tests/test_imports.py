"""Dependencies point one way, and the command line starts without the heavy libraries."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "farhand"
LAB = "farhand_lab"

# Lowest first. A part may import its own layer and those before it.
LAYERS = (
    (
        "errors",
        "files",
        "parameters",
        "plugins",
        "ring",
        "spatial",
        "robots",
        "compiled",
        "kernels",
        "rigid_body",
        "arm",
    ),
    ("world", "plants", "sensing", "mapping", "control", "coupling", "friction", "torque"),
    ("link", "safety"),
    ("realtime", "loop"),
    ("recording", "analysis", "learning", "client", "lerobot_features", "tasks"),
    ("rigs",),
    ("console", "gym"),
    ("report", "running", "publishing"),
    ("cli", "__main__"),
    (LAB,),
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}

HEAVY = ("mujoco", "pinocchio", "matplotlib", "viser", "numba")


def part_of(path: Path, root: Path) -> str:
    """``world`` for farhand/world/touches.py, ``arm`` for farhand/arm.py, empty for
    farhand/__init__.py.
    """
    inside = path.relative_to(root)
    name = inside.parts[0].removesuffix(".py")
    return "" if name == "__init__" else name


def imported_parts(path: Path, root: Path) -> Iterator[tuple[int, str]]:
    """Line and part of every import of farhand in a file, at the top or inside functions, absolute
    or relative.
    """
    package = ["farhand", *path.relative_to(root).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            modules = (
                [f"{module}.{alias.name}" for alias in node.names]
                if module == "farhand"
                else [module]
            )
        else:
            continue
        for module in modules:
            top, _, rest = module.partition(".")
            part = rest.partition(".")[0]
            if top == LAB:
                yield node.lineno, LAB
            elif top == "farhand" and part and not part.startswith("__version"):
                yield node.lineno, part


def violations(root: Path) -> list[str]:
    """Imports that point upward, and parts that have no layer."""
    found = []
    for path in sorted(root.rglob("*.py")):
        part = part_of(path, root)
        where = path.relative_to(root.parent)
        if part and part not in LEVEL:
            found.append(f"{where}: {part!r} has no layer in tests/test_imports.py")
            continue
        # The package itself names everything, for type checkers only: it loads names when used
        level = LEVEL[part] if part else LEVEL[LAB] - 1
        for line, target in imported_parts(path, root):
            if LEVEL.get(target, len(LAYERS)) > level:
                found.append(
                    f"{where}:{line}: {part or 'farhand'} imports {target}, which lies above it"
                )
    return found


def test_nothing_imports_upward():
    """A part knows only the parts below it or beside it."""
    assert violations(ROOT) == []


@pytest.mark.parametrize(
    "line",
    [
        "from farhand.loop.session import Session",
        "import farhand.rigs.dual_arm",
        "from farhand import cli",
        "from ..link import packet",
        "from .. import safety",
        "def late():\n    from farhand.analysis import energy",
        "from farhand_lab.harness import Entry",
    ],
)
def test_an_upward_import_would_be_caught(tmp_path, line):
    """The check sees every way to write the import, inside functions too."""
    folder = tmp_path / "farhand" / "world"
    folder.mkdir(parents=True)
    (folder / "walls.py").write_text(line + "\n")
    assert len(violations(tmp_path / "farhand")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "from farhand.arm import Arm",
        "from . import hands",
        "from .. import spatial",
        "from farhand import __version__",
    ],
)
def test_a_downward_import_is_fine(tmp_path, line):
    """A part may use its own layer and those below."""
    folder = tmp_path / "farhand" / "world"
    folder.mkdir(parents=True)
    (folder / "walls.py").write_text(line + "\n")
    assert violations(tmp_path / "farhand") == []


def test_a_part_without_a_layer_is_caught(tmp_path):
    """A new folder has to take its place in the order."""
    (tmp_path / "farhand").mkdir()
    (tmp_path / "farhand" / "gadgets.py").write_text("")
    assert "no layer" in violations(tmp_path / "farhand")[0]


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).parent.glob("lerobot/*.py")), ids=lambda path: path.name
)
def test_what_the_lerobot_job_imports_exists(path):
    """Also in the programs that its tests give to other interpreters: ``make test`` does not run
    them, so a name that has changed would be seen days later.
    """
    text = path.read_text(encoding="utf-8")
    lines = re.findall(r"from (farhand\.[\w.]+) import ([\w, ]+)", text)
    assert lines
    for module, names in lines:
        imported = importlib.import_module(module)
        missing = [name for name in re.findall(r"\w+", names) if not hasattr(imported, name)]
        assert not missing, (module, missing)


@pytest.mark.skipif(not (ROOT / "cli" / "main.py").exists(), reason="there is no command line yet")
def test_the_command_line_starts_without_the_heavy_libraries():
    """``farhand --help`` must come at once: physics, plots and pages are imported only by commands
    that use them.
    """
    program = f"import sys, farhand.cli.main; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT.parent, check=True
    ).stdout
    assert loaded.split() == []
