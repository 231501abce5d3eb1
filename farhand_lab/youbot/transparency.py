"""Transparency from the hybrid matrix: how well a teleoperator hides (sources/youbot §3.19)."""

from __future__ import annotations

import numpy as np

from farhand.analysis.two_port import HybridMatrix
from farhand.errors import BadValue

Array = np.ndarray
Impedance = complex | Array
"""Force over displacement of an environment, [N/m]: one number, or one per frequency."""


def free_motion(hybrid: HybridMatrix) -> Array:
    """x_e / x_h with nothing to touch, [-]."""
    return hybrid.h[:, 1, 0]


def hard_contact(hybrid: HybridMatrix) -> Array:
    """F_e / F_h against something that does not give way, [-]."""
    h = hybrid.h
    return -h[:, 1, 0] / (h[:, 0, 0] * h[:, 1, 1] - h[:, 0, 1] * h[:, 1, 0])


def position_tracking_error(hybrid: HybridMatrix, scale: float = 1.0) -> Array:
    """Size of 1 − x_e/(s x_h) in free motion, [-]."""
    return np.abs(1.0 - free_motion(hybrid) / scale)


def force_tracking_error(hybrid: HybridMatrix, scale: float = 1.0) -> Array:
    """Size of 1 − F_e/(s F_h) in hard contact, [-]; s is how many times more the follower shall push than the hand."""
    return np.abs(1.0 - hard_contact(hybrid) / scale)


def bandwidth(frequency: Array, response: Array) -> float:
    """First frequency at which the size is 3 dB below that at the lowest one, [Hz]; infinite if it never is.

    Between samples the size is interpolated, along the logarithm of frequency where there is one.
    """
    frequency, size = np.asarray(frequency, dtype=float), np.abs(response)
    order = np.argsort(frequency)
    frequency, size = frequency[order], size[order]
    limit = size[0] / np.sqrt(2.0)
    below = np.flatnonzero(size < limit)
    if not len(below):
        return np.inf
    k = int(below[0])
    share = (size[k - 1] - limit) / (size[k - 1] - size[k])
    low, high = float(frequency[k - 1]), float(frequency[k])
    return low * (high / low) ** share if low > 0.0 else share * high


def scaling_product(motion_scale: float, force_scale: float) -> float:
    """Position ratio times force ratio, [-]; below 1 it acts like an artificial loss and helps stability."""
    return motion_scale * force_scale


def felt_impedance(hybrid: HybridMatrix, environment: Impedance) -> Array:
    """F_h / x_h with an environment F_e = Z_e x_e, [N/m]."""
    h, Z = hybrid.h, np.asarray(environment)
    return h[:, 0, 0] + h[:, 0, 1] * h[:, 1, 0] * Z / (1.0 - h[:, 1, 1] * Z)


def transparency(hybrid: HybridMatrix, environment: Impedance) -> Array:
    """Felt impedance over that of the environment, [-]; 1 is ideal."""
    return felt_impedance(hybrid, environment) / np.asarray(environment)


def fidelity(hybrid: HybridMatrix, environment: Impedance) -> Array:
    """How much more is felt of an environment that is a little stiffer, ∂Z_h/∂Z_e, [-]."""
    h = hybrid.h
    return h[:, 0, 1] * h[:, 1, 0] / (1.0 - h[:, 1, 1] * np.asarray(environment)) ** 2


def felt_inertia(
    hybrid: HybridMatrix, own: float = 0.0, band: tuple[float, float] = (1.0, 3.0)
) -> float:
    """What the hand has to accelerate in free motion beyond the leader's own mass, [kg].

    Fitted over the band [Hz] to −ω² m, the part of h_11 in phase with acceleration.

    Args:
        hybrid: with frequencies in the band.
        own: what the leader alone presents, [kg].
        band: lowest and highest frequency, [Hz].

    Raises:
        BadValue: no frequency lies in the band.
    """
    chosen = (hybrid.frequency >= band[0]) & (hybrid.frequency <= band[1])
    if not chosen.any():
        raise BadValue(
            f"no frequency between {band[0]:g} and {band[1]:g} Hz to judge the felt inertia by"
        )
    squared = hybrid.omega[chosen] ** 2
    return float(-(hybrid.h[chosen, 0, 0].real @ squared) / (squared @ squared)) - own


def range_match(
    leader: tuple[float, float], follower: tuple[float, float], scale: float = 1.0
) -> float:
    """Share of the follower's range that the leader's range, scaled, covers, [-]."""
    low, high = sorted((scale * leader[0], scale * leader[1]))
    shared = min(high, follower[1]) - max(low, follower[0])
    return max(shared, 0.0) / (follower[1] - follower[0])
