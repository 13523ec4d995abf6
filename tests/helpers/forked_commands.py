"""`mobilebert` commands in forks of one warm process, which can be killed at a chosen moment.

A moment is a training step, or a change in the folder that is watched: a file opened for writing, a rename, a
removal, a new folder. They are counted in the order in which they happen; the same command has the same ones.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CHECKPOINT_EVERY = 3  # steps, in the place of every command's own
STUDENT: dict[str, Any] = {
    "model_type": "mobilebert",
    "vocab_size": 30522,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 64,
    "hidden_act": "relu",
    "normalization_type": "no_norm",
    "embedding_size": 8,
    "intra_bottleneck_size": 8,
    "num_feedforward_networks": 2,
}
_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree"}
_LOADED = (
    "accelerate",
    "matplotlib.figure",
    "onnxruntime",
    "onnxscript",
    "torch.onnx",
    "mobilebert_training.distillation.distillation",
    "mobilebert_training.pretraining.stages",
    "mobilebert_export.command_line.program",
    "mobilebert_export.pipeline.exporter",
    "mobilebert_export.evaluation.scoring",
    "mobilebert_training.finetuning.matcher_training",
)


@dataclass(frozen=True)
class Run:
    """How a command ended: `code` as of `subprocess`, its moments and steps, and what `after` printed."""

    code: int
    moments: int
    steps: int
    error: str
    after: str


class WarmProgram:
    """A process that has imported everything, and runs each command in a fork of itself."""

    def __init__(self, folder: Path, launcher: tuple[str, ...] = ()) -> None:
        self._folder = folder
        shared = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        self._process = subprocess.Popen(
            [*launcher, sys.executable, "-m", "tests.helpers.forked_commands"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | shared,
        )

    def run(self, *arguments: Any, watch: Path, **more: Any) -> Run:
        """Run `mobilebert ARGUMENTS`.

        Args:
            arguments: of the command.
            watch: folder whose changes are moments.
            more: `kill`: (moment, signal); `before` and `after`: shell lines around it; `environment`.
        """
        assert self._process.stdin
        assert self._process.stdout
        request = {"arguments": [str(one) for one in arguments], "watch": str(watch)} | more
        request["log"] = str(self._folder / "log")
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Run(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        assert self._process.wait(60) == 0


class _Moments:
    """Counts moments in a file, which outlives a kill, and kills this process at one of them."""

    def __init__(self, watch: str, kill: tuple[int, int] | None, log: Path) -> None:
        self._watch, self._kill, self._log = watch, kill, log.open("wb", buffering=0)
        self._owner, self._count = os.getpid(), 0

    def add(self, mark: bytes) -> None:
        if os.getpid() != self._owner:  # a process of the command's own
            return
        self._count += 1
        self._log.write(mark)
        if self._kill and self._count == self._kill[0]:
            os.kill(os.getpid(), self._kill[1])

    def audit(self, event: str, values: tuple[Any, ...]) -> None:
        if event == "open":
            _, _, flags = values
            writes = flags & (os.O_WRONLY | os.O_RDWR)
            if not writes:
                return
        elif event not in _CHANGES:
            return
        path = values[0]
        if isinstance(path, str | os.PathLike) and str(path).startswith(self._watch):
            self.add(b"f")


def _command(request: dict[str, Any]) -> None:
    """In the fork: run the command; does not return."""
    from mobilebert_export.command_line import program as cli
    from mobilebert_training import trainer

    os.environ |= request.get("environment", {})
    for stream, name in ((1, "out"), (2, "err")):
        file = os.open(f"{request['log']}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, stream)
    moments = _Moments(request["watch"], request.get("kill"), Path(request["log"]))
    clip = trainer.nn.utils.clip_grad_norm_

    def step(*given: Any) -> Any:
        moments.add(b"s")
        return clip(*given)

    trainer.nn.utils.clip_grad_norm_ = step
    trainer._due = lambda step, every: every > 0 and step % CHECKPOINT_EVERY == 0
    sys.addaudithook(moments.audit)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = 70
    try:
        cli.main(request["arguments"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 (a fork may not go on as its parent would)
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _serve() -> None:
    for name in _LOADED:
        importlib.import_module(name)
    import mobilebert_models

    mobilebert_models.PRESETS["tiny"] = mobilebert_models.EncoderConfig(
        **STUDENT
    )  # `distill --student` takes presets
    for line in sys.stdin:
        request = json.loads(line)
        subprocess.run(["sh", "-ec", request.get("before", "")], check=True, stdout=sys.stderr)
        pid = os.fork()
        if not pid:
            _command(request)
        _, status = os.waitpid(pid, 0)
        after = subprocess.run(
            ["sh", "-c", request.get("after", "")], check=False, stdout=subprocess.PIPE, text=True
        )
        log = Path(request["log"])
        marks = log.read_bytes()
        values = {
            "code": os.waitstatus_to_exitcode(status),
            "moments": len(marks),
            "steps": marks.count(b"s"),
            "error": Path(f"{log}.err").read_text(errors="replace"),
            "after": after.stdout,
        }
        print(json.dumps(values), flush=True)


if __name__ == "__main__":
    _serve()
