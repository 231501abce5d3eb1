"""Threshold protocol: thresholds of virtual operators come back, once reaction times are
taken off.
"""

from __future__ import annotations

import numpy as np
import pytest

from farhand.analysis.threshold import (
    Operators,
    ThresholdProtocol,
    VirtualOperators,
    load_operators,
)
from farhand.control.haptic.force_map import ForceMap
from farhand.errors import BadValue, FileError


def people(seed: int = 0, **named: float) -> VirtualOperators:
    """The published seven."""
    return VirtualOperators(load_operators(), np.random.default_rng(seed), **named)


def test_the_file_holds_the_published_means():
    """Table 4.1 and 4.2, as printed."""
    found = load_operators()
    np.testing.assert_allclose(
        found.least.mean(axis=0), [824.3, 790.0, 891.4, 5.34, 11.43, 14.0], rtol=1e-3
    )
    np.testing.assert_allclose(
        found.most.mean(axis=0), [2485.7, 2428.6, 2528.6, 18.29, 45.57, 37.29], rtol=1e-3
    )


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_come_back_within_a_step(seed):
    """10 N/m and 0.2 N·m/rad, whoever reacts how fast."""
    truth, found = load_operators(), ThresholdProtocol().run(people(seed))
    for true, table in zip(truth[1:3], found[1:3], strict=True):
        assert np.abs(table - true)[:, :3].max() <= 10.0 + 1e-9
        assert np.abs(table - true)[:, 3:].max() <= 0.2 + 1e-9


def test_without_rehearsal_every_threshold_is_too_high_by_the_reaction():
    """A quarter of a second at 1 N/s is 25 N/m, in whole steps."""
    raw = ThresholdProtocol(rehearsals=0).run(people(spread=0.0, wobble=0.0, delay=0.25))
    late = raw.least[:, :3] - load_operators().least[:, :3]
    assert set(np.round(late.ravel())) <= {20.0, 30.0}


def test_a_persons_limits_fit_the_map():
    """In the order of a wrench: C, B, A of the table are x, y, z."""
    operators, scale = load_operators(), ForceMap()
    scale.use(*operators.limits("1"))
    np.testing.assert_allclose(scale.least, [4.4, 6.3, 5.4, 0.6, 0.4, 0.3])
    np.testing.assert_allclose(scale.most, [29.0, 32.0, 29.0, 3.0, 2.2, 2.0])
    scale.use(*operators.limits())
    np.testing.assert_allclose(scale.least, ForceMap().least, rtol=0.07)
    with pytest.raises(BadValue, match="1, 2"):
        operators.limits("8")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "length = 1",
        "length = 0.01\nangle = 0.1\n[[operator]]\nname = 'a'\nleast = [1]\nmost = [2]",
        "[[",
    ],
)
def test_a_bad_file_is_one_clear_line(tmp_path, text):
    """It names the file."""
    path = tmp_path / "people.toml"
    path.write_text(text)
    with pytest.raises(FileError, match=r"people\.toml") as caught:
        load_operators(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(FileError):
        load_operators(tmp_path / "none.toml")


def test_the_result_is_a_profile_itself():
    """What is found has the same form as what is known."""
    assert isinstance(ThresholdProtocol().run(people()), Operators)
