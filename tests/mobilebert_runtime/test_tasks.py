"""Promise of the classes: each task's answers are those of `transformers`' pipelines on the same network."""

import itertools
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast, TextClassificationPipeline, TokenClassificationPipeline

import mobilebert_runtime
from mobilebert_runtime import (
    ArtefactError,
    Embedder,
    Matcher,
    QuestionAnswerer,
    TextClassifier,
    TokenClassifier,
    load,
)
from mobilebert_runtime.card import (
    CLASSIFICATION,
    EMBEDDING,
    MATCHING,
    QUESTION_ANSWERING,
    TASKS,
    TOKEN_CLASSIFICATION,
)
from mobilebert_runtime.card_parts import Embedding
from mobilebert_runtime.errors import DataError
from tests.helpers import tiny_tasks
from tests.helpers.documented_commands import blocks
from tests.helpers.texts import fuzzed_lines

KINDS = ["bert", "roberta", "xlm-roberta"]
TEXTS = [line for line in fuzzed_lines(60, seed=3) if line.strip()] + [
    "How do I learn to swim?",
    "The moon is far away, and the river is near.",
]
CLASSES = {
    MATCHING: Matcher,
    CLASSIFICATION: TextClassifier,
    TOKEN_CLASSIFICATION: TokenClassifier,
    QUESTION_ANSWERING: QuestionAnswerer,
    EMBEDDING: Embedder,
}


def theirs(folder):
    """transformers' tokenizer of an artefact, truncating as its card says."""
    return PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), model_max_length=tiny_tasks.SEQ_LEN
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("labels", "activation", "problem_type"),
    [
        (("a", "b", "c"), "softmax", "single_label_classification"),
        (("a", "b", "c"), "sigmoid", "multi_label_classification"),
        (("value",), "identity", "regression"),
        (("one",), "sigmoid", "single_label_classification"),
    ],
)
def test_classes_score_as_the_pipeline_does(tmp_path, kind, labels, activation, problem_type):
    folder = tiny_tasks.write(tmp_path / "a", CLASSIFICATION, kind, labels=labels, activation=activation)
    classifier = TextClassifier.load(folder)
    model = tiny_tasks.transformers_model(
        labels, classifier.tokenizer.vocab_size, token_wise=False, problem_type=problem_type
    )
    pipeline = TextClassificationPipeline(model=model, tokenizer=theirs(folder), device="cpu")
    expected = pipeline(TEXTS, top_k=None, truncation=True)
    for found, wanted in zip(classifier.classify(TEXTS), expected, strict=True):
        assert list(found) == sorted(found, key=lambda label: -found[label])
        assert found == pytest.approx({one["label"]: one["score"] for one in wanted}, abs=1e-5)


def test_pairs_of_texts_have_classes_too(tmp_path):
    classifier = TextClassifier.load(tiny_tasks.write(tmp_path / "a", CLASSIFICATION, "roberta", texts=2))
    [ids] = [ids for ids, _ in classifier.tokenizer.ids([("one text", "another")], 48)]
    assert ids[0] == 0
    expected = tiny_tasks.mean_rows(ids, 3, classifier.tokenizer.vocab_size)
    np.testing.assert_allclose(classifier.logits([("one text", "another")])[0], expected, atol=1e-5)
    with pytest.raises(DataError, match="entry 1 is 'one text', not a pair of texts"):
        classifier.classify(["one text"])


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_and_entities_are_those_of_the_pipeline(tmp_path, kind):
    folder = tiny_tasks.write(tmp_path / "a", TOKEN_CLASSIFICATION, kind)
    tagger = TokenClassifier.load(folder)
    model = tiny_tasks.transformers_model(tagger.card.labels, tagger.tokenizer.vocab_size, token_wise=True)
    texts = [text for text in TEXTS if tagger.tokenizer.spans(text, 48).spans]
    for name, found in (("none", tagger.tag(texts)), ("simple", tagger.entities(texts))):
        pipeline = TokenClassificationPipeline(
            model=model,
            tokenizer=theirs(folder),
            aggregation_strategy=name,
            ignore_labels=[] if name == "none" else ["O"],
            device="cpu",
        )
        for text, ours in zip(texts, found, strict=True):
            expected = pipeline(text)
            keys = ("entity" if name == "none" else "entity_group", "start", "end")
            assert [(one.label, one.start, one.end) for one in ours] == [
                tuple(one[key] for key in keys) for one in expected
            ]
            scores = [one["score"] for one in expected]
            np.testing.assert_allclose([one.score for one in ours], scores, atol=1e-5)
            assert all(one.text == text[one.start : one.end] for one in ours)


def best_span(folder, question, context, longest):
    """Brute force over the windows of transformers' tokenizer: text and score of the best span."""
    tokenizer = theirs(folder)
    stride = mobilebert_runtime.read_card(folder).stride
    windows = tokenizer(
        question,
        context,
        truncation="only_second",
        max_length=tiny_tasks.SEQ_LEN,
        stride=stride,
        return_overflowing_tokens=True,
    )
    weights = tiny_tasks.table(tokenizer.backend_tokenizer.get_vocab_size(), 2).astype(np.float64)
    found = []
    for i, ids in enumerate(windows["input_ids"]):
        places = [n for n, which in enumerate(windows.sequence_ids(i)) if which == 1]
        exponents = np.exp(weights[ids])
        chances = exponents / exponents[[0, *places]].sum(0)
        for first in places:
            for last in places:
                if first <= last < first + longest:
                    words = windows.token_to_word(i, first), windows.token_to_word(i, last)
                    start = windows.word_to_chars(i, words[0], 1).start
                    end = windows.word_to_chars(i, words[1], 1).end
                    found.append((chances[first, 0] * chances[last, 1], start, end))
    return max(found, key=lambda one: one[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("longest", [1, 4, 15])
def test_answers_are_the_best_spans_of_all_windows(tmp_path, kind, longest):
    folder = tiny_tasks.write(tmp_path / "a", QUESTION_ANSWERING, kind)
    reader = QuestionAnswerer.load(folder)
    pairs = [("Who swims?", " ".join(TEXTS[i : i + 1 + i % 4])) for i in range(24)]
    windows = [len(reader.tokenizer.windows(*pair, 48, 8)) for pair in pairs]
    assert max(windows) > 3
    for (question, context), found in zip(pairs, reader.answer(pairs, longest=longest), strict=True):
        score, start, end = best_span(folder, question, context, longest)
        assert found.score == pytest.approx(score, rel=1e-4)
        assert (found.start, found.end, found.text) == (start, end, context[start:end])


def test_more_answers_no_answer_and_no_context(tmp_path):
    reader = QuestionAnswerer.load(tiny_tasks.write(tmp_path / "a", QUESTION_ANSWERING))
    question, context = "Who swims?", "Ada swims in the river, Bob swims in the sea, and nobody is dry."
    answers = reader.answers(question, context, 5)
    assert answers[0] == reader.answer([(question, context)])[0]
    assert [one.score for one in answers] == sorted((one.score for one in answers), reverse=True)
    assert len({(one.start, one.end) for one in answers}) == 5
    assert all(one.text == context[one.start : one.end] for one in answers)
    for count in (1, 2, 3, 8):
        assert reader.answers(question, context, count) == reader.answers(question, context, 1000)[:count]
    with_none = reader.answers(question, context, 1000, may_be_none=True)
    assert [one.text for one in with_none].count("") == 1
    with pytest.raises(DataError, match="has no words"):
        reader.answer([(question, " ")])
    with pytest.raises(DataError, match="the question has"):
        reader.answer([("why " * 100, context * 3)])


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_the_networks_and_the_nearest_are_found(tmp_path, kind):
    embedder = Embedder.load(tiny_tasks.write(tmp_path / "a", EMBEDDING, kind))
    vectors = embedder.embed(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), 24), np.float32)
    ids = theirs(tmp_path / "a")(TEXTS, truncation=True, max_length=48)["input_ids"]
    expected = np.stack([tiny_tasks.mean_rows(one, 24, embedder.tokenizer.vocab_size) for one in ids])
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert embedder.embed([]).shape == (0, 24)
    unit = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    for kind_of_rows, near in (("float16", 2e-3), ("int8", 1e-2)):
        index = embedder.index(TEXTS, kind_of_rows)
        for place in (0, 7, 20):
            hits = embedder.search(TEXTS[place], index, top_k=5)
            assert hits[0].score == pytest.approx(1, abs=near)
            cosines = unit @ unit[place]
            assert [hit.score for hit in hits] == pytest.approx(np.sort(cosines)[::-1][:5], abs=near)
            assert all(hit.text == TEXTS[hit.place] for hit in hits)


def test_a_matcher_with_vectors_is_a_matcher_and_an_embedder(tmp_path):
    folder = tiny_tasks.write(tmp_path / "a", MATCHING, embedding=Embedding(24, normalized=False))
    matcher, embedder = Matcher.load(folder), Embedder.load(folder)
    tokenizer = matcher.tokenizer
    [(pair, _)] = tokenizer.ids([("one text", "another one")], 48)
    expected = tiny_tasks.mean_rows(pair, 2, tokenizer.vocab_size)
    np.testing.assert_allclose(matcher.logits([("one text", "another one")])[0], expected, atol=1e-5)
    [(single, _)] = tokenizer.ids(["one text"], 48)
    expected = tiny_tasks.mean_rows(single, 24, tokenizer.vocab_size)
    np.testing.assert_allclose(embedder.embed(["one text"])[0], expected, atol=1e-5)
    assert isinstance(load(folder), Matcher)


def test_ranks_are_by_score_and_stable(tmp_path):
    matcher = Matcher.load(tiny_tasks.write(tmp_path / "a", MATCHING, "roberta"))
    texts = [*TEXTS[:10], TEXTS[0]]
    scores = matcher.score([("one query", text) for text in texts])
    hits = matcher.rank("one query", texts)
    assert [hit.place for hit in hits] == sorted(range(len(texts)), key=lambda i: (-scores[i], i))
    assert [hit.score for hit in hits] == [pytest.approx(scores[hit.place]) for hit in hits]
    assert matcher.rank("one query", texts, top_k=2) == hits[:2]
    assert matcher.rank("one query", []) == []


def test_one_logit_scores_as_its_activation_says(tmp_path):
    folder = tiny_tasks.write(tmp_path / "s", MATCHING, labels=("score",), activation="sigmoid")
    pairs = list(itertools.pairwise(TEXTS))
    matcher = Matcher.load(folder)
    logits = matcher.logits(pairs)[:, 0].astype(np.float64)
    np.testing.assert_allclose(matcher.score(pairs), 1 / (1 + np.exp(-logits)), rtol=1e-5)
    assert np.ptp(matcher.score(pairs)) > 0.1
    plain = tiny_tasks.write(
        tmp_path / "i", MATCHING, labels=("score",), activation="identity", threshold=-2.0
    )
    np.testing.assert_array_equal(Matcher.load(plain).score(pairs), logits.astype(np.float32))
    assert (Matcher.load(plain).label(-1.9), Matcher.load(plain).label(-2.1)) == ("score", "not score")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = tmp_path_factory.mktemp("tasks")
    return {task: tiny_tasks.write(made / task, task, "roberta") for task in TASKS}


def test_load_opens_every_task_and_another_class_refuses_it_by_name(folders):
    for task, folder in folders.items():
        assert type(load(folder)) is CLASSES[task]
        for other, wrong in CLASSES.items():
            if other != task:
                with pytest.raises(
                    ArtefactError, match=f"is for {task}; open it with {CLASSES[task].__name__}"
                ):
                    wrong.load(folder)


CALLS = {
    MATCHING: lambda model, texts: model.score(list(zip(texts, texts[::-1], strict=True))).tolist(),
    CLASSIFICATION: lambda model, texts: model.classify(texts),
    TOKEN_CLASSIFICATION: lambda model, texts: model.entities(texts),
    QUESTION_ANSWERING: lambda model, texts: model.answer([("Who?", text + " x") for text in texts]),
    EMBEDDING: lambda model, texts: model.embed(texts).tolist(),
}


@pytest.mark.parametrize("task", CALLS)
def test_many_threads_on_one_object_give_the_answers_of_one(folders, task):
    model = load(folders[task])
    expected = CALLS[task](model, TEXTS)
    orders = [np.random.default_rng(seed).permutation(len(TEXTS)) for seed in range(8)]

    def right(order):
        texts = [TEXTS[i] for i in order]
        if task == MATCHING:  # its pairs depend on the order
            return CALLS[task](model, TEXTS) == expected
        return CALLS[task](model, texts) == [expected[i] for i in order]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(right, orders))


def test_the_python_of_the_page_runs(folders, tmp_path, monkeypatch, capsys):
    (tmp_path / "artefacts").mkdir()
    for name, task in zip(("matcher", "topics", "names", "squad", "vectors"), TASKS, strict=True):
        (tmp_path / "artefacts" / name).symlink_to(folders[task])
    monkeypatch.chdir(tmp_path)
    snippets = blocks("docs/run.md", "python")
    *of_tasks, server = snippets
    assert len(of_tasks) == len(TASKS)
    for snippet in of_tasks:
        exec(snippet, {})
        assert capsys.readouterr().out
    names: dict = {}
    exec(server, names)
    names["post_fork"](None, None)


@pytest.mark.parametrize("task", CALLS)
def test_one_text_in_place_of_a_list_is_refused(folders, task):
    model = load(folders[task])
    calls = {
        MATCHING: lambda: model.score("ab"),
        CLASSIFICATION: lambda: model.classify("ab"),
        TOKEN_CLASSIFICATION: lambda: model.tag("ab"),
        QUESTION_ANSWERING: lambda: model.answer("ab"),
        EMBEDDING: lambda: model.embed("ab"),
    }
    with pytest.raises(DataError, match="a text was given; give a list"):
        calls[task]()


def test_half_a_character_is_refused_and_named(folders):
    matcher, embedder = load(folders[MATCHING]), load(folders[EMBEDDING])
    with pytest.raises(DataError, match=r"entry 2 holds half a surrogate pair, '\\ud83d', as character 3"):
        embedder.embed(["whole \U0001f600", "a \ud83d"])
    with pytest.raises(DataError, match="half a surrogate pair"):
        matcher.rank("\ude00", ["a"])
    with pytest.raises(DataError, match="1 or more"):
        matcher.rank("a", ["b", "c"], 0)
    assert [hit.text for hit in matcher.rank("a", ["b", "c"], 1)] == [matcher.rank("a", ["b", "c"])[0].text]


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        (("kind",), "unigram", "is not the unigram"),
        (("template", "pair"), ["<s>", "$A", "</s>", "$B", "</s>"], "template is not that"),
        (("template", "single"), ["$A", "</s>"], "template is not that"),
        (("pad_id",), 10**6, "has no token 1000000"),
    ],
)
def test_a_tokenizer_that_is_not_the_cards_is_refused(folders, tmp_path, field, value, says):
    import json

    from mobilebert_export.pipeline.artefact_folder import write_checksums

    folder = tmp_path / "changed"
    shutil.copytree(folders[CLASSIFICATION], folder)
    card = json.loads((folder / "io.json").read_text())
    holder = card["tokenizer"]
    for key in field[:-1]:
        holder = holder[key]
    holder[field[-1]] = value
    (folder / "io.json").write_text(json.dumps(card))
    write_checksums(folder)
    with pytest.raises(ArtefactError, match=says):
        load(folder)
