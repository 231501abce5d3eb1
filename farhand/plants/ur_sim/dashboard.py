"""The dashboard port: one line of text in, one line out, as publicly described."""

from __future__ import annotations

from collections.abc import Callable

from farhand.plants.ur_sim.controller import VERSION, RobotMode, Runtime, SafetyMode, UrController

BANNER = "Connected: Universal Robots Dashboard Server"
SERIAL = "20265500000"
"""A serial number of no real arm."""

_STATES = {Runtime.STOPPED: "STOPPED", Runtime.PLAYING: "PLAYING", Runtime.PAUSED: "PAUSED"}
_TOO_SOON = (
    "Cannot unlock protective stop until 5s after occurrence. Always inspect cause of protective "
    "stop before unlocking"
)


class Dashboard:
    """Answers the lines of one client; ``closed`` once it has quit."""

    def __init__(self, controller: UrController) -> None:
        self.controller, self.closed = controller, False
        c = controller
        self._answers: dict[str, Callable[[], str]] = {
            "play": lambda: "Starting program" if c.play() else "Failed to execute: play",
            "stop": self._stop,
            "pause": lambda: "Pausing program" if c.pause() else "Failed to execute: pause",
            "running": lambda: f"Program running: {str(c.runtime is Runtime.PLAYING).lower()}",
            "robotmode": lambda: f"Robotmode: {c.mode.name}",
            "safetymode": lambda: f"Safetymode: {c.safety.name}",
            "safetystatus": lambda: f"Safetystatus: {c.safety.name}",
            "programstate": lambda: f"{_STATES[c.runtime]} {c.program or '<unnamed>'}",
            "get loaded program": lambda: "No program loaded",
            "isprogramsaved": lambda: f"true {c.program or '<unnamed>'}",
            "polyscopeversion": lambda: f"URSoftware {_dotted(VERSION)} (simulated)",
            "version": lambda: _dotted(VERSION[:3]),
            "get serial number": lambda: SERIAL,
            "get robot model": lambda: "UR5",
            "is in remote control": lambda: "true",
            "get operational mode": lambda: "NONE",
            "power on": lambda: self._power(RobotMode.IDLE, "Powering on"),
            "power off": lambda: self._power(RobotMode.POWER_OFF, "Powering off"),
            "brake release": lambda: self._power(RobotMode.RUNNING, "Brake releasing"),
            "unlock protective stop": self._unlock,
            "close popup": lambda: "closing popup",
            "close safety popup": lambda: "closing safety popup",
            "restart safety": self._restart_safety,
            "quit": self._quit,
            "shutdown": self._quit,
        }
        self._starting: dict[str, Callable[[str], str]] = {
            "load": lambda name: f"File not found: {name}",
            "load installation": lambda name: f"File not found: {name}",
            "popup": lambda text: self._note("showing popup", text),
            "addtolog": lambda text: self._note("Added log message", text),
            "setuserrole": lambda role: f"Setting user role: {role}",
            "set operational mode": lambda mode: f"Setting operational mode: {mode}",
        }

    def answer(self, line: str) -> str:
        """The answer to one line."""
        words = " ".join(line.split())
        answer = self._answers.get(words.lower())
        if answer is not None:
            return answer()
        for start in sorted(self._starting, key=len, reverse=True):
            if words.lower().startswith(start + " "):
                return self._starting[start](words[len(start) + 1 :])
        return f"could not understand: '{line[:100]}'"

    def _stop(self) -> str:
        self.controller.stop()
        return "Stopped"

    def _unlock(self) -> str:
        return "Protective stop releasing" if self.controller.unlock() else _TOO_SOON

    def _power(self, mode: RobotMode, answer: str) -> str:
        # An arm that is on already stays as it is.
        if not (mode is RobotMode.IDLE and self.controller.mode is RobotMode.RUNNING):
            self.controller.power(mode)
        return answer

    def _restart_safety(self) -> str:
        if self.controller.safety is SafetyMode.NORMAL:
            self.controller.power(RobotMode.POWER_OFF)
        return "Restarting safety"

    def _note(self, answer: str, text: str) -> str:
        self.controller.log(text)
        return answer

    def _quit(self) -> str:
        self.closed = True
        return "Disconnected"


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)
