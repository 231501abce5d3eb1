"""``farhand serve``: the options of ``farhand run``, a name, and real time."""

from __future__ import annotations

import inspect
import threading

import pytest

from farhand.cli.main import main
from farhand.cli.run import run
from farhand.cli.serve import serve
from farhand.client import attach


@pytest.fixture(autouse=True)
def private(tmp_path, monkeypatch):
    """Sessions of this test alone."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def test_it_takes_every_option_of_run():
    """What can be run can be served, also what run learns later."""
    assert set(inspect.signature(serve).parameters) == set(inspect.signature(run).parameters)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["serve", "dual-arm"], "--name"),
        (["serve", "dual-arm", "--name", "a", "--clock", "virtual"], "real time"),
        (["run", "dual-arm", "--name", "a", "--headless"], "--clock wall"),
        (["serve", "pair", "--name", "a", "--operator", "novice"], "add --task"),
        (["serve", "dual-arm", "--name", "a/b"], "not a name of a session"),
        (["serve", "dual-arm", "--name", "", "--seconds", "0.1"], "not a name of a session"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(words, reason, capsys):
    """Exit code 2."""
    assert main(words) == 2
    said = capsys.readouterr().err.strip()
    assert reason in said
    assert len(said.splitlines()) == 1


def test_a_served_run_ends_when_a_program_says_so_and_reports_like_any_other(capsys):
    """Under its name until then, and nothing of it is left."""

    def end():
        with attach("short", wait=60.0) as session:
            session.end()

    program = threading.Thread(target=end)
    program.start()
    assert main(["serve", "dual-arm", "--name", "short", "--scenario", "rest"]) == 0
    program.join()
    said = capsys.readouterr().out
    assert "farhand.client.attach('short')" in said
    assert "lateness" in said
