"""The source stays readable: short files, short functions, and a docstring on everything public."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "farhand"
FILES = sorted(ROOT.rglob("*.py"))
LONGEST_FILE = 400
LONGEST_FUNCTION = 60  # the aim is 40

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_of(path: Path) -> Iterator[Function]:
    """All functions and methods of a file, nested ones too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Function):
            yield node


@pytest.fixture(params=FILES, ids=lambda path: str(path.relative_to(ROOT)))
def source(request) -> Path:
    """Each file of the package in turn."""
    return request.param


def test_a_file_is_short_enough_to_read_in_one_go(source):
    """A file that outgrows the limit holds more than one thing."""
    assert len(source.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


def test_a_function_fits_on_a_screen(source):
    """A function that outgrows the limit does more than one thing."""
    lengths = {function.name: function.end_lineno - function.lineno + 1 for function in functions_of(source)}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION} == {}


def test_everything_public_has_a_docstring(source):
    """Modules, and their public functions and classes, say what they are."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    public = [node for node in tree.body if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_")]
    assert [node.name for node in public if not ast.get_docstring(node)] == []
    assert not source.read_text(encoding="utf-8").strip() or ast.get_docstring(tree)
