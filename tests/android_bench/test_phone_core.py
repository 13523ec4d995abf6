"""Promise of the phone's Java: it splits, encodes, decides and computes as the Python side does."""

import hashlib
import json
import random
import re
import shutil
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from tokenizers import normalizers

from android_bench.build_app import java, unicode_table
from android_bench.measuring import worker
from android_bench.toolchain import tools
from mobilebert_models import find_directory
from mobilebert_runtime.card import MATCHING, ArtefactCard, Bucket
from mobilebert_runtime.card_parts import TokenizerCard
from mobilebert_runtime.errors import ToolError
from mobilebert_runtime.length_shift import LengthShift
from mobilebert_runtime.matcher import Matcher, positive_probability
from mobilebert_runtime.signature import sign
from mobilebert_runtime.spelling import SpellingCorrector
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_runtime.vector_index import Index
from tests.helpers import own_words, tiny_tasks
from tests.helpers.minisign_keys import write_keys
from tests.helpers.phone_tokenizers import write_golden
from tests.helpers.texts import MINILM, fuzzed_lines

pytestmark = pytest.mark.slow

APP = java.ANDROID_BENCH / "app" / "src"
SOURCES = (java.LIBRARY / "test" / "java", java.CORE / "test" / "java", APP / "test" / "java")
# Those of the bridge and of whole tasks need a native library: test_phone_bridge.py, test_phone_tasks.py.
NATIVE = ("OnnxBridgeTest", "TasksTest")
TESTS = sorted(
    ".".join(path.relative_to(place).with_suffix("").parts)
    for place in SOURCES
    for path in place.rglob("*Test.java")
    if path.stem not in NATIVE
)
RESOURCES = java.LIBRARY / "main" / "resources"
TABLE = RESOURCES / "mobilebert-runtime/unicode.txt"
PAIRS = 3_500
COUNT = sum(
    path.read_text(encoding="utf-8").count("@Test")
    for place in SOURCES
    for path in place.rglob("*Test.java")
    if path.stem not in NATIVE
)
# Of the app, what runs without Android.
PLAIN = APP / "main/java/mobilebert/bench/app/LatestQuery.java"


def write(folder, name, rows):
    (folder / name).write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


def pair_rows(*, sort_texts):
    lines = fuzzed_lines(PAIRS, seed=7)
    tokenizer = PairTokenizer.read(MINILM / "tokenizer.json", sort_texts=sort_texts)
    alike = [("moon " * 99 + "x", "moon " * 99), ("moon " * 99, "moon " * 99 + "x")]
    rows = []
    for length in (3, 16, 33, 96):
        pairs = [*alike, *list(zip(lines, reversed(lines), strict=True))[length % 4 :: 4]]
        for (a, b), (ids, types) in zip(pairs, tokenizer.ids(pairs, length), strict=True):
            rows.append({"a": a, "b": b, "length": length, "ids": ids, "types": types})
    return rows


def sorted_card_rows():
    """Cards of matchers that sort their texts, and what is said of bad ones (None of good ones)."""
    base = ArtefactCard(
        target="tflite",
        quant="int8",
        model_file="model.tflite",
        buckets=(Bucket(16),),
        labels=("different", "same"),
        attention_mask_value=-60.0,
        minimum_runtime={"tflite": "2.14"},
        tokenizer=TokenizerCard(pad_id=0, sort_texts=True),
    )
    good = base.to_json()
    spelling = replace(base, tokenizer=replace(base.tokenizer, spelling=True)).to_json()
    rows = [{"card": card, "says": None, "spelling": card is spelling} for card in (good, spelling)]
    vectors = {"embedding": {"size": 4, "normalized": True}}
    for change, says in (
        ({"tokenizer": good["tokenizer"] | {"sort_texts": None}}, "sort_texts has the wrong type"),
        ({"task": "text-classification"}, "sort_texts does not fit text-classification"),
        (vectors, "sort_texts does not fit text-matching by vectors"),
    ):
        rows.append({"card": good | change, "says": says, "spelling": False})
    return rows


def normalized_rows():
    """Every code point the table speaks of, a thousand at a time; marks in every order."""
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    texts = ["".join(f"{chr(code)}x" for code in codes[i : i + 1000]) for i in range(0, 0x32000, 1000)]
    draw = random.Random(3)
    marks = [
        chr(code)
        for line in TABLE.read_text().splitlines()
        if line.startswith("O")
        for code in range(int(line.split()[1], 16), int(line.split()[2], 16) + 1)
    ]
    texts += ["a" + "".join(draw.choices([*marks, "e\u0301", "\u0345"], k=6)) for _ in range(500)]
    return [
        {"text": text, "lowercase": lowercase, "became": normalise(text)}
        for lowercase in (True, False)
        for normalise in [normalizers.BertNormalizer(lowercase=lowercase).normalize_str]
        for text in texts
    ]


def write_spelling(folder):
    """The shipped list, texts, and what Python makes of them: misspelt, capitalised, long, of all signs."""
    draw = random.Random(9)
    (folder / "spelling").mkdir()
    shutil.copy(find_directory("matcher-open-m") / "spelling.txt", folder / "spelling")
    words = (folder / "spelling" / "spelling.txt").read_text().split()
    texts = fuzzed_lines(1_500, seed=10)
    for _ in range(3_000):
        some = [
            misspelt(draw.choice(words[: draw.choice([300, 5_000, len(words)])]), draw)
            for _ in range(draw.randint(1, 6))
        ]
        ends = [" ", ", ", ". ", ".", "? ", "-", "'s ", "'t ", "\x0b", "\u00a0", "é", "🌙 "]
        text = "".join(word + draw.choice(ends) for word in some)
        texts.append(draw.choice(["", "", '"', "(", "-", "🌙", "3 ", "É "]) + text)
    texts += [f"{'🌙 ' * emoji}{'wether ' * 1_000}" for emoji in (0, 1, 7, 2_000)]
    corrector = SpellingCorrector.load(folder / "spelling")
    own = draw.sample(texts, 300)
    write(folder, "spelling_own.json", [{"text": text} for text in own])
    keeping = corrector.keeping(own)
    rows = [
        {"text": text, "corrected": corrector.corrected(text), "kept": keeping.corrected(text)}
        for text in texts
    ]
    write(folder, "spelling.json", rows)
    pairs = [pair_beside(draw, words, draw.choice(texts)) for _ in range(3_000)]
    pairs += [("🌙 " * 2_000 + "wether " * 1_000, "weather " * 1_000)]
    rows = [corrected_pair(corrector, a, b) | kept_pair(keeping, a, b) for a, b in pairs]
    write(folder, "spelling_pairs.json", rows)


def pair_beside(draw, words, more):
    """Two texts with some words in common, in the first misspelt by one edit or two."""
    common = draw.choices(words, k=draw.randint(1, 5))
    wrong = [misspelt(word, draw) for word in common]
    twice = [misspelt(word, draw) if len(word) > 2 and draw.random() < 0.5 else word for word in wrong]
    return " ".join([*twice, draw.choice(words)]), " ".join([*common, more])


def corrected_pair(corrector, a, b):
    """The pair and what Python makes of it."""
    first, second = corrector.corrected_pair(a, b)
    return {"a": a, "b": b, "corrected_a": first, "corrected_b": second}


def kept_pair(corrector, a, b):
    """The same by a corrector that leaves own words alone."""
    first, second = corrector.corrected_pair(a, b)
    return {"kept_a": first, "kept_b": second}


def misspelt(word, draw):
    """With one letter replaced, dropped, added or swapped, now and then with capitals."""
    at = draw.randrange(len(word) - 1)
    letter = draw.choice("abcdefghijklmnopqrstuvwxyz")
    wrong = draw.choice(
        [
            word,
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        ]
    )
    slipped = wrong[:1] + wrong[1:2].upper() + wrong[2:]
    both = slipped[:2].upper() + slipped[2:]
    return draw.choice([wrong, wrong, wrong, wrong.capitalize(), wrong.upper(), slipped, both])


def statistics_rows():
    draw = np.random.default_rng(5)
    rows = []
    for size in [*range(1, 60), 100, 127, 128, 129, 136, 200, 255, 256, 257, 999, 1000, 1001, *[300] * 40]:
        samples = np.round(draw.lognormal(3, 0.5, size), int(draw.integers(1, 16)))
        p50, p90, p95, p99 = np.percentile(samples, (50, 90, 95, 99)).tolist()
        row = {"samples": samples.tolist(), "p50": p50, "p90": p90, "p95": p95, "p99": p99}
        rows.append(row | {"minimum": samples.min(), "maximum": samples.max(), "mean": samples.mean()})
        rows[-1]["median"] = float(np.median(samples))
    return rows


class Clock:
    """Stands in for `time` in the worker: it moves by what an inference is said to take."""

    def __init__(self, samples):
        self.now = 0.0
        self.left = iter(samples)

    def perf_counter(self):
        return self.now / 1e3

    def inference(self):
        milliseconds = next(self.left)
        self.now += milliseconds
        return milliseconds


def warmup_rows(monkeypatch):
    """Series of inference times and after how many the host's worker calls them settled (0: never)."""
    draw = np.random.default_rng(6)
    rows = []
    for number in range(60):
        # Eighths add up without rounding; the 1/1024 keeps every sum off the 40 ms at which a window ends.
        level = float(draw.choice([0.5, 3.0, 9.0, 60.0]))
        drift = np.exp(-np.arange(400) / draw.uniform(1, 80)) * draw.uniform(0, 2) + 1
        samples = level * drift * np.exp(draw.normal(0, draw.uniform(0, 0.1), 400))
        samples = np.ceil(8 * (samples if number else np.geomspace(1, 1e6, 400))) / 8 + 2**-10
        samples = samples[np.cumsum(samples) < 1e3 * worker.WARM_LIMIT_S]
        clock = Clock(samples.tolist())
        monkeypatch.setattr(worker, "time", clock)
        try:
            warm, settled = worker._warm_up(clock.inference)
        except StopIteration:
            settled = False
        rows.append({"samples": samples.tolist(), "settled_after": len(warm) if settled else 0})
    assert 0 < sum(row["settled_after"] > 0 for row in rows) < len(rows)
    return rows


def decision_rows():
    draw = np.random.default_rng(8)
    rows = []
    spaces = [c for c in map(chr, range(0x3001)) if c.isspace()]
    for labels, positive in ((("different", "same"), 1), (("x", "y"), 0), (("a", "b", "c"), 2)):
        for _ in range(50):
            card = ArtefactCard(
                target="tflite",
                quant="int8",
                model_file="model.tflite",
                buckets=(Bucket(16),),
                labels=labels,
                positive=positive,
                threshold=float(draw.uniform(0.2, 0.8)),
                temperature=float(draw.uniform(0.5, 3)),
                attention_mask_value=-60.0,
                minimum_runtime={"tflite": "2.14"},
                tokenizer=TokenizerCard(pad_id=0),
                length_shift=LengthShift((0.0, 0.25, 0.5), tuple(draw.normal(0, 1, 4).tolist())),
            )
            logits = draw.normal(0, 6, (1, len(labels))).astype(np.float32)
            # Runs of letters and of every white space there is, at the ends too; now and then no word at all.
            texts = ["".join(draw.choice(["x", "é", *spaces], draw.integers(0, 60))) for _ in "ab"]
            score = float(positive_probability(logits, card, card.shift([(texts[0], texts[1])]))[0])
            label = Matcher(card, None, None).label(score)
            row = {"card": card.to_json(), "logits": logits[0].tolist(), "probability": score, "label": label}
            rows.append(row | {"text_a": texts[0], "text_b": texts[1]})
    return rows


def write_signatures(folder):
    """Hashes and signatures of Python's libraries, some of them spoilt; a signed folder and two keys."""
    draw = random.Random(12)
    messages = [draw.randbytes(size) for size in (0, 1, 63, 64, 127, 128, 129, 255, 256, 257, 1000, 5000)]
    rows = [{"message": one.hex(), "hash": hashlib.blake2b(one).hexdigest()} for one in messages]
    write(folder, "blake2b.json", rows)
    rows = []
    for number in range(60):
        owner = Ed25519PrivateKey.from_private_bytes(draw.randbytes(32))
        message = draw.choice(messages)
        parts = {"key": owner.public_key().public_bytes_raw(), "signature": owner.sign(message)}
        spoilt = bytearray(parts[name := draw.choice(["key", "signature"])])
        spoilt[draw.randrange(len(spoilt))] ^= 1 << draw.randrange(8)
        if number % 2:
            parts[name] = bytes(spoilt)
        row = {name: part.hex() for name, part in parts.items()} | {"message": message.hex()}
        rows.append(row | {"holds": holds(parts["key"], parts["signature"], message)})
    # A signature whose second half is not below the order of the group: the same number, and not a signature.
    order = (1 << 252) + 27742317777372353535851937790883648493
    first, second = bytes.fromhex(rows[0]["signature"])[:32], bytes.fromhex(rows[0]["signature"])[32:]
    larger = (int.from_bytes(second, "little") + order).to_bytes(32, "little")
    rows.append(rows[0] | {"signature": (first + larger).hex(), "holds": False})
    write(folder, "ed25519.json", rows)
    secret, _ = write_keys(folder / "keys")
    write_keys(folder / "other", b"2" * 32)
    (folder / "signed").mkdir()
    (folder / "signed" / "SHA256SUMS").write_text("0" * 64 + "  io.json\n")
    sign(folder / "signed", secret)


def write_indexes(folder):
    """Indexes of vectors that lie close together, whose rounded rows are longer than 1; Python's searches.

    The first places are told of queries for which Python cuts more cosines to 1 than are asked for.
    """
    draw = np.random.default_rng(13)
    directions = draw.normal(size=(20, 6))
    for kind, apart in (("int8", 3e-3), ("float16", 3e-4)):
        vectors = np.repeat(directions, 20, axis=0) + draw.normal(0, apart, (400, 6))
        vectors = draw.permutation(vectors).astype(np.float32)
        index = Index.build(vectors, [f"text {number}" for number in range(400)], kind)
        index.save(folder / "indexes" / kind)
        scales = np.ones(400) if index.scales is None else index.scales.astype(np.float64)
        rows = []
        for query in [*directions, *-directions]:
            products = index.vectors.astype(np.float64) @ query / np.linalg.norm(query) * scales
            cut = (products > 1).sum() > 6 and np.abs(products - 1).min() > 1e-6
            hits = index.nearest(query.astype(np.float32), 400)
            places = [hit.place for hit in hits[:4]] if cut else []
            row = {"query": query.tolist(), "places": places, "scores": [hit.score for hit in hits]}
            rows.append(row)
        assert sum(bool(row["places"]) for row in rows) > 5
        write(folder / "indexes", f"{kind}.json", rows)


def holds(key, signature, message):
    """What Python's cryptography says of a signature."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    write_golden(folder / "tokenizers")
    write(folder, "pairs.json", pair_rows(sort_texts=False))
    write(folder, "sorted_pairs.json", pair_rows(sort_texts=True))
    write(folder, "normalized.json", normalized_rows())
    write(folder, "statistics.json", statistics_rows())
    with pytest.MonkeyPatch.context() as monkeypatch:
        write(folder, "warmup.json", warmup_rows(monkeypatch))
    write(folder, "decisions.json", decision_rows())
    write(folder, "sorted_cards.json", sorted_card_rows())
    write_spelling(folder)
    write(folder, "own_words.json", own_words.answers(own_words.write_artefact(folder / "own_words")))
    tiny_tasks.write(folder / "corrects_nothing", MATCHING)
    write_signatures(folder)
    write_indexes(folder)
    return folder


@pytest.fixture(scope="module")
def junit():
    try:
        java.java()
        jars = tools.find("junit") / "usr" / "share" / "java"
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    return [jars / "junit4.jar", jars / "hamcrest-core.jar"]


@pytest.fixture(scope="module")
def classes(tmp_path_factory, junit):
    """Compiled library and core, compiled tests."""
    folder = tmp_path_factory.mktemp("classes")
    java.compile_library(folder / "library")
    java.compile_sources([java.CORE / "main", PLAIN], folder / "core", [folder / "library"])
    path = [folder / "library", folder / "core", *junit]
    java.compile_sources(SOURCES, folder / "test", path)
    return folder


def passed(report):
    """How many JUnit tests passed, from its closing line."""
    return int(re.search(r"OK \((\d+) tests?\)", report)[1])


def test_java_core_equals_python_on_the_jvm(classes, golden, junit, capsys):
    path = [classes / "library", classes / "core", RESOURCES, classes / "test", *junit]
    report = java.run_junit(TESTS, path, {"golden": golden})
    with capsys.disabled():  # docs/reliability.md shows them
        print(*re.findall(r"\d+ decisions from .*", report), sep="\n")
    assert passed(report) == COUNT


def test_the_dex_that_ships_equals_python(classes, golden, junit, tmp_path):
    """The classes go to Dalvik code and back before the same tests run on them."""
    try:
        dx = tools.find("dex")
        enjarify = tools.find("sdk") / "usr/lib/python3/dist-packages"
    except ToolError as error:
        pytest.skip(f"not run: {error}")
    dex, jar = tmp_path / "classes.dex", tmp_path / "again.jar"
    java.dex([classes / "library", classes / "core"], dex, dx)
    java.undex(dex, jar, enjarify)
    assert "mobilebert/runtime/WordPiece.class" in zipfile.ZipFile(jar).namelist()
    report = java.run_junit(TESTS, [jar, RESOURCES, classes / "test", *junit], {"golden": golden})
    assert passed(report) == COUNT


def test_the_tables_are_what_the_installed_tokenizer_says():
    assert TABLE.read_text(encoding="ascii") == unicode_table.table()
    assert TABLE.with_name("categories.txt").read_text(encoding="ascii") == unicode_table.categories()
