"""Machine: what of this computer matters to a real-time loop, read from the operating system and changed in nothing."""

from __future__ import annotations

import gzip
import os
import platform
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

CONFIG = ("/proc/config.gz", f"/boot/config-{platform.release()}")
SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
READINGS = 2000


def describe_machine() -> dict[str, Any]:
    """Clock, kernel, cores and limits; None for what the system does not tell."""
    return {"clock": _clock(), "kernel": _kernel(), "cores": _cores(), "limits": _limits()}


def _clock() -> dict[str, Any]:
    """The clock that the loop reads: its source, and the smallest step seen, [s]."""
    info = time.get_clock_info("monotonic")
    steps, before = [], time.monotonic_ns()
    for _ in range(READINGS):
        now = time.monotonic_ns()
        if now > before:
            steps.append(now - before)
            before = now
    step = min(steps) * 1e-9 if steps else None
    return {
        "source": _read(SOURCE),
        "resolution": info.resolution,
        "step": step,
        "monotonic": info.monotonic,
    }


def _kernel() -> dict[str, Any]:
    """Version, timer frequency [Hz], and how far the kernel itself can be interrupted."""
    version = platform.version()
    found = re.search(r"PREEMPT\w*", version)
    preemption = (
        "PREEMPT_RT" if _read("/sys/kernel/realtime") == "1" else found.group() if found else None
    )
    return {
        "release": platform.release(),
        "hz": _hz(),
        "preemption": preemption,
        "virtual_machine": _is_guest(),
    }


def _hz() -> int | None:
    for name in CONFIG:
        with suppress(OSError):
            data = Path(name).read_bytes()
            text = (gzip.decompress(data) if name.endswith(".gz") else data).decode(
                errors="replace"
            )
            if found := re.search(r"^CONFIG_HZ=(\d+)", text, re.MULTILINE):
                return int(found.group(1))
    return None


def _is_guest() -> bool | None:
    told = _read("/proc/cpuinfo")
    return (
        None if told is None else bool(re.search(r"^flags\s*:.*\bhypervisor\b", told, re.MULTILINE))
    )


def _cores() -> dict[str, Any]:
    """How many there are, which this process may use, which are isolated, and how their clock is governed."""
    usable = (
        sorted(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else list(range(os.cpu_count() or 1))
    )
    folder = Path("/sys/devices/system/cpu")
    governors = {_read(str(folder / f"cpu{core}/cpufreq/scaling_governor")) for core in usable}
    return {
        "count": os.cpu_count(),
        "usable": usable,
        "isolated": _read(str(folder / "isolated")) or "",
        "tickless": _read(str(folder / "nohz_full")) or "",
        "governor": ", ".join(sorted(name for name in governors if name)) or None,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def _limits() -> dict[str, Any]:
    """How much memory may be locked [bytes], the highest priority an ordinary user may take, and the kernel's brake."""
    import resource

    def limit(which: int) -> int | str:
        soft = resource.getrlimit(which)[0]
        return "unlimited" if soft == resource.RLIM_INFINITY else soft

    priority = limit(resource.RLIMIT_RTPRIO) if hasattr(resource, "RLIMIT_RTPRIO") else None
    runtime = _read("/proc/sys/kernel/sched_rt_runtime_us")
    return {
        "memory_lock": limit(resource.RLIMIT_MEMLOCK),
        "priority": priority,
        "share": None if runtime is None else 1.0 if int(runtime) < 0 else int(runtime) / 1e6,
    }


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return None
