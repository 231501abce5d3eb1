"""A simulated controller that runs cycle by cycle, and the words that ``ur_rtde``'s script is known
by.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.plants.ur_sim.build import simulated_controller
from farhand.plants.ur_sim.controller import UrController

SCRIPT = """def rtde_control():
    global reg_offset_float = # float register offset
0    global reg_offset_int = # int register offset
0    textmsg("RTDE Control Script Loaded")
end
"""
"""What of the uploaded script the controller looks at."""


class Registers:
    """Gives commands as the client does: a number and arguments in input registers, answers in
    output registers.
    """

    def __init__(self, controller: UrController) -> None:
        self.controller = controller
        self.begin()

    def begin(self) -> None:
        """Upload the script."""
        self.set(0)
        self.controller.upload(SCRIPT)
        self.run(2)

    def set(self, number: int, floats: list[float] | np.ndarray = (), ints: list[int] = ()) -> None:
        """Write a command."""
        values = {f"input_double_register_{i}": float(value) for i, value in enumerate(floats)}
        values |= {f"input_int_register_{i + 1}": value for i, value in enumerate(ints)}
        self.controller.exchange.set(values | {"input_int_register_0": number})

    def run(self, cycles: int) -> None:
        """Let time pass."""
        for _ in range(cycles):
            self.controller.cycle()

    def do(self, number: int, floats=(), ints=(), most: int = 4000) -> int:
        """Give a command, wait until it is done, clear it; how many cycles it took."""
        self.set(number, floats, ints)
        for cycle in range(most):
            self.run(1)
            if self.controller.exchange.values["output_int_register_0"] == 2:
                self.set(0)
                self.run(2)
                return cycle
        raise AssertionError(f"command {number} is not done after {most} cycles")

    def answer(self, count: int = 6) -> np.ndarray:
        """What the last command answered."""
        values = self.controller.exchange.values
        return np.array([values[f"output_double_register_{index}"] for index in range(count)])


@pytest.fixture
def said() -> list[str]:
    """What the controller has logged."""
    return []


@pytest.fixture
def controller(said) -> UrController:
    """A controller with its arm at home; its sensor is silent."""
    made = simulated_controller(log=said.append)
    made.arm.joints.force_noise = made.arm.joints.torque_noise = 0.0
    made.arm._sigma[:] = 0.0
    return made


@pytest.fixture
def registers(controller) -> Registers:
    """The controller with the control script running."""
    return Registers(controller)
