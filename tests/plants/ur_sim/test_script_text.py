"""Programs sent as text."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.plants.ur_sim.controller import Runtime
from farhand.plants.ur_sim.script_text import ScriptReader


def finish(controller, most: int = 3000) -> None:
    for _ in range(most):
        controller.cycle()
        if controller.runtime is Runtime.STOPPED:
            return
    raise AssertionError("the program does not end")


def test_programs_are_found_whatever_pieces_arrive():
    """From def to an end in the first column; single lines stand alone."""
    text = b"def a():\n  sync()\n  end_of_something\nend\nstopj(2)\nsec b():\n textmsg(1)\nend\n"
    reader = ScriptReader()
    found = [program for at in range(0, len(text), 3) for program in reader.feed(text[at : at + 3])]
    assert [program.split("\n")[0] for program in found] == ["def a():", "stopj(2)", "sec b():"]


def test_an_endless_text_is_forgotten():
    """Nobody fills the memory."""
    reader = ScriptReader()
    list(reader.feed(b"def a():\n" + b"x" * (1 << 21)))
    assert list(reader.feed(b"\nstopj(2)\n")) == ["stopj(2)"]


def test_a_program_of_calls_does_them_one_after_the_other(controller, said):
    """Moves, registers, payload and words."""
    q = controller.arm.q.copy()
    listed = ",".join(str(value) for value in q + 0.1)
    controller.upload(
        f"def job():\n # a comment\n set_payload(1.5, [0,0,0.1])\n movej([{listed}], a=2, v=1)\n"
        " write_output_integer_register(0 + 3, -7)\n textmsg('at ', 3)\n sleep(0.1)\nend"
    )
    finish(controller)
    np.testing.assert_allclose(controller.arm.q, q + 0.1, atol=2e-3)
    assert controller.arm.payload == 1.5
    assert controller.exchange.values["output_int_register_3"] == -7
    assert said == ["at  3"]


def test_a_pose_is_told_from_joints_by_its_p(controller):
    """movel(p[…]) goes up by 5 cm."""
    from farhand.plants.ur_sim.arm import pose_vector

    pose = pose_vector(*controller.arm.pose(controller.arm.q)) + [0, 0, 0.05, 0, 0, 0]
    controller.upload(f"movel(p[{','.join(f'{v:.9f}' for v in pose)}], a=1.0, v=0.2)")
    finish(controller)
    np.testing.assert_allclose(controller.arm.port.tool.position, pose[:3], atol=1e-3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def x():\n while True:\n  sync()\n end\nend", "cannot read"),
        ("def x():\n a = 3\nend", "cannot read"),
        ("frobnicate(1)", "frobnicate() is not simulated"),
        ("movej(3)", "movej()"),
        ("movej([1,2], a=1)", "six finite numbers"),
        ("movej(get_actual_joint_positions())", "literal"),
        ("sleep(1e999)", "stopped"),
        ("movej([9e9,0,0,0,0,0], a=1e999, v=1)", ""),
        ("(" * 5000, "cannot read"),
        ("set_payload(-3)", "payload"),
    ],
)
def test_what_is_not_understood_ends_the_program_and_nothing_else(controller, said, text, words):
    """With a line in the log; the arm does not move."""
    q = controller.arm.q.copy()
    controller.upload(text)
    for _ in range(20):
        controller.cycle()
    if words:
        assert words in said[-1]
        assert controller.runtime is Runtime.STOPPED
        np.testing.assert_allclose(controller.arm.q, q, atol=1e-6)
    assert np.isfinite(controller.arm.q).all()


def test_a_secondary_program_does_not_disturb_the_one_that_runs(controller):
    """It sets a register, and the other goes on."""
    controller.upload("def main():\n sleep(1)\nend")
    controller.cycle()
    controller.upload("sec set():\n write_output_float_register(2, 0.5)\nend")
    assert controller.exchange.values["output_double_register_2"] == 0.5
    assert controller.program == "main"
    assert controller.runtime is Runtime.PLAYING
