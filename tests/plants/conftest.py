"""What the tests of plants share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from farhand.loop.telemetry import Reader, Telemetry


@pytest.fixture
def published() -> Callable[[Any, int], np.ndarray]:
    """What a plant publishes beside its samples after so many reads, 1 ms apart."""

    def read(plant: Any, ticks: int) -> np.ndarray:
        with Telemetry() as telemetry:
            stream = telemetry.stream("arm", 1000.0)
            plant.record(stream)
            telemetry.freeze()
            for tick in range(ticks):
                plant.read(tick * 1_000_000)
            stream.commit(0)
            return Reader(telemetry.path).drain("arm")[1][0]

    return read
