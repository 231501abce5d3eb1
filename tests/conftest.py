"""What every test shares: reproducible property tests without deadlines, and plots without a display."""

from __future__ import annotations

import os

from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")
settings.register_profile("farhand", deadline=None, derandomize=True)
settings.load_profile("farhand")
