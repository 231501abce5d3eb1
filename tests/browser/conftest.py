"""What the browser's tests share: one browser for all, a session with its page, and a visitor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from farhand.running.gallery import ARGUMENTS, CHROMIUM
from tests.browser.visiting import Run, Visitor


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    program = next((path for path in CHROMIUM if Path(path).exists()), None)
    if program is None:
        pytest.skip("needs a browser: apt install chromium")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs its driver: pip install playwright"
    )
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture
def run() -> Iterator[Run]:
    """A dual-arm session in which nobody moves but the visitor."""
    made = Run("rest")
    yield made
    made.close()


@pytest.fixture
def visitor(browser, run) -> Iterator[Visitor]:
    """Somebody who looks at it."""
    made = Visitor(browser, run.served.address)
    yield made
    made.page.close()
