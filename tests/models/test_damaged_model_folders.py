"""Promise: a damaged model folder is refused in one line, or its network answers with finite numbers.

Cases are drawn with fixed seeds. A traceback, a hang, NaN, or memory by the gigabyte fails.
"""

import json
import os
import random
import shutil
import time

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import mobilebert_models
from mobilebert_models import EncoderConfig, MatcherSettings
from mobilebert_runtime.errors import UserError
from mobilebert_training.finetuning.matchers import load_matcher
from tests.helpers.texts import MINILM

PAIRS = [("a cat", "the cat sat"), ("x", "y")]
SHAPE = EncoderConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
SECONDS = 30  # on a busy machine; a load takes a tenth of one
VALUES = (
    *(None, True, False, -1, 0, 1, 3, 10**9, 10**30, 10**400, 0.5, -1e308),
    *("", "x", "NaN", "\x1b[0m", [], [1], {}, {"a": []}),
)
TEXTS = (
    *(b"", b"{", b"[]", b"null", b"\xff\xfe", b"\x00", b"1e400", b"[" * 100_000, b'{"a":' * 5000),
    *(b'{"a": 1, "a": 2}', b'{"n": ' + b"9" * 400 + b"}", '{"\u00e9": '.encode("latin-1")),
)
TYPES = (torch.complex64, torch.int8, torch.float8_e4m3fn, torch.float64)
FILES = ("config.json", "matcher.json", "tokenizer_config.json", "modules.json")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "model"
    model = mobilebert_models.build(SHAPE, seed=0)
    mobilebert_models.save_pretrained(model, folder, tokenizer_from=MINILM, settings=MatcherSettings())
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 64, "pad_token": "[PAD]"}')
    return folder


def change_values(folder, draw):
    """Another value, or none, in one of the JSON files, at any depth."""
    path = folder / draw.choice(FILES[:3])
    values = json.loads(path.read_text())
    at, name = values, draw.choice(sorted(values))
    while isinstance(at[name], dict) and at[name] and draw.random() < 0.7:
        at, name = at[name], draw.choice(sorted(at[name]))
    if draw.random() < 0.15:
        del at[name]
        said = "removed"
    else:
        at[name] = draw.choice(VALUES)
        said = f"{at[name]!r:.30}"
    path.write_text(json.dumps(values))
    return f"{path.name}: {name} {said}"


def change_text(folder, draw):
    """Something else in the place of a JSON file, or of a part of it."""
    path = folder / draw.choice((*FILES, "tokenizer.json", "vocab.txt"))
    whole, text = path.read_bytes() if path.exists() else b"{}", draw.choice(TEXTS)
    if draw.random() < 0.5:
        at = draw.randrange(len(whole) + 1)
        text = whole[:at] + text + whole[at + draw.randrange(9) :]
    path.write_bytes(text)
    return f"{path.name}: text"


def change_tensors(folder, draw):
    """A tensor that is gone, renamed, of another shape or type, or not finite."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    name = draw.choice(sorted(tensors))
    value, how = tensors[name], draw.randrange(7)
    if how == 0:
        del tensors[name]
    elif how == 1:
        tensors[f"{name}.lora_A"] = torch.ones(2, 2)
    elif how == 2:
        tensors[name] = value[..., : max(1, value.shape[-1] - 1)].contiguous()
    elif how == 3:
        tensors[name] = value.to(
            draw.choice([torch.complex64, torch.int8, torch.float8_e4m3fn, torch.float64])
        )
    elif how == 4:
        tensors[name] = torch.full_like(value, draw.choice([float("nan"), float("inf"), 3e38]))
    elif how == 5:
        tensors[name.replace("layer.1", "layer.7")] = tensors.pop(name)
    else:
        tensors[name] = value.reshape(-1)
    save_file(tensors, path)
    return f"{name}: way {how}"


def change_bytes(folder, draw):
    """Flipped bits, a cut end, an empty file, or no file at all; or a folder or a pipe in its place."""
    path = folder / draw.choice(("model.safetensors", "config.json", "tokenizer.json", "vocab.txt"))
    content, how = bytearray(path.read_bytes()), draw.randrange(5)
    path.unlink()
    if how == 0:
        content[draw.randrange(min(len(content), 2000))] ^= 1 << draw.randrange(8)
        path.write_bytes(content)
    elif how == 1:
        path.write_bytes(content[: draw.randrange(len(content))])
    elif how == 2:
        path.write_bytes(b"")
    elif how == 3:
        path.mkdir()
    return f"{path.name}: bytes, way {how}"


KINDS = (change_values, change_text, change_tensors, change_bytes)


def outcome(folder):
    """How a folder is taken: refused, or the scores of its network."""
    try:
        matcher = load_matcher(folder)
        MatcherSettings.load(folder)
        logits = matcher.predict(PAIRS)
    except UserError:
        return "refused"
    assert np.isfinite(logits).all()
    return "accepted"


def run_cases(whole, tmp_path, seeds):
    counts = {"refused": 0, "accepted": 0}
    for seed in seeds:
        draw = random.Random(seed)
        folder = tmp_path / "damaged"
        shutil.copytree(whole, folder)
        said, started = draw.choice(KINDS)(folder, draw), time.monotonic()
        try:
            counts[outcome(folder)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, {said}: {type(error).__name__}: {error}") from error
        assert time.monotonic() - started < SECONDS, f"seed {seed}, {said}"
        shutil.rmtree(folder)
    return counts


def test_some_damaged_folders_are_refused_or_answer(whole, tmp_path):
    assert outcome(whole) == "accepted"
    counts = run_cases(whole, tmp_path, range(40))
    assert counts["refused"] > 20


@pytest.mark.slow
def test_damaged_folders_are_refused_or_answer(whole, tmp_path):
    counts = run_cases(whole, tmp_path, range(1000, 1400))
    print(f"model folders: {counts}")
    assert counts["refused"] > 200


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "matcher.json"])
def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(whole, tmp_path, name):
    folder = shutil.copytree(whole, tmp_path / "m")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert outcome(folder) == "refused"
