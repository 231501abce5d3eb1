"""Everything public has a docstring, and one noun has one meaning."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path for package in ("farhand", "farhand_lab") for path in (ROOT / package).rglob("*.py")
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(params=FILES, ids=lambda path: str(path.relative_to(ROOT)))
def source(request) -> Path:
    """Each file of the package in turn."""
    return request.param


def test_everything_public_has_a_docstring(source):
    """Modules, and their public functions and classes, say what they are."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    public = [
        node
        for node in tree.body
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_")
    ]
    assert [node.name for node in public if not ast.get_docstring(node)] == []
    assert not source.read_text(encoding="utf-8").strip() or ast.get_docstring(tree)


def test_no_class_name_exists_twice():
    """Whoever searches for a name finds one class."""
    homes = defaultdict(list)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(ROOT)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
