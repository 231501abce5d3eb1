"""Whether this computer can run a loop in real time, and what to change."""

from __future__ import annotations

import gzip
import os
import platform
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from farhand.loop.clock import WallClock
from farhand.realtime.privileges import Grant, real_time
from farhand.realtime.timing import Histogram

CONFIG = ("/proc/config.gz", f"/boot/config-{platform.release()}")
SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
READINGS = 2000
GOOD_SOURCES = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
MAX_LOAD = 0.7  # of the usable cores

MEASURED_HZ = 1000.0
JUDGED_HZ = (250, 500, 1000, 4000)
LATE_SHARE = 0.1
"""Share of a period that a tick may be late without harm."""


def describe_machine() -> dict[str, Any]:
    """Clock, kernel, cores and limits; None for what the system does not say."""
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
    return {
        "source": _read(SOURCE),
        "resolution": info.resolution,
        "step": min(steps) * 1e-9 if steps else None,
        "monotonic": info.monotonic,
    }


def _kernel() -> dict[str, Any]:
    """Version, timer frequency [Hz], and how far the kernel itself can be interrupted."""
    match = re.search(r"PREEMPT\w*", platform.version())
    preemption = match.group() if match else None
    if _read("/sys/kernel/realtime") == "1":
        preemption = "PREEMPT_RT"
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
            data = gzip.decompress(data) if name.endswith(".gz") else data
            if match := re.search(rb"^CONFIG_HZ=(\d+)", data, re.MULTILINE):
                return int(match.group(1))
    return None


def _is_guest() -> bool | None:
    text = _read("/proc/cpuinfo")
    if text is None:
        return None
    return bool(re.search(r"^flags\s*:.*\bhypervisor\b", text, re.MULTILINE))


def _cores() -> dict[str, Any]:
    """How many there are, which are usable or isolated, and their frequency governor."""
    usable = list(range(os.cpu_count() or 1))
    if hasattr(os, "sched_getaffinity"):
        usable = sorted(os.sched_getaffinity(0))
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
    """Memory that may be locked [bytes], highest priority, and share of time at that priority."""
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


def advice(machine: dict[str, Any], jitter: dict[str, Any]) -> list[str]:
    """What to change, the most useful first; nothing where every rate is ok.

    Args:
        machine: from :func:`describe_machine`, before the loop was measured.
        jitter: from :meth:`farhand.realtime.doctor.Jitter.result`.
    """
    if all(verdict == "ok" for verdict in jitter["verdicts"].values()):
        return []
    return [*_refused(jitter), *_surroundings(machine), *_deeper(machine)]


def _refused(jitter: dict[str, Any]) -> Iterator[str]:
    for grant in jitter["privileges"]:
        if not grant["had"]:
            yield f"{grant['name']}: {grant['cure']}"


def _surroundings(machine: dict[str, Any]) -> Iterator[str]:
    cores, clock = machine["cores"], machine["clock"]
    load, usable = cores["load"], len(cores["usable"])
    if load is not None and load > MAX_LOAD * usable:
        measured = f"the load was {load:.1f} on {usable} cores before the loop"
        yield f"other programs: {measured}; stop what you do not need"
    if usable < 2:
        yield "cores: loop, page and recorder share one core; use a machine with two or more"
    if cores["governor"] not in (None, "performance"):
        remedy = "run 'cpupower frequency-set -g performance'"
        yield f"cores: the frequency governor is {cores['governor']}; {remedy}"
    if clock["source"] not in (None, *GOOD_SOURCES):
        remedy = "boot with clocksource=tsc if the processor has an invariant TSC"
        yield f"clock: {clock['source']} is slow to read; {remedy}"


def _deeper(machine: dict[str, Any]) -> Iterator[str]:
    cores, kernel = machine["cores"], machine["kernel"]
    if not cores["isolated"] and len(cores["usable"]) > 1:
        last = cores["usable"][-1]
        boot = f"boot with 'isolcpus={last} nohz_full={last}' and run with --core {last}"
        yield f"cores: none is isolated; {boot}"
    if kernel["preemption"] != "PREEMPT_RT":
        yield "kernel: this is not a real-time kernel; PREEMPT_RT bounds the longest delay"
    if kernel["virtual_machine"]:
        reason = "its host pauses it for milliseconds, and nothing inside can prevent that"
        yield f"virtual machine: {reason}; use a real one"


def measure(
    seconds: float, core: int | None = None, progress: Callable[[float], None] | None = None
) -> Jitter:
    """Run the loop with the privileges of a real one.

    Args:
        seconds: how long, [s].
        core: to stay on; any by default.
        progress: called with the share that is done, about twice a second, outside the ticks.
    """
    clock, late, period_ns = WallClock(), Histogram(), round(1e9 / MEASURED_HZ)
    ticks, batch = round(seconds * MEASURED_HZ), round(MEASURED_HZ / 2)
    with real_time(core) as grants:
        done = 0
        while done < ticks:
            clock.start()
            for tick in range(1, min(batch, ticks - done) + 1):
                clock.wait_until(tick * period_ns)
                late.add(clock.late_ns)
            done += batch
            if progress is not None:
                progress(min(done / ticks, 1.0))
    return Jitter(late, list(grants))


class Jitter:
    """How late the ticks of an empty loop began.

    Args:
        late: all of them.
        grants: what the operating system granted the loop.
    """

    def __init__(self, late: Histogram, grants: list[Grant]) -> None:
        self.late, self.grants = late, grants

    @property
    def scheduler(self) -> str:
        """What the loop ran under."""
        return next((grant.what for grant in self.grants if grant.name == "scheduler"), "ordinary")

    @property
    def overruns(self) -> int:
        """Ticks that began more than a period late."""
        return self.late.over(1.0 / MEASURED_HZ)

    def verdicts(self) -> dict[str, str]:
        """Each of :data:`JUDGED_HZ` judged by :func:`verdict`."""
        return {str(rate): verdict(self.late, 1.0 / rate) for rate in JUDGED_HZ}

    def result(self) -> dict[str, Any]:
        """All of it, ready for JSON; times in s."""
        return {
            "rate": MEASURED_HZ,
            "ticks": self.late.count,
            "overruns": self.overruns,
            "scheduler": self.scheduler,
            "lateness": self.late.summary(),
            "verdicts": self.verdicts(),
            "privileges": [asdict(grant) for grant in self.grants],
            "histogram": [list(bar) for bar in self.late.bars()],
        }


def verdict(late: Histogram, period: float) -> str:
    """Whether a loop of that period [s] holds its rate on a machine with that lateness.

    - ``ok``: 99.9 % of the ticks begin within a tenth of the period after their time;
    - ``marginal``: 99 % do, and 99.9 % within a whole period;
    - ``no``: anything worse.

    The longest delay does not count: without a real-time kernel it is a matter of chance.
    """
    p99, p999 = late.percentile(99.0), late.percentile(99.9)
    if p999 <= LATE_SHARE * period:
        return "ok"
    return "marginal" if p99 <= LATE_SHARE * period and p999 <= period else "no"
