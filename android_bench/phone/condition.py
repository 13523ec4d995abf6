"""What a device is, and whether it is fit to be measured: battery, clock governors, heat."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from android_bench.phone.adb import Phone, PhoneError, PhoneRunError

BATTERY_PERCENT = 25
COOL_LIMIT_S, COOL_STEP_S = 900.0, 15.0
# android.os.PowerManager.THERMAL_STATUS_*
THERMAL = ("none", "light", "moderate", "severe", "critical", "emergency", "shutdown")


@dataclass(frozen=True)
class PhoneFacts:
    """What stays: names and versions from its system properties, its processor."""

    serial: str
    brand: str
    model: str
    device: str
    fingerprint: str
    build_id: str
    build_type: str
    codename: str
    sdk: int
    abis: tuple[str, ...]
    machine: str  # `uname -m` of its shell
    cores: int
    max_khz: tuple[int, ...]  # per core; empty when the device hides them
    memory_bytes: int
    emulator: bool

    @classmethod
    def of(cls, phone: Phone) -> "PhoneFacts":
        """Ask a device."""
        properties = _properties(phone)

        def text(key: str) -> str:
            return properties.get(key, "")

        abis = text("ro.product.cpu.abilist") or text("ro.product.cpu.abi")
        sdk = text("ro.build.version.sdk")
        memory = re.search(r"MemTotal:\s+(\d+)", phone.attempt("cat /proc/meminfo")[1])
        clocks = phone.attempt("cat /sys/devices/system/cpu/cpu[0-9]*/cpufreq/cpuinfo_max_freq")[1].split()
        return cls(
            serial=phone.serial,
            brand=text("ro.product.brand"),
            model=text("ro.product.model"),
            device=text("ro.product.device"),
            fingerprint=text("ro.build.fingerprint"),
            build_id=text("ro.build.id"),
            build_type=text("ro.build.type"),
            codename=text("ro.build.version.codename"),
            sdk=int(sdk) if sdk.isdigit() else 0,
            abis=tuple(abi for abi in abis.split(",") if abi),
            machine=phone.shell("uname -m").strip(),
            cores=phone.attempt("cat /proc/cpuinfo")[1].count("processor\t"),
            max_khz=tuple(int(clock) for clock in clocks if clock.isdigit()),
            memory_bytes=1024 * int(memory[1]) if memory else 0,
            emulator=text("ro.kernel.qemu") == "1" or text("ro.boot.qemu") == "1",
        )


@dataclass(frozen=True)
class Condition:
    """What changes; None where the device does not tell."""

    battery_percent: int | None
    battery_celsius: float | None
    plugged: bool | None
    thermal: int | None  # index into THERMAL
    governors: tuple[str, ...]  # the different ones in use

    @classmethod
    def of(cls, phone: Phone) -> "Condition":
        """Ask a device."""
        battery = phone.attempt("dumpsys battery")[1]
        heat = _number(r"Thermal Status:\s*(\d+)", phone.attempt("dumpsys thermalservice")[1])
        tenths = _number(r"^\s*temperature:\s*(-?\d+)", battery)
        plugs = re.findall(r"powered:\s*(true|false)", battery)
        governors = phone.attempt("cat /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")[1]
        return cls(
            battery_percent=_number(r"^\s*level:\s*(\d+)", battery),
            battery_celsius=tenths / 10 if tenths is not None else None,
            plugged="true" in plugs if plugs else None,
            thermal=heat,
            governors=tuple(sorted(set(governors.split()))),
        )


def wait_until_fit(
    phone: Phone, told: Callable[[str], None], sleep: Callable[[float], None] = time.sleep
) -> tuple[Condition, float]:
    """The device's condition once its thermal status is "none", and the seconds waited (at most 900).

    Raises:
        PhoneRunError: it stays hot, or the battery is low: its latencies would say nothing.
    """
    waited = 0.0
    while True:
        now = Condition.of(phone)
        percent = now.battery_percent
        if percent is not None and percent < BATTERY_PERCENT:
            raise PhoneRunError(
                f"{phone.serial}: battery at {percent}%; charge it to {BATTERY_PERCENT}% first"
            )
        if not now.thermal:
            return now, waited
        if waited >= COOL_LIMIT_S:
            raise PhoneRunError(
                f"{phone.serial}: still at thermal status {THERMAL[now.thermal]} {waited:.0f} s later; "
                "let it cool, out of the sun and out of its case"
            )
        told(f"cooling down: thermal status {THERMAL[now.thermal]}")
        sleep(COOL_STEP_S)
        waited += COOL_STEP_S


def require_abi(facts: PhoneFacts, abi: str) -> None:
    """Refuse a device that can't run a bundle of this ABI with a `PhoneError`."""
    if abi not in facts.abis:
        raise PhoneError(
            f"{facts.serial}: is for {', '.join(facts.abis) or 'an unknown ABI'}; the bundle needs {abi}"
        )


def _properties(phone: Phone) -> dict[str, str]:
    return dict(re.findall(r"^\[(.+?)\]: \[(.*)\]\s*$", phone.shell("getprop"), re.MULTILINE))


def _number(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text, re.MULTILINE)
    return int(found[1]) if found else None
