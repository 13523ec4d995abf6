"""Promise of SECURITY.md: no tokenizer.json makes loading or reading endless, and none brings a panic."""

import json
import random
import subprocess
import sys

import pytest
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers

from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import PairTokenizer
from tests.helpers import tokenizer_kinds

GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
GPT4O = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)


def replace(content, pattern=None):
    return {"type": "Replace", "pattern": pattern or {"String": "a"}, "content": content}


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def sequence(*steps, key="normalizers"):
    return {"type": "Sequence", key: list(steps)}


BOMBS = {
    "34 doublings": ("normalizer", sequence(*[replace("aa")] * 34)),
    "nested doublings": ("normalizer", sequence(*[sequence(*[replace("aa")] * 6)] * 6)),
    "two megabytes": ("normalizer", replace("b" * 2_000_000)),
    "two megabytes between all": ("normalizer", replace("b" * 2_000_000, {"String": ""})),
    "megabytes by a regular expression": ("normalizer", replace("b" * 2_000_000, {"Regex": "."})),
    "growing prefixes": ("normalizer", sequence(*[{"type": "Prepend", "prepend": "a" * 100}] * 20)),
    "many steps": ("normalizer", sequence(*[{"type": "NFC"}] * 1000)),
    "unknown normalizer": ("normalizer", {"type": "Explode"}),
    "(a+)+$": ("pre_tokenizer", split("(a+)+$")),
    "(a|a)*b": ("pre_tokenizer", split("(a|a)*b")),
    "(?:a?){40}a{40}": ("pre_tokenizer", split("(?:a?){40}a{40}")),
    "(.*)\\1x": ("pre_tokenizer", split("(.*)\\1x")),
    "recursion": ("pre_tokenizer", split("(?<n>a\\g<n>?)b")),
    "a*a*a*a*b": ("pre_tokenizer", split("a*a*a*a*b")),
    "a{1,}b?a{2,}a+c": ("pre_tokenizer", split("a{1,}b?a{2,}a+c")),
    "class of a megabyte": ("pre_tokenizer", split("[" + "\\p{L}" * 200_000 + "]")),
    "in a sequence": ("pre_tokenizer", sequence(split("(a+)+$"), key="pretokenizers")),
    "replaced": ("normalizer", replace("b", {"Regex": "(a+)+$"})),
}
READ = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import PairTokenizer
for path in map(Path, sys.argv[1:]):
    try:
        ids = PairTokenizer.read(path).ids([("a" * 5000 + "!", "a b a b" * 500)], 64)
        print(path.stem, "read")
    except ModelError as error:
        print(path.stem, "refused", str(error)[:150].replace(chr(10), " "))
"""


def test_bombs_are_refused_at_once(tmp_path):
    kinds = ("bert", "roberta", "xlm-roberta")
    paths = []
    for kind in kinds:
        whole = json.loads(tokenizer_kinds.tokenizer(kind).to_str())
        for number, (part, step) in enumerate(BOMBS.values()):
            paths.append(tmp_path / f"{kind}-{number}.json")
            paths[-1].write_text(json.dumps(whole | {part: step}))
    done = subprocess.run(
        [sys.executable, "-c", READ, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    said = done.stdout.splitlines()
    assert len(said) == len(BOMBS) * len(kinds)
    assert [line for line in said if " refused " not in line] == []


@pytest.mark.parametrize("name", tokenizer_kinds.KINDS)
def test_tokenizers_in_use_are_read(name, tmp_path):
    tokenizer_kinds.write(name, tmp_path)
    assert PairTokenizer.load(tmp_path).ids(["a"], 8)


@pytest.mark.parametrize("pattern", [GPT4, GPT4O, DEEPSEEK, r" {2,}", r"\d{3}(?=\d)", r"\p{N}+"])
def test_patterns_of_known_tokenizers_are_read(pattern, tmp_path):
    made = Tokenizer.from_str(tokenizer_kinds.tokenizer("roberta").to_str())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(use_regex=False)]
    )
    made.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Replace("``", '"')]
    )
    made.save(str(tmp_path / "tokenizer.json"))
    assert PairTokenizer.load(tmp_path).kind == "byte-level-bpe"


def test_a_panic_while_texts_are_read_is_an_error_of_ours(tmp_path):
    made = Tokenizer.from_str(tokenizer_kinds.tokenizer("roberta").to_str())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex("(a+)+$"), "isolated"), pre_tokenizers.ByteLevel(use_regex=False)]
    )
    reader = PairTokenizer(made)  # made in memory, by whoever trusts it
    for call in (
        lambda text: reader.ids([text], 8),
        lambda text: reader.spans(text, 8),
        lambda text: reader.windows("b", text, 8, 2),
    ):
        with pytest.raises(ModelError, match="can't split a text"):
            call("a" * 5000 + "!")


def test_generated_regular_expressions_are_refused_or_quick(tmp_path):
    """Fixed seed; what is read splits the worst texts within the patience of the whole test."""
    draw, paths = random.Random(5), []
    atoms = ["a", ".", "[ab]", "\\w", "\\s", "(a|b)", "(?:a+)", "(?=a)", "b"]
    whole = json.loads(tokenizer_kinds.tokenizer("roberta").to_str())
    for number in range(120):
        pattern = "".join(
            draw.choice(atoms) + draw.choice(["", "", "?", "*", "+", "{2}", "{2,}", "+?", "{1,9}"])
            for _ in range(draw.randint(1, 5))
        )
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(
            json.dumps(whole | {"pre_tokenizer": split(pattern + draw.choice(["", "$", "|c"]))})
        )
    done = subprocess.run(
        [sys.executable, "-c", READ, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    said = done.stdout.splitlines()
    assert len(said) == len(paths)
    assert 10 < sum(" read" in line for line in said) < len(paths)


def test_a_token_id_that_no_network_has_is_an_error_of_ours(tmp_path):
    data = json.loads(tokenizer_kinds.tokenizer("roberta").to_str())
    data["model"]["vocab"]["a"] = 3_000_000_000
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    tokenizer = PairTokenizer.load(tmp_path)
    with pytest.raises(ModelError, match="token id 3000000000"):
        tokenizer.encode([("a", "a")], 16)
