"""What the documentation says is so: its code runs, its links lead somewhere, and the README names
what there is.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import farhand.coupling
import farhand.link.layers
from farhand.cli.main import main
from farhand.coupling import LAWS
from farhand.link.layers import LAYERS
from farhand.rigs import rig_names
from farhand_lab import harness

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text(encoding="utf-8")

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|<img[^>]+src=\"([^\"]+)\"")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)

TRY_IT = (ROOT / "docs" / "try-it.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^farhand [^#\n]*", README + TRY_IT, re.MULTILINE)
QUICK = ("--headless", "--parameters", "farhand list")  # the others serve a page, or take minutes
# a command on two pages is run once
COMMANDS = list(
    dict.fromkeys(command.strip() for command in SHOWN if any(word in command for word in QUICK))
)

PUBLISHED_RIGS = ("dual-arm", "hazardous", "youbot", "cooperative", "humanoid")

GUIDES = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


def page_name(page: Path) -> str:
    """A page as pytest shows it."""
    return str(page.relative_to(ROOT))


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def links(page: Path) -> list[str]:
    """Links and images of a page that stay inside the project."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    found = [a or b for a, b in LINK.findall(text)]
    return [link for link in found if not re.match(r"[a-z]+:", link)]


@pytest.mark.parametrize("page", GUIDES, ids=page_name)
def test_the_code_of_a_guide_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    """A reader who copies every block in order, into an empty folder, gets to the end."""
    monkeypatch.chdir(tmp_path)
    # So that two runs of these tests can serve sessions of one name
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    # Laws and layers that a guide registers stay in the guide.
    monkeypatch.setattr(farhand.coupling, "LAWS", dict(LAWS))
    monkeypatch.setattr(farhand.link.layers, "LAYERS", dict(LAYERS))
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        code = compile("\n" * line + block[1], str(page), "exec", dont_inherit=True)
        exec(code, namespace)


def test_every_guide_ends_by_checking_what_it_promised():
    """The last thing a guide's code does is an assertion, so a guide cannot pass by doing
    nothing.
    """
    assert {page.stem for page in GUIDES} >= {"write-your-own-law", "bring-your-own-robot"}
    for page in GUIDES:
        last = BLOCK.findall(page.read_text(encoding="utf-8"))[-1]
        assert re.search(r"^assert |assert_allclose", last, re.MULTILINE), (
            f"{page.name} ends without an assertion"
        )


def run_example(name: str, *arguments: str, cwd: Path) -> str:
    """Output of an example, run as a user would."""
    command = [sys.executable, str(ROOT / name), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_without_a_rig_feels_the_wall_at_the_hand(tmp_path):
    """Four seconds in, the follower presses on the wall, and the hand holds against the same
    force.
    """
    lines = run_example("examples/two_arms.py", cwd=tmp_path).splitlines()
    assert "energy balance closes to" in lines[-1]
    _, hand, wall, _ = next(
        re.findall(r"-?[\d.]+", line) for line in lines if line.startswith("3.5 s")
    )
    assert float(wall) < -50.0
    assert float(hand) == pytest.approx(-float(wall), rel=0.01)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("own_law", r"contact_force_max: 2\d\.\d N"),
        ("own_plant", r"follower 0\.39\d rad"),
        ("own_rig", r"20 ms: tools apart by at most 4\.\d+ mm"),
        ("record_and_load", "repeats to the bit: True"),
        ("gymnasium_env", "reached the goal: True"),
        ("two_processes", r"tracking +up to"),
    ],
)
def test_every_other_example_does_what_it_says(name, shown, tmp_path):
    """hardware.py is run against the simulated controller in tests/plants/drivers."""
    assert re.search(shown, run_example(f"examples/{name}.py", cwd=tmp_path))


def test_the_picture_of_the_readme_can_be_drawn_again(tmp_path, monkeypatch):
    """The committed picture comes from a program, not from a lost afternoon."""
    pytest.importorskip("OpenGL", reason="off-screen rendering needs PyOpenGL")
    probe = "import mujoco; mujoco.GLContext(8, 8).free()"
    monkeypatch.setenv("MUJOCO_GL", "egl")
    if subprocess.run([sys.executable, "-c", probe], capture_output=True).returncode:
        pytest.skip("this machine has no off-screen OpenGL")
    run_example("docs/images/picture_of_demo.py", "demo.png", cwd=tmp_path)
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_link_and_picture_leads_somewhere(page):
    """Relative links name files that exist, and headings that are in them."""
    missing = []
    for link in links(page):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in headings(target)
        ):
            missing.append(link)
    assert missing == []


def test_the_readme_names_both_commands_on_its_first_screen():
    """A newcomer sees how to run it before scrolling."""
    first_screen = "\n".join(README.splitlines()[:45])
    assert "make demo" in first_screen
    assert "make test" in first_screen


def test_the_readme_is_short_and_opens_with_the_robot_moving():
    """A thousand words at most; the first picture is the loop of ten seconds, below 3 MB."""
    assert len(README.split()) <= 1000
    first = README.partition("](")[2].partition(")")[0]
    assert first == "docs/images/push.gif"
    assert (ROOT / first).stat().st_size < 3e6


def test_the_readme_answers_the_five_questions_of_a_newcomer():
    """What it is, how to install it, how to run it, how to use my robot, how far to trust it."""
    assert "pip install" in README and "farhand run dual-arm --open" in README
    titles = re.findall(r"^## (.*)$", README, re.MULTILINE)
    assert titles[0] == "Install and run"
    assert {"Your robot, your law", "How far to trust it"} <= set(titles)
    (snippet,) = BLOCK.findall(README)
    assert len(snippet.splitlines()) <= 15
    assert "'.[ur]'" in README and "@software{farhand" in README and "issue" in README


def test_the_scores_in_the_readme_are_those_of_the_results():
    """Results that pass, or pass once corrected, of all results of each rig."""
    results = json.loads((ROOT / "docs" / "results" / "reproduce.json").read_text("utf-8"))
    for rig in PUBLISHED_RIGS:
        ids = {e.id for e in harness.experiments_of(rig)}
        own = [row for row in results if row["id"] in ids]
        hold = sum(row["verdict"] != "differs" for row in own)
        row = next(line for line in README.splitlines() if line.startswith(f"| [`{rig}`]"))
        assert row.endswith(f"| {hold} of {len(own)} |"), rig


def test_every_rig_has_a_page_of_its_own():
    """On the site, among the rigs."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for rig in rig_names():
        assert (ROOT / "docs" / f"{rig}.md").exists()
        assert f"<{rig}>" in index


def test_the_documents_name_nothing_that_nobody_can_open():
    """Specifications and line numbers of files that are not in the repository, and old plans."""
    relic = re.compile(r"\bspec 0|seed L\d|thesis L\d|two machines later", re.IGNORECASE)
    pages = [*PAGES, *(ROOT / "docs").rglob("*.md"), *(ROOT / "farhand_lab").rglob("*.toml")]
    for page in pages:
        assert not relic.search(page.read_text(encoding="utf-8")), page


def test_the_readme_names_every_rig_and_every_law():
    """What can be run is said where people look first."""
    laws = [name for name, law in LAWS.items() if law.__module__.startswith("farhand.")]
    assert [name for name in (*rig_names(), *laws) if f"`{name}`" not in README] == []


def test_the_design_gives_every_part_its_place():
    """The account of the architecture is kept true: what is in the package is in the layers, and
    nothing else is.
    """
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    lines = re.findall(
        r"^\d+\. .*$", text.partition("## Layers")[2].partition("## ")[0], re.MULTILINE
    )
    named = {name for line in lines for name in re.findall(r"`(\w+)`", line)}
    parts = [
        path
        for path in (ROOT / "farhand").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    ]
    assert named == {part.stem for part in parts if not part.stem.startswith("__")}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_first_pages_do_what_they_are_shown_for(
    command, tmp_path, monkeypatch, capsys
):
    """Whoever types what these pages show, sees no error and no trip but the one asked for."""
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) == 0
    shown = capsys.readouterr()
    assert shown.out
    assert "stopped" not in shown.out or ":stop" in command
    assert "farhand:" not in shown.err


@pytest.mark.parametrize("page", ["recording.md", "which-law.md"])
def test_the_commands_of_a_guide_work_one_after_the_other(page, tmp_path, monkeypatch, capsys):
    """In an empty folder, in the order of the page, each with code 0."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    commands = [
        line
        for block in SHELL.findall(text)
        for line in block.splitlines()
        if line.startswith("farhand ")
    ]
    assert commands
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0, f"{command}: {capsys.readouterr().err}"


def test_every_test_that_the_page_of_findings_names_is_there():
    """And every finding has one, unless something was left."""
    page = (ROOT / "docs" / "results" / "findings.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if re.match(r"\| [NARL]-\d", line)]
    numbers = {int(n) for row in rows for n in re.findall(r"^\| R-(\d+)", row)}
    assert numbers == set(range(1, 13)) and len(rows) > 90
    for row in rows:
        assert "`" in row.split("|")[4] or "**left**" in row, row
    for file, test in re.findall(r"`([\w/]+\.py)::(test_\w+)`", page):
        assert f"def {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), test


def test_the_documents_name_no_private_paths():
    """Nobody else has these folders."""
    for page in PAGES:
        assert not re.search(r"/work/|/tmp/|/root/|/home/", page.read_text(encoding="utf-8")), page


def test_the_published_results_say_how_old_they_are(tmp_path, monkeypatch):
    """By the files of the product that changed since their commit; a page alone does not count."""

    def git(*words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        command = ["git", "-C", str(tmp_path), *who, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(path: str) -> str:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
        git("add", "-A")
        git("commit", "-q", "-m", path)
        return git("rev-parse", "--short=12", "HEAD")

    monkeypatch.syspath_prepend(ROOT / "docs" / "results")
    page = importlib.import_module("summarise")
    monkeypatch.setattr(page, "HERE", tmp_path / "docs")
    git("init", "-q")
    first = commit("farhand/arm.py")
    commit("docs/index.md")
    result = page.Result("D-01", "", 1.0, "", "", "pass", "", "", first)
    assert "are of this code" in page.age([result])
    commit("farhand/law.py")
    assert "1 commits and 1 files behind the code" in page.age([result])
    gone = page.Result("D-01", "", 1.0, "", "", "pass", "", "", "ffffffffffff")
    assert "not in this checkout" in page.age([gone])
    assert "do not name one commit" in page.age([result, gone])
