"""Direct bridge: a law between two stations in one process."""

from __future__ import annotations

from farhand.coupling import Coupling
from farhand.coupling.engagement import Engagement
from farhand.coupling.trial import UNANSWERED, admit, failure, raised
from farhand.loop.bridges.bridge import Bridge
from farhand.loop.bridges.end import NOT_A_NUMBER, End
from farhand.loop.station import Station


class DirectBridge(Bridge):
    """A law between two stations in one process: evaluated once, both efforts used.

    Releasing fades out the last efforts without evaluating the law again, so nothing a law says
    after a fault is felt. A law that raises, or answers with anything but two efforts of the
    right size, stops both stations.

    Args:
        law: the coupling.
        a: the leader's station.
        b: the follower's.
        period_ns: time between evaluations, [ns].

    Raises:
        Mismatch: the law needs something that the stations do not have.
        BadValue: it does not answer as a law must.
    """

    def __init__(
        self, law: Coupling, a: Station, b: Station, *, period_ns: int = 1_000_000
    ) -> None:
        admit(law, a.arm, b.arm, a.observer is not None and b.observer is not None)
        ends = End(a, b.side, law.port), End(b, a.side, law.port)
        super().__init__(*ends, [law], period_ns)
        self.law = law
        self.engagement = Engagement()
        self._pending = False

    def _engage(self) -> None:
        self._pending = not self.engagement.wanted  # until both sides have been sensed in this tick

    def release(self) -> None:
        """Fade the coupling out."""
        self._pending = False
        self.engagement.release()

    def _evaluate(self, now_ns: int, dt: float) -> None:
        a, b, engagement = self.a, self.b, self.engagement
        if a.station.guard.trip is not None or b.station.guard.trip is not None:
            self.release()
        # the last efforts must have faded before new ones begin
        if self._pending and engagement.gain == 0.0:
            self._pending = False
            self._couple(now_ns)
        if engagement.wanted:
            self._ask(now_ns, dt)
        if not engagement.wanted:
            a.part()
            b.part()
        # after a pause efforts fade no faster than otherwise
        gain = engagement.step(min(dt, self.period))
        a.apply(gain, dt)
        b.apply(gain, dt)

    def _couple(self, now_ns: int) -> None:
        """Let the law take the sides as they stand, and begin."""
        try:
            self.law.engage(self.a.station.side, self.b.station.side)
        except Exception as error:  # a user's law may raise anything
            self._fail(now_ns, raised(error))
        else:
            self.engagement.engage()

    def _ask(self, now_ns: int, dt: float) -> None:
        """Evaluate the law, and remember what it asks for."""
        a, b, answer = self.a, self.b, UNANSWERED
        try:
            answer = on_a, on_b = self.law.step(a.station.side, b.station.side, dt)
            if not (a.take(on_a) and b.take(on_b)):
                self._fail(now_ns, NOT_A_NUMBER)
        except Exception as error:  # a user's law may raise anything
            self._fail(now_ns, failure(answer, error))

    def _fail(self, now_ns: int, why: str) -> None:
        """Stop both stations: nothing sensible is known of either's effort."""
        for end in (self.a, self.b):
            end.stop(now_ns, self.law, why)
        self.engagement.release()
