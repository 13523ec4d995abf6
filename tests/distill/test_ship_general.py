"""Promise: one command leads from texts without labels to verified general matchers."""

import json
import re
import shlex
from dataclasses import replace
from functools import partial
from itertools import product
from string import ascii_lowercase

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

import distill.general.teachers
import distill.general.train_trunk
import models.presets
from distill.general import texts as texts_module
from distill.general.mine import RANKS
from distill.general.numerics import generator
from distill.general.rules import caption, headline, rule_question
from distill.general.spelling import corpus_pieces, frequent_words, known_beside, write_words
from distill.general.teachers import (
    mean_pool,
    read,
    read_sources,
    read_texts,
    shards_are_complete,
    write_shards,
)
from distill.general.texts import FEWEST, source_files, usable, write_own_texts
from distill.general.train_head import HeadConfig, ReadTexts, alike_pairs, mined_pairs, training_pairs
from distill.general.trunk import HELD, held
from mobilebert_export import general_shipping, options
from mobilebert_export.cli import main
from mobilebert_export.general_shipping import RECIPES
from mobilebert_export.scoring import open_scorer
from mobilebert_export.shipping import ShipConfig
from mobilebert_runtime.errors import DataError
from mobilebert_runtime.spelling import PROTECTED, SpellingCorrector
from mobilebert_runtime.tokenizer import PairTokenizer
from models import EncoderConfig, build, find_directory, load_pretrained, preset, read_config, save_pretrained
from models.embedding_matcher import NONE
from models.four_bit import four_bit_layers
from studies.general_matcher.train_students import parsed
from tests.conftest import ROOT
from tests.helpers.texts import MINILM

pytestmark = pytest.mark.usefixtures("one_thread")

# MiniLM's kind and vocabulary, every other size cut.
TOY = EncoderConfig(
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=40,
    max_position_embeddings=128,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    classifier_activation=False,
)
TOY_PRESETS = {
    "matcher-open-m": TOY,
    "matcher-open-s": replace(TOY, vocab_size=5000, intermediate_size=32),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A file of texts, some of which can't be learned from."""
    draw, topics = generator(0), ["Roman law", "Tea", "Chess", "Jupiter"]
    makers = (caption, partial(headline, topics=topics), partial(rule_question, topics=topics))
    lines = [make(draw) for make in makers for _ in range(220)]
    path = tmp_path_factory.mktemp("texts") / "mine.txt"
    path.write_text("\n".join([*lines, "word " * 40, "...", ""]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def minilm(tmp_path_factory):
    """What stands in MiniLM's place."""
    folder = tmp_path_factory.mktemp("minilm") / "model"
    teacher = build(TOY, None, seed=1)
    with torch.no_grad():
        for parameter in teacher.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)))
    save_pretrained(teacher, folder, tokenizer_from=MINILM)
    return folder


@pytest.fixture
def toys(monkeypatch, minilm):
    """Teacher and presets at a size that seconds are enough for."""
    monkeypatch.setattr(distill.general.teachers, "packaged_directory", {"minilm": minilm}.get)
    for module in (distill.general.train_trunk, general_shipping):
        find = module.find_directory
        monkeypatch.setattr(
            module, "find_directory", lambda name, find=find: minilm if name == "minilm" else find(name)
        )
    for name, config in TOY_PRESETS.items():
        monkeypatch.setitem(models.presets.PRESETS, name, config)
    monkeypatch.setattr(general_shipping, "QUICK_MINUTES", 0.02)


@pytest.fixture
def mpnet(monkeypatch):
    """What stands in the second teacher's place: wider vectors, of the letters of a text."""
    draw = torch.randn(128, 48, generator=torch.Generator().manual_seed(3))

    def encode(texts):
        return torch.stack([draw[[ord(letter) % 128 for letter in text]].mean(0) for text in texts])

    monkeypatch.setattr(general_shipping, "check_mpnet", lambda folder: None)
    monkeypatch.setattr(general_shipping, "load_mpnet", lambda folder: encode)


@pytest.fixture
def wide(tmp_path, monkeypatch):
    """A network in the second teacher's place, which can read along."""
    teacher, folder = build(replace(TOY, hidden_size=48), None, seed=4), tmp_path / "wide"
    with torch.no_grad():
        for parameter in teacher.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(5)))
    save_pretrained(teacher, folder, tokenizer_from=MINILM)
    tokenizer = PairTokenizer.load(folder)

    def encode(texts):
        batch = read(tokenizer, texts)
        return mean_pool(teacher(**batch).last_hidden_state, batch["attention_mask"])

    monkeypatch.setattr(general_shipping, "check_mpnet", lambda folder: None)
    monkeypatch.setattr(general_shipping, "load_mpnet", lambda folder: encode)
    return folder


def run(command, code=0):
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in command])
    assert left.value.code == code


def ship(plain, out, *more):
    return ["ship", "--general", "--data", plain, "--out", out, "--threads", 1, *more]


def quick(plain, out, *names):
    matchers = [word for name in names for word in ("--matcher", name)]
    return ship(plain, out, "--quick", "--quant", "none", *matchers)


def stamps(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def decides_by_recipe(head, name):
    recipe = RECIPES[name]
    assert head.cosines[0].tolist() == pytest.approx(recipe.statements, abs=1e-3)
    assert float(head.share) == pytest.approx(recipe.penalty, abs=1e-3)


@pytest.mark.parametrize("name", RECIPES)
def test_shipped_matchers_decide_as_their_recipes_say(name):
    decides_by_recipe(load_pretrained(find_directory(name)).head, name)


@pytest.mark.slow
def test_texts_become_verified_matchers_and_a_second_call_does_nothing(plain, toys, tmp_path):
    out = tmp_path / "ship"
    run(quick(plain, out, *RECIPES))
    learned = read_texts(out / "cache/texts.tsv")
    pairs = list(zip(learned[:40], learned[40:80], strict=True))
    for name in RECIPES:
        model, artefact = out / name / "model", out / f"{name}-none"
        assert read_config(model) == preset(name)
        record = json.loads((out / f"{name}-none.json").read_text())
        assert record["artefact"]["verification"]["passed"]
        stages = ["joint", "vectors"] if RECIPES[name].joint else ["vectors"]
        assert [stage["stage"] for stage in record["stages"]] == stages
        assert record["made_of"]["texts"]["sources"] == {"own": len(learned)}
        assert record["made_of"]["teachers"] == ["minilm"]
        assert record["head"]["pairs"] > 400
        assert (artefact / "spelling.txt").read_bytes() == (out / "spelling.txt").read_bytes()
        scores = [open_scorer(str(one), 1).score(pairs) for one in (model, artefact)]
        np.testing.assert_allclose(*scores, atol=1e-4)
        # Bits: the feed-forward networks of m, every layer of s.
        network = load_pretrained(model)
        decides_by_recipe(network.head, name)
        layers = four_bit_layers(network)
        assert any(".attention." in layer for layer in layers) == (name == "matcher-open-s")
        assert any("intermediate" in layer for layer in layers)
    before = stamps(out)
    run(quick(plain, out, *RECIPES))
    assert stamps(out) == before
    run(["ship", "--data", plain, "--out", out], code=2)  # it is another kind of folder


@pytest.mark.slow
def test_a_run_of_both_teachers_that_was_cut_off_goes_on(plain, toys, mpnet, tmp_path, monkeypatch):
    out = tmp_path / "ship"
    command = [*quick(plain, out, "matcher-open-m"), "--teacher", tmp_path]

    def cut_off(*given):
        raise DataError("cut off")

    with monkeypatch.context() as patched:
        patched.setattr(general_shipping, "write_matcher", cut_off)
        run(command, code=2)
    trunk = stamps(out)
    assert (out / "matcher-open-m/trunk/trunk/config.json").is_file()
    with monkeypatch.context() as patched:
        for done in ("train_trunk", "write_own_texts", "write_shards", "write_neighbours"):
            patched.setattr(general_shipping, done, None)  # nothing is left for it
        patched.setattr(general_shipping, "export", cut_off)
        run(command, code=2)
        # A head that was cut off itself: what says that it is whole is missing.
        (out / "matcher-open-m/model/head.json").unlink()
        run(command, code=2)
    assert (out / "matcher-open-m/model/head.json").is_file()
    assert {path: time for path, time in stamps(out).items() if path in trunk} == trunk
    run(command)
    record = json.loads((out / "matcher-open-m-none.json").read_text())
    assert record["artefact"]["verification"]["passed"]
    assert record["made_of"]["teachers"] == ["minilm", "mpnet"]


@pytest.mark.slow
def test_both_teachers_train_all_trunks_on_the_fly(plain, toys, wide, tmp_path, monkeypatch):
    out = tmp_path / "ship"
    command = [*quick(plain, out, *RECIPES), "--teacher", wide, "--on-the-fly"]

    def cut_off(*given):
        raise DataError("cut off")

    with monkeypatch.context() as patched:
        patched.setattr(general_shipping, "write_matcher", cut_off)
        run(command, code=2)
    trunks = stamps(out / "students")
    with monkeypatch.context() as patched:
        patched.setattr(general_shipping, "train_students", None)  # nothing is left for it
        run(command)
    assert {path: time for path, time in stamps(out / "students").items() if path in trunks} == trunks
    for name in RECIPES:
        record = json.loads((out / f"{name}-none.json").read_text())
        assert record["artefact"]["verification"]["passed"]
        assert record["made_of"]["on_the_fly_training"] == sorted(RECIPES)
        (stage,) = record["stages"]
        assert set(stage["held_cosine"]) == set(RECIPES)
        network = load_pretrained(out / name / "model")
        assert network.config == preset(name)
        decides_by_recipe(network.head, name)
        layers = four_bit_layers(network)
        assert any(".attention." in layer for layer in layers) == (name == "matcher-open-s")
        assert any("intermediate" in layer for layer in layers)
    # Texts that the held-out figures are of teach nothing.
    texts = read_texts(out / "cache/texts.tsv")
    assert (out / "cache/sentences.txt").read_text().splitlines() == texts[held(len(texts)) :]
    run([*quick(plain, out, "matcher-open-m"), "--teacher", wide, "--on-the-fly"], code=2)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (["--matcher", "matcher-m"], "matcher 'matcher-m' is unknown; expected one of matcher-open-m"),
        (["--teachers", 2], "--teachers 2: of labelled pairs"),
        (["--debias", 0.5], "--debias 0.5: of labelled pairs"),
        (["--teacher", "FOLDER"], "not the published weights of all-mpnet-base-v2"),
        (["--data", "FOLDER"], "train.tsv: no such file; expected the layout of data/ and corpora/"),
        (["--data", "FEW"], f"at least {FEWEST} are needed"),
        (["--data", "TABLE"], "unknown ending"),
        (["--on-the-fly"], "--on-the-fly: both teachers read every batch; give --teacher"),
        (["--most-texts", FEWEST - 1], f"--most-texts {FEWEST - 1}: expected from {FEWEST}"),
        (["--minutes", 0], "--minutes 0.0: expected more than 0"),
    ],
)
def test_bad_requests_are_refused_before_any_work(more, complaint, plain, tmp_path, capfd):
    paths = {name: tmp_path / name.lower() for name in ("FOLDER", "FEW", "TABLE")}
    paths["FOLDER"].mkdir()
    paths["FEW"] = paths["FEW"].with_suffix(".txt")
    paths["FEW"].write_text("a text\nanother text\n")
    paths["TABLE"] = paths["TABLE"].with_suffix(".csv")
    paths["TABLE"].write_text("a,b\n")
    command = ship(plain, tmp_path / "out")
    flag, given = more[0], [paths.get(value, value) for value in more[1:]]
    if flag in command:
        command[command.index(flag) + 1] = given[0]
    else:
        command += [flag, *given]
    run(command, code=2)
    said = capfd.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_are_those_of_the_recorded_runs(name):
    page = (ROOT / "results/general_matcher/README.md").read_text(encoding="utf-8")
    recipe, shown = RECIPES[name], {}
    shown["train_head ", f"--out runs/general/{name.removeprefix('matcher-')} "] = {
        "mined": recipe.mined,
        "alike": recipe.alike,
        "penalty": recipe.penalty,
        "statements": ",".join(f"{weight:g}" for weight in recipe.statements),
    }
    (line,) = [one for one in page.splitlines() if "train_students " in one]
    of_shape = [one for one in shlex.split(line) if f"={name}" in one and "num_hidden_layers" not in one]
    (student,) = map(parsed, of_shape)
    assert (student.four_bits, student.rate) == (recipe.four_bits, recipe.on_the_fly_rate)
    assert student.shape == preset(name)
    if name == "matcher-open-m":  # -s as it ships was trained on the fly
        shown["train_trunk ", "--out runs/general/m "] = {
            "share": recipe.minilm,
            "fresh": recipe.fresh,
            "noise": recipe.noise,
            "rate": recipe.rate,
            "asked": recipe.asked,
            "kept": recipe.kept,
            "four-bits": recipe.four_bits,
        }
    for parts, values in shown.items():
        (line,) = [one for one in page.splitlines() if all(part in one for part in parts)]
        words = shlex.split(line)
        for option, value in values.items():
            assert type(value)(words[words.index(f"--{option}") + 1]) == value


@pytest.mark.parametrize(
    "more",
    [["--minutes", 5], ["--most-texts", 5000], ["--teacher", "."], ["--on-the-fly"]],
)
def test_options_of_general_matchers_are_refused_for_labelled_pairs(more, plain, tmp_path, capfd):
    run(["ship", "--data", plain, "--out", tmp_path / "out", *more], code=2)
    assert " ".join(map(str, more)) in capfd.readouterr().err.replace("5.0", "5")
    assert not (tmp_path / "out").exists()


def test_a_folder_of_another_run_is_left_alone(plain, tmp_path, capfd):
    config = ShipConfig(plain, tmp_path / "begun", general=True)
    config.out.mkdir()
    (config.out / "general.json").write_text(json.dumps(general_shipping.settings(config)))
    assert general_shipping.check(config)
    for more, what in ((["--minutes", 7], "minutes (40.0)"), (["--most-texts", 600], "most texts (None)")):
        run(ship(plain, config.out, *more), code=2)
        assert f"begun with another {what}" in capfd.readouterr().err
    (tmp_path / "other.txt").write_text(plain.read_text() + "One text more.\n")
    run(ship(tmp_path / "other.txt", config.out), code=2)
    assert "begun with another data" in capfd.readouterr().err
    (tmp_path / "labelled" / "matcher-open-m").mkdir(parents=True)
    run(ship(plain, tmp_path / "labelled"), code=2)
    assert "not of --general" in capfd.readouterr().err


def test_own_texts_are_different_short_and_in_one_order(plain, tmp_path):
    facts = [write_own_texts(plain, tmp_path / name) for name in ("one", "other")]
    found = read_texts(tmp_path / "one/texts.tsv")
    lines = {line.strip() for line in plain.read_text().splitlines() if line.strip()}
    assert facts[0] == facts[1] == json.loads((tmp_path / "one/held_out.json").read_text())
    assert (tmp_path / "one/texts.tsv").read_bytes() == (tmp_path / "other/texts.tsv").read_bytes()
    assert set(found) < lines
    assert not {"word " * 39 + "word", "..."} & set(found)
    assert len({text.lower() for text in found}) == len(found) == facts[0]["texts"]
    assert facts[0]["dropped_because_long_or_repeated"] == len(lines) - len(found)
    assert set(read_sources(tmp_path / "one/texts.tsv")) == {"own"}
    write_own_texts(plain, tmp_path / "few", most=450)
    assert read_texts(tmp_path / "few/texts.tsv") == found[:450]


def test_every_file_that_is_read_has_to_be_there(tmp_path):
    names = [f"data/{name}" for name in texts_module.DATA]
    names += [f"corpora/{name}" for _, name, _ in texts_module.CORPORA]
    names += [f"data/{name}/test.tsv" for name in texts_module.EVALUATED]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert {str(path.relative_to(tmp_path)) for path in source_files(tmp_path)} == set(names)
    for name in names:
        (tmp_path / name).unlink()
        with pytest.raises(DataError, match=r"\.tsv|\.txt\.xz"):
            source_files(tmp_path)
        (tmp_path / name).touch()


def test_words_of_ones_own_text_are_never_corrected(tmp_path):
    own = frequent_words(["Gruffalo and gruffalo, the gruffalo's wood", "Wood and wood: wo"])
    assert own == ["gruffalo", "wood"]  # three times each, of three letters and more
    write_words(known_beside(["wood", "buffalo"], own), tmp_path / "spelling.txt")
    assert (tmp_path / "spelling.txt").read_text() == "wood\nbuffalo\ngruffalo\n"
    corrected = SpellingCorrector.load(tmp_path).corrected
    assert corrected("the gruffalo of the wod") == "the gruffalo of the wood"
    places = ("abcdefgh", "ijklmnop", "qrstuvwxyz", ascii_lowercase)
    many = ["".join(letters) for letters in product(*places)]
    words = [f"{word}zz" for word in [*many, *(word[::-1] for word in many)]]
    assert len(words) > 1.5 * PROTECTED
    mixed = known_beside(words, ["gruffalo", words[5], words[-1]])
    assert mixed[PROTECTED - 2 : PROTECTED] == ["gruffalo", words[-1]]  # the last that are never corrected
    assert [word for word in mixed if word not in ("gruffalo", words[-1])] == words[:-1]
    mixed = known_beside(words, many[: PROTECTED // 2 + 5])
    assert mixed[PROTECTED // 2 : PROTECTED] == many[: PROTECTED // 2]
    assert mixed[-5:] == many[PROTECTED // 2 : PROTECTED // 2 + 5]


def test_words_of_texts_to_learn_from_count_more_than_those_of_corpora():
    corpus, near = ["the moon and the comet " * 10 + "the sun " * 3], ["a comet", "a sun, sun"]
    assert frequent_words(corpus) == ["the", "and", "comet", "moon", "sun"]
    assert frequent_words(corpus, near) == ["sun", "comet", "the", "and", "moon"]
    assert frequent_words(["sun"], near) == ["sun"]  # three times in both; "comet" once


def test_pieces_of_a_corpus_cut_no_word(tmp_path, monkeypatch):
    import lzma

    from distill.general import spelling

    text = "In 1990 the cathedral was rebuilt\nby the people of the town " * 40
    with lzma.open(tmp_path / "corpus.txt.xz", "wt") as file:
        file.write(text)
    monkeypatch.setattr(spelling, "PIECE", 64)
    pieces = list(corpus_pieces([tmp_path / "corpus.txt.xz"]))
    assert len(pieces) > 10
    assert [word for piece in pieces for word in piece.split()] == text.split()


def test_shards_that_are_there_are_not_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(distill.general.teachers, "SHARD", 4)
    read = []

    def vectors(some):
        read.extend(some)
        return np.ones((len(some), 3))

    given, folder = [str(number) for number in range(10)], tmp_path / "teacher"
    write_shards(folder, given, vectors, stop=4)
    assert read == given[:4]
    assert not shards_are_complete(folder, 10)
    write_shards(folder, given, vectors)
    assert read == given
    assert shards_are_complete(folder, 10)


def test_few_texts_have_fewer_held_out():
    assert [held(count) for count in (FEWEST, 8 * HELD, 10**6)] == [FEWEST // 8, HELD, HELD]
    assert options.LEARNED.low == FEWEST
    assert FEWEST - held(FEWEST) > RANKS + 1  # so every text has as many near ones
    assert usable("a text", "a text")


def test_mined_pairs_are_labelled_by_the_teacher_that_there_is(tmp_path):
    """Without MPNet the cosine of MiniLM is the soft label."""
    given = np.random.default_rng(0).normal(size=(500, 6))
    given /= np.linalg.norm(given, axis=1, keepdims=True)
    letters = "abcdefghij"
    names = ["".join(letters[int(digit)] for digit in f"{number:03}") for number in range(500)]
    known = [f"the text called {name} was read by all of us in spring." for name in names]
    (tmp_path / "texts.tsv").write_text("source\ttext\n" + "".join(f"own\t{text}\n" for text in known))
    write_shards(tmp_path / "minilm", known, lambda some: given[[known.index(text) for text in some]])
    near = np.argsort(-given @ given.T, axis=1)[:, 1 : RANKS + 1]
    np.save(tmp_path / "neighbours.npy", near.astype(np.int32))
    pairs, cosines = mined_pairs(ReadTexts.load(tmp_path, known, "minilm"), 200, 0)
    wanted = [float(given[known.index(left)] @ given[known.index(right)]) for left, right in pairs]
    np.testing.assert_allclose(cosines, wanted, atol=2e-3)
    config = HeadConfig(tmp_path, tmp_path, tmp_path, made=5, mined=200, teacher="minilm")
    made = training_pairs(config)
    target = dict(zip(made.texts, made.targets, strict=True))  # a quarter of the pairs is misspelt
    fits = {pair: cosine for pair, cosine in zip(pairs, cosines, strict=True) if pair in target}
    assert len(fits) > 100
    assert spearmanr([target[pair] for pair in fits], list(fits.values())).statistic == pytest.approx(1)


def test_alike_pairs_differ_in_few_tokens_and_come_once(tmp_path):
    words = ["red", "green", "blue", "grey", "black", "white", "pink", "brown"]
    known = [" ".join([a, b, "and so on", c]) for a in words for b in words for c in words]
    (tmp_path / "texts.tsv").write_text("source\ttext\n" + "".join(f"own\t{text}\n" for text in known))
    write_shards(tmp_path / "minilm", known, lambda some: np.ones((len(some), 1), np.float32))
    near = np.random.default_rng(0).integers(0, len(known), (len(known), RANKS))
    np.save(tmp_path / "neighbours.npy", near.astype(np.int32))
    tokenizer = PairTokenizer.load(MINILM)
    pairs, cosines = alike_pairs(ReadTexts.load(tmp_path, known, "minilm"), tokenizer, 60, 0)
    assert len(pairs) == len(cosines) == len({frozenset(pair) for pair in pairs}) == 60
    for left, right in pairs:
        one, two = set(left.split()), set(right.split())
        assert 0 < max(len(one - two), len(two - one)) <= NONE + 1


def test_mined_pairs_of_other_numbers_are_taught_as_different(tmp_path):
    """Though their teacher takes them for the same."""
    known = [f"the text number {number} was read by all of us in spring." for number in range(500)]
    (tmp_path / "texts.tsv").write_text("source\ttext\n" + "".join(f"own\t{text}\n" for text in known))
    write_shards(tmp_path / "minilm", known, lambda some: np.ones((len(some), 1), np.float32))
    near = (np.arange(500)[:, None] + np.arange(1, RANKS + 1)) % 500
    np.save(tmp_path / "neighbours.npy", near.astype(np.int32))
    made = training_pairs(HeadConfig(tmp_path, tmp_path, tmp_path, made=5, mined=200, teacher="minilm"))
    found = [
        target
        for (left, right), target in zip(made.texts, made.targets, strict=True)
        if right in known and re.findall(r"\d+", left) != re.findall(r"\d+", right)
    ]
    assert len(found) > 100
    assert max(found) < 0.1
