"""The documentation shows the features that the experiments use."""

from __future__ import annotations

import pytest

from farhand_lab import feature_tables, harness


@pytest.mark.parametrize("group", harness.groups())
def test_the_page_of_a_rig_has_its_present_features(group):
    """If this fails, run ``python -m farhand_lab.feature_tables``."""
    page = (feature_tables.PAGES / f"{group}.md").read_text(encoding="utf-8")
    assert page.count(feature_tables.BEGIN) == page.count(feature_tables.END) == 1
    assert feature_tables.updated(page, group) == page


def test_a_table_has_an_anchor_per_id_and_escapes_markdown(monkeypatch):
    """A bar would end the cell."""
    row = {"title": "u*", "criterion": "|e| < 1", "unit": "mm", "source": "a thesis"}
    monkeypatch.setattr(harness, "features", lambda group: {"T-1": row})
    assert feature_tables.table("toy-arm").splitlines()[-1] == (
        r'| <a id="T-1"></a>T-1 | u\* | \|e\| < 1 | mm | a thesis |'
    )
