"""What the console's tests share: a rig that has run for a moment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from farhand.rigs import Rig, build_rig


@pytest.fixture
def rig() -> Iterator[Rig]:
    """The dual-arm rig after 50 ms of virtual time, with records in its ring."""
    made = build_rig("dual-arm")
    made.session.run(0.05)
    yield made
    made.close()
