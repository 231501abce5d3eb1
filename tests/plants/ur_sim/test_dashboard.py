"""The dashboard's answers."""

from __future__ import annotations

import pytest

from farhand.plants.ur_sim.controller import RobotMode, Runtime
from farhand.plants.ur_sim.dashboard import Dashboard


@pytest.fixture
def dashboard(controller) -> Dashboard:
    return Dashboard(controller)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("robotmode", "Robotmode: RUNNING"),
        ("safetystatus", "Safetystatus: NORMAL"),
        ("running", "Program running: false"),
        ("programState", "STOPPED <unnamed>"),
        ("PolyscopeVersion", "URSoftware 5.26.0.0 (simulated)"),
        ("get robot model", "UR5"),
        ("is in remote control", "true"),
        ("load work.urp", "File not found: work.urp"),
        ("play", "Failed to execute: play"),
        ("stop", "Stopped"),
        ("pause", "Failed to execute: pause"),
        ("close safety popup", "closing safety popup"),
        ("popup hello there", "showing popup"),
        ("unlock protective stop", "Protective stop releasing"),
        ("make coffee", "could not understand: 'make coffee'"),
        ("", "could not understand: ''"),
    ],
)
def test_lines_are_answered_in_the_words_of_the_public_description(dashboard, line, answer):
    """Clients compare them letter by letter."""
    assert dashboard.answer(line) == answer


def test_the_serial_number_is_a_number(dashboard):
    """The client refuses anything else."""
    assert dashboard.answer("get serial number").isdigit()


def test_power_goes_off_and_on_in_steps(dashboard, controller):
    """Off, idle with brakes closed, running."""
    dashboard.answer("power off")
    assert dashboard.answer("robotmode") == "Robotmode: POWER_OFF"
    dashboard.answer("power on")
    assert controller.mode is RobotMode.IDLE
    assert not controller.arm.powered
    assert dashboard.answer("brake release") == "Brake releasing"
    assert controller.mode is RobotMode.RUNNING
    assert dashboard.answer("power on") == "Powering on"
    assert controller.mode is RobotMode.RUNNING


def test_a_program_is_paused_and_played_from_the_dashboard(dashboard, controller):
    """And its name is told."""
    controller.upload("def wait():\n sleep(9)\nend")
    controller.cycle()
    assert dashboard.answer("running") == "Program running: true"
    assert dashboard.answer("programState") == "PLAYING wait"
    assert dashboard.answer("pause") == "Pausing program"
    assert controller.runtime is Runtime.PAUSED
    assert dashboard.answer("play") == "Starting program"


def test_a_protective_stop_is_not_unlocked_at_once(dashboard, controller):
    """The real one wants five seconds of looking."""
    controller.protective_stop("a test")
    assert dashboard.answer("safetystatus") == "Safetystatus: PROTECTIVE_STOP"
    assert dashboard.answer("unlock protective stop").startswith(
        "Cannot unlock protective stop until 5s"
    )


def test_quit_ends_the_connection(dashboard):
    """With a word."""
    assert dashboard.answer("quit") == "Disconnected"
    assert dashboard.closed
