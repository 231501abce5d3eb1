"""Ctrl-C: spared where it would do harm, passed on where work is left."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from farhand.loop.interrupts import ending_workers, ignoring_interrupts, repeating_interrupts


@pytest.fixture(autouse=True)
def handler():
    """Python's own: a shell starts its background jobs with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_ignored_interrupt_does_nothing_and_the_next_one_does():
    """The handler is back afterwards."""
    with ignoring_interrupts():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_ends_the_workers_too():
    """They do not go on with what they had to do."""
    worker = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60.0,))
    worker.start()
    with pytest.raises(KeyboardInterrupt), ending_workers():
        signal.raise_signal(signal.SIGINT)
    worker.join(10.0)
    assert worker.exitcode == -signal.SIGTERM


@ctypes.CFUNCTYPE(None)
def called_from_c() -> None:
    """A callback, as a compiler has them, into which Ctrl-C falls."""
    signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_a_callback_swallows_comes_again(capsys):
    """Nothing is printed, and the work after the callback ends soon."""
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), repeating_interrupts():
        called_from_c()
        time.sleep(20.0)
    assert time.monotonic() - began < 10.0
    assert capsys.readouterr().err == ""


def test_an_interrupt_that_falls_into_the_answer_to_another_is_not_printed(capsys, monkeypatch):
    """A busy computer takes its time to start the thread that repeats the first."""
    start, pressed = threading.Timer.start, []

    def slowly(timer):
        if not pressed:
            pressed.append(timer)
            signal.raise_signal(signal.SIGINT)
        start(timer)

    monkeypatch.setattr(threading.Timer, "start", slowly)
    with pytest.raises(KeyboardInterrupt), repeating_interrupts():
        called_from_c()
        time.sleep(20.0)
    assert pressed and capsys.readouterr().err == ""


def test_what_fails_after_a_swallowed_interrupt_is_the_interrupt():
    """Numba lacks the code that its callback should have kept."""
    with pytest.raises(KeyboardInterrupt), repeating_interrupts():
        called_from_c()
        raise RuntimeError("no compiled object yet")


def test_other_failures_are_left_alone():
    """Without an interrupt an error is an error."""
    with pytest.raises(RuntimeError, match="mine"), repeating_interrupts():
        raise RuntimeError("mine")


def test_an_interrupt_while_numba_compiles_is_one_line(tmp_path):
    """With nothing compiled yet, at the moment at which llvmlite calls back."""
    program = """
import os, signal, sys
import numba.core.codegen as codegen
from farhand.cli.main import main
hook = codegen.CPUCodeLibrary._object_compiled_hook.__func__
def interrupted(cls, *arguments):
    signal.raise_signal(signal.SIGINT)
    hook(cls, *arguments)
codegen.CPUCodeLibrary._object_compiled_hook = classmethod(interrupted)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(["run", "hazardous", "--headless", "--seconds", "0.1"]))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stderr) == (130, "farhand: interrupted\n")


POOLS = {"sweep": "sweep(work, [1, 2], str)", "fork": "list(forked.map(work, [1, 2]))"}
SCRIPT = """
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from farhand.analysis.stability.sweep import sweep
from farhand.loop.interrupts import end_with_parent

def work(item):
    print(item, flush=True)
    time.sleep(100.0)

if __name__ == "__main__":
    forked = ProcessPoolExecutor(2, get_context("fork"), initializer=end_with_parent)
    {}
"""


@pytest.mark.parametrize("pool", POOLS)
def test_workers_end_with_the_process_that_started_them(tmp_path, pool):
    """Killed, it cannot tell them; they hold its output open as long as they live."""
    script = tmp_path / "work.py"
    script.write_text(SCRIPT.format(POOLS[pool]))
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as process:
        assert sorted(process.stdout.readline().strip() for _ in range(2)) == ["1", "2"]
        process.kill()
        assert process.communicate(timeout=30.0)[0] == ""
