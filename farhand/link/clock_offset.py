"""Clock offset: by how much the other side's clock is ahead of this one's, from the echoes in its packets."""

from __future__ import annotations

BUCKETS, BUCKET_NS = 8, 1_000_000_000
"""Echoes are compared over so many periods of so long [ns]."""


class ClockOffset:
    r"""Offset of the peer's clock from the echo with the shortest way of the last seconds, as NTP has it.

    A packet sent here at :math:`t_1` arrives there at :math:`t_2`; one sent there at :math:`t_3`
    arrives here at
    :math:`t_4`:

    .. math:: \delta = (t_4 - t_1) - (t_3 - t_2), \qquad \theta = \tfrac12\bigl((t_2 - t_1) + (t_3 - t_4)\bigr)

    Whatever the two ways take, θ is wrong by at most δ/2, so the echo with the smallest δ is
    believed; what it says of longer ones is all in their delay. Ways that are always unequal cannot
    be told from an offset: nobody can.

    Attributes:
        offset_ns: θ, the peer's clock minus this one's; None until an echo has come, [ns].
        shortest_ns: δ of the echo it is from, [ns].
        least_ns: δ below which an echo of the present period says something new, [ns].
        began_ns: when the present period began, by this side's clock, [ns].
        ends_ns: when it ends, [ns].
    """

    def __init__(self) -> None:
        self.offset_ns: int | None = None
        self.shortest_ns = 0
        self.least_ns = self.began_ns = self.ends_ns = 0
        self._delays: list[int | None] = [None] * BUCKETS
        self._offsets = [0] * BUCKETS
        self._bucket = 0

    def take(self, sent_ns: int, arrived_ns: int, answered_ns: int, now_ns: int) -> None:
        """Learn from an echo.

        Args:
            sent_ns: when this side sent, by its own clock, [ns].
            arrived_ns: when that arrived at the peer, by the peer's, [ns].
            answered_ns: when the peer sent its answer, by the peer's, [ns].
            now_ns: when that arrived here, [ns].
        """
        delay = (now_ns - sent_ns) - (answered_ns - arrived_ns)
        if delay < 0 or sent_ns > now_ns:
            return
        bucket = now_ns // BUCKET_NS
        if bucket != self._bucket:
            for passed in range(
                min(bucket - self._bucket, BUCKETS) if bucket > self._bucket else BUCKETS
            ):
                self._delays[(bucket - passed) % BUCKETS] = None
            self._bucket = bucket
        self.began_ns, self.ends_ns = bucket * BUCKET_NS, (bucket + 1) * BUCKET_NS
        at = bucket % BUCKETS
        least = self._delays[at]
        if least is None or delay < least:
            self._delays[at] = self.least_ns = delay
            self._offsets[at] = ((arrived_ns - sent_ns) + (answered_ns - now_ns)) // 2
            self._choose()

    def _choose(self) -> None:
        best = min((delay, k) for k, delay in enumerate(self._delays) if delay is not None)
        self.shortest_ns, self.offset_ns = best[0], self._offsets[best[1]]
