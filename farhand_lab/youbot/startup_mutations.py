"""Parts of force feedback and start-up, broken on purpose."""

from __future__ import annotations

import numpy as np

from farhand.control.haptic.engage import EngageGate, HomingSpring
from farhand.control.haptic.gripper import GripperToggle
from farhand.control.haptic.tunables import Ramp
from farhand.mapping.axis_map import PEN
from farhand.rigs.youbot.startup import UNFOLDED, YoubotStartup
from farhand_lab.mutation import Mutation, patched


def _plain_signs(self: YoubotStartup, wrench):
    return -wrench.wrench[:3] / self.tunables.kf.value


def _weak_scale(self: YoubotStartup, wrench):
    return PEN.back(-wrench.wrench[:3]) / (1.05 * self.tunables.kf.value)


def _undamped(self: HomingSpring, position, velocity=0.0):
    return -self.stiffness * position


def _mean_error(self: YoubotStartup):
    return bool(np.abs(self._last["C1.yb_in"].value - UNFOLDED).mean() <= self.tolerance)


def _hasty(self: EngageGate, force, dt):
    self.open = self.open or (force is not None and abs(float(force[2])) < 10.0 * self.force)
    return self.open


def _published_sum(self: Ramp, dt):
    if self.value < self.target:
        self.value += self.rate * dt
    return self.value


def _jumps(self: Ramp, dt):
    self.value = self.target
    return self.value


def _chatters(self: GripperToggle, button):
    return self.closed if button else self.opened


def _keeps_motors(self: YoubotStartup):
    self.feedback = self.streaming = False


MUTATIONS = [
    Mutation(
        "no axis map",
        "forces go back without the axis map",
        ("Y-20",),
        lambda: patched(YoubotStartup, "feedback_force", _plain_signs),
    ),
    Mutation(
        "wrong kf",
        "5 % too much divisor",
        ("Y-20",),
        lambda: patched(YoubotStartup, "feedback_force", _weak_scale),
    ),
    Mutation(
        "no homing damper",
        "the pen swings",
        ("Y-21",),
        lambda: patched(HomingSpring, "force", _undamped),
    ),
    Mutation(
        "no port check",
        "an unconnected port does not matter",
        ("Y-22",),
        lambda: patched(YoubotStartup, "_unconnected", lambda self: None),
    ),
    Mutation(
        "motors stay on",
        "a stop leaves the drives and the spring as they are",
        ("Y-22",),
        lambda: patched(YoubotStartup, "_all_off", _keeps_motors),
    ),
    Mutation(
        "mean unfold error",
        "joints may make up for each other",
        ("Y-23",),
        lambda: patched(YoubotStartup, "unfolded", _mean_error),
    ),
    Mutation(
        "hasty gate",
        "opens at 1 N, and without a force",
        ("Y-24",),
        lambda: patched(EngageGate, "step", _hasty),
    ),
    Mutation(
        "published sum",
        "the ramp is not clamped",
        ("Y-25",),
        lambda: patched(Ramp, "step", _published_sum),
    ),
    Mutation("no slew", "tunables jump", ("Y-25", "Y-27"), lambda: patched(Ramp, "step", _jumps)),
    Mutation(
        "chatter",
        "a command at every sample",
        ("Y-26",),
        lambda: patched(GripperToggle, "step", _chatters),
    ),
]
