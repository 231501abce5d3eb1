"""What is in a recording: the numbers a person asks for first."""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.recording.loader import Recording, StreamData

Array = np.ndarray

MIN_GAP_PERIODS = 1.5
"""A longer pause between two records is a gap."""

ENERGY = "port_energy"
ABOUT = ("rig", "law", "scenario", "seed", "version", "clock")


def overview(recording: Recording) -> dict[str, Any]:
    """Duration, streams with true rates and gaps, signals, peaks, energy and events, for JSON."""
    lost, streams = recording.metadata.get("lost", {}), recording.streams.items()
    signals: dict[str, Any] = {}
    peaks: dict[str, Any] = {}
    energy: dict[str, Any] = {}
    for name, stream in streams:
        signals |= _signals(name, stream)
        peaks |= _peaks(name, stream)
        energy |= _energy(name, stream)
    return {
        "file": str(recording.path),
        "bytes": recording.path.stat().st_size,
        "complete": recording.complete,
        "ended": recording.metadata.get("ended"),
        "duration": recording.duration,
        "about": {key: recording.metadata.get(key) for key in ABOUT},
        "streams": {n: rate_of(s) | {"lost": int(lost.get(n, 0))} for n, s in streams},
        "signals": signals,
        "peaks": peaks,
        "energy": energy,
        "events": [
            {"time": event.time_ns / 1e9, "kind": event.kind, "text": event.text}
            for event in recording.happened
        ],
    }


def rate_of(stream: StreamData) -> dict[str, Any]:
    """True rate [Hz] beside the nominal one, and where records are missing."""
    steps = np.diff(stream.times_ns)
    period = 1e9 / stream.rate
    gaps = np.flatnonzero(steps > MIN_GAP_PERIODS * period)
    span = float(stream.times_ns[-1] - stream.times_ns[0]) if steps.size else 0.0
    return {
        "records": int(stream.times_ns.size),
        "nominal_rate": stream.rate,
        "rate": steps.size / span * 1e9 if span else None,
        "gaps": int(gaps.size),
        "longest_gap": float(steps[gaps].max()) * 1e-9 if gaps.size else 0.0,
        "oldest_sample": float((stream.times_ns - stream.device_ns).max(initial=0)) * 1e-9,
    }


def _signals(name: str, stream: StreamData) -> dict[str, dict[str, Any]]:
    rows = {}
    for channel, values in stream.channels.items():
        known = values[np.isfinite(values)]
        rows[f"{name}/{channel}"] = {
            "size": values.shape[1],
            "unit": stream.units[channel],
            "min": float(known.min()) if known.size else None,
            "max": float(known.max()) if known.size else None,
            "missing": int(np.isnan(values).all(axis=1).sum()),
        }
    return rows


def _peaks(name: str, stream: StreamData) -> dict[str, dict[str, float]]:
    """Largest force and torque of every wrench, and when."""
    rows = {}
    for channel, values in stream.channels.items():
        wrench = channel.startswith("wrench") and values.shape[1] == 6
        if wrench and np.isfinite(values).all(axis=1).any():
            force, torque = (np.linalg.norm(v, axis=1) for v in (values[:, :3], values[:, 3:]))
            at, torque_at = int(np.nanargmax(force)), int(np.nanargmax(torque))
            rows[f"{name}/{channel}"] = {
                "force": float(force[at]),
                "time": float(stream.times_ns[at]) * 1e-9,
                "torque": float(torque[torque_at]),
                "torque_time": float(stream.times_ns[torque_at]) * 1e-9,
            }
    return rows


def _energy(name: str, stream: StreamData) -> dict[str, dict[str, float]]:
    """Energy put into a coupling by both sides together: at the end, and the least it ever was."""
    if ENERGY not in stream.channels or not stream.times_ns.size:
        return {}
    # One side alone does not know the other's energy
    total = np.nansum(stream.channels[ENERGY], axis=1)
    return {name: {"final": float(total[-1]), "least": float(total.min())}}
