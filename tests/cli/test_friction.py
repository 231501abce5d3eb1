"""``farhand friction`` on a user's own files: what it promises, and one clear line for every kind
of bad file.
"""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from farhand.friction import load
from farhand.friction.fit.data import write_recording
from farhand.friction.fit.fit import TERMS
from tests.friction.joint_logs import Joint, log

HEADER = "t,position,velocity,torque"


@pytest.fixture
def data(tmp_path):
    """A log of steady speeds."""
    write_recording(tmp_path / "data.csv", log(Joint(), "steps", seconds=30.0, rate=500.0))
    return tmp_path / "data.csv"


def test_fit_writes_what_the_format_promises(farhand_command, data, tmp_path):
    """Model, parameters with intervals, curve, both errors; printed, as a file, and as a page."""
    out, words = tmp_path / "F.json", ("--json", tmp_path / "f.json", "--report", tmp_path / "page")
    said = farhand_command("friction", "fit", data, "--model", "kfm", "--out", out, *words)
    assert said.code == 0, said.err
    content = json.loads(out.read_text())
    assert content["model"] == "kfm" and content == json.loads((tmp_path / "f.json").read_text())
    one = content["parameters"]["coulomb"]
    assert (
        one["interval"][0] <= one["value"] <= one["interval"][1]
        and one["unit"] == "N·m"
        and one["identified"]
    )
    assert one["value"] == pytest.approx(0.06, rel=0.05)
    curve = np.array(content["curve"])
    assert (
        curve.shape[1] == 2
        and np.all(np.diff(curve[:, 0]) > 0.0)
        and np.all(curve[:, 0] * curve[:, 1] > 0.0)
    )
    assert content["holdout_error"] < 0.05 * content["rms_torque"] and content["rms_error"] > 0.0
    assert "coulomb" in said.out and "hold-out" in said.out
    assert (tmp_path / "page" / "index.html").read_text().count("<img") == 2


@pytest.mark.parametrize("model", ["coulomb-viscous", "stribeck", "lugre", "bristle"])
def test_a_fitted_file_loads_as_the_model_that_was_fitted(farhand_command, data, tmp_path, model):
    """Its steady curve is the curve in the file."""
    assert (
        farhand_command(
            "friction", "fit", data, "--model", model, "--out", tmp_path / "F.json"
        ).code
        == 0
    )
    joint, curve = (
        load(tmp_path / "F.json"),
        np.array(json.loads((tmp_path / "F.json").read_text())["curve"]),
    )
    assert joint.name == model
    np.testing.assert_allclose(joint.steady(curve[:, 0]), curve[:, 1])


def test_plot_draws_models_and_logs(farhand_command, data, tmp_path):
    """PNG files, whole."""
    farhand_command("friction", "fit", data, "--out", tmp_path / "F.json")
    for source, picture in ((tmp_path / "F.json", "a.png"), (data, "b.png")):
        assert farhand_command("friction", "plot", source, "--out", tmp_path / picture).code == 0
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    assert farhand_command("friction", "plot", data, "--out", tmp_path / "a.txt").code == 2


def test_protocol_writes_set_points_with_instructions(farhand_command, tmp_path):
    """Increasing time, two modes, an instruction for each phase; limits of a robot's joint are
    respected.
    """
    out = tmp_path / "p.csv"
    said = farhand_command("friction", "protocol", "--robot", "ur5e", "--joint", "6", "--out", out)
    assert said.code == 0, said.err
    with out.open() as file:
        table = list(csv.DictReader(file))
    times = [float(row["t"]) for row in table]
    assert (
        all(b > a for a, b in zip(times, times[1:], strict=False)) and 1500.0 < times[-1] < 2000.0
    )
    assert {row["mode"] for row in table} == {"velocity", "torque"}
    assert (
        sum(bool(row["instruction"]) for row in table) == len({row["phase"] for row in table}) == 5
    )
    assert max(abs(float(row["setpoint"])) for row in table if row["mode"] == "velocity") < 3.2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "empty"),
        ("t,position,torque\n0,0,0\n", "velocity"),
        (f"{HEADER}\n", "no samples"),
        (f"{HEADER}\n0,0,0,0\n1,1,1,1\n", "2 samples"),
        (f"{HEADER}\n0,0,0,nan\n", "line 2: torque"),
        (f"{HEADER}\n0,0,0,lots\n", "line 2: torque"),
        (f"{HEADER}\n0,0,0,0\n0.2,0,0,0\n0.1,0,0,0\n", "line 4: t goes back"),
        (f"{HEADER}\n0,0,0\n", "line 2 has 3 values"),
        (HEADER + "\n" + "".join(f"{k * 1e-2:.2f},1,0,{k % 7}\n" for k in range(500)), "at rest"),
        (
            HEADER + "\n" + "".join(f"{k * 1e-2:.2f},{k * 1e-2:.2f},1,2\n" for k in range(500)),
            "torque is 2",
        ),
        (HEADER + "\n" + "".join(f"0.00,{k},1,{k}\n" for k in range(500)), "repeat the time"),
        (
            HEADER + "\n" + "".join(f"{k * 1e-6:.6f},{k},1,{k}\n" for k in range(500)),
            "at least 1 s",
        ),
        (
            HEADER
            + "\n"
            + "".join(f"{k * 1e-2:.2f},{k * k},{k * 2e3},{k % 7}\n" for k in range(500)),
            "times the rate",
        ),
        ("\0" * 300, "not a text file"),
    ],
)
def test_a_bad_log_gets_one_line_and_leaves_files_alone(farhand_command, tmp_path, content, words):
    """Exit code 2; the line says what is wrong and where."""
    data, out = tmp_path / "bad.csv", tmp_path / "F.json"
    data.write_text(content)
    out.write_text("mine")
    said = farhand_command("friction", "fit", data, "--out", out)
    assert said.code == 2 and out.read_text() == "mine"
    assert len(said.err.splitlines()) == 1 and words in said.err, said.err


@pytest.mark.parametrize(
    "wrong",
    [("--model", "magic"), ("--inertia", "-1"), ("--inertia", "nan"), ("--inertia", "much")],
)
def test_impossible_wishes_get_one_line(farhand_command, data, tmp_path, wrong):
    """Names that there are, limits that hold."""
    said = farhand_command("friction", "fit", data, "--out", tmp_path / "F.json", *wrong)
    assert said.code == 2 and len(said.err.splitlines()) == 1
    assert not (tmp_path / "F.json").exists()
    if wrong[1] == "magic":
        assert all(model in said.err for model in TERMS)


def test_the_log_is_never_overwritten(farhand_command, data):
    """Nor read from nowhere."""
    before = data.read_bytes()
    assert farhand_command("friction", "fit", data, "--out", data).code == 2
    assert data.read_bytes() == before
    assert (
        farhand_command(
            "friction", "fit", data.with_name("none.csv"), "--out", data.with_name("F.json")
        ).code
        == 2
    )


# fmt: skip
@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"model": "kfm"}',
        '{"model": "magic", "parameters": {}}',
        '{"model": "kfm", "parameters": {"a": 1}}',
        '{"model": "kfm", "parameters": {"coulomb": {"value": -1}}}',
        '{"model": "kfm", "parameters": {"coulomb": "x"}}',
    ],
)
def test_a_file_that_is_no_fitted_friction_is_refused(farhand_command, tmp_path, content):
    """One line, exit 2."""
    path = tmp_path / "F.json"
    path.write_text(content)
    said = farhand_command("friction", "plot", path, "--out", tmp_path / "a.png")
    assert said.code == 2 and len(said.err.splitlines()) == 1
    assert not (tmp_path / "a.png").exists()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (("--travel", "1e-9"), "too short"),
        (("--travel", "-1"), "above 0"),
        (("--speed", "nan"), "--speed"),
        (("--torque", "0"), "--torque"),
        (("--minutes", "inf"), "--minutes"),
        (("--robot", "ur5e", "--joint", "7"), "--joint"),
        (("--speed", "1e-6", "--simulate", "log.csv"), "viscous"),
    ],
)
def test_a_protocol_that_no_joint_can_run_leaves_no_file(farhand_command, tmp_path, wrong, words):
    """One line, exit 2, no file."""
    said = farhand_command("friction", "protocol", "--out", tmp_path / "p.csv", *wrong)
    assert said.code == 2 and len(said.err.splitlines()) == 1 and words in said.err, said.err
    assert not (tmp_path / "p.csv").exists()
