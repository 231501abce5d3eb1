"""Timing of a loop: which rate it holds."""

from farhand.realtime.timing import RATES, Cycle


def test_the_rate_a_loop_holds_is_that_of_its_slow_ticks():
    """0.2 ms of tick, 0.1 of physics, 0.1 late: 2 kHz; with a tick in 100 of 3 ms: 200 Hz."""
    cycle = Cycle()
    assert cycle.holds() == max(RATES)
    for tick in range(5000):
        cycle.meters["physics"].pending = 100_000
        cycle.close(3_000_000 if tick % 100 == 0 and tick >= 2500 else 200_000, 100_000)
        if tick == 2499:
            assert cycle.holds() == 2000
    assert cycle.holds() == 200
    for _ in range(100):
        cycle.close(10**9, 0)
    assert cycle.holds() is None
