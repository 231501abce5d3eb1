"""Re-run: every rig repeats its recording to the bit, and a repeat that does not is found out."""

from __future__ import annotations

import json

import numpy as np
import pytest

from farhand.errors import Mismatch
from farhand.recording.loader import RecordedEvent, load
from farhand.rigs import Options, build_rig, rig_names
from farhand.running.rerun import record, rerun, rig_of
from farhand.spatial import rotation_from_quaternion
from farhand.world import ImpedanceHand


@pytest.mark.parametrize("name", rig_names())
def test_every_rig_repeats_its_recording_to_the_bit(name, tmp_path):
    """With a seed, a bad link, changed parameters and commands on the way, all taken from the file
    alone.
    """
    options = Options(seed=11, delay=16.0, jitter=2.0, loss=0.05)
    rig = build_rig(name, options)
    for command in (
        "0.1:release",
        "0.15:set watchdog.silence=0.33",
        "0.25:engage",
        "0.3:set no.such=1",
    ):
        rig.session.commands.post_text(command)
    recording = load(record(rig, tmp_path / "r.mcap", 0.4))
    assert recording.metadata["seed"] == 11 and recording.metadata["options"]["jitter"] == 2.0
    again = rerun(recording)
    assert again.exact, again.differences
    assert again.records == sum(len(s.times_ns) for s in recording.streams.values()) >= 400
    assert again.missing == 0 and again.commands == 4 + ("0:engage" in rig.scenario.commands)
    assert {f"{station}.xml" for station in recording.streams} & recording.files.keys()


@pytest.fixture
def recorded(tmp_path):
    """0.2 s of the dual-arm rig."""
    return load(record(build_rig("dual-arm", Options(scenario="free")), tmp_path / "r.mcap", 0.2))


def test_a_part_that_has_changed_since_is_found_out(recorded, monkeypatch):
    """The first signal that differs is named, with its time."""
    honest = ImpedanceHand.push

    def firmer(hand, tool, t, wrench):
        honest(hand, tool, t, wrench)
        wrench *= 1.0 + 1e-12 * (t > 0.15)

    monkeypatch.setattr(ImpedanceHand, "push", firmer)
    again = rerun(recorded)
    assert not again.exact
    assert min(found.time for found in again.differences) >= 0.15
    assert "leader/wrench_measured_in_world" in {found.signal for found in again.differences}


def test_one_changed_bit_in_the_recording_is_found_out(recorded):
    """The comparison is of bits: the next number after it does not pass."""
    value = recorded["follower/q"][100, 2]
    recorded.streams["follower"].channels["q"] = recorded["follower/q"].copy()
    recorded["follower/q"][100, 2] = np.nextafter(value, 9.0)
    [found] = rerun(recorded).differences
    assert (found.signal, found.time) == ("follower/q", pytest.approx(0.1))
    assert found.recorded[2] != found.again[2] == value


def test_a_command_with_another_outcome_is_found_out(recorded):
    """What was done then and is refused now is a difference."""
    recorded.happened[0].data["outcome"] = "refused: then"
    assert (
        "command engage: refused: then at tick 0 then, done at tick 0 now"
        in rerun(recorded).differences[0].signal
    )


def test_a_command_newer_than_the_last_record_is_left_out_and_counted(recorded):
    """A run that was killed between the two: the command was told, what it did was not."""
    last = int(recorded.streams["leader"].times_ns[-1])
    given = {"name": "release", "path": "", "value": None, "outcome": "done", "tick": 200}
    recorded.happened.append(RecordedEvent(last + 1_000_000, "command", "release: done", given))
    again = rerun(recorded)
    assert again.exact, again.differences
    assert (again.commands, again.late) == (1, 1)


def test_a_recording_that_does_not_say_its_set_up_is_refused(recorded):
    """Such as one made by a program of one's own."""
    del recorded.metadata["options"]
    with pytest.raises(Mismatch, match="does not say how its rig was set up"):
        rerun(recorded)


def test_the_set_up_is_in_the_file(recorded):
    """Parameters with units, versions, models with the changes the rig made."""
    rows = {row["path"]: row for row in recorded.metadata["parameters"]}
    assert rows["hand.stiffness"]["unit"] == "N/m" and len(rows["rig.viscous"]["value"]) == 6
    assert recorded.metadata["version"] and recorded.metadata["libraries"]["mujoco"]
    assert b"<mujoco" in recorded.files["leader.xml"]
    json.dumps(recorded.metadata)


def test_the_recorded_pose_is_that_of_the_recorded_joints(recorded):
    """Forward kinematics of the model in the file's own parameters: position and orientation belong
    to q.
    """
    rig = rig_of(recorded)
    leader = rig.session.stations[0]
    for index in (0, 57, 199):
        leader.arm.update(recorded["leader/q"][index], recorded["leader/v"][index])
        np.testing.assert_allclose(
            recorded["leader/position_tool_in_world"][index], leader.arm.position, atol=1e-12
        )
        expected = rotation_from_quaternion(recorded["leader/quaternion_tool_in_world"][index])
        np.testing.assert_allclose(expected, leader.arm.rotation, atol=1e-12)
    rig.close()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"law": "skill", "settings": [("law.force_aware", True)]}, "the skill is not in the file"),
        ({"side": "leader"}, "it is the leader's side alone"),
        ({"settings": [("rig.leader_plant", "ur:192.0.2.1")]}, "ur:192.0.2.1 took part"),
        ({"settings": [("rig.follower_plant", "damiao:nowhere:0")]}, "damiao:nowhere:0 took part"),
        ({"settings": [("rig.leader_plant", "spacemouse")]}, "spacemouse took part"),
    ],
)
def test_what_something_outside_took_part_in_is_shown_but_not_run_again(recorded, said, why):
    """A proof would fail for want of the other's part, and a robot must not be called up by looking
    at a file.
    """
    recorded.metadata["options"] |= said
    with pytest.raises(Mismatch, match=why):
        rig_of(recorded)
    rig = rig_of(recorded, drawn=True)
    assert "leader" in rig.world.placed
    rig.close()


def test_a_machine_is_not_asked_what_it_is_when_its_recording_is_shown(tmp_path, monkeypatch):
    """A recording may name any host; the robots that stood there are in the file."""
    machine, pair = "franka:192.0.2.1", {"leader": "fr3-arm", "follower": ["fr3"]}
    settings = [("rig.leader_plant", "fr3-arm"), ("rig.follower_plant", "fr3")]
    one = record(build_rig("pair", Options(settings=settings)), tmp_path / "one.mcap", 0.05)
    settings = [("rig.layout", json.dumps({"pair": [pair]}))]
    more = record(build_rig("pairs", Options(settings=settings)), tmp_path / "more.mcap", 0.05)
    assert rerun(load(one)).exact and rerun(load(more)).exact
    monkeypatch.setattr("farhand.plants.franka.plant.probe", lambda host: pytest.fail("asked"))
    pair["leader"] = machine
    for path, setting in (
        (one, ("rig.leader_plant", machine)),
        (more, ("rig.layout", json.dumps({"pair": [pair]}))),
    ):
        recording = load(path)
        given = [
            item for item in recording.metadata["options"]["settings"] if item[0] != setting[0]
        ]
        patience = ("leader.plant.patience", 0.2)
        recording.metadata["options"]["settings"] = [*given, setting, patience]
        with pytest.raises(Mismatch, match="franka:192.0.2.1 took part"):
            rig_of(recording)
        rig = rig_of(recording, drawn=True)
        assert [placed.robot.name for placed in rig.world.placed.values()] == ["fr3-arm", "fr3"]
        rig.close()


def test_a_device_that_nothing_can_stand_for_is_named(tmp_path):
    """The youBot's own pen has other joints than the handle of a SpaceMouse."""
    pen = load(record(build_rig("youbot"), tmp_path / "r.mcap", 0.05))
    pen.metadata["options"]["settings"] = [("rig.leader_plant", "spacemouse")]
    with pytest.raises(Mismatch, match="spacemouse led rig youbot"):
        rig_of(pen, drawn=True)


def planted(kind: str, value: str) -> dict:
    """Options of a recording that name something of their own."""
    if kind in ("law", "layer"):
        return {kind: value}
    if kind == "rig.layout":
        pair = {"follower": [value]} if value.endswith(".xml") else {"law": value}
        return {"settings": [(kind, json.dumps({"pair": [pair]}))]}
    return {"settings": [(kind, value)]}


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("law", "planted:Law"),
        ("layer", "planted:Law"),
        ("rig.leader_robot", "planted.xml"),
        ("rig.leader_plant", "planted.xml"),
        ("rig.layout", "planted:Law"),
        ("rig.layout", "planted.xml"),
        ("model", "planted.json"),
        ("link.trace", "planted.csv"),
    ],
)
def test_a_recording_has_nothing_loaded_that_its_user_did_not_name(
    kind, value, drawn, recorded, tmp_path, monkeypatch
):
    """Neither code nor a file of the current folder; the line says what to add."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "planted.py").write_text("raise SystemExit('was imported')")
    recorded.metadata["options"] |= planted(kind, value)
    with pytest.raises(Mismatch, match=f"--allow {value}"):
        rig_of(recorded, drawn)


def test_a_trace_may_not_come_by_a_recorded_command(recorded):
    """It would be read when its tick comes."""
    command = {"name": "set", "path": "link.trace", "value": "/etc/passwd"}
    recorded.happened.append(RecordedEvent(0, "command", "", command))
    with pytest.raises(Mismatch, match="--allow /etc/passwd"):
        rig_of(recorded)


def test_a_law_that_the_user_names_is_run_again(tmp_path, monkeypatch):
    """The very class, and no other."""
    monkeypatch.chdir(tmp_path)
    text = "from farhand.coupling import PositionPosition\n\n\n"
    text += "class Mine(PositionPosition):\n    name = 'mine-of-a-test'\n"
    (tmp_path / "mine_of_a_test.py").write_text(text)
    law = "mine_of_a_test:Mine"
    rig = build_rig("dual-arm", Options(law=law, scenario="free"))
    recording = load(record(rig, tmp_path / "r.mcap", 0.02))
    assert rerun(recording, [law]).exact
    with pytest.raises(Mismatch, match="--allow mine_of_a_test:Mine"):
        rerun(recording, ["mine_of_a_test:Other"])
