"""Mutants: the places that may change, the sample, and the verdicts on a small project."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from farhand_lab import mutants
from farhand_lab.mutants import Mutant, mutants_of

WORDS = '''"""One - two."""

LIMIT: "int + 1" = 3


class Part:
    gain: float = parameter(2.0, "N/m", "a - b", 0.0, 8.0)

    def __repr__(self):
        return "-" + str(1 - 2)


def f(x: "1 - 2", y=-4):
    if x > 9:
        raise ValueError("more than", 9 - 1)
    text = f"{x - 1}" + "a"
    return x[:-1]
'''


def changes(source: str) -> set[str]:
    return {mutant.after for mutant in mutants_of("a.py", source + "\n")}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a + b", {"x = a - b", "x = a", "x =  b"}),
        ("x = (a) - (b)", {"x = (a) + (b)", "x = (a)", "x = - (b)"}),
        ("x = a * (b)", {"x = a / (b)"}),
        ("x = -a", {"x = a"}),
        ("x = not (a)", {"x = (a)"}),
        ("x = a < b", {"x = a >= b"}),
        ("x = 0 <= b != c", {"x = 0 > b != c", "x = 0 <= b == c"}),
        ("x = a and b", {"x = a or b"}),
        ("x = min(a, b)", {"x = max(a, b)"}),
        ("x = f(a, b)", {"x = f(b, a)"}),
        ("x = np.maximum(a, b, out=c)", {"x = np.minimum(a, b, out=c)"}),
        ("x += a", {"x -= a"}),
        ("x = 0.5", {"x = 1.0"}),
        ("x = µ + b  # a + b", {"x = µ - b  # a + b", "x = µ  # a + b", "x =  b  # a + b"}),
    ],
)
def test_each_kind_of_change_is_made_at_its_place(source: str, expected: set[str]):
    """One at a time, and the rest of the line stays."""
    assert changes(source) == expected


def test_texts_types_errors_and_parameters_are_left_alone():
    """Nothing but numbers, comparisons and defaults of functions."""
    found = {(mutant.before, mutant.after) for mutant in mutants_of("a.py", WORDS)}
    assert found == {
        ('LIMIT: "int + 1" = 3', 'LIMIT: "int + 1" = 6'),
        ('def f(x: "1 - 2", y=-4):', 'def f(x: "1 - 2", y=4):'),
        ('def f(x: "1 - 2", y=-4):', 'def f(x: "1 - 2", y=-8):'),
        ("if x > 9:", "if x <= 9:"),
        ("if x > 9:", "if x > 18:"),
    }


def test_every_mutant_of_the_library_is_a_program_that_differs():
    """The operator is found past brackets, comments and line breaks."""
    for folder in mutants.FOLDERS:
        for mutant in mutants.sources(folder)[:150]:
            whole = (mutants.ROOT / mutant.file).read_text(encoding="utf-8")
            assert ast.dump(ast.parse(mutant.text)) != ast.dump(ast.parse(whole)), mutant.after


def test_the_sample_does_not_depend_on_other_lines():
    """Neither on their number nor on their text."""
    one = [mutant.id for mutant in mutants_of("a.py", "x = a + b * c\n")]
    two = [mutant.id for mutant in mutants_of("a.py", "y = 1 if d else 2\n\n\nx = a + b * c\n")]
    assert [id for id in two if id in one] == one


def test_the_quickest_tests_that_reach_a_mutant_come_first():
    """As many as there is time for, and one at least."""
    reached = [
        {"test": "slow", "seconds": 9.0, "mutants": ["one"]},
        {"test": "quick", "seconds": 1.0, "mutants": ["two", "one"]},
        {"test": "elsewhere", "seconds": 0.1, "mutants": ["two"]},
    ]
    mutant = Mutant("one", "a.py", 3, 3, False, "", "", "", "")
    assert mutants.tests_for(mutant, reached, 60.0) == (["quick", "slow"], 10.0)
    assert mutants.tests_for(mutant, reached, 5.0) == (["quick"], 1.0)


PROBED = """
def f(x):
    if x > 1:
        return x + 2
    elif x < 0:
        return -(
            x
        )
    return 3 * x
"""


def test_a_probe_stands_before_the_innermost_statement(monkeypatch):
    """Also before an elif, which may have nothing in front of it; and the function stays itself."""
    monkeypatch.setattr(sys, "reached", set(), raising=False)
    found = mutants_of("a.py", PROBED)
    names: dict[str, Any] = {}
    exec(mutants.probed(PROBED, found), names)
    lines = {mutant.id: mutant.before for mutant in found}
    for x, value, reached in (
        (5, 7, {"if x > 1:", "return x + 2"}),
        (-5, 5, {"if x > 1:", "elif x < 0:", "return -("}),
        (1, 3, {"if x > 1:", "elif x < 0:", "return 3 * x"}),
    ):
        sys.reached.clear()
        assert names["f"](x) == value
        assert {lines[id] for id in sys.reached} == reached


def test_a_file_that_cannot_be_collected_is_tried_again_and_no_other(monkeypatch):
    """It fails by its name; without a name pytest would run every test there is."""
    asked: list[list[str]] = []
    first = 2 + len(mutants.WITHOUT)
    monkeypatch.setattr(pytest, "main", lambda words, plugins: asked.append(words[first:]))
    assert mutants.run_tests(["tests/a.py", "tests/b.py::test_one", "tests/b.py::test_two"]) == []
    assert asked == [["tests/a.py"], ["tests/b.py::test_one", "tests/b.py::test_two"]]


def test_every_line_that_is_marked_as_equivalent_exists():
    """A mark outlives its line otherwise."""
    marked = mutants.equivalents()
    known = {(m.file, m.after) for folder in mutants.FOLDERS for m in mutants.sources(folder)}
    assert set(marked) <= known and all(reason.endswith(".") for reason in marked.values())


SHARED = """
from farhand.compiled import compiled


@compiled
def double(a):
    return 2.0 * a
"""
CODE = """
from farhand.compiled import compiled
from farhand.kernels import double


@compiled
def quadruple(a):
    return double(double(a))


def area(a, b):
    return a * b


def unchecked(a):
    return a + 1


def down(a):
    while a > 0:
        a -= 1
    return a
"""
TESTS = """
from farhand.world.code import area, down, quadruple, unchecked


def test_quadruple():
    assert quadruple(1.5) == 6.0


def test_area():
    assert area(2.0, 3.0) == 6.0


def test_unchecked():
    unchecked(1)


def test_down():
    assert down(3) == 0
"""


def test_tests_are_found_by_name_the_likeliest_first():
    """The file of its own name, then those that name its module or its classes."""
    (mutant, *_) = mutants.sources("mapping/joint_map.py")
    found = mutants.files_for(mutant, mutants.files_of("mapping/joint_map.py"))
    assert found[:2] == ["tests/mapping/test_joint_map.py", "tests/mapping/test_joint_map_link.py"]
    assert found.index("tests/mapping/test_joint_target.py") < found.index(
        "tests/mapping/test_pen.py"
    )
    # and the file that has the name of its folder
    (mutant, *_) = (m for m in mutants.sources("rigs/pair") if m.file.endswith("parts.py"))
    assert "tests/rigs/test_pair.py" in mutants.files_for(mutant, mutants.files_of("rigs/pair"))


def test_a_small_project_is_judged_in_copies_and_stays_as_it_is(tmp_path):
    """Checked code catches, code that only runs does not, and a loop without end is caught.

    A compiled function that another one calls is caught where the other one is checked.
    """
    for name, text in {
        "farhand/__init__.py": "",
        "farhand/compiled.py": "from numba import njit\n\ncompiled = njit(cache=True)\n",
        "farhand/kernels.py": SHARED,
        "farhand/world/__init__.py": "",
        "farhand/world/code.py": CODE,
        "tests/world/test_code.py": TESTS,
        "farhand_lab/__init__.py": "",
        "farhand_lab/mutants.py": Path(mutants.__file__).read_text(encoding="utf-8"),
        "docs/results/mutants.md": "# Mutants\n\n## Earlier runs\n\nOne.\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    words = ["--folder", "world", "--folder", "kernels.py", "--own"]
    words += ["--seconds", "1", "--spare", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "farhand_lab.mutants", *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    verdicts = {tuple(line.split(maxsplit=2)[::2]) for line in done.stdout.splitlines()}
    assert ("caught", "return a / b  [tests/world/test_code.py::test_area]") in verdicts
    assert ("caught", "a += 1  [time limit]") in verdicts
    assert ("survived", "return a - 1  []") in verdicts
    quadruple = "[tests/world/test_code.py::test_quadruple]"
    assert ("caught", f"return 2.0 / a  {quadruple}") in verdicts
    assert (tmp_path / "farhand/world/code.py").read_text() == CODE
    page = (tmp_path / "docs/results/mutants.md").read_text(encoding="utf-8")
    assert "`return a + 1` → `return a - 1` (sign)" in page
    # of runs before verdicts were kept, the page knows only what it says
    assert page.endswith("\n\n## Earlier runs\n\nOne.\n")
    kept = (tmp_path / mutants.RESULTS).read_text(encoding="utf-8").splitlines()
    assert len(kept) == len(done.stdout.splitlines()) - 1
