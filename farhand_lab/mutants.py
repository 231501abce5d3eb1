"""Mutants: small changes to the code of the library, each of which a test must notice.

``python -m farhand_lab.mutants`` changes one sign, factor, comparison or argument at a time in a
copy of the project and runs the tests that reach it: first those that caught a neighbour, then the
quickest. Tests are collected once per folder; each mutant is then judged in a fork of that process,
in which the changed function has other code. What no test notices there is judged again in a
process that imports the changed file. A mutant that no test notices has *survived*: a check is
missing, or the change makes no difference, and then ``mutants.toml`` says why. The mutants are a
sample per folder that depends on their own lines alone, so it is the same on every machine and
after changes elsewhere.

Named breaks that must flip verdicts of reproductions are in :mod:`farhand_lab.mutation`.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import ctypes
import functools
import gc
import hashlib
import inspect
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
from types import CodeType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
OUT = Path("out") / "mutants"
PAGE = Path("docs") / "results" / "mutants.md"
EQUIVALENTS = Path("farhand_lab") / "mutants.toml"
RESULTS = Path("farhand_lab") / "mutants.jsonl"
"""Verdicts on mutants that are still there, kept so that samples of several runs add up."""

WITHOUT = ("-p", "no:cacheprovider", "-p", "no:rerunfailures")
"""Plugins of pytest that are left out: a test that fails has done its work."""

FOLDERS = (
    *"coupling control mapping sensing friction safety link learning world loop".split(),
    *"tasks torque publishing plants/servo_arm plants/damiao plants/franka".split(),
    *("analysis/stability", "arm.py", "kernels.py", "rigid_body.py", "ring.py"),
    *("rigs/pair", "robots/gripper.py", "running/serving.py", "client.py"),
)
"""Rows of the table, of ``farhand``: the first single files are what the compiled functions share,
the last ones are where other people's robots and programs come in."""

PROBE = "getattr(__import__('sys'), 'reached', set()).add('{id}')"
"""Stands before the statement of a mutant while tests are looked for; harmless elsewhere."""

NEIGHBOURS = 3
"""How many of the tests that caught the nearest mutants of a file are tried first."""

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

    def __init__(self, limit: float = 0.0) -> None:
        self.limit = limit
        self.times, self.failed = dict[str, float](), list[str]()
        self.passed: set[str] = set()
        self._met, self._shared = dict[str, set[str]](), set[str]()

    @property
    def reached(self) -> dict[str, set[str]]:
        """Probes that each test met, those of all fixtures of its file included."""
        return {test: met | self._shared for test, met in self._met.items()}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Take the time of a test, set-up and tear-down included."""
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        result = yield
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        self.times[item.nodeid] = time.process_time() - begun
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Tell what a test meets from what its fixtures meet, which others may share."""
        met: set[str] = vars(sys).setdefault("reached", set())
        self._shared |= met
        met.clear()
        result = yield
        self._met[item.nodeid] = met.copy()
        met.clear()
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


def forked(work: Callable[[], Any], seconds: float) -> Any:
    """Fork, run ``work``, and return its result, which is sent as JSON; None if it hangs.

    Args:
        work: what to do.
        seconds: processor time it may take, [s]; ten times as long by the clock.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                _end_with_parent()
                resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
                answer.write_text(json.dumps(work()))
            finally:
                os._exit(0)
        end = time.monotonic() + 10.0 * seconds + 60.0
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
            time.sleep(0.005)
        return json.loads(answer.read_text()) if answer.exists() else None


def in_child(work: Callable[[], Any], tree: Path, seconds: float, numba: dict[str, str]) -> Any:
    """The same in a copy of the project, with settings of numba as environment variables."""

    def there() -> Any:
        os.chdir(tree)
        log = os.open(tree / "child.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1), os.dup2(log, 2)
        sys.path[:0] = [str(tree)]
        os.environ |= {"PYTHONPATH": str(tree)} | numba
        from numba.core import config

        config.reload_config()
        return work()

    return forked(there, seconds)


def run_tests(tests: list[str]) -> list[str]:
    """The first tests that fail; one file at a time, in the order of the list."""
    for file in dict.fromkeys(test.partition("::")[0] for test in tests):
        # A file that cannot be collected fails by its name alone.
        reports, chosen = Reports(), [t for t in tests if t.partition("::")[0] == file]
        code = pytest.main(["-q", "-x", *WITHOUT, *chosen], plugins=[reports])
        if code:
            return reports.failed or chosen
    return []


def probed(source: str, mutants: list[Mutant]) -> str:
    """A file that notes which mutants' statements run."""
    tree = ast.parse(source)
    places: dict[int, list[str]] = {}
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    for mutant in mutants:
        around = [
            node
            for node in statements
            if node.lineno <= mutant.line and mutant.last <= (node.end_lineno or 0)
        ]
        # the innermost is the shortest, and of equal ones the last
        inner = min(reversed(around), key=lambda node: (node.end_lineno or 0) - node.lineno)
        places.setdefault(id(inner), []).append(mutant.id)
    for node in list(ast.walk(tree)):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                whole: list[ast.stmt] = []
                for one in block:
                    for id_ in places.get(id(one), ()):
                        whole += ast.parse(PROBE.format(id=id_)).body
                    whole.append(one)
                setattr(node, name, whole)
    return ast.unparse(ast.fix_missing_locations(tree))


def functions(code: CodeType) -> Iterator[CodeType]:
    """Functions and methods of a module, without those within them, in the order of the text."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            # the body of a class is code too
            yield from [one] if one.co_flags & inspect.CO_NEWLOCALS else functions(one)


class Together(Reports):
    """A pytest plugin that collects tests and then does something else than to run them all.

    Args:
        tree: the copy of the project.
        work: what; it gets this plugin.
    """

    def __init__(self, tree: Path, work: Callable[[Together], Any]) -> None:
        super().__init__()
        self._tree, self._work = str(tree), work
        self.answer: Any = None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Work with what was collected."""
        self.items = {item.nodeid: item for item in session.items}
        # a test's conftest may have hidden what is there by now
        gc.unfreeze()
        self._live: dict[tuple[str, str, int], list[FunctionType]] = {}
        self._caches = []
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(self._tree):
                code = one.__code__
                place = (code.co_filename, code.co_qualname, code.co_firstlineno)
                self._live.setdefault(place, []).append(one)
            elif isinstance(one, functools._lru_cache_wrapper):
                self._caches.append(one)
        gc.collect()
        gc.freeze()
        self.answer = self._work(self)
        return True

    def exchange(self, file: str, whole: str, text: str) -> bool:
        """Put the code of a changed file into the functions that exist; whether it can be done."""
        path = f"{self._tree}/{file}"
        old, new = (functions(compile(t, path, "exec", dont_inherit=True)) for t in (whole, text))
        changed = [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
        for before, after in changed:
            live = self._live.get((path, before.co_qualname, before.co_firstlineno), [])
            if not live or before.co_freevars != after.co_freevars:
                return False
            for function in live:
                function.__code__ = after
        for kept in self._caches:
            if str(getattr(kept, "__module__", "")).startswith("farhand"):
                kept.cache_clear()
        return bool(changed)

    def run(self, tests: list[str]) -> list[str]:
        """The first tests that fail, in the order of the list."""
        items = [self.items[test] for test in tests]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                break
        return self.failed

    def reach(self, file: str, limit: float) -> list[dict[str, Any]]:
        """Time and mutants of each test of a file that passes."""

        def stop(*_: object) -> None:
            raise TooSlow(f"longer than {limit:g} s")

        signal.signal(signal.SIGPROF, stop)
        self.limit = limit
        vars(sys)["reached"] = set()
        items = [item for test, item in self.items.items() if test.partition("::")[0] == file]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return [
            {"test": test, "seconds": self.times[test], "mutants": sorted(met)}
            for test, met in self.reached.items()
            if test in self.passed and test not in self.failed and met
        ]


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
        # children write what tests print elsewhere
        self.terminal = os.dup(1)

    def together(
        self, mutants: list[Mutant], files: list[str], keep: Callable[[Mutant, str], None]
    ) -> list[str]:
        """Judge mutants of functions in forks of one process; ids of those not caught there.

        Args:
            mutants: all with numba's compiler, or all without.
            files: of tests.
            keep: what to do with one that is caught, and the test.
        """
        numba = PLAIN if is_plain(mutants[0]) else self.numba
        words = ["-q", *WITHOUT, *files]

        def collect() -> Any:
            plugin = Together(self.tree, partial(self._judge_all, mutants, files, keep))
            pytest.main(words, plugins=[plugin])
            return plugin.answer

        left = in_child(collect, self.tree, 3600.0, numba)
        return [mutant.id for mutant in mutants] if left is None else left

    def _judge_all(
        self,
        mutants: list[Mutant],
        files: list[str],
        keep: Callable[[Mutant, str], None],
        tests: Together,
    ) -> list[str]:
        plain, whole = is_plain(mutants[0]), {m.file: self._read(m.file)[0] for m in mutants}
        if not plain and (self.tree / "farhand" / "rigs").exists():
            _load_compiled()
        for file in files:
            path = record_of(file, mutants)
            if path.exists():
                continue

            def look(file: str = file) -> Any:
                for name, text in whole.items():
                    own = [mutant for mutant in mutants if mutant.file == name]
                    tests.exchange(name, text, probed(text, own))
                return tests.reach(file, self.options.test_seconds)

            rows = forked(look, 100.0 * self.options.test_seconds)
            if rows is None:
                os.write(self.terminal, f"{file} does not end, and judges nothing\n".encode())
            path.parent.mkdir(parents=True, exist_ok=True)
            # Several runs may share the folder: nobody reads half a file.
            part = path.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps([row | {"plain": plain} for row in rows or ()]))
            part.replace(path)
        reached = records(files, mutants)
        left, catches = list[str](), dict[str, list[tuple[int, str]]]()
        for mutant in mutants:
            chosen, _ = tests_for(mutant, reached, self.options.seconds)
            caught = catches.setdefault(mutant.file, [])
            near = sorted(caught, key=lambda one: abs(one[0] - mutant.line))[:NEIGHBOURS]
            chosen = list(dict.fromkeys([*(t for _, t in near if t in chosen), *chosen]))

            def changed(mutant: Mutant = mutant, chosen: list[str] = chosen) -> list[str]:
                able = tests.exchange(mutant.file, whole[mutant.file], mutant.text)
                return tests.run(chosen) if able else []

            limit = 3.0 * self.options.seconds + self.options.spare
            failed = forked(changed, limit) if chosen else []
            # without end, unless the tests need that long anyway
            if failed is None and forked(partial(tests.run, chosen), limit) == []:
                failed = ["time limit"]
            if failed:
                keep(mutant, failed[0])
                caught.append((mutant.line, failed[0]))
            else:
                left.append(mutant.id)
        return left

    def _read(self, file: str) -> tuple[str, os.stat_result]:
        return (self.tree / file).read_text(), (self.tree / file).stat()

    def _restore(self, file: str, whole: str, times: os.stat_result) -> None:
        (self.tree / file).write_text(whole)
        # numba knows its source by time and size
        os.utime(self.tree / file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def judge(self, mutant: Mutant, tests: list[str], seconds: float) -> tuple[str, str]:
        """Its verdict, and the test that caught it."""
        whole, times = self._read(mutant.file)
        numba = PLAIN if is_plain(mutant) else self.numba
        while tests:
            (self.tree / mutant.file).write_text(mutant.text)
            limit = 3.0 * seconds + self.options.spare
            failed = in_child(partial(run_tests, tests), self.tree, limit, numba)
            self._restore(mutant.file, whole, times)
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
def is_plain(mutant: Mutant) -> bool:
    """Whether it is judged without numba's compiler.

    Compiled functions keep a copy of those they call: numba would not see that one changed.
    """
    return "@compiled" in (ROOT / mutant.file).read_text()


def record_of(file: str, mutants: list[Mutant]) -> Path:
    """Where it is kept which of these mutants a test file reaches."""
    sample = hashlib.sha256("".join(mutant.id for mutant in mutants).encode()).hexdigest()
    return ROOT / OUT / "reach" / f"{digest(file)}-{sample[:12]}.json"


def records(files: list[str], mutants: list[Mutant]) -> list[dict[str, Any]]:
    """What is known of which tests reach which of these mutants."""
    paths = [record_of(file, mutants) for file in files] if mutants else []
    return [row for path in paths if path.exists() for row in json.loads(path.read_text())]


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
    above = folder if (tests / folder).is_dir() else folder.partition("/")[0]
    patterns = TESTS.get(folder, (f"{above}/**/test_*.py",))
    found = sorted(path for pattern in patterns for path in tests.glob(pattern))
    return [str(path.relative_to(ROOT)) for path in found]


def tests_for(
    mutant: Mutant, reached: list[dict[str, Any]], budget: float
) -> tuple[list[str], float]:
    """The tests that reach a mutant, the quickest first, and their time, [s]."""
    chosen, total = list[str](), 0.0
    for row in sorted(reached, key=lambda row: float(row["seconds"])):
        if mutant.id in row["mutants"] and (not chosen or total + row["seconds"] < budget):
            chosen.append(row["test"])
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
                _end_with_parent()
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
    counted = counts[1] + counts[3]
    score = f"{100 * counts[1] / counted:.0f} %" if counted else "–"
    numbers = " | ".join(map(str, counts))
    return f"| {name} | {numbers} | {score} | {', '.join(sorted(commits))} |"


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
    add("--by-name", action="store_true", help="find tests by names, not by what they reach")
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
    _import_libraries()
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)
    folders = options.folder or FOLDERS
    wanted = dict.fromkeys([*folders, *(() if options.own else FURTHER)])
    files = list(dict.fromkeys(file for folder in wanted for file in files_of(folder)))
    mutants = {mutant: folder for folder in folders for mutant in sources(folder)[: options.limit]}
    # Copies and hashes before anything runs: the project may change meanwhile.
    benches = [Bench(number, options) for number in range(options.jobs)]
    for mutant in mutants:
        is_plain(mutant)
    for file in files:
        digest(file)
    earlier, marked = kept() if options.resume else {}, equivalents()
    words = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    commit = commit.strip() or "–"

    def tests_of(mutant: Mutant, reached: list[dict[str, Any]]) -> list[str]:
        # nothing stands before a constant of a module: no test meets its probe
        tests = []
        if not (options.by_name or mutant.runs_at_import):
            tests = tests_for(mutant, reached, options.seconds)[0]
        # on a busy machine no test may have been quick enough to be looked at
        return tests or files_for(mutant, files_of(mutants[mutant]))[: options.files]

    def keep(mutant: Mutant, by: str, verdict: str = "caught", key: str = "") -> None:
        row = {"id": mutant.id, "verdict": verdict, "by": by, "key": key, "commit": commit}
        row["date"] = time.strftime("%Y-%m-%d", time.gmtime())
        with (ROOT / RESULTS).open("a") as stream:
            stream.write(json.dumps(row) + "\n")
        text = f"{verdict:10} {mutant.file}:{mutant.line} {mutant.after}  [{by}]\n"
        os.write(benches[0].terminal, text.encode())

    def judge(number: int) -> None:
        bench = benches[number]
        own = [m for m in list(mutants)[number :: options.jobs]]
        own = [m for m in own if earlier.get(m.id, {}).get("verdict") != "caught"]
        for mutant in own:
            if (mutant.file, mutant.after) in marked:
                keep(mutant, "", "equivalent")
        own = [m for m in own if (m.file, m.after) not in marked]
        for folder in folders:
            there = files_of(folder) + [f for f in files if f not in files_of(folder)]
            for plain in (False, True):
                group = [m for m in own if mutants[m] == folder and is_plain(m) is plain]
                inner = [m for m in group if not (m.runs_at_import or options.by_name)]
                left = bench.together(inner, there, keep) if inner else []
                reached = records(there, inner)
                bench.confirmed |= {(row["test"], row["plain"]) for row in reached}
                for mutant in group:
                    if mutant in inner and mutant.id not in left:
                        continue
                    tests = tests_of(mutant, reached)
                    names = [*tests, *(digest(test.partition("::")[0]) for test in tests)]
                    key = hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]
                    if earlier.get(mutant.id, {}).get("key") != key:
                        verdict, by = bench.judge(mutant, tests, options.seconds)
                        keep(mutant, by, verdict, key)

    share(options.jobs, judge)
    present = {mutant.id for folder in FOLDERS for mutant in sources(folder)}
    results = {id: row for id, row in sorted(kept().items()) if id in present}
    (ROOT / RESULTS).write_text("".join(f"{json.dumps(row)}\n" for row in results.values()))
    (ROOT / PAGE).write_text(page(results) + earlier_runs())
    print(f"the results are in {PAGE}")


def _end_with_parent() -> None:
    """Leave nothing running if the whole run is broken off."""
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def _load_compiled() -> None:
    """Load what laws and rigs have compiled, so that not every fork has to."""
    from farhand.rigs import Options, build_rig
    from farhand.running.fill_cache import LAWS

    for law in LAWS:
        rig = build_rig("dual-arm", Options(law=law))
        rig.session.run(0.05)
        rig.close()


def _import_libraries() -> None:
    """What every child would import again; nothing of the project itself."""
    import hypothesis.extra.numpy  # noqa: F401
    import matplotlib  # noqa: F401
    import mujoco  # noqa: F401
    import numba  # noqa: F401
    import pinocchio  # noqa: F401
    import scipy.optimize  # noqa: F401
    import scipy.signal  # noqa: F401


if __name__ == "__main__":
    main()
