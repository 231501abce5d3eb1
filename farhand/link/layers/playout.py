"""Playout: packets that arrive unevenly are used evenly, at the age of the latest of them."""

from __future__ import annotations

import numpy as np

from farhand.link.packet import Packet
from farhand.spatial import Array

KEPT = 2048
"""Packets kept to be played out."""

LOOK_BACK_NS = 2_000_000_000
"""Least time for which a late packet is remembered; twice that at most, [ns]."""

FASTER = 0.02
"""How much faster than real time it plays while the age shrinks, [-]."""


class Playout:
    r"""The state of the other side at an even age, between the packets that describe it.

    For a follower that uses the newest packet, a leader that moves at v jumps by v times the
    jitter. Its damper turns that into force, and so into tracking error. Here the age grows to that
    of the latest packet of the last seconds and stays there. Between two packets, h apart,
    positions follow the cubic through both poses and velocities,

    .. math:: x = x_0 + s\,d + s(1-s)\bigl((1-s)(h v_0 - d) - s(h v_1 - d)\bigr),
              \qquad d = x_1 - x_0

    and everything else the straight line. Time never jumps: without a newer packet it holds the
    last one while the age grows, and it plays faster while the age shrinks. Over an even link
    nothing is added to the age. Energies are not played out: an end knows at once what it may
    spend.

    Attributes:
        age_ns: of what is played, by the times of the packets, [ns].
        behind_ns: how much older that is than the newest packet, [ns].
        waits_ns: how long that packet waits from its arrival until it is played, [ns].
        q: joints, [rad] or [m].
        v: their velocities, [rad/s] or [m/s].
        tool_position: [m].
        tool_quaternion: (x, y, z, w).
        tool_twist: [m/s] and [rad/s].
        engagement_id: number of the engagement that what is played belongs to.
        map: the other side's map in the last packet that was played, as :attr:`Packet.map`.
        measured_wrench: [N] and [N·m]; None where none was measured, or joints are coupled.
        external_torque: of joints that are coupled, [N·m]; None where none was measured.
        commanded_wrench: on the tool or on the joints, [N] and [N·m]; None where none was sent.

    Args:
        nq: number of configuration coordinates.
        nv: number of velocity coordinates.
        joints: of the follower, where joints are coupled; 0 for a coupling of tools.
    """

    def __init__(self, nq: int, nv: int, joints: int = 0) -> None:
        n = nv if joints else 6
        sizes = {"v": nv, "tool_twist": 6, "_measured": n, "_commanded": n}
        sizes |= {"tool_quaternion": 4, "q": nq, "tool_position": 3}
        width = sum(sizes.values())
        self._rows, self._times = np.zeros((KEPT, width)), [0] * KEPT
        self._known, self._engagements = [(False, False)] * KEPT, [0] * KEPT
        self._maps = np.zeros((KEPT, 2 * joints + 1 if joints else 12))
        self._joints = joints > 0
        self._now, self._way = np.zeros(width), np.zeros(width)
        self._columns: dict[str, slice] = {}
        start = 0
        for name, size in sizes.items():
            self._columns[name] = slice(start, start + size)
            setattr(self, name, self._now[start : start + size])
            start += size
        self.q: Array
        self.v: Array
        self.tool_position: Array
        self.tool_quaternion: Array
        self.tool_twist: Array
        self._measured: Array
        self._commanded: Array
        self.measured_wrench: Array | None = None
        self.external_torque: Array | None = None
        self.commanded_wrench: Array | None = None
        self._smooth = [("tool_position", "tool_twist")] + ([("q", "v")] if nq == nv else [])
        self._newest, self._older = -1, 0
        self.engagement_id, self.map = 0, self._maps[0]
        self.age_ns, self.behind_ns, self.waits_ns = 0, 0, 0
        self._arrival_age_ns = 0
        self._latest, self._since_ns, self._last_ns = (0, 0), 0, 0

    def begin(self) -> None:
        """Drop all packets, because the other side was restarted and its times begin again."""
        self._newest, self._older = -1, 0

    def take(self, packet: Packet, now_ns: int) -> None:
        """Keep the content of a packet newer than all before it, which has arrived now [ns]."""
        self._newest += 1
        at = self._newest % KEPT
        row, columns = self._rows[at], self._columns
        for name in ("v", "tool_twist", "tool_quaternion", "q", "tool_position"):
            row[columns[name]] = getattr(packet, name)
        measured = packet.external_torque if self._joints else packet.measured_wrench
        commanded = packet.commanded_wrench
        row[columns["_measured"]] = 0.0 if measured is None else measured
        row[columns["_commanded"]] = 0.0 if commanded is None else commanded
        self._known[at] = measured is not None, commanded is not None
        self._engagements[at], self._maps[at] = packet.engagement_id, packet.map
        self._times[at], self._arrival_age_ns = packet.time_ns, now_ns - packet.time_ns

    def play(self, now_ns: int) -> None:
        """Advance to the state an even age before now [ns]; at least one packet must be there."""
        age_ns = now_ns - self._times[self._newest % KEPT]
        self._adapt(now_ns, age_ns)
        self.behind_ns, self.waits_ns = self.age_ns - age_ns, self.age_ns - self._arrival_age_ns
        time_ns = now_ns - self.age_ns
        self._older = max(self._older, self._newest - KEPT + 1)
        while self._older < self._newest and self._times[(self._older + 1) % KEPT] <= time_ns:
            self._older += 1
        older, newer = self._older % KEPT, min(self._older + 1, self._newest) % KEPT
        self.engagement_id, self.map = self._engagements[older], self._maps[older]
        gap = self._times[newer] - self._times[older]
        share = (time_ns - self._times[older]) / gap if gap > 0 else 0.0
        self._between(older, newer, share, gap * 1e-9)

    def _adapt(self, now_ns: int, age_ns: int) -> None:
        """Let the age follow that of the latest packet, without a jump while there are packets."""
        # Ages may have either sign: the two clocks may differ.
        if self._newest == 0:
            self._latest, self._since_ns, self.age_ns = (age_ns, age_ns), now_ns, age_ns
        dt_ns, self._last_ns = now_ns - self._last_ns, now_ns
        if now_ns - self._since_ns > LOOK_BACK_NS:
            self._latest, self._since_ns = (age_ns, self._latest[0]), now_ns
        self._latest = max(self._latest[0], age_ns), self._latest[1]
        self.age_ns = max(*self._latest, self.age_ns - round(FASTER * dt_ns))

    def _between(self, older: int, newer: int, s: float, h: float) -> None:
        """The state a share s of the way from one packet to the next, h [s] later."""
        s = min(max(s, 0.0), 1.0)
        now, way, first = self._now, self._way, self._rows[older]
        np.subtract(self._rows[newer], first, way)
        turn = self._columns["tool_quaternion"]
        # The same rotation, written with the opposite sign.
        if float(first[turn].dot(self._rows[newer, turn])) < 0.0:
            way[turn] = -self._rows[newer, turn] - first[turn]
        np.multiply(way, s, now)
        now += first
        self.tool_quaternion /= np.linalg.norm(self.tool_quaternion)
        for name, rate in self._smooth if h > 0.0 else ():
            at, d = self._columns[name], way[self._columns[name]]
            speed = slice(self._columns[rate].start, self._columns[rate].start + len(d))
            bend = (1.0 - s) * (h * first[speed] - d) - s * (h * self._rows[newer, speed] - d)
            now[at] += s * (1.0 - s) * bend
        both = [a and b for a, b in zip(self._known[older], self._known[newer], strict=True)]
        measured = self._measured if both[0] else None
        if self._joints:
            self.external_torque = measured
        else:
            self.measured_wrench = measured
        self.commanded_wrench = self._commanded if both[1] else None
