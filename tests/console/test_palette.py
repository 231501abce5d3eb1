"""The colours that carry a meaning can be told apart by people who see no red, no green or no
blue.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from farhand.console import palette

MEANINGS = {
    "leader": palette.ROLES["leader"],
    "follower": palette.ROLES["follower"],
    "hand": palette.HAND,
    "coupling": palette.COUPLING,
    "spring": palette.SPRING,
    "limits": palette.LIMITS,
}

SEEN = {  # Machado, Oliveira and Fernandes 2009, full strength, on linear RGB
    "as usual": np.eye(3),
    "without red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "without green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "without blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}

XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = XYZ.sum(axis=1)


def lab(colour: palette.Colour, eye: np.ndarray) -> np.ndarray:
    """A colour of the screen in CIE L*a*b*, as an eye sees it."""
    share = np.array(colour) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    ratio = XYZ @ np.clip(np.array(eye) @ linear, 0.0, 1.0) / WHITE
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16.0 / 116.0)
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


@pytest.mark.parametrize("eye", SEEN)
def test_colours_with_a_meaning_can_be_told_apart(eye):
    """Ten units of L*a*b* are a difference anybody sees at a glance; leader and follower differ by
    far more.
    """
    seen = {name: lab(colour, SEEN[eye]) for name, colour in MEANINGS.items()}
    for (one, a), (other, b) in itertools.combinations(seen.items(), 2):
        assert np.linalg.norm(a - b) > 10.0, (one, other)
    assert np.linalg.norm(seen["leader"] - seen["follower"]) > 40.0


def test_red_and_green_of_the_same_brightness_would_be_caught():
    """The classic mistake fails the same measure."""
    red, green = (lab(colour, SEEN["without green"]) for colour in ((200, 80, 60), (120, 125, 60)))
    assert np.linalg.norm(red - green) < 10.0
