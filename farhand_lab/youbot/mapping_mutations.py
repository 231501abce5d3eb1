"""Parts between the pen and the setpoint, broken on purpose."""

from __future__ import annotations

import math

import numpy as np

from farhand.mapping import axis_map
from farhand.mapping.axis_map import AxisMap
from farhand.mapping.hybrid import HybridPosition, Region
from farhand.mapping.limiter import PoseLimiter
from farhand_lab.mutation import Mutation, patched
from farhand_lab.youbot.geometric_spring import GeometricSpring

_translate, _turn, _wrench = PoseLimiter._translate, PoseLimiter._turn, GeometricSpring.wrench
_step = HybridPosition.step


def _wrong_sign(self: AxisMap, force_robot):
    return self.matrix.T @ force_robot * np.array([1.0, 1.0, -1.0])


def _other_order(angles, turn=axis_map.TOOL_TURN):
    ox, oy, oz = np.asarray(angles, dtype=float)
    about = axis_map._about
    return (
        axis_map.rotation_from_vector(np.asarray(turn))
        @ about(2, -ox)
        @ about(1, -oy)
        @ about(0, oz)
    )


def _one_plane(self: Region, h, shrunk=0.0):
    return self.level(h) < 1.0 - shrunk and float(h[0]) < self.front


def _published_hand_over(self: HybridPosition, h, dt):
    """As printed: the place before the switch goes with the pen after it."""
    was = self.rate
    self.rate = not self.region.inside(h)
    if not self.rate and not was:
        self.position[:] = h + self.drift
    elif self.rate:
        if not was:
            self.latched = self.position.copy(), self.drift.copy(), h.copy()  # type: ignore[attr-defined]
        self.position += self.speed * dt * h / np.linalg.norm(h)
    else:
        p, d, pen = self.latched  # type: ignore[attr-defined]
        self.drift[:] = (self.position - p) + d - (h - pen)
        self.position[:] = h + self.drift
    return self.position


def _pen_sets_speed(self: HybridPosition, h, dt):
    self.rate = not self.region.inside(h)
    if self.rate:
        self.position += dt * 2.0 * h
        self.drift[:] = self.position - h
    else:
        self.position[:] = h + self.drift
    return self.position


def _forgets_drift(self: HybridPosition, h, dt):
    self.rate = not self.region.inside(h)
    self.position[:] = h + 0.35
    if self.rate:
        self.position += dt * self.speed * h / np.linalg.norm(h)
    return self.position


def _stretches(self: HybridPosition, h, dt):
    return _step(self, 1.001 * h, dt)


def _too_fast(self: PoseLimiter, target, step):
    return _translate(self, target, 1.1 * step)


def _no_pass(self: PoseLimiter, target, step):
    """Small steps are cut like large ones."""
    kept, self.band = self.band, 0.0
    try:
        return _translate(self, target, step)
    finally:
        self.band = kept


def _long_way(self: PoseLimiter, target, step):
    q = self.quaternion
    cosine = float(np.clip(q.dot(target), -1.0, 1.0))
    half = math.acos(cosine)
    if 2.0 * half <= self.turn_band:
        q[:] = target
        return False
    share = min(step / (2.0 * half), 1.0)
    q[:] = (q * math.sin((1.0 - share) * half) + target * math.sin(share * half)) / max(
        math.sin(half), 1e-12
    )
    return True


def _published_clamp(self: PoseLimiter, target, step):
    """As printed: held from 0.05125° on."""
    return abs(float(self.quaternion.dot(target))) < 0.9999999 and _turn(self, target, step)


def _not_conservative(self: GeometricSpring, p_set, R_set, p, R):
    wrench = _wrench(self, p_set, R_set, p, R)
    wrench[0] += 1e-3 * p[1]
    return wrench


MUTATIONS = [
    Mutation(
        "dual force sign",
        "force along z is reversed",
        ("Y-04",),
        lambda: patched(AxisMap, "back", _wrong_sign),
    ),
    Mutation(
        "wrist order",
        "the wrist turns in the opposite order",
        ("Y-05",),
        lambda: patched(axis_map, "tool_rotation", _other_order),
    ),
    Mutation(
        "no floor",
        "the lower plane is missing",
        ("Y-06",),
        lambda: patched(Region, "inside", _one_plane),
    ),
    Mutation(
        "published hand-over",
        "drift is latched one tick apart, as printed",
        ("Y-09",),
        lambda: patched(HybridPosition, "step", _published_hand_over),
    ),
    Mutation(
        "speed by distance",
        "the pen's distance sets the speed",
        ("Y-08",),
        lambda: patched(HybridPosition, "step", _pen_sets_speed),
    ),
    Mutation(
        "no drift",
        "the drift is forgotten at every return",
        ("Y-09", "Y-10"),
        lambda: patched(HybridPosition, "step", _forgets_drift),
    ),
    Mutation(
        "stretched pen",
        "the target moves by a thousandth more than the pen",
        ("Y-07",),
        lambda: patched(HybridPosition, "step", _stretches),
    ),
    Mutation(
        "fast limiter",
        "a tenth too fast",
        ("Y-11",),
        lambda: patched(PoseLimiter, "_translate", _too_fast),
    ),
    Mutation(
        "no band",
        "small steps are cut",
        ("Y-13",),
        lambda: patched(PoseLimiter, "_translate", _no_pass),
    ),
    Mutation(
        "long way round",
        "the sign of q counts",
        ("Y-12",),
        lambda: patched(PoseLimiter, "_turn", _long_way),
    ),
    Mutation(
        "published clamp",
        "the last 0.05° are held back",
        ("Y-12", "Y-13"),
        lambda: patched(PoseLimiter, "_turn", _published_clamp),
    ),
    Mutation(
        "leaky spring",
        "a force that depends on the way",
        ("Y-14",),
        lambda: patched(GeometricSpring, "wrench", _not_conservative),
    ),
]
