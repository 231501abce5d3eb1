"""Mutants: small changes to the code of the library, each of which a test must notice.

``python -m farhand_lab.mutants`` changes one sign, factor, comparison or argument at a time in a
copy of the project and runs the tests that reach the line, the quickest first. A mutant that no
test notices has *survived*: a check is missing, or the change makes no difference, and then
``mutants.toml`` says why. The mutants are a sample per folder that depends on their own lines
alone, so it is the same on every machine and after changes elsewhere.

Named breaks that must flip verdicts of reproductions are in :mod:`farhand_lab.mutation`.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import hashlib
import json
import math
import os
import py_compile
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
OUT = Path("out") / "mutants"
PAGE = Path("docs") / "results" / "mutants.md"
EQUIVALENTS = Path("farhand_lab") / "mutants.toml"
RESULTS = Path("farhand_lab") / "mutants.jsonl"
"""Verdicts on mutants that are still there, kept so that samples of several runs add up."""

FOLDERS = (
    *"coupling control mapping sensing friction safety link learning world loop".split(),
    *("arm.py", "kernels.py", "rigid_body.py", "ring.py"),
    *("rigs/pair", "robots/gripper.py", "running/serving.py", "client.py"),
)
"""Rows of the table, of ``farhand``: the first single files are what the compiled functions share,
the last ones are where other people's robots and programs come in."""

TESTS = {
    "arm.py": ("test_arm.py", "test_compiled.py"),
    "kernels.py": ("test_arm.py", "test_compiled.py"),
    "rigid_body.py": ("test_arm.py", "test_compiled.py"),
    "rigs/pair": ("rigs/test_pair*.py",),
    "robots/gripper.py": ("robots/test_*gripper*.py",),
    "running/serving.py": ("running/test_serving*.py",),
    "ring.py": ("test_ring.py", "loop/test_telemetry.py"),
    "client.py": ("test_client.py", "running/test_serving*.py"),
}
"""Test files of those that have no folder of their own, below ``tests``."""

FURTHER = ("loop", "link", "rigs")
"""Test folders that also count, beside the folder's own."""

SWAPS: dict[type, tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Lt: ("<", ">="),
    ast.GtE: (">=", "<"),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
SYMMETRIC = {*EXTREMES, "isinstance", "hasattr", "getattr", "hypot", "isclose", "array_equal"}
SYMMETRIC |= {"suppress"}
"""Calls whose two arguments may be exchanged, or whose exchange breaks at once."""

SHAPES = {"zeros", "ones", "empty", "eye", "full", "range", "reshape", "repeat", "round"}
TOLERANCE = 1e-5
"""Constants below are tolerances, whose double is as good."""

PLAIN = {"NUMBA_DISABLE_JIT": "1"}
"""Compiled functions as plain Python, whose lines can be followed."""


@dataclass(frozen=True)
class Mutant:
    """One change at one place."""

    id: str
    file: str  #: from the root of the project
    line: int
    last: int  #: last line of the expression
    runs_at_import: bool  #: a default or a constant, not a line of a function
    kind: str
    before: str  #: the line as it is
    after: str  #: and as it is changed, both without margins
    text: str  #: the whole changed file


def mutants_of(file: str, source: str) -> list[Mutant]:
    """All mutants of a file, those of the sample first."""
    data, tree = source.encode(), ast.parse(source)
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines, found, seen = source.splitlines(), [], dict[str, int]()
    for node, runs_at_import in _places(tree, True):
        for kind, start, end, new in _edits(node, data, starts):
            text = (data[:start] + new.encode() + data[end:]).decode()
            row = data.count(b"\n", 0, start)
            before, after = lines[row].strip(), text.splitlines()[row].strip()
            place = f"{file}\n{before}\n{after}\n{kind}"
            seen[place] = seen.get(place, 0) + 1
            id = hashlib.sha256(f"{place}\n{seen[place]}".encode()).hexdigest()[:12]
            span = (node.lineno, node.end_lineno)
            found.append(Mutant(id, file, *span, runs_at_import, kind, before, after, text))
    return sorted(found, key=lambda mutant: mutant.id)


def _places(node: ast.AST, at_import: bool) -> Iterator[tuple[Any, bool]]:
    """Expressions that may change, without texts, types, colours, errors and parameters.

    The default of a parameter is a choice; a test could only repeat it.
    """
    if isinstance(node, ast.Raise | ast.JoinedStr):
        return
    if isinstance(node, ast.Call) and _name(node) == "parameter":
        return
    yield node, at_import
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        if getattr(node, "name", "") in ("__repr__", "__str__"):
            return
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            yield from _places(default, at_import) if default else ()
        for part in node.body if isinstance(node, ast.FunctionDef) else [node.body]:
            yield from _places(part, False)
        return
    children: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call) and _name(node) in SHAPES:
        children = [part for part in children if not isinstance(part, ast.Constant)]
    elif isinstance(node, ast.Subscript):
        children = [node.value, *([] if _is_index(node.slice) else [node.slice])]
    elif isinstance(node, ast.AnnAssign):
        children = [node.value] if node.value else []
    elif isinstance(node, ast.Assert):
        children = [node.test]
    elif isinstance(node, ast.keyword) and node.arg in ("axis", "rgba"):
        children = []
    for child in children:
        yield from _places(child, at_import)


def _is_index(node: ast.AST) -> bool:
    parts = (ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load)
    return all(isinstance(part, parts) for part in ast.walk(node))


def _name(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def _is_text(node: ast.AST) -> bool:
    """Whether ``+`` and ``*`` would join or repeat it."""
    text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return text or isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp))


def _edits(node: Any, data: bytes, starts: list[int]) -> Iterator[tuple[str, int, int, str]]:
    """Each change as its kind, first byte, byte after the last, and new text."""

    def begin(part: Any) -> int:
        return starts[part.lineno - 1] + part.col_offset

    def finish(part: Any) -> int:
        return starts[part.end_lineno - 1] + part.end_col_offset

    def operator(left: int, right: int, symbol: str) -> int:
        """Where it stands between two operands, past brackets and comments."""
        gap = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), data[left:right])
        return left + gap.index(symbol.encode())

    def swap(kind: str, left: int, right: int, op: ast.AST) -> Iterator[tuple[str, int, int, str]]:
        old, new = SWAPS[type(op)]
        at = operator(left, right, old)
        yield kind, at, at + len(old), new

    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op):
            if _is_text(left) or _is_text(node.right):
                return
            is_sum = isinstance(op, ast.Add | ast.Sub)
            yield from swap("sign" if is_sum else "factor", finish(left), begin(node.right), op)
            if is_sum:
                at = operator(finish(left), begin(node.right), SWAPS[type(op)][0])
                end = len(data[:at].rstrip(b" "))
                yield "dropped term", end, finish(node), ""
                yield "dropped term", begin(node), at + isinstance(op, ast.Add), ""
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op):
            if not _is_text(node.value):
                yield from swap("assignment", finish(target), begin(node.value), op)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            kind, word = ("sign", "-") if isinstance(node.op, ast.USub) else ("not", "not ")
            yield kind, begin(node), begin(node) + len(word), ""
        case ast.Compare():
            operands = [node.left, *node.comparators]
            for one, other, compare in zip(operands, operands[1:], node.ops, strict=False):
                if type(compare) in SWAPS:
                    yield from swap("comparison", finish(one), begin(other), compare)
        case ast.BoolOp(values=[left, right, *_]):
            yield from swap("logic", finish(left), begin(right), node.op)
        case ast.Constant(value=int() | float() as value):
            usable = not isinstance(value, bool) and math.isfinite(value)
            if usable and abs(value) >= TOLERANCE:
                halved = isinstance(value, float) and value != 0.5 and node.col_offset % 2
                yield (
                    "constant",
                    begin(node),
                    finish(node),
                    repr(value / 2 if halved else 2 * value),
                )
        case ast.Call(func=func, args=args):
            name = _name(node)
            if name in EXTREMES:
                at = finish(func) - len(name)
                yield "extreme", at, finish(func), EXTREMES[name]
            plain = not node.keywords and not any(isinstance(a, ast.Starred) for a in args)
            if len(args) == 2 and plain and name not in SYMMETRIC:
                first, second = (data[begin(a) : finish(a)].decode() for a in args)
                between = data[finish(args[0]) : begin(args[1])].decode()
                if first != second and "(" not in between and ")" not in between:
                    both = second + between + first
                    yield "arguments", begin(args[0]), finish(args[1]), both


# ---- a copy of the project, and children that run its tests


class TooSlow(BaseException):
    """A test took more than its share; no ``Exception``, so that nothing catches it."""


class Reports:
    """A pytest plugin: which tests passed or failed, and the processor time of each, [s]."""

    def __init__(self, limit: float = 0.0, switch: Callable[[str], object] | None = None) -> None:
        self.limit, self.switch = limit, switch
        self.times, self.failed = dict[str, float](), list[str]()
        self.passed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Take the time of a test, set-up and tear-down included."""
        begun = time.process_time()
        if self.switch:
            self.switch(item.nodeid)
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        result = yield
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        self.times[item.nodeid] = time.process_time() - begun
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what happened to a test."""
        if report.failed:
            self.failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported fails as a whole."""
        if report.failed:
            self.failed.append(report.nodeid)


def in_child(work: Callable[[], Any], tree: Path, seconds: float, numba: dict[str, str]) -> Any:
    """Fork, run ``work`` in a copy of the project, and return its result; None if it hangs.

    Args:
        work: what to do; its result is sent as JSON.
        tree: the copy.
        seconds: processor time it may take, [s]; ten times as long by the clock.
        numba: its settings, as environment variables.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                os.chdir(tree)
                log = os.open(tree / "child.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(log, 1), os.dup2(log, 2)
                resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
                sys.path[:0] = [str(tree)]
                os.environ |= {"PYTHONPATH": str(tree)} | numba
                from numba.core import config

                config.reload_config()
                answer.write_text(json.dumps(work()))
            finally:
                os._exit(0)
        end = time.monotonic() + 10.0 * seconds + 60.0
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
            time.sleep(0.02)
        return json.loads(answer.read_text()) if answer.exists() else None


def run_tests(tests: list[str]) -> list[str]:
    """The first tests that fail; one file at a time, in the order of the list."""
    for file in dict.fromkeys(test.partition("::")[0] for test in tests):
        # A file that cannot be collected fails by its name alone.
        reports, chosen = Reports(), [t for t in tests if t.partition("::")[0] == file]
        code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", *chosen], plugins=[reports])
        if code:
            return reports.failed or chosen
    return []


def reach(file: str, limit: float) -> dict[str, Any]:
    """Run a test file: the time of each test that passes, and the lines it ran; None if not."""
    from coverage import Coverage

    def stop(*_: object) -> None:
        raise TooSlow(f"longer than {limit:g} s")

    signal.signal(signal.SIGPROF, stop)
    here = Path.cwd()
    coverage = Coverage(data_file=None, config_file=False, source=[str(here / "farhand")])
    coverage.start()
    reports = Reports(limit, coverage.switch_context)
    pytest.main(["-q", "-p", "no:cacheprovider", file], plugins=[reports])
    coverage.stop()
    usable = reports.passed - set(reports.failed)
    lines: dict[str, dict[str, list[int]]] = {test: {} for test in usable}
    data = coverage.get_data()
    for source in data.measured_files():
        for line, tests in data.contexts_by_lineno(source).items():
            for test in usable.intersection(tests):
                lines[test].setdefault(str(Path(source).relative_to(here)), []).append(line)
    rows = {test: {"seconds": reports.times[test], "lines": lines[test]} for test in usable}
    return dict.fromkeys(reports.times) | rows


def copy_project(to: Path) -> Path:
    """Copy what git knows or would add, and compile it."""
    shutil.rmtree(to, ignore_errors=True)
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(words, cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    # Checked by hash: a mutant of the same length, written within the same second, is seen.
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(to / "farhand", quiet=2, invalidation_mode=mode)
    return to


# ---- the run


class Bench:
    """One of several processes: a copy of the project in which mutants are judged in turn."""

    def __init__(self, number: int, options: argparse.Namespace) -> None:
        self.options = options
        self.tree = copy_project(ROOT / OUT / f"tree-{number}")
        self.numba = {"NUMBA_CACHE_DIR": str(ROOT / OUT / f"numba-{number}")}
        self.confirmed: set[tuple[str, bool]] = set()

    def record(self, file: str) -> None:
        """Find out which lines the tests of a file reach, once per state of the code."""
        path = ROOT / OUT / "reach" / f"{digest(file)}.json"
        if path.exists():
            return
        limit, rows = self.options.test_seconds, dict[str, Any]()
        # Without numba's compiler lines can be followed, and take their time. Tests that need the
        # compiler, or its speed, are followed outside of kernels.
        for settings in (PLAIN, self.numba):
            if not rows or None in rows.values():
                found = in_child(lambda: reach(file, limit), self.tree, 100.0 * limit, settings)
                rows = (found or {}) | {test: row for test, row in rows.items() if row}
        rows = {test: row for test, row in rows.items() if row}
        if not rows:
            print(f"{file} does not come to its end, and judges nothing")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        # Several runs may share the folder: nobody reads half a file.
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(rows))
        part.replace(path)

    def judge(self, mutant: Mutant, tests: list[str], seconds: float) -> tuple[str, str]:
        """Its verdict, and the test that caught it."""
        place = self.tree / mutant.file
        whole, times = place.read_text(), place.stat()
        # Compiled functions keep a copy of those they call: numba would not see that one changed.
        # The tests that reach their lines were found without its compiler, too.
        numba = PLAIN if "@compiled" in whole else self.numba
        while tests:
            place.write_text(mutant.text)
            limit = 3.0 * seconds + self.options.spare
            failed = in_child(partial(run_tests, tests), self.tree, limit, numba)
            place.write_text(whole)
            # numba knows its source by time and size
            os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
            # without end, unless the tests need that long anyway
            if (
                failed is None
                and in_child(partial(run_tests, tests), self.tree, limit, numba) == []
            ):
                return "caught", "time limit"
            if not failed:
                return "survived", ""
            if self._passes(failed, numba):
                return "caught", failed[0]
            files = {test.partition("::")[0] for test in failed}
            tests = [test for test in tests if test not in failed and test not in files]
        return "survived", ""

    def _passes(self, tests: list[str], numba: dict[str, str]) -> bool:
        """Whether tests pass on the whole code, now and as fast: otherwise they judge nothing."""
        asked = {(test, numba is PLAIN) for test in tests}
        if not asked <= self.confirmed:
            if in_child(lambda: run_tests(tests), self.tree, 300.0, numba) != []:
                return False
            self.confirmed |= asked
        return True


@cache
def digest(file: str) -> str:
    """A hash of a test file, of what it may use, and of the library."""
    names = [file, *(str(p.relative_to(ROOT)) for p in sorted((ROOT / "farhand").rglob("*.py")))]
    helpers = (p for p in sorted((ROOT / "tests").rglob("*.py")) if p.name[:5] != "test_")
    names += [str(p.relative_to(ROOT)) for p in helpers]
    text = hashlib.sha256()
    for name in names:
        text.update(f"{name}\n".encode() + (ROOT / name).read_bytes())
    return text.hexdigest()[:16]


def files_of(folder: str) -> list[str]:
    """The test files of a folder, from the root of the project."""
    tests = ROOT / "tests"
    # those of one file are with those of its folder
    patterns = TESTS.get(folder, (f"{folder.partition('/')[0]}/**/test_*.py",))
    found = sorted(path for pattern in patterns for path in tests.glob(pattern))
    return [str(path.relative_to(ROOT)) for path in found]


def tests_for(mutant: Mutant, reached: dict[str, Any], budget: float) -> tuple[list[str], float]:
    """The tests that reach a mutant, the quickest first, and their time, [s]."""
    chosen, total = list[str](), 0.0
    for test, row in sorted(reached.items(), key=lambda item: item[1]["seconds"]):
        lines = row["lines"].get(mutant.file, ())
        hit = mutant.runs_at_import or any(mutant.line <= at <= mutant.last for at in lines)
        if lines and hit and (not chosen or total + row["seconds"] < budget):
            chosen.append(test)
            total += row["seconds"]
    return chosen, total


def files_for(mutant: Mutant, files: list[str]) -> list[str]:
    """Of test files those that name a mutant's module, what is in it, or its folder.

    The likeliest come first.
    """
    path = Path(mutant.file)
    stem = path.parent.name if path.stem == "__init__" else path.stem
    module = mutant.file.removesuffix(".py").replace("/", ".")
    nouns = re.findall(r"^(?:class|def) (\w+)", (ROOT / path).read_text(), re.MULTILINE)
    named = re.compile("|".join(rf"\b{noun}\b" for noun in nouns) or r"(?!)")

    def rank(file: str) -> tuple[int, int]:
        text, name = (ROOT / file).read_text(), Path(file).stem.removeprefix("test_")
        fits = [name == stem, stem in name or name in stem, module in text, named.search(text)]
        fits.append(path.parent.name in (Path(file).parent.name, name))
        return next((place for place, fit in enumerate(fits) if fit), len(fits)), len(text)

    ranked = sorted(files, key=rank)
    return [file for file in ranked if rank(file)[0] < 5] or ranked


def sources(folder: str) -> list[Mutant]:
    """All mutants of a folder, those of the sample first."""
    place = ROOT / "farhand" / folder
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    found = [m for p in files for m in mutants_of(str(p.relative_to(ROOT)), p.read_text())]
    return sorted(found, key=lambda mutant: mutant.id)


def equivalents() -> dict[tuple[str, str], str]:
    """Reason by file and changed line."""
    path = ROOT / EQUIVALENTS
    rows = tomllib.loads(path.read_text())["equivalent"] if path.exists() else []
    return {(row["file"], row["line"]): row["reason"] for row in rows}


def kept() -> dict[str, dict[str, str]]:
    """Results of earlier runs by id of the mutant; the last counts."""
    path = ROOT / RESULTS
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {row["id"]: row for row in rows}


def earlier_runs() -> str:
    """What the page says of runs whose single verdicts were not kept; it stays as it is."""
    text = (ROOT / PAGE).read_text() if (ROOT / PAGE).exists() else ""
    return "".join(text.partition("\n## Earlier runs\n")[1:])


def share(jobs: int, work: Callable[[int], None]) -> None:
    """Run ``work(number)`` in so many processes."""
    children = []
    for number in range(jobs):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work(number)
                code = 0
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    if any([os.waitpid(child, 0)[1] for child in children]):
        sys.exit("a process that judges mutants broke off; its message is above")


def page(results: dict[str, dict[str, str]]) -> str:
    """The page of results."""
    reasons = equivalents()
    rows, survivors, marked = [], list[str](), list[str]()
    sums = [0, 0, 0, 0]
    for folder in FOLDERS:
        judged = [mutant for mutant in sources(folder) if mutant.id in results]
        if not judged:
            continue
        verdicts = [results[mutant.id]["verdict"] for mutant in judged]
        for mutant, verdict in sorted(zip(judged, verdicts, strict=True), key=_by_place):
            line = f"- `{mutant.file}`: `{mutant.before}` → `{mutant.after}`"
            if verdict == "equivalent":
                marked.append(f"{line}  \n  {reasons[mutant.file, mutant.after]}")
            elif verdict == "survived":
                survivors.append(f"{line} ({mutant.kind})")
        counts = [len(verdicts), *map(verdicts.count, ("caught", "equivalent", "survived"))]
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        rows_of = [results[mutant.id] for mutant in judged]
        judged_at = {f"{row.get('date', '')} {row.get('commit', '–')}".strip() for row in rows_of}
        rows.append(_row(f"`farhand/{folder}`", counts, judged_at))
    return PAGE_TEXT.format(
        rows="\n".join([*rows, _row("**all**", sums, set())]),
        survivors="\n".join(survivors) or "None.",
        equivalents="\n".join(marked) or "None.",
    )


def _by_place(pair: tuple[Mutant, str]) -> tuple[str, int, str]:
    return pair[0].file, pair[0].line, pair[0].id


def _row(name: str, counts: list[int], commits: set[str]) -> str:
    score = counts[1] / max(counts[1] + counts[3], 1)
    numbers = " | ".join(map(str, counts))
    return f"| {name} | {numbers} | {100 * score:.0f} % | {', '.join(sorted(commits))} |"


PAGE_TEXT = """# Mutants

`make mutants` writes this page; do not edit it by hand. Each mutant is one small change to a copy
of the library: a sign, a factor, a constant, a comparison, two arguments exchanged, a term dropped.
The tests that reach the line must notice. The score is caught / (caught + survived). The last
column has the days and commits at which they were judged; lines that changed since are left out.

| folder | mutants | caught | equivalent | survived | score | judged at |
| --- | ---: | ---: | ---: | ---: | ---: | --- |
{rows}

## Survivors

{survivors}

## Marked as equivalent

Changes that no test can notice, or that change nothing of interest; the reasons are kept in
`farhand_lab/mutants.toml`.

{equivalents}
"""


def main(arguments: list[str] | None = None) -> None:
    """Judge a sample of mutants per folder and write the page of results."""
    parser = argparse.ArgumentParser(prog="mutants", description=main.__doc__)
    add = parser.add_argument
    add("--folder", action="append", metavar="PATH", help="or file of farhand; may be repeated")
    add("--limit", type=int, default=60, metavar="N", help="mutants per folder (60)")
    add("--resume", action="store_true", help="keep what was caught, or has no new tests")
    add("--by-name", action="store_true", help="find tests by names, not by the lines they reach")
    add("--files", type=int, metavar="N", help="by name: only the N likeliest test files")
    add("--own", action="store_true", help=f"without the tests of {', '.join(FURTHER)}")
    add("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    add("--seconds", type=float, default=60.0, help="time of all tests per mutant, [s] (60)")
    add("--test-seconds", type=float, default=10.0, help="leave out slower tests, [s] (10)")
    add("--spare", type=float, default=30.0, help="time limit beside thrice the tests', [s] (30)")
    options = parser.parse_args(arguments)
    for folder in options.folder or ():
        if not (ROOT / "farhand" / folder).exists():
            parser.error(f"--folder {folder}: there is no farhand/{folder}")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("COVERAGE_CORE", "ctrace")  # the only one that tells tests apart
    _import_libraries()
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)
    folders = options.folder or FOLDERS
    wanted = dict.fromkeys([*folders, *(() if options.own else FURTHER)])
    files = list(dict.fromkeys(file for folder in wanted for file in files_of(folder)))
    mutants = {mutant: folder for folder in folders for mutant in sources(folder)[: options.limit]}
    # Copies and hashes before anything runs: the project may change meanwhile.
    benches = [Bench(number, options) for number in range(options.jobs)]
    records = [ROOT / OUT / "reach" / f"{digest(file)}.json" for file in files]
    earlier, marked = kept() if options.resume else {}, equivalents()
    words = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    commit = commit.strip() or "–"

    def record(number: int) -> None:
        for file in files[number :: options.jobs]:
            benches[number].record(file)

    def judge(number: int) -> None:
        for mutant in list(mutants)[number :: options.jobs]:
            found = files_for(mutant, files_of(mutants[mutant]))
            tests, seconds = found[: options.files], options.seconds
            if not options.by_name:
                tests, seconds = tests_for(mutant, reached, options.seconds)
            names = [*tests, *(digest(test.partition("::")[0]) for test in tests)]
            key = hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]
            before = earlier.get(mutant.id, {})
            if (mutant.file, mutant.after) in marked:
                verdict, by = "equivalent", ""
            elif before.get("verdict") == "caught" or before.get("key") == key:
                continue
            else:
                verdict, by = benches[number].judge(mutant, tests, seconds)
            row = {"id": mutant.id, "verdict": verdict, "by": by, "key": key, "commit": commit}
            row["date"] = time.strftime("%Y-%m-%d", time.gmtime())
            with (ROOT / RESULTS).open("a") as stream:
                stream.write(json.dumps(row) + "\n")
            print(f"{verdict:10} {mutant.file}:{mutant.line} {mutant.after}  [{by}]", flush=True)

    if not options.by_name:
        share(options.jobs, record)
    reached: dict[str, Any] = {}
    for path in filter(Path.exists, records):
        reached |= json.loads(path.read_text())
    share(options.jobs, judge)
    present = {mutant.id for folder in FOLDERS for mutant in sources(folder)}
    results = {id: row for id, row in sorted(kept().items()) if id in present}
    (ROOT / RESULTS).write_text("".join(f"{json.dumps(row)}\n" for row in results.values()))
    (ROOT / PAGE).write_text(page(results) + earlier_runs())
    print(f"the results are in {PAGE}")


def _import_libraries() -> None:
    """What every child would import again; nothing of the project itself."""
    import coverage  # noqa: F401
    import hypothesis.extra.numpy  # noqa: F401
    import matplotlib  # noqa: F401
    import mujoco  # noqa: F401
    import numba  # noqa: F401
    import pinocchio  # noqa: F401
    import scipy.optimize  # noqa: F401
    import scipy.signal  # noqa: F401


if __name__ == "__main__":
    main()
