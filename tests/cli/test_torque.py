"""``farhand torque`` on a user's own files: results, and one line for every kind of bad log."""

from __future__ import annotations

import json

import numpy as np
import pytest

from farhand.friction.fit.data import write_columns
from tests.torque.arm_logs import arm_columns

GOOD = arm_columns(seconds=10.0)


def text_of(columns):
    """The content of a CSV file."""
    lines = [",".join(columns)]
    rows = zip(*columns.values(), strict=True)
    return "\n".join([*lines, *(",".join(str(value) for value in row) for row in rows)]) + "\n"


def changed(**columns):
    return text_of({**GOOD, **columns})


def without(*names):
    return text_of({name: values for name, values in GOOD.items() if name not in names})


def with_word(word):
    lines = text_of(GOOD).splitlines()
    lines[50] = word + lines[50][lines[50].index(",") :]
    return "\n".join(lines)


RESTING = {f"q{k}": np.full(len(GOOD["t"]), 0.1) for k in range(1, 7)} | {
    f"v{k}": np.zeros(len(GOOD["t"])) for k in range(1, 7)
}
JUMPING = np.where(GOOD["t"] > 5.0, GOOD["q2"] - 2.0, GOOD["q2"])
CURRENTS = {f"current{k}": GOOD[f"torque{k}"] for k in range(1, 7)}
SECONDS = {f"v{k}": np.degrees(GOOD[f"v{k}"]) for k in range(1, 7)}
JITTER = 0.004 * np.random.default_rng(4).uniform(-1.0, 1.0, len(GOOD["t"]))
FROM_ZERO = str.maketrans("123456", "012345")

BAD = {
    "empty": ("", "empty"),
    "binary": ("\0\1\2", "not a text file"),
    "header only": (",".join(GOOD) + "\n", "no samples"),
    "no time": (without("t"), "lacks the column t"),
    "no position": (without("q3"), "lacks q3"),
    "no torque": (without(*(f"torque{k}" for k in range(1, 7))), "neither torque nor current"),
    "one torque lacks": (without("torque4"), "lacks torque4"),
    "torque and current": (changed(**CURRENTS), "both torque and current"),
    "a velocity lacks": (without("v2"), "v columns lack"),
    "too many joints": (changed(q7=GOOD["q6"], torque7=GOOD["q6"]), "has 6 joints"),
    "column twice": (text_of(GOOD).replace("q2,", "q1,", 1), "twice"),
    "two names": (changed(q_joint_2=GOOD["q2"]), "for one joint"),
    "a word": (with_word("soon"), "not a number"),
    "nan": (with_word("nan"), "not a number"),
    "short row": (text_of(GOOD) + "1,2\n", "values, not"),
    "time goes back": (changed(t=np.where(GOOD["t"] > 5.0, GOOD["t"] - 3.0, GOOD["t"])), "back"),
    "time repeats": (changed(t=np.floor(GOOD["t"])), "repeat the time"),
    "milliseconds": (changed(t=1e3 * GOOD["t"]), "not ms"),
    "short": (text_of({k: v[:500] for k, v in GOOD.items()}), "lasts"),
    "few samples": (text_of({k: v[::15] for k, v in GOOD.items()}), "samples"),
    "at rest": (changed(**RESTING), "no joint moves"),
    "degrees": (changed(q1=np.degrees(GOOD["q1"])), "degrees"),
    "jump": (changed(q2=JUMPING), "jumps"),
    "degrees per second": (changed(**SECONDS), "deg/s"),
    "dead torque": (changed(torque2=np.zeros(len(GOOD["t"]))), "throughout"),
    "semicolons": (text_of(GOOD).replace(",", ";"), "semicolons"),
    "Excel in Europe": (text_of(GOOD).replace(",", ";").replace(".", ","), "semicolons"),
    "UTF-16": ("\0".join(text_of(GOOD)), "UTF-8"),
    "a row of units": (
        text_of(GOOD).replace("\n", "\ns" + ",rad" * (len(GOOD) - 1) + "\n", 1),
        "line 2",
    ),
    "two logs in one": (text_of(GOOD) + text_of(GOOD), "not a number"),
    "cut short": (text_of(GOOD)[:-40], "values, not"),
    "joints from zero": (
        text_of({name.translate(FROM_ZERO): values for name, values in GOOD.items()}),
        "lacks q6",
    ),
    "velocity as torque": (changed(torque2=GOOD["v2"]), "is its velocity"),
    "position as torque": (changed(torque2=GOOD["q2"]), "is its position"),
    "times of arrival": (changed(t=np.sort(GOOD["t"] + JITTER)), "t jitters"),
    "not unwrapped": (
        changed(q1=np.where(GOOD["t"] > 5.0, GOOD["q1"] + 6.2832, GOOD["q1"])),
        "jumps by a whole turn",
    ),
    "encoder counts": (changed(q1=np.round(GOOD["q1"] * 4096 / 6.2832)), "beyond its limits"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_log_gets_one_line_and_nothing_is_written(farhand_command, tmp_path, kind):
    """Exit code 2, one line that says what is wrong, and no file."""
    content, words = BAD[kind]
    (tmp_path / "log.csv").write_text(content)
    out = tmp_path / "out"
    for command in (("check",), ("fit", "--out", out / "model.json")):
        said = farhand_command(
            "torque", *command, tmp_path / "log.csv", "--robot", "elbow6", "--json", out / "r.json"
        )
        assert said.code == 2 and said.err.count("\n") == 1, said.err
        assert words in said.err
        assert not out.exists()


@pytest.mark.parametrize(
    ("log", "robot", "words"),
    [("absent.csv", "elbow6", "cannot read"), ("log.csv", "elbow66", "unknown robot")],
)
def test_what_is_not_there_is_said(farhand_command, tmp_path, log, robot, words):
    """A file or a robot that does not exist."""
    (tmp_path / "log.csv").write_text(text_of(GOOD))
    said = farhand_command("torque", "check", tmp_path / log, "--robot", robot)
    assert said.code == 2 and words in said.err


def test_check_and_fit_say_what_could_be_felt(farhand_command, tmp_path):
    """Names of joints serve as columns, velocities may lack, and the results are files."""
    names = [f"joint_{k}" for k in range(1, 7)]
    columns = {"t": GOOD["t"]}
    for k, name in enumerate(names):
        columns |= {f"q_{name}": GOOD[f"q{k + 1}"], f"torque_{name}": GOOD[f"torque{k + 1}"]}
    write_columns(tmp_path / "log.csv", columns)
    words = ("--robot", "elbow6", "--json", tmp_path / "r.json", "--report", tmp_path / "page")
    out = tmp_path / "model.json"
    said = farhand_command("torque", "fit", tmp_path / "log.csv", *words, "--out", out)
    assert said.code == 0, said.err
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["feels"].startswith("you will feel contacts above")
    assert set(result["floor"]["fitted model"]["force"]) == {"forward", "sideways", "up"}
    assert {"four-channel-sensorless", "position-position"} <= result["laws"].keys()
    assert json.loads(out.read_text())["robot"] == "elbow6"
    assert (tmp_path / "page" / "index.html").read_text().count("<img") == 2


def test_torque_in_another_unit_is_named_and_its_model_comes_with_a_warning(
    farhand_command, tmp_path
):
    """The model is right, but in a run the drives would still read a thousand times too much."""
    columns = {**GOOD, **{f"torque{k}": 1e3 * GOOD[f"torque{k}"] for k in range(1, 7)}}
    write_columns(tmp_path / "log.csv", columns)
    words = (tmp_path / "log.csv", "--robot", "elbow6")
    said = farhand_command("torque", "fit", *words, "--out", tmp_path / "m.json")
    assert said.code == 0 and "wrong: joint_2: torque reads" in said.out
    assert "times what it is; is it in mN·m?" in said.out
    assert "mend scale there" in " ".join(said.err.split())
    said = farhand_command("torque", "check", *words)
    assert "once scale is mended" in said.out.splitlines()[-1]
    assert "e+0" not in said.out


def test_swapped_columns_are_not_fitted(farhand_command, tmp_path):
    """A model of the wrong order would be worse than none."""
    columns = {**GOOD, "torque2": GOOD["torque3"], "torque3": GOOD["torque2"]}
    write_columns(tmp_path / "log.csv", columns)
    out = tmp_path / "model.json"
    said = farhand_command("torque", "fit", tmp_path / "log.csv", "--robot", "elbow6", "--out", out)
    assert said.code == 2 and "swapped" in said.err and not out.exists()


def test_a_log_with_contact_is_not_fitted(farhand_command, tmp_path):
    """A push of four seconds is named by time and joint, and no model is made of it."""
    columns = arm_columns()
    pushed = (columns["t"] > 8.0) & (columns["t"] < 12.0)
    columns["torque2"] = columns["torque2"] + np.where(pushed, 6.0, 0.0)
    write_columns(tmp_path / "log.csv", columns)
    words = (tmp_path / "log.csv", "--robot", "elbow6")
    said = farhand_command("torque", "check", *words, "--json", tmp_path / "r.json")
    assert said.code == 0, said.err
    found = json.loads((tmp_path / "r.json").read_text())["findings"][0]
    assert found["kind"] == "contact" and 2 in found["joints"]
    assert "between 8.0 and 12.0 s" in found["text"]
    out = tmp_path / "model.json"
    said = farhand_command("torque", "fit", *words, "--out", out)
    assert said.code == 2 and "touched" in said.err and said.err.count("\n") == 1
    assert not out.exists()


def test_protocol_writes_set_points(farhand_command, tmp_path):
    """Columns t, q and v of every joint."""
    out = tmp_path / "m.csv"
    said = farhand_command(
        "torque", "protocol", "--robot", "elbow6", "--out", out, "--seconds", "16"
    )
    assert said.code == 0 and "16 s" in said.out
    assert "farhand torque check LOG.csv --robot elbow6" in said.out
    assert out.read_text().splitlines()[0].startswith("t,q1,q2")


def test_protocol_says_the_units_of_each_joint(farhand_command, tmp_path):
    """Slides are in metres, and a speed limit may not be known."""
    words = ("--robot", "point3", "--out", tmp_path / "m.csv", "--seconds", "15")
    said = farhand_command("torque", "protocol", *words)
    assert said.code == 0 and "rad" not in said.out
    assert said.out.count(" m, its speed limit is not known") == 3
