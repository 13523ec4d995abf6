"""What machine is this, and did it behave while a session ran?

`describe()` is the passport of a machine: records with different passports are never compared. `Watch` looks
at the machine before and after a session: heat, a container's processor quota, a hypervisor that gave the
processor away, other programs. Linux tells all of it under /proc and /sys; what a system does not tell is
left out, never masked. Standard library only: the worker process imports this file.
"""

import hashlib
import os
import platform
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

# Instruction sets that decide which int8 and float kernels a runtime picks (x86, then Arm).
KERNEL_FLAGS = (
    *("sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni"),
    *("avx512f", "avx512bw", "avx512_vnni", "avx512_fp16", "amx_int8"),
    *("asimd", "asimddp", "asimdhp", "i8mm", "bf16", "sve", "sve2"),
)
TICKS = os.sysconf("SC_CLK_TCK")
# Flags that this variable names, with blanks between, are hidden from the runtimes and so from `describe`.
HIDDEN_FLAGS = "MOBILEBERT_HIDDEN_FLAGS"
PASSPORT = ("cpu", "flags", "cores", "memory_gib", "architecture", "system")


def usable_cores() -> int:
    """Cores that this process may run on, where the system tells; else all of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe() -> dict[str, Any]:
    """Facts that stay: processor, kernel flags, cores, memory, system; `id` is a hash of them."""
    about = _cpuinfo()
    hidden = os.environ.get(HIDDEN_FLAGS, "").split()
    flags = read_flags() - set(hidden)
    facts: dict[str, Any] = {
        "cpu": about.get("model name") or platform.processor() or platform.machine(),
        "flags": [flag for flag in KERNEL_FLAGS if flag in flags],
        "hidden_flags": [flag for flag in KERNEL_FLAGS if flag in hidden],
        "cores": usable_cores(),
        "memory_gib": _memory_gib(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "kernel": platform.release(),
        "virtual": "hypervisor" in flags,
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "mhz_max": _kilo(_read("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")),
    }
    stable = repr([facts[key] for key in PASSPORT])
    return {"id": hashlib.sha256(stable.encode()).hexdigest()[:12], **facts}


class Watch:
    """Counters of this machine, summed over the stretches of `with watch:`.

    `facts()` returns shares of the watched wall time (1.0 = one core for the whole time): `others` (programs
    that are not this process, on the cores that this process may use: `taskset -c 0` leaves core 1 to them),
    `steal` (the hypervisor ran someone else), `quota` (the container's processor quota held us back); and
    `thermal_events`, `mhz` and `probe_ms`, the median time of a fixed loop before each stretch, which shows a
    slow processor on machines that hide their clock.
    """

    def __init__(self) -> None:
        self._wall = 0.0
        self._passed: Counter[str] = Counter()
        self._probes: list[float] = []

    def __enter__(self) -> None:
        self._probes.append(probe_ms())
        self._wall -= time.perf_counter()
        self._passed.subtract(_counters())

    def __exit__(self, *_: object) -> None:
        self._passed.update(_counters())
        self._wall += time.perf_counter()

    def facts(self) -> dict[str, Any]:
        """What happened, rounded to 4 digits."""
        passed, wall = self._passed, self._wall
        facts = {
            "others": max(0.0, passed["busy"] - passed["own"]) / wall,
            "steal": passed["steal"] / wall,
            "quota": passed["quota"] / wall,
            "thermal_events": passed["thermal"],
            "mhz": float(_cpuinfo().get("cpu MHz", 0.0)) or None,
            "probe_ms": statistics.median(self._probes),
        }
        return {key: round(value, 4) if value is not None else None for key, value in facts.items()}


def probe_ms() -> float:
    """Best of five timings of a fixed integer loop, in milliseconds: the processor's own clock_probe_ms."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        total = 0
        for step in range(40_000):
            total += step & 7
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


def peak_mib() -> float:
    """Highest resident memory of this process in MiB.

    Read from VmHWM: `ru_maxrss` keeps the parent's peak across fork and exec, so a small worker of a large
    parent would be charged with the parent's memory.
    """
    return _status_mib("VmHWM:")


def resident_mib() -> float:
    """Resident memory of this process now, in MiB."""
    return _status_mib("VmRSS:")


def _counters() -> dict[str, float]:
    """Seconds of processor time (our cores, own, stolen, held back) and thermal events since boot."""
    ours = {f"cpu{core}" for core in os.sched_getaffinity(0)} if hasattr(os, "sched_getaffinity") else {"cpu"}
    cores = [line.split() for line in _lines("/proc/stat") if line.split()[0] in ours]
    ticks = [sum(int(core[column]) for core in cores) for column in range(1, 9)]
    user, nice, system, _idle, _wait, irq, soft, steal = ticks
    quota = [
        line.split()[1] for line in _lines("/sys/fs/cgroup/cpu.stat") if line.startswith("throttled_usec")
    ]
    thermal = Path("/sys/devices/system/cpu").glob("cpu*/thermal_throttle/*_throttle_count")
    return {
        "busy": (user + nice + system + irq + soft) / TICKS,
        "steal": steal / TICKS,
        "own": time.process_time(),
        "quota": sum(map(float, quota)) / 1e6,
        "thermal": float(sum(int(_read(path) or 0) for path in thermal)),
    }


def read_flags() -> set[str]:
    """What the processor can do, by the names of /proc/cpuinfo."""
    about = _cpuinfo()
    return set(about.get("flags", about.get("Features", "")).split())


def _cpuinfo() -> dict[str, str]:
    """The first processor's entry of /proc/cpuinfo."""
    entry: dict[str, str] = {}
    for line in _lines("/proc/cpuinfo"):
        key, colon, value = line.partition(":")
        if not colon:
            break
        entry[key.strip()] = value.strip()
    return entry


def _memory_gib() -> int | None:
    total = next((line for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), None)
    return round(int(total.split()[1]) / 2**20) if total else None


def _status_mib(key: str) -> float:
    return next(
        (int(line.split()[1]) / 1024 for line in _lines("/proc/self/status") if line.startswith(key)), 0.0
    )


def _lines(path: str) -> list[str]:
    text = _read(path)
    return text.splitlines() if text else []


def _read(path: str | Path) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _kilo(text: str | None) -> int | None:
    return int(text) // 1000 if text else None
