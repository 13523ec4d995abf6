"""Devices without hardware: real `adbd` processes behind a real adb server, in namespaces of their own.

Run as `unshare -Ur -m -n python -m tests.helpers.phone_lab WORK.json`: the network namespace keeps adbd,
which trusts whoever connects, away from everybody else; the mounts vanish with the process. WORK names the
scenarios, what each found is written to the file WORK names as `out`. A device is a small root file
system with the machine's own programs; `getprop` and `dumpsys` answer from files that a scenario may change.
"""

import contextlib
import io
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

import adbutils

from android_bench.phone import condition
from mobilebert_export.command_line import program as cli
from mobilebert_runtime.files import file_sha256

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = "usr/lib/x86_64-linux-gnu"
GETPROP = "#!/bin/sh\ncat /system/etc/properties\n"
DUMPSYS = """#!/bin/sh
case $1 in
battery) cat /system/etc/battery ;;
thermalservice)
  echo "Thermal Status: $(head -n 1 /system/etc/thermal)"
  if [ "$(wc -l < /system/etc/thermal)" -gt 1 ]; then sed -i 1d /system/etc/thermal; fi ;;
esac
"""
BATTERY = "  AC powered: false\n  USB powered: true\n  level: {level}\n  temperature: 281\n"
# A stand-in for the bundle's run.sh: this machine's Python runs the real device program.
RUN = 'cd {root} && PYTHONPATH={root} exec {python} -m android_bench.runner.device "$@"\n'
FIELD = 'sed -n \'s/.*"{name}": "\\([^"]*\\)".*/\\1/p\' "$1"'


class Device:
    """One adbd with a root file system of its own."""

    def __init__(self, folder, adbd, port, abi, mib=2000):
        self.root, self.adbd, self.serial, self.port = (
            folder / f"device-{port}",
            adbd,
            f"127.0.0.1:{port}",
            port,
        )
        self.root.mkdir()
        _mount("-t", "tmpfs", "-o", "size=64m", "tmpfs", self.root)
        for name in ("usr", "proc", "dev", "sys", "tmp", "data", "system/bin", "system/etc", "etc", "adbd"):
            (self.root / name).mkdir(parents=True)
        _mount("-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", self.root / "data")
        (self.root / "data/local/tmp").mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.root / name).symlink_to(f"usr/{name}")
        for source in ("/usr", "/proc", "/dev", "/sys", "/etc"):
            _mount("--rbind", source, self.root / source[1:])
        _mount("--bind", adbd, self.root / "adbd")
        for source in {str(ROOT), sys.prefix, sys.base_prefix} - {"/usr"}:
            (self.root / source[1:]).mkdir(parents=True, exist_ok=True)
            _mount("--bind", source, self.root / source[1:])
        self.write("etc/properties", _properties(abi))
        self.battery(95)
        self.thermal(0)
        for name, text in (("getprop", GETPROP), ("dumpsys", DUMPSYS)):
            self.write(f"bin/{name}", text)
            (self.root / "system/bin" / name).chmod(0o755)
        self.process = None

    def write(self, name, text):
        (self.root / "system" / name).write_text(text)

    def battery(self, level):
        self.write("etc/battery", BATTERY.format(level=level))

    def thermal(self, *statuses):
        """The thermal status at each of the next questions; the last one stays."""
        self.write("etc/thermal", "".join(f"{status}\n" for status in statuses))

    def start(self):
        libraries = f"/adbd/{LIBRARIES}:/adbd/{LIBRARIES}/android"
        command = ["/adbd/usr/lib64/ld-linux-x86-64.so.2", "--library-path", libraries]
        command.append("/adbd/usr/lib/android-sdk/platform-tools/adbd")
        self.process = subprocess.Popen(
            [shutil.which("chroot", path="/usr/sbin:/usr/bin"), self.root, *command],
            env={"PATH": "/system/bin:/usr/bin:/bin", "HOME": "/", "ADBD_PORT": str(self.port)}
            | {name: os.environ[name] for name in ("QEMU_CPU",) if name in os.environ},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        client = adbutils.AdbClient()
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(adbutils.AdbError):
                client.connect(self.serial, timeout=5)
            if {one.serial: one.state for one in client.list()}.get(self.serial) == "device":
                return self
            time.sleep(0.2)
        raise RuntimeError(f"adbd on port {self.port} did not come up")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        with contextlib.suppress(adbutils.AdbError):
            adbutils.AdbClient().disconnect(self.serial)


class Lab:
    """Devices, bundles and the program under test."""

    def __init__(self, folder, work):
        self.folder, self.work = folder, work
        self.artefact = Path(work["artefact"])
        self.ports = iter(range(5601, 5900, 2))
        self.devices = []

    def device(self, abi=None, **options):
        abi = abi or platform.machine()
        device = Device(self.folder, Path(self.work["adbd"]), next(self.ports), abi, **options)
        self.devices.append(device)
        return device.start()

    def bundle(self, name="good", script="", mib=0, machine=None):
        """A bundle of this machine's architecture whose run.sh does something before the program runs."""
        path = self.folder / f"{name}.tar"
        run = script + RUN.format(root=ROOT, python=sys.executable)
        with tarfile.open(path, "w") as tar:
            for member, content in (("run.sh", run.encode()), ("ballast", bytes(mib << 20))):
                entry = tarfile.TarInfo(member)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        facts = {
            "target": "onnx",
            "machine": machine or platform.machine(),
            "abi": platform.machine(),
            "versions": {},
            "sha256": file_sha256(path),
        }
        path.with_suffix(".json").write_text(json.dumps(facts))
        return path

    def phone(self, *arguments):
        """Run `mobilebert phone …`: exit code, what it printed, and its error line."""
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                cli.main(["phone", *map(str, arguments)])
                code = 0
            except SystemExit as end:
                code = end.code
        said = [line for line in errors.getvalue().splitlines() if line.startswith("mobilebert:")]
        return {"code": code, "out": out.getvalue(), "error": said[-1] if said else ""}

    def bench(self, bundle, *options, artefacts=None):
        given = artefacts or [self.artefact]
        return self.phone("bench", *given, "--bundle", bundle, "--sessions", 1, "--seconds", 0.01, *options)

    def clear(self):
        for device in self.devices:
            device.stop()
        self.devices.clear()


def no_device(lab):
    return lab.bench(lab.bundle()) | {"devices": lab.phone("devices")}


def happy(lab):
    device = lab.device()
    twin = lab.folder / "twin"
    shutil.copytree(lab.artefact, twin)
    bundle, out = lab.bundle(), lab.folder / "happy"
    found = lab.bench(bundle, "--sessions", 2, "--out", out, artefacts=[lab.artefact, twin])
    mark = next((device.root / "data/local/tmp/mobilebert").glob("runner-*/complete"))
    first = mark.stat().st_mtime_ns
    found["devices"] = lab.phone("devices")
    found["match"] = lab.phone("match", lab.artefact, *lab.work["pairs"][0], "--bundle", bundle)
    found["installed_once"] = mark.stat().st_mtime_ns == first
    found["refused"] = lab.bench(bundle, "--out", out)
    for suffix in (".json", ".md", ".png"):
        shutil.copy(out.with_name(f"happy{suffix}"), Path(lab.work["out"]).with_name(f"happy{suffix}"))
    return found


def dies(lab):
    device = lab.device()
    started = device.root / "data/local/tmp/started"

    def kill():
        while not started.exists():
            time.sleep(0.05)
        device.process.send_signal(signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    return lab.bench(lab.bundle("dies", "touch /data/local/tmp/started; sleep 30; exit 0\n"))


def ends_early(lab):
    lab.device()
    return lab.bench(lab.bundle("early", "echo working; exit 0\n"))


def crashes(lab):
    lab.device()
    return lab.bench(lab.bundle("crash", "kill -SEGV $$\n"))


def truncated(lab):
    """The runner writes, hashes and announces its result; then the file is cut, as by a full disk."""
    lab.device()
    script = f"out=$({FIELD.format(name='out')})\n"
    script += f'(cd {ROOT} && {sys.executable} -m android_bench.runner.device "$@") > /tmp/said || exit 3\n'
    script += 'head -c 100 "$out" > "$out.cut" && mv "$out.cut" "$out"; cat /tmp/said; exit 0\n'
    return lab.bench(lab.bundle("truncated", script))


def replayed(lab):
    """An older run's answer with its own valid end line is not this run's."""
    lab.device()
    line = "MOBILEBERT-END 0011223344556677 " + "0" * 64
    return lab.bench(lab.bundle("replayed", f"echo {line}; exit 0\n"))


def tampered_on_device(lab):
    lab.device()
    script = f'folder=$({FIELD.format(name="folder")})\nprintf x >> "$folder"/model.onnx\n'
    return lab.bench(lab.bundle("tampered", script))


def tampered_here(lab):
    lab.device()
    changed = lab.folder / "changed"
    shutil.copytree(lab.artefact, changed)
    model = bytearray((changed / "model.onnx").read_bytes())
    model[len(model) // 2] ^= 1
    (changed / "model.onnx").write_bytes(model)
    return lab.bench(lab.bundle(), artefacts=[changed])


def disk_full(lab):
    device = lab.device(mib=16)
    found = lab.bench(lab.bundle("large", mib=48))
    found["left"] = [path.name for path in (device.root / "data/local/tmp/mobilebert").rglob("*.tar")]
    return found


def wrong_abi(lab):
    lab.device(abi="armeabi-v7a")
    return lab.bench(lab.bundle())


def two_devices(lab):
    lab.device()
    second = lab.device()
    bundle = lab.bundle()
    return {
        "ambiguous": lab.bench(bundle),
        "chosen": lab.bench(bundle, "--serial", second.serial),
        "unknown": lab.bench(bundle, "--serial", "nobody"),
    }


def offline(lab):
    """A listener that never answers the adb handshake is what the server calls offline."""
    server = socket.create_server(("127.0.0.1", next(lab.ports)))
    serial = f"127.0.0.1:{server.getsockname()[1]}"
    client = adbutils.AdbClient()

    def connect():
        with contextlib.suppress(adbutils.AdbError, OSError):
            client.connect(serial, timeout=20)

    threading.Thread(target=connect, daemon=True).start()
    until = time.monotonic() + 20
    while time.monotonic() < until and serial not in {one.serial for one in client.list()}:
        time.sleep(0.1)
    found = lab.bench(lab.bundle(), "--serial", serial)
    server.close()
    with contextlib.suppress(adbutils.AdbError):
        client.disconnect(serial)
    return found


def hot(lab):
    device = lab.device()
    condition.COOL_STEP_S = 0.01
    device.thermal(3, 2, 0)
    cooled = lab.bench(lab.bundle(), "--out", lab.folder / "hot")
    record = json.loads((lab.folder / "hot.json").read_text())
    # Cool before, hot after: that session is repeated; the next one counts.
    device.thermal(0, 4, 0)
    again = lab.bench(lab.bundle(), "--out", lab.folder / "again")
    repeated = json.loads((lab.folder / "again.json").read_text())["settings"]["repeated_sessions"]
    condition.COOL_LIMIT_S = 0.05
    device.thermal(5)
    never = lab.bench(lab.bundle())
    device.thermal(0)
    device.battery(7)
    before = record["mobilebert"]["before"]
    return {"cooled": cooled, "before": before, "again": again, "repeated": repeated, "never": never} | {
        "empty": lab.bench(lab.bundle())
    }


def sustained(lab):
    """Killed after its first part, run again; the bundle says that it is for another machine: emulated."""
    lab.device()
    bundle, out = lab.bundle("other", machine="another"), lab.folder / "sustained"
    options = ["--sustained", "3s", "--threads", 1, "--bundle", bundle, "--out", out]
    parts = out.with_name(".sustained.parts.jsonl")
    command = [sys.executable, "-m", "mobilebert_export", "phone", "bench", lab.artefact, *options]
    first = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while first.poll() is None and not (parts.exists() and len(parts.read_text().splitlines()) > 1):
        time.sleep(0.05)
    first.kill()
    first.wait()
    with parts.open("a") as file:
        file.write('{"session": {"candidate": "cut sho')
    kept = parts.read_text().splitlines()[1:-1]
    found = lab.phone("bench", lab.artefact, *options)
    found |= {"kept": [json.loads(line) for line in kept], "left": parts.exists()}
    for suffix in (".json", ".md") if found["code"] == 0 else ():
        shutil.copy(
            out.with_name(f"sustained{suffix}"), Path(lab.work["out"]).with_name(f"sustained{suffix}")
        )
    return found | {"without_out": lab.phone("bench", lab.artefact, *options[:-2])}


def emulated_arm(lab):
    """The real bundle for 64-bit Arm, run by binfmt_misc and qemu inside the device's shell."""
    _mount("-t", "binfmt_misc", "binfmt_misc", "/proc/sys/fs/binfmt_misc")
    magic = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    mask = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    rule = f":arm64:M::{magic}:{mask}:{lab.work['qemu']}:F"
    Path("/proc/sys/fs/binfmt_misc/register").write_text(rule)
    lab.device(abi="arm64-v8a,armeabi-v7a")
    out = lab.folder / "emulated"
    options = ["--bundle", lab.work["arm_bundle"], "--threads", 1]
    found = lab.phone(
        "bench", lab.work["arm_artefact"], *options, "--sessions", 1, "--seconds", 0.01, "--out", out
    )
    rows = lab.folder / "rows.tsv"
    rows.write_text("text_a\ttext_b\n" + "".join(f"{a}\t{b}\n" for a, b in lab.work["pairs"]))
    found["match"] = lab.phone("match", lab.work["arm_artefact"], "--pairs", rows, *options)
    if found["code"] == 0:
        for suffix in (".json", ".md"):
            shutil.copy(
                out.with_name(f"emulated{suffix}"), Path(lab.work["out"]).with_name(f"emulated{suffix}")
            )
    return found


def _properties(abi):
    values = {
        "ro.product.brand": "nobody",
        "ro.product.model": "Stand-in",
        "ro.product.device": "standin",
        "ro.product.cpu.abilist": abi,
        "ro.build.fingerprint": "nobody/standin/1",
        "ro.build.id": "S1",
        "ro.build.type": "user",
        "ro.build.version.codename": "REL",
        "ro.build.version.sdk": "34",
    }
    return "".join(f"[{key}]: [{value}]\n" for key, value in values.items())


def _mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True)


def main():
    work = json.loads(Path(sys.argv[1]).read_text())
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    folder = Path(work["folder"])
    os.environ["HOME"] = str(folder)
    results = {}
    lab = Lab(folder, work)
    for name in work["scenarios"]:
        start = time.monotonic()
        try:
            results[name] = globals()[name](lab)
        finally:
            lab.clear()
            for path in (folder / "twin", folder / "changed"):
                shutil.rmtree(path, ignore_errors=True)
        results[name]["wall_s"] = round(time.monotonic() - start, 1)
        Path(work["out"]).write_text(json.dumps(results, indent=1))
    with contextlib.suppress(adbutils.AdbError, OSError):
        adbutils.AdbClient().server_kill()


if __name__ == "__main__":
    main()
