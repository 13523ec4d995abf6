"""The runner on a device: installed once, given tasks, believed only with end line and hash."""

import hashlib
import json
import secrets
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from android_bench.phone.adb import Phone, PhoneRunError
from android_bench.runner.bundle import Bundle
from mobilebert_runtime.card import check_checksums
from mobilebert_runtime.files import file_sha256

FOLDER = "/data/local/tmp/mobilebert"
SENTINEL = "MOBILEBERT-END"
TASK_LIMIT_S = 1800.0


class Runner:
    """A bundle installed on a device, with the artefacts that were copied there."""

    def __init__(self, phone: Phone, bundle: Bundle) -> None:
        """Install the bundle unless the device has exactly this one."""
        self.phone = phone
        self.home = f"{FOLDER}/runner-{bundle.sha256[:16]}"
        phone.shell(f"mkdir -p {self.home}")
        mark = f"{self.home}/complete"
        if phone.attempt(f"cat {mark}")[1].strip() == bundle.sha256:
            return
        archive = f"{FOLDER}/runner.tar"
        phone.push(bundle.path, archive)
        phone.shell(f"cd {self.home} && tar xf {archive} && rm {archive}", limit_s=600)
        phone.shell(f"echo {bundle.sha256} > {mark}")

    def put(self, artefact: Path) -> str:
        """Copy an artefact folder to the device, every file hashed there; its folder on the device.

        Raises:
            ArtefactError: a local file is not what SHA256SUMS says; nothing is copied.
        """
        check_checksums(artefact)
        remote = f"{FOLDER}/artefact-{file_sha256(artefact / 'SHA256SUMS')[:16]}"
        self.phone.shell(f"mkdir -p {remote}")
        for path in sorted(artefact.iterdir()):
            if path.is_file():
                self.phone.push(path, f"{remote}/{path.name}")
        return remote

    def run(self, artefact: Path, pairs: Sequence[tuple[str, str]], **task: Any) -> dict[str, Any]:
        """Put the artefact there, do one task (see `runner.device.run`), and return its checked result.

        Raises:
            PhoneRunError: the device was lost, the runner failed, or its result is missing, cut short,
                changed, another task's or another model's.
        """
        nonce = secrets.token_hex(8)
        folder = self.put(artefact)
        task_file, out = f"{self.home}/task.json", f"{self.home}/result-{nonce}.json"
        whole = {**task, "folder": folder, "pairs": list(pairs), "nonce": nonce, "out": out}
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(whole, file)
            file.flush()
            self.phone.push(Path(file.name), task_file)
        said = self.phone.shell(f"sh {self.home}/run.sh {shlex.quote(task_file)}", limit_s=TASK_LIMIT_S)
        claimed = _claimed_hash(said, nonce, self.phone.serial)
        answer = self.phone.pull(out)
        self.phone.attempt(f"rm -f {out} {task_file}")
        return _checked(answer, claimed, nonce, file_sha256(artefact / "SHA256SUMS"), self.phone.serial)


def _claimed_hash(said: str, nonce: str, serial: str) -> str:
    """The hash in the runner's last line; without that line the run did not end, whatever adb's exit code."""
    words = (said.strip().splitlines() or [""])[-1].split()
    if len(words) != 3 or words[:2] != [SENTINEL, nonce]:
        raise PhoneRunError(
            f"{serial}: the run did not end (no end line); it was stopped: keep the device awake"
        )
    return words[2]


def _checked(answer: bytes, claimed: str, nonce: str, checksums: str, serial: str) -> dict[str, Any]:
    if hashlib.sha256(answer).hexdigest() != claimed:
        raise PhoneRunError(
            f"{serial}: the result ({len(answer)} bytes) is not what the runner wrote: cut short or changed"
        )
    try:
        result = json.loads(answer)
    except ValueError as error:
        raise PhoneRunError(f"{serial}: the result is no JSON ({error})") from None
    if result.get("nonce") != nonce or result.get("checksums") != checksums:
        raise PhoneRunError(f"{serial}: the result belongs to another task or another model")
    return result
