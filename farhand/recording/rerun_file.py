"""A recording as an ``.rrd`` file for Rerun: signals as curves, tools as moving frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from farhand.errors import Mismatch
from farhand.recording.columns import component_names, component_units
from farhand.recording.export import new_folder
from farhand.recording.loader import Recording, StreamData

TIMELINE = "time"
LEVELS = {"trip": "ERROR", "full": "ERROR", "lost": "WARN"}


def export_rerun(recording: Recording, folder: Path) -> Path:
    """Write ``NAME.rrd`` into a new folder, with the name of the recording.

    Raises:
        Mismatch: the Rerun library is not installed.
        FileError: the folder cannot be written.
    """
    try:
        import rerun
    except ImportError:
        raise Mismatch("this export needs Rerun: pip install 'farhand[rerun]'") from None
    name = f"{recording.path.stem}.rrd"
    with new_folder(folder) as part:
        stream = rerun.RecordingStream("farhand", recording_id=recording.path.stem)
        # In memory: Rerun's own writer gives no reason when the disk is full
        held = stream.memory_recording()
        for key, data in recording.streams.items():
            _signals(rerun, stream, key, data)
            _frames(rerun, stream, key, data)
        _events(rerun, stream, recording)
        content = held.drain_as_bytes()
        stream.disconnect()
        (part / name).write_bytes(content)
    return folder / name


def _times(rerun: Any, times_ns: np.ndarray) -> list[Any]:
    return [rerun.TimeColumn(TIMELINE, duration=times_ns.astype("timedelta64[ns]"))]


def _signals(rerun: Any, stream: Any, name: str, data: StreamData) -> None:
    """One entity per channel; its curves are named with their units."""
    for channel, values in data.channels.items():
        entity, size = f"{name}/{channel}", values.shape[1]
        units = component_units(data.units[channel], size)
        names = [f"{n} [{u}]" for n, u in zip(component_names(data, channel), units, strict=True)]
        stream.log(entity, rerun.SeriesLines(names=names), static=True)
        columns = rerun.Scalars.columns(scalars=values.ravel())
        if size > 1:
            columns = columns.partition([size] * len(values))
        rerun.send_columns(entity, _times(rerun, data.times_ns), columns, recording=stream)


def _frames(rerun: Any, stream: Any, name: str, data: StreamData) -> None:
    """One moving frame per pose."""
    for channel, position in data.channels.items():
        turned = data.channels.get(channel.replace("position_", "quaternion_", 1))
        if channel.startswith("position_") and turned is not None:
            entity = f"world/{name}/{channel.removeprefix('position_').partition('_in_')[0]}"
            columns = rerun.Transform3D.columns(translation=position, quaternion=turned)
            rerun.send_columns(entity, _times(rerun, data.times_ns), columns, recording=stream)


def _events(rerun: Any, stream: Any, recording: Recording) -> None:
    happened = recording.happened
    if happened:
        times = np.array([event.time_ns for event in happened], dtype=np.int64)
        levels = [LEVELS.get(event.kind, "INFO") for event in happened]
        columns = rerun.TextLog.columns(text=[event.text for event in happened], level=levels)
        rerun.send_columns("events", _times(rerun, times), columns, recording=stream)
