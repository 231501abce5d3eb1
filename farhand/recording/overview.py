"""Overview: what is in a recording, in numbers a person asks for first."""

from __future__ import annotations

from typing import Any

import numpy as np

from farhand.recording.loader import Recording, StreamData

Array = np.ndarray

GAP = 1.5
"""A pause between two records longer than this many periods is a gap."""

ENERGY = "port_energy"


def overview(recording: Recording) -> dict[str, Any]:
    """Duration, streams with true rates and gaps, signals, peak forces, energy and events; plain JSON values."""
    lost = recording.metadata.get("lost", {})
    return {
        "file": str(recording.path),
        "bytes": recording.path.stat().st_size,
        "complete": recording.complete,
        "ended": recording.metadata.get("ended"),
        "duration": recording.duration,
        "about": {
            k: recording.metadata.get(k)
            for k in ("rig", "law", "scenario", "seed", "version", "clock")
        },
        "streams": {
            name: rate_of(stream) | {"lost": int(lost.get(name, 0))}
            for name, stream in recording.streams.items()
        },
        "signals": {
            f"{name}/{key}": row
            for name, s in recording.streams.items()
            for key, row in _signals(s).items()
        },
        "peaks": {
            key: row
            for name, s in recording.streams.items()
            for key, row in _peaks(name, s).items()
        },
        "energy": {
            key: row
            for name, s in recording.streams.items()
            for key, row in _energy(name, s).items()
        },
        "events": [
            {"time": event.time_ns / 1e9, "kind": event.kind, "text": event.text}
            for event in recording.happened
        ],
    }


def rate_of(stream: StreamData) -> dict[str, Any]:
    """True rate [Hz] beside the nominal one, and where records are missing."""
    steps = np.diff(stream.times_ns)
    period = 1e9 / stream.rate
    gaps = np.flatnonzero(steps > GAP * period)
    span = float(stream.times_ns[-1] - stream.times_ns[0]) if steps.size else 0.0
    return {
        "records": int(stream.times_ns.size),
        "nominal_rate": stream.rate,
        "rate": steps.size / span * 1e9 if span else None,
        "gaps": int(gaps.size),
        "longest_gap": float(steps[gaps].max()) * 1e-9 if gaps.size else 0.0,
        "oldest_sample": float((stream.times_ns - stream.device_ns).max(initial=0)) * 1e-9,
    }


def _signals(stream: StreamData) -> dict[str, dict[str, Any]]:
    rows = {}
    for name, values in stream.channels.items():
        known = values[np.isfinite(values)]
        rows[name] = {
            "size": values.shape[1],
            "unit": stream.units[name],
            "min": float(known.min()) if known.size else None,
            "max": float(known.max()) if known.size else None,
            "missing": int(np.isnan(values).all(axis=1).sum()),
        }
    return rows


def _peaks(name: str, stream: StreamData) -> dict[str, dict[str, float]]:
    """Largest force and torque of every wrench, and when."""
    found = {}
    for channel, values in stream.channels.items():
        if (
            channel.startswith("wrench")
            and values.shape[1] == 6
            and np.isfinite(values).all(axis=1).any()
        ):
            force, torque = (
                np.linalg.norm(values[:, part], axis=1) for part in (slice(0, 3), slice(3, 6))
            )
            at, turned = int(np.nanargmax(force)), int(np.nanargmax(torque))
            found[f"{name}/{channel}"] = {
                "force": float(force[at]),
                "time": float(stream.times_ns[at]) * 1e-9,
                "torque": float(torque[turned]),
                "torque_time": float(stream.times_ns[turned]) * 1e-9,
            }
    return found


def _energy(name: str, stream: StreamData) -> dict[str, dict[str, float]]:
    """Energy put into a coupling by both sides together: at the end, and the least it ever was."""
    if ENERGY not in stream.channels or not stream.times_ns.size:
        return {}
    total = np.nansum(stream.channels[ENERGY], axis=1)  # one side alone does not know the other's
    return {name: {"final": float(total[-1]), "least": float(total.min())}}
