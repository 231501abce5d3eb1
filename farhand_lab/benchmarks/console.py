"""The tick on the wall clock while its page is open and visited, and without a page."""

from __future__ import annotations

import multiprocessing
from typing import Any

from farhand.loop.clock import WallClock
from farhand.realtime import real_time
from farhand.rigs import Options, build_rig
from farhand_lab.benchmarks.measure import Benchmark

READING_S = 3.0
VISITORS = 3
ARRIVAL_TIMEOUT_S = 60.0


def _pair() -> tuple[float, float]:
    """Median tick with visitors and without, [µs]; without is read before and after."""
    rig = build_rig("dual-arm", Options(law="virtual-constraints", clock=WallClock()))
    try:
        before = _median_tick(rig)
        visited = _visited(rig)
        return visited, (before + _median_tick(rig)) / 2.0
    finally:
        rig.close()


def _visited(rig: Any) -> float:
    from farhand.console.scene import scene_of
    from farhand.console.serve import serve

    context = multiprocessing.get_context("spawn")
    session = rig.session
    with serve(session.telemetry.path, scene_of(rig), port=0, commands=session.commands) as page:
        line, theirs = context.Pipe()
        visitors = context.Process(target=_visit, args=(page.address, theirs), daemon=True)
        visitors.start()
        theirs.close()
        try:
            if not line.poll(ARRIVAL_TIMEOUT_S):
                raise TimeoutError("the visitors did not arrive")
            line.recv()
            return _median_tick(rig, page.poll)
        finally:
            line.close()
            visitors.join(5.0)
            visitors.kill()


def _median_tick(rig: Any, between: Any = None) -> float:
    """Median of the ticks of one reading, [µs], after half a second of warming up."""
    import numpy as np

    session = rig.session
    with real_time():
        session.run(0.5, between, 0.02)
        first = session.ticks
        session.run(READING_S, between, 0.02)
    places = np.arange(first, session.ticks) % len(session.tick_ns)
    return 1e-3 * float(np.median(session.tick_ns[places]))


def _visit(address: str, line: Any) -> None:
    """Receive all that the page sends, as browsers do, until the line closes."""
    import asyncio

    import viser
    from websockets.asyncio.client import connect
    from websockets.typing import Subprotocol

    async def visitor() -> None:
        url = address.replace("http://", "ws://")
        spoken = [Subprotocol(f"viser-v{viser.__version__}")]
        async with connect(url, subprotocols=spoken, max_size=None) as socket:
            await socket.recv()
            arrived.append(None)
            if len(arrived) == VISITORS:
                line.send("here")
            while True:
                await socket.recv()

    async def everybody() -> None:
        visits = [asyncio.create_task(visitor()) for _ in range(VISITORS)]
        await asyncio.get_running_loop().run_in_executor(None, _until_the_end, line)
        for visit in visits:
            visit.cancel()

    arrived: list[None] = []
    asyncio.run(everybody())


def _until_the_end(line: Any) -> None:
    try:
        line.recv()
    except (EOFError, OSError):
        return


BENCHMARKS = [Benchmark("tick/dual-arm/console", None, pair=_pair)]
