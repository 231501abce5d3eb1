"""The client in real processes: light, in a bare environment, and through kills on either side."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

from farhand.client import Client, SessionGone, attach, start
from farhand.errors import FarhandError

ROOT = Path(__file__).parents[1]
LIGHT = ROOT / "integrations" / "client"
FARHAND = [sys.executable, "-m", "farhand"]
# However busy the machine is
OPTIONS = ("--scenario", "rest", "--set", "deadlines.storm=1000000")


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    """Sessions of these tests alone."""
    folder = tmp_path_factory.mktemp("runtime")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        yield folder


@pytest.fixture(scope="module")
def session(runtime) -> Client:
    """A session in its own process."""
    with start("dual-arm", *OPTIONS, name="shared", program=FARHAND) as session:
        yield session


def in_python(code: str, python: str = sys.executable, *flags: str, **environment: str) -> str:
    """What a program prints."""
    command = [python, *flags, "-c", code]
    environment = {**os.environ, **environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def modules() -> list[str]:
    """The modules of the client's own distribution."""
    return tomllib.loads((LIGHT / "pyproject.toml").read_text())["tool"]["setuptools"]["py-modules"]


def test_the_client_loads_numpy_and_the_files_of_its_own_distribution_and_nothing_else():
    """So it runs where MuJoCo and Pinocchio are not."""
    code = "import sys; before = {*sys.modules}; "
    code += "import farhand.client, farhand.lerobot_features; "
    code += "print(*({*sys.modules} - before))"
    loaded = set(in_python(code, sys.executable, "-I").split())
    own = {name for name in loaded if name.split(".")[0] == "farhand"}
    assert own == {name.removesuffix(".__init__") for name in modules()}
    outside = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert {name for name in outside if not name.startswith("_")} == {"farhand", "numpy"}


@pytest.mark.parametrize("module", modules())
def test_the_client_is_written_for_python_3_10(module):
    """No newer syntax."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))


BARE = """
import json, sys, time
import numpy as np
from farhand.client import attach
with attach("shared") as session:
    begun, rows = time.monotonic(), []
    while time.monotonic() - begun < 3.0:
        t, q = session.read("follower", "q")
        rows.append(t)
        time.sleep(0.02)
    outcome = session.set("hand.stiffness", np.float64(900.0))
    heavy = [name for name in ("mujoco", "pinocchio", "numba", "scipy") if name in sys.modules]
    t = np.concatenate(rows)
    print(json.dumps([sys.version_info[:2], np.__version__, len(t), session.lost,
                      float(np.diff(t).min()), outcome.text, heavy]))
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> str:
    """Python 3.12 or 3.10 with NumPy 1.26 and the client's own distribution."""
    found = sorted(Path.home().glob(".pyenv/versions/3.1[02].*/bin/python3"))
    if not found:
        pytest.skip("no Python 3.10 or 3.12 in ~/.pyenv/versions")
    folder = tmp_path_factory.mktemp("bare") / "venv"
    command = [found[-1], "-m", "venv", "--without-pip", folder]
    subprocess.run(command, check=True, capture_output=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet"]
    done = subprocess.run([*pip, "numpy<2", str(LIGHT)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"pip cannot install NumPy here: {done.stderr.strip().splitlines()[-1]}")
    return str(folder / "bin" / "python")


@pytest.mark.slow
def test_a_bare_environment_reads_every_record_and_commands(session, bare):
    """Three seconds at 1 kHz without a loss, with NumPy 1.26 alone."""
    version, numpy, count, lost, step, text, heavy = json.loads(in_python(BARE, bare, "-I"))
    assert version in ([3, 10], [3, 12])
    assert numpy.startswith("1.26")
    assert lost == 0
    assert step > 0.0
    assert count > 500
    assert text == "now 900"
    assert heavy == []


def test_a_client_that_stalls_or_dies_is_not_noticed_by_the_loop(session):
    """Stopped in the middle of reading, then killed: the others read on and the ticks go on."""
    code = "from farhand.client import attach\ns = attach('shared')\nprint(1, flush=True)\n"
    code += "while True: s.read('leader', 'q'), s.set('hand.stiffness', 850)"
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    other.stdout.readline()
    session.read("leader", "q")
    lost = session.lost
    for number in (signal.SIGSTOP, signal.SIGKILL):
        other.send_signal(number)
        session.read("leader", "q")
        time.sleep(0.5)
        t, _ = session.read("leader", "q")
        assert len(t) > 100
        assert session.set("hand.stiffness", 870).done
    other.wait()
    other.stdout.close()
    assert session.lost == lost


def test_a_second_session_of_the_name_is_refused_with_its_own_words(session):
    """Whoever started it reads why."""
    with pytest.raises(FarhandError, match="session shared is running already"):
        start("dual-arm", *OPTIONS, name="shared", program=FARHAND)


def test_a_rig_that_is_not_there_is_refused_with_its_own_words(runtime):
    """The last line of what the process said."""
    with pytest.raises(FarhandError, match="unknown rig 'dual-amr'"):
        start("dual-amr", name="other", program=FARHAND)


def test_a_killed_session_is_gone_and_its_name_is_taken_over(runtime):
    """Kill -9: the client says so, a new session of that name starts, attaching again works."""
    session = start("dual-arm", *OPTIONS, name="killed", program=FARHAND)
    os.kill(session.process_id, signal.SIGKILL)
    session._process.wait()
    deadline = time.monotonic() + 5.0
    with pytest.raises(SessionGone, match="farhand serve"):
        while time.monotonic() < deadline:
            session.latest("follower", "q")
    with pytest.raises(SessionGone):
        session.command("stop")
    with start("dual-arm", *OPTIONS, name="killed", program=FARHAND):
        with attach("killed") as again:
            assert np.isfinite(again.latest("follower", "q")[1]).all()
    with pytest.raises(SessionGone):
        attach("killed")
