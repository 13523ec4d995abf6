"""Damage to an artefact folder by somebody who corrects its checksums; a process that opens the result."""

import copy
import json
import os
import random
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mobilebert_export.pipeline.artefact_folder import write_checksums

ROOT = Path(__file__).resolve().parents[2]
VALUES = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    5,
    0.5,
    -5.0,
    1e-320,
    1e308,
    10**30,
    "",
    "x",
    "\0",
    "é" * 5000,
    [],
    {},
]
RAW = ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "[" * 20_000, "[" * 3000 + "]" * 3000]
FILES = ("io.json", "tokenizer.json", "vocab.txt", "SHA256SUMS")
# Fields of io.json whose other values, in their range, are another decision.
DECISIONS = ("threshold", "temperature", "length_shift", "positive")


def mutate(folder: Path, draw: random.Random, kinds: Sequence[Callable] | None = None) -> str:
    """Change one thing of all kinds, or of these; what was changed, the file first."""
    card = json.loads((folder / "io.json").read_text())
    said, sums = draw.choice(kinds or EVERYTHING)(folder, card, draw)
    if sums:
        write_checksums(folder)
    return said


def _io(folder, card, draw):
    return _json(folder / "io.json", draw)


def _tokenizer(folder, card, draw):
    return _json(folder / "tokenizer.json", draw)


def _json(path, draw):
    data = json.loads(path.read_text(encoding="utf-8"))
    where, holder, key = [], None, None
    node = data
    while isinstance(node, (dict, list)) and len(node) and (holder is None or draw.random() < 0.7):
        holder = node
        key = draw.choice(list(node)) if isinstance(node, dict) else draw.randrange(len(node))
        where.append(str(key))
        node = node[key]
    change = draw.choice(["value", "value", "value", "raw", "delete", "repeat", "other"])
    mark = "@@RAW@@"
    raw = None
    if change == "delete":
        del holder[key]
    elif change == "repeat":
        holder[key] = [copy.deepcopy(node) for _ in range(40)]
        if isinstance(node, list):
            holder[key] = copy.deepcopy(node) * 40
    elif change == "other" and isinstance(node, (int, float)):
        holder[key] = node * draw.choice([-1, 2, 1000]) + draw.choice([0, 1])
    elif change == "raw":
        raw, holder[key] = draw.choice(RAW), mark
    else:
        holder[key] = copy.deepcopy(draw.choice(VALUES))
    text = json.dumps(data)
    path.write_text(text.replace(f'"{mark}"', raw) if raw else text)
    return f"{path.name} {'.'.join(where)[:60]} {change}", True


def member_changes(path: Path) -> Iterator[tuple[str, str]]:
    """Each member of tokenizer.json but vocabulary and merges, changed each way: what, and the new text."""
    data = json.loads(path.read_text(encoding="utf-8"))
    large = [data["model"].pop("vocab"), data["model"].pop("merges", None)]
    places = list(_places(data, []))
    data["model"]["vocab"], data["model"]["merges"] = large
    if large[1] is None:
        del data["model"]["merges"]
    mark = "@@RAW@@"
    for place in places:
        holder = data
        for key in place[:-1]:
            holder = holder[key]
        key, name = place[-1], ".".join(map(str, place))
        kept = holder[key]
        for value in [*VALUES, [copy.deepcopy(kept) for _ in range(40)]]:
            holder[key] = value
            yield f"{name} = {value!r:.40}", json.dumps(data)
        holder[key] = mark
        text = json.dumps(data)
        for raw in RAW:
            yield f"{name} = {raw:.20}", text.replace(f'"{mark}"', raw)
        holder[key] = kept
        # Read again, so that a deleted member comes back in its place.
        less = json.loads(json.dumps(data))
        below = less
        for step in place[:-1]:
            below = below[step]
        del below[key]
        yield f"{name} deleted", json.dumps(less)


def _places(node, above):
    for key in node if isinstance(node, dict) else range(len(node)):
        yield [*above, key]
        if isinstance(node[key], (dict, list)):
            yield from _places(node[key], [*above, key])


def _vocabulary(folder, card, draw):
    path = folder / "vocab.txt"
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    a, b = draw.randrange(len(lines)), draw.randrange(len(lines))
    change = draw.choice(["delete", "repeat", "exchange", "append", "rename", "bytes"])
    if change == "delete":
        del lines[a]
    elif change == "repeat":
        lines.insert(b, lines[a])
    elif change == "exchange":
        lines[a], lines[b] = lines[b], lines[a]
        if a == b:
            lines.reverse()
    elif change == "append":
        lines.append("beyond")
    elif change == "rename":
        lines[a] += "é"
    path.write_bytes(("\n".join(lines) + "\n").encode() + (b"\xff\xfe" if change == "bytes" else b""))
    return f"vocab.txt {change}", True


def _sums(folder, card, draw):
    path = folder / "SHA256SUMS"
    lines = path.read_text().splitlines()
    at = draw.randrange(len(lines))
    lines[at] = draw.choice(
        [
            "",
            lines[at][:-1],
            "0" * 64 + lines[at][64:],
            f"{'0' * 64}  ../../etc/passwd",
            f"{'0' * 64}  {'n' * 5000}",
            lines[at].replace("  ", " ", 1),
            "\0",
        ]
    )
    path.write_text("\n".join(lines))
    return "SHA256SUMS line", False


def _special_file(folder, card, draw):
    path = folder / draw.choice([*FILES, card["model_file"]])
    change = draw.choice(["fifo", "folder", "zero", "socket", "missing", "huge", "empty", "loop"])
    path.unlink()
    if change == "fifo":
        os.mkfifo(path)
    elif change == "folder":
        path.mkdir()
    elif change == "zero":
        path.symlink_to("/dev/zero")
    elif change == "socket":
        here = os.open(folder, os.O_RDONLY)
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(f"/proc/self/fd/{here}/{path.name}")
        os.close(here)
    elif change == "huge":
        with path.open("wb") as file:
            file.truncate(1 << 32)
    elif change == "empty":
        path.touch()
    elif change == "loop":
        path.symlink_to(path)
    return f"{path.name} {change}", False


def _model(folder, card, draw):
    path = folder / card["model_file"]
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice([1, 1, 4, 32])):
        at = draw.randrange(len(data))
        change = draw.choice(["bit", "byte", "zero", "cut", "insert"])
        if change == "bit":
            data[at] ^= 1 << draw.randrange(8)
        elif change == "byte":
            data[at] = draw.randrange(256)
        elif change == "zero":
            data[at : at + 16] = bytes(len(data[at : at + 16]))
        elif change == "cut":
            del data[max(at, 8) :]
        else:
            data[at:at] = draw.randbytes(draw.randrange(1, 9))
        if len(data) < 16:
            break
    path.write_bytes(bytes(data))
    return "model bytes", True


CARD = [_io]
TOKENIZER = [_tokenizer]
SPLIT_BY_JSON = [_io, _io, _tokenizer, _sums, _model]  # of a folder without vocab.txt
FOLDER = [_vocabulary, _sums, _special_file]
EVERYTHING = [_io, _io, _io, _tokenizer, _tokenizer, _vocabulary, _sums, _special_file, _model, _model]


class Reader:
    """A process that opens folders and answers pairs; made anew when a folder has killed or kept it."""

    SCRIPT = """
import json, sys
import numpy as np
from mobilebert_runtime import load
pairs, key = json.loads(sys.argv[1]), sys.argv[2] or None
texts = [a for a, b in pairs]
answers = {
    "Matcher": lambda model: model.score(pairs).tolist(),
    "TextClassifier": lambda model: model.scores(texts).tolist(),
    "TokenClassifier": lambda model: [[one[1:4] for one in row] for row in model.tag(texts)],
    "QuestionAnswerer": lambda model: [one[1:] for one in model.answer(pairs)],
    "Embedder": lambda model: model.embed(texts).tolist(),
}
for line in sys.stdin:
    try:
        model = load(line.rstrip("\\n"), public_key=key)
        scores = answers[type(model).__name__](model)
        said = {"verdict": "accepted", "scores": scores, "nan": "NaN" in json.dumps(scores)}
    except BaseException as error:
        name = type(error).__name__
        known = name in ("ArtefactError", "ToolError", "DataError")
        said = {"verdict": "refused" if known else "traceback", "why": f"{name}: {error}"[:300]}
    print(json.dumps(said), flush=True)
"""

    def __init__(self, pairs, public_key="", patience=120.0):
        self.arguments = [json.dumps(pairs), str(public_key)]
        self.patience = patience
        self.process = None

    def read(self, folder: Path) -> dict:
        """Its verdict: accepted (with scores), refused, traceback, crashed or hung."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-c", self.SCRIPT, *self.arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=os.environ
                | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
            )
        self.process.stdin.write(f"{folder}\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], self.patience)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.close()
        return {"verdict": "crashed" if ready else "hung", "why": str(folder)}

    def close(self) -> None:
        """End the process."""
        if self.process:
            self.process.kill()
            self.process.communicate()
            self.process = None
