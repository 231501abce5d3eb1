"""Privileges: each taken where permitted, each named with its cure where not, and all given
back.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os

import pytest

from farhand.realtime import privileges
from farhand.realtime.privileges import PR_GET_TIMERSLACK, off_core, real_time

LINUX = pytest.mark.skipif(not hasattr(os, "SCHED_FIFO"), reason="the scheduler of Linux")


def state() -> tuple[object, ...]:
    library = ctypes.CDLL(None)
    return (
        os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK,
        os.sched_getparam(0).sched_priority,
        os.sched_getaffinity(0),
        library.prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0),
        gc.isenabled(),
        gc.get_freeze_count(),
    )


@LINUX
def test_everything_is_given_back_even_when_the_loop_fails():
    """Scheduler, priority, cores, timer and collector are what they were."""
    gc.unfreeze()  # what the tests have frozen
    before = state()
    with pytest.raises(ZeroDivisionError), real_time(core=min(os.sched_getaffinity(0))):
        assert not gc.isenabled()
        assert gc.get_freeze_count() > 1000
        raise ZeroDivisionError
    assert state() == before


@LINUX
def test_what_is_granted_holds_and_what_is_not_has_a_cure():
    """The list says what is true: a granted scheduler is the one that runs."""
    core = max(os.sched_getaffinity(0))
    with real_time(core) as grants:
        had = {grant.name: grant.had for grant in grants}
        assert had["collector"] and had["core"]
        assert os.sched_getaffinity(0) == {core}
        assert (os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO) == had[
            "scheduler"
        ]
    assert [grant.name for grant in grants] == ["scheduler", "memory", "timer", "core", "collector"]
    assert all(grant.had != bool(grant.cure) for grant in grants)


@LINUX
def test_what_a_run_starts_keeps_off_the_core_of_its_loop():
    """Its processes inherit the other cores; the loop itself has its own, and all is given back."""
    before = os.sched_getaffinity(0)
    core, context = max(before), multiprocessing.get_context("fork")
    if len(before) < 2:
        pytest.skip("a machine with one core")
    with off_core(core):
        with context.Pool(1) as pool:
            assert pool.apply(os.sched_getaffinity, (0,)) == before - {core}
        with real_time(core):
            assert os.sched_getaffinity(0) == {core}
    assert os.sched_getaffinity(0) == before
    with off_core(None):
        assert os.sched_getaffinity(0) == before


@LINUX
def test_a_refusal_costs_one_privilege_and_is_told(monkeypatch):
    """No permission for FIFO or locked memory: the loop runs all the same, and the cure is in plain
    words.
    """

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(privileges, "may_lock", lambda: False)
    with real_time() as grants:
        lost = {grant.name: grant.cure for grant in grants if not grant.had}
    assert set(lost) == {"scheduler", "memory"}
    assert "ulimit -r" in lost["scheduler"]
    assert "ulimit -l" in lost["memory"]


@LINUX
def test_a_core_that_is_not_there_is_refused_by_name():
    """And the loop runs on any."""
    with real_time(core=4000) as grants:
        [lost] = [grant for grant in grants if grant.name == "core"]
    assert not lost.had
    assert "choose one of" in lost.cure


@LINUX
def test_a_child_of_the_loop_is_an_ordinary_process():
    """A page or recorder that is started from the loop must not compete with it."""
    context = multiprocessing.get_context("fork")
    with real_time():
        mine, theirs = context.Pipe(duplex=False)
        child = context.Process(target=lambda: theirs.send(os.sched_getscheduler(0)))
        child.start()
        assert mine.poll(20.0)
        policy = mine.recv()
        child.join()
    assert policy & ~os.SCHED_RESET_ON_FORK == os.SCHED_OTHER
