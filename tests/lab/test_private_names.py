"""What the laboratory uses of the library's private names exists and is listed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import farhand_lab
from farhand.errors import BadValue
from farhand.safety import Guard
from farhand_lab import harness, private_names
from farhand_lab.mutation import changed, patched


@pytest.mark.parametrize("entry", private_names.TABLE, ids=lambda entry: entry.name)
def test_the_library_still_has_each_listed_name(entry):
    """If this fails, the library changed: adapt the entry and the mutation that uses it."""
    assert entry.exists(), f"{entry.module} no longer has {entry.name} (used to: {entry.why})"


@pytest.mark.parametrize("group", harness.groups())
def test_each_mutation_finds_the_part_that_it_breaks(group):
    """Public names count too: a mutation of a part that is gone would judge nothing."""
    for mutation in getattr(harness.module_of(group), "MUTATIONS", []):
        with mutation.apply():
            pass


def test_a_private_name_that_is_not_listed_is_refused():
    """The message names the attribute and the file with the table."""
    for context in (patched(Guard, "_other", None), changed(Guard, "_other", lambda whole: whole)):
        with pytest.raises(BadValue, match=r"Guard\._other .*private_names\.py"), context:
            pass


def test_every_private_name_used_outside_a_class_is_listed_or_of_the_laboratory():
    """A broken method may also look at private state of the library."""
    used, own = set(), {"_asdict", "_replace", "_exit"}
    for path in Path(farhand_lab.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        inside = {id(node) for item in classes for node in ast.walk(item)}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                own.add(node.name)
            if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
                (own if id(node) in inside else used).add(node.attr)
    listed = {entry.attribute for entry in private_names.TABLE}
    assert {name for name in used - own - listed if not name.startswith("__")} == set()
