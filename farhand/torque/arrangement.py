"""Whether columns of a log are in the model's order and direction: swapped and turned joints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pinocchio as pin
from scipy.optimize import linear_sum_assignment

from farhand.torque.log import ArmLog
from farhand.torque.motion import Samples
from farhand.torque.regressor import DataSheet

Array = np.ndarray

MIN_GAIN = 10.0
"""By how much the logarithm of the likelihood must be better to believe another arrangement."""

PER_SECOND = 1.0
"""Samples per second of motion that count as independent of one another."""

MOST_SAMPLES = 700


@dataclass(frozen=True)
class Arrangement:
    """How a log must be read to fit its robot; joints are numbers of the log's columns, from 0."""

    swapped: tuple[tuple[int, int], ...] = ()  #: joints whose columns are all exchanged
    torque_order: tuple[int, ...] = ()  #: which torque column belongs to each joint; () for its own
    turned: tuple[int, ...] = ()  #: joints whose position, rate and torque count the other way
    #: what the log cannot tell: ("sign" or "swapped", joints)
    unclear: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def apply(self, log: ArmLog) -> ArmLog:
        """The log in the model's order and direction."""
        q, v, effort = log.q.copy(), None if log.v is None else log.v.copy(), log.effort.copy()
        for pair in self.swapped:
            for values in (q, v, effort):
                if values is not None:
                    values[:, pair] = values[:, pair[::-1]]
        if self.torque_order:
            effort = effort[:, self.torque_order]
        for joint in self.turned:
            for values in (q, v, effort):
                if values is not None:
                    values[:, joint] *= -1.0
        return replace(log, q=q, v=v, effort=effort)


def arrange(sheet: DataSheet, samples: Samples) -> Arrangement:
    """The arrangement that explains the log best, where it is clearly better than the columns'."""
    thin = slice(None, None, max(1, len(samples.time) // MOST_SAMPLES))
    q, v, a, y = (values[thin] for values in (samples.q, samples.v, samples.a, samples.effort))
    moving = samples.moving[thin]
    seconds = float(np.median(np.diff(samples.time))) * samples.moving.sum(axis=0)
    weight = 0.5 * PER_SECOND * seconds
    joints = range(q.shape[1])
    moves = [j for j in joints if moving[:, j].sum() > 30]

    def cost(q: Array, v: Array, a: Array, y: Array, moving: Array) -> float:
        torque = expected(sheet, q, v, a)
        left = [_left(torque[:, j], v[:, j], y[:, j], moving[:, j]) for j in moves]
        return float(weight[moves] @ np.log(left))

    def exchanged(pair: tuple[int, int]) -> float:
        order = list(joints)
        order[pair[0]], order[pair[1]] = pair[1], pair[0]
        return cost(*(values[:, order] for values in (q, v, a, y, moving)))

    def turned(joint: int) -> float:
        signs = np.ones(len(joints))
        signs[joint] = -1.0
        return cost(q * signs, v * signs, a * signs, y * signs, moving)

    own = cost(q, v, a, y, moving)
    pairs = {pair: own - exchanged(pair) for pair in combinations(moves, 2)}
    turns = {joint: own - turned(joint) for joint in moves}
    order, order_gain, torque_pairs = _torque_order(sheet, q, v, a, y, moving, weight, moves)
    best_pair = max(pairs, key=lambda pair: pairs[pair], default=None)
    best_turn = max(turns, key=lambda joint: turns[joint], default=None)
    gains = {
        "swapped": pairs[best_pair] if best_pair is not None else 0.0,
        "turned": turns[best_turn] if best_turn is not None else 0.0,
        "order": order_gain,
    }
    best = max(gains, key=lambda name: gains[name])
    if gains[best] > MIN_GAIN:
        if best == "swapped" and best_pair is not None:
            return Arrangement(swapped=(best_pair,))
        if best == "turned" and best_turn is not None:
            return Arrangement(turned=(best_turn,))
        return Arrangement(torque_order=order)
    unclear: list[tuple[str, tuple[int, ...]]] = []
    unclear += [("sign", (joint,)) for joint, gain in turns.items() if gain > -MIN_GAIN]
    near = {**pairs}
    for pair, gain in torque_pairs.items():
        near[pair] = max(near.get(pair, -np.inf), gain)
    unclear += [("swapped", pair) for pair, gain in near.items() if gain > -MIN_GAIN]
    return Arrangement(unclear=tuple(unclear))


def expected(sheet: DataSheet, q: Array, v: Array, a: Array) -> Array:
    """Torque of the data sheet along samples, without friction, n × joints."""
    model, data, rows = sheet.model, sheet.model.createData(), list(sheet.joints)
    q, v, a = sheet.full(q, sheet.home), sheet.full(v), sheet.full(a)
    torque = np.array([pin.rnea(model, data, *state)[rows] for state in zip(q, v, a, strict=True)])
    for dof, spring in sheet.robot.springs.items():
        if dof in rows:
            torque[:, rows.index(dof)] += [spring.torque(float(one)) for one in q[:, dof]]
    return torque


def _left(torque: Array, v: Array, y: Array, moving: Array) -> float:
    """Share of a reading that a joint's model leaves unexplained, whatever its scale."""
    rows = moving
    # an offset may drift in the meantime
    when = np.linspace(-1.0, 1.0, len(y))[rows]
    ones = np.ones(int(rows.sum()))
    A = np.column_stack([torque[rows], np.sign(v[rows]), v[rows], ones, when])
    x, *_ = np.linalg.lstsq(A, y[rows], rcond=None)
    # what friction takes must be what the motor gives: neither sign may be the other way round
    if x[0] * (x[1] + x[2] * np.abs(v[rows]).mean()) < 0.0:
        without = np.delete(A, 0, axis=1)
        x, *_ = np.linalg.lstsq(without, y[rows], rcond=None)
        A = without
    share = float(np.mean((y[rows] - A @ x) ** 2) / max(float(np.var(y[rows])), 1e-30))
    # the data sheet is not exact: better than this is luck
    return max(share, 1e-3)


def _torque_order(
    sheet: DataSheet,
    q: Array,
    v: Array,
    a: Array,
    y: Array,
    moving: Array,
    weight: Array,
    moves: list[int],
) -> tuple[tuple[int, ...], float, dict[tuple[int, int], float]]:
    """The order of torque columns that fits best, its gain, and that of every exchange of two."""
    torque, n = expected(sheet, q, v, a), q.shape[1]
    cost = np.full((n, n), 0.0)
    for joint in moves:
        for column in moves:
            left = _left(torque[:, joint], v[:, joint], y[:, column], moving[:, joint])
            cost[joint, column] = weight[joint] * np.log(left)
    for joint in set(range(n)) - set(moves):
        cost[joint], cost[:, joint] = 1e6, 1e6
        cost[joint, joint] = 0.0
    rows, columns = linear_sum_assignment(cost)
    gain = float(np.trace(cost) - cost[rows, columns].sum())
    pairs = {
        (i, j): float(cost[i, i] + cost[j, j] - cost[i, j] - cost[j, i])
        for i, j in combinations(moves, 2)
    }
    return tuple(int(column) for column in columns), gain, pairs
