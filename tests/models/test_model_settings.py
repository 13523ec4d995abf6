"""Promise: every setting of a model directory is applied, refused by name, without effect, or listed."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from mobilebert_export.pipeline.loading import load_model
from mobilebert_export.verification.library_answers import Library, probing_texts
from mobilebert_models.loading.model_settings import (
    ADAPTER_FILE,
    APPLIED,
    FILES,
    NO_EFFECT,
    REFUSED,
    WHOLE_FILES,
    account,
    to_markdown,
)
from mobilebert_runtime.errors import ModelError
from tests.helpers.model_directories import TOKENIZERS, embedder_directory, model_directory
from tests.helpers.settings_answers import OPTIONS, compared
from tests.helpers.settings_folders import CLASSES, WORDS, change

PAGE = Path(__file__).parents[2] / "docs" / "model-settings.md"
PLACES = {"Pooling": "1_Pooling", "Dense": "2_Dense", "Normalize": "3_Normalize"}


def rows(handling):
    return [
        (file, key, setting)
        for file, settings in FILES.items()
        for setting in settings
        if setting.handling == handling
        for key in setting.keys
    ]


def place(folder, file):
    kind, slash, name = file.partition("/")
    return folder / PLACES[kind] / name if slash else folder / file


def test_the_page_has_the_tables_of_the_code():
    assert PAGE.read_text(encoding="utf-8").partition("<!-- tables -->\n")[2] == to_markdown()


def test_no_key_stands_twice():
    for settings in FILES.values():
        keys = [key for setting in settings for key in setting.keys]
        assert len(keys) == len(set(keys))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return embedder_directory(tmp_path_factory.mktemp("settings") / "model", "bert", dense=24)


def other(harmless):
    """A value that is none of these, of the type of the first."""
    first = harmless[0]
    return not first if isinstance(first, bool) else {"a": 1} if isinstance(first, dict) else 7


@pytest.mark.parametrize(("file", "key", "setting"), rows(REFUSED))
def test_a_refused_setting_is_named_with_its_file(folder, file, key, setting):
    path = place(folder, file)
    before = path.read_bytes() if path.is_file() else None
    try:
        for value in setting.harmless:
            change(path, **{key: value})
            assert account(folder, folder) == ()
        change(path, **{key: other(setting.harmless)})
        with pytest.raises(ModelError, match=rf"{path.name}: {key} is .*not applied; {setting.note[:9]}"):
            account(folder, folder)
        with pytest.raises(ModelError) as error:
            load_model(str(folder))
        assert key in str(error.value)
    finally:
        path.unlink() if before is None else path.write_bytes(before)


def test_what_nobody_knows_is_listed_and_files_are_accounted_for(tmp_path):
    folder = embedder_directory(tmp_path / "model", "bert")
    assert account(folder, folder) == ()
    change(folder / "config.json", rope_theta=1)
    change(folder / "1_Pooling" / "config.json", weights=[1])
    change(folder / "video_config.json", size=3)
    found = account(folder, folder)
    assert found == ("config.json: rope_theta", "video_config.json", "1_Pooling/config.json: weights")
    assert load_model(str(folder)).unread == found
    for name, setting in WHOLE_FILES.items():
        if setting.handling == REFUSED:
            (folder / name).write_text("{}")
            with pytest.raises(ModelError, match=f"{name}: is not applied; {setting.note[:9]}"):
                load_model(str(folder))
            (folder / name).unlink()
        elif setting.handling == NO_EFFECT and not (folder / name).is_file():
            (folder / name).write_text("{}")
    assert account(folder, folder) == found


# What keys without effect are set to; all others to a text.
ODD = {
    "summary_use_proj": False,
    "use_cache": False,
    "output_past": True,
    "output_hidden_states": False,
    "output_attentions": False,
    "return_dict": True,
    "tie_word_embeddings": False,
    "tie_weights_": False,
    "sinusoidal_pos_embds": True,
    "gradient_checkpointing": True,
    "use_bfloat16": True,
    "dtype": "float16",
    "torch_dtype": "float16",
    "attn_implementation": "eager",
    "_attn_implementation": "eager",
    "task_specific_params": {"a": 1},
    "label2id": None,
    "auto_map": {"AutoModel": "modeling.Model"},
    "summary_activation": "relu",
    "summary_type": "mean",
    "unpad_inputs": None,
    "clean_up_tokenization_spaces": True,
    "special_tokens_map_file": "none.json",
    "tokenizer_file": "none.json",
    "is_local": False,
    "local_files_only": True,
    "pad_token_type_id": 1,
    "use_fast": False,
    "legacy": False,
    "never_split": ["moon"],
    "do_basic_tokenize": False,
    "padding": True,
    "truncation": False,
    "sp_model_kwargs": {},
    "remove_space": False,
    "truncation_strategy": "only_first",
    "version": "1.0",
    "decoder": None,
    "__version__": {"transformers": "4.0"},
    "keep_in_fp32_modules": ["pooler"],
    "chat_template": "{{ messages }}",
    "transformers_version": "4.1.0",
    "directionality": "bidi",
    "chunk_size_feed_forward": 1,
    "sparse_prediction": True,
    "deterministic_flash_attn": True,
    "reference_compile": False,
    "repad_logits_with_grad": False,
    "decoder_bias": False,
    "initializer_cutoff_factor": 3.0,
}
NUMBERS = 3, 0.25


PADDING = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": 8}
PADDING |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}


def odd(file, key, now):
    if (file, key) == ("tokenizer.json", "padding"):
        return PADDING
    if key in ODD:
        return now if key == "label2id" else ODD[key]
    if "drop" in key or key == "initializer_range":
        return NUMBERS[1]
    texts = ("name", "processor_class", "errors", "pooler_type", "_name_or_path", "net_structure_type")
    return "x" if key.endswith(texts) and key != "net_structure_type" else NUMBERS[0]


def library_answers(folder, task, words=WORDS):
    model = load_model(str(folder), **OPTIONS.get(task, {}))
    library = Library.load(model.folder, model.directory, model.task)
    same = SimpleNamespace(added_tokens_decoder={})  # the same texts, whatever tokens were added
    texts = probing_texts(same, model.task.name, model.task.texts, 24, words)
    return library.answers(texts, 24, None)


def assert_same(ones, others):
    for one, other_one in zip(ones, others, strict=True):
        np.testing.assert_allclose(one, other_one, rtol=1e-4, atol=1e-5)


FAST = ("bert", "distilbert")


@pytest.mark.parametrize(
    "kind", [one if one in FAST else pytest.param(one, marks=pytest.mark.slow) for one in TOKENIZERS]
)
def test_settings_without_effect_leave_the_librarys_answers_as_they_are(kind, tmp_path):
    folder = embedder_directory(tmp_path / "model", kind, dense=24)
    before = library_answers(folder, "sentence-embedding")
    for file, key, _ in rows(NO_EFFECT):
        path = place(folder, file)
        if path.is_file():
            now = json.loads(path.read_text()).get(key)
            change(path, **{key: odd(file, key, now)})
    assert account(folder, folder) == ()
    assert_same(library_answers(folder, "sentence-embedding"), before)
    found = compared(folder, "sentence-embedding", WORDS)
    assert found.largest <= found.allowed


# Keys whose every value makes another network: test_transformers_parity.py has them.
NETWORK = {
    key
    for _, key, setting in rows(APPLIED)
    if setting.note.startswith(("the network", "ALBERT", "Mob", "MPN"))
}
# Of networks and matchers that no library knows; their own tests have them.
OURS = {"kronecker", "layer_sharing", "attention_mask_value", "sort_texts", "spelling"}
# The same of keys whose effect hangs on other files: only that answers are the library's, whichever they are.
TOKENIZER_VALUES = {
    "bos_token": "moon",
    "eos_token": "moon",
    "unk_token": "[MASK]",
    "mask_token": "moon",
    "pad_token": "[MASK]",
    "sep_token": "[MASK]",
    "cls_token": "[MASK]",
    "backend": "tokenizers",
    "max_len": 9,
    "keep_accents": True,
    "trim_offsets": False,
    "add_bos_token": True,
    "add_eos_token": True,
    "strip_accents": False,
    "tokenize_chinese_chars": False,
    "extra_special_tokens": ["moon"],
    "model_specific_special_tokens": {"moon_token": "moon"},
    "tokenizer_class": "PreTrainedTokenizerFast",
}
# Keys that tests of their own have.
ELSEWHERE = {
    "tests/models/test_tasks.py": (
        *("in_features", "out_features", "bias", "activation_fn", "sentence_transformers"),
        *("sbert_ce_default_activation_function", "id2label", "num_labels", "problem_type"),
        *(key for _, key, _ in rows(APPLIED) if key.startswith("pooling_mode_")),
    ),
    "tests/helpers/settings_folders.py": ("similarity_fn_name",),
    "tests/models/test_adapters.py": tuple(key for file, key, _ in rows(APPLIED) if file == ADAPTER_FILE),
    "tests/mobilebert_runtime/test_tokenizer_kinds.py": (
        *("model", "normalizer", "pre_tokenizer", "post_processor", "added_tokens", "truncation"),
    ),
}
ADDED = [{"content": "moon", "lstrip": False, "rstrip": False, "normalized": True, "single_word": False}]
# File, model_type, task and change of applied keys, each of which changes the library's answers.
CHANGES = [
    ("config.json", "bert", "text-classification", {"hidden_act": "relu"}),
    ("config.json", "bert", "text-classification", {"layer_norm_eps": 0.5}),
    ("config.json", "roberta", "text-classification", {"pad_token_id": 3}),
    (
        "tokenizer_config.json",
        "bert",
        "sentence-embedding",
        {"tokenizer_class": "BertTokenizer", "do_lower_case": False},
    ),
    (
        "tokenizer_config.json",
        "roberta",
        "sentence-embedding",
        {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": True},
    ),
    *(
        (
            "tokenizer_config.json",
            "deberta-v2",
            "sentence-embedding",
            {"tokenizer_class": "DebertaV2Tokenizer", key: value},
        )
        for key, value in (("split_by_punct", True), ("unk_id", 2))
    ),
    ("tokenizer_config.json", "bert", "sentence-embedding", {"model_max_length": 9}),
    ("tokenizer_config.json", "bert", "sentence-embedding", {"truncation_side": "left"}),
    (
        "tokenizer_config.json",
        "bert",
        "text-matching",
        {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]},
    ),
    ("tokenizer_config.json", "bert", "sentence-embedding", {"additional_special_tokens": ["moon", "Ada"]}),
    ("tokenizer_config.json", "bert", "sentence-embedding", {"extra_special_tokens": ["moon", "Ada"]}),
    (
        "tokenizer_config.json",
        "bert",
        "sentence-embedding",
        {"added_tokens_decoder": {"600": ADDED[0] | {"special": True}}},
    ),
    *(
        (
            "tokenizer_config.json",
            "bert",
            "sentence-embedding",
            {"tokenizer_class": "BertTokenizer", key: "[MASK]"},
        )
        for key in ("sep_token", "cls_token")
    ),
    ("special_tokens_map.json", "bert", "sentence-embedding", {"additional_special_tokens": ["moon", "Ada"]}),
    ("sentence_bert_config.json", "bert", "sentence-embedding", {"max_seq_length": 9}),
    ("config_sentence_transformers.json", "bert", "sentence-embedding", {"truncate_dim": 5}),
    (
        "config_sentence_transformers.json",
        "bert",
        "sentence-embedding",
        {"prompts": {"a": "Find: "}, "default_prompt_name": "a"},
    ),
    ("Pooling/config.json", "bert", "sentence-embedding", {"pooling_mode": "cls"}),
    (
        "Dense/config.json",
        "bert",
        "sentence-embedding",
        {"activation_function": "torch.nn.modules.linear.Identity"},
    ),
]


def test_every_applied_setting_has_a_test():
    tested = {key for _, _, _, values in CHANGES for key in values} | TOKENIZER_VALUES.keys()
    tested |= {key for keys in ELSEWHERE.values() for key in keys}
    assert {key for _, key, _ in rows(APPLIED)} - NETWORK - OURS <= tested


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "roberta"])
@pytest.mark.parametrize("file", ["tokenizer_config.json", "special_tokens_map.json"])
@pytest.mark.parametrize("key", TOKENIZER_VALUES)
def test_a_setting_of_a_tokenizer_is_the_librarys(key, file, kind, tmp_path):
    folder = directory(tmp_path / "model", kind, "sentence-embedding")
    change(folder / "tokenizer_config.json", tokenizer_class=CLASSES[kind])
    change(folder / file, **{key: TOKENIZER_VALUES[key]})
    found = compared(folder, "sentence-embedding", WORDS)
    if isinstance(found, str):
        assert "tokenizer" in found
    else:
        assert found.largest <= found.allowed


def directory(folder, kind, task):
    if task == "sentence-embedding":
        return embedder_directory(folder, kind, dense=24, normalized=False)
    return model_directory(folder, kind, task)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "kind", "task", "values"), CHANGES)
def test_an_applied_setting_is_the_librarys(file, kind, task, values, tmp_path):
    folder = directory(tmp_path / "model", kind, task)
    before = library_answers(folder, task)
    change(place(folder, file), **values)
    found = compared(folder, task, WORDS)
    if isinstance(found, str):  # a few values have no place in an artefact
        assert any(key in found for key in values)
        return
    assert found.largest <= found.allowed
    after = library_answers(folder, task)
    same = [
        np.shape(a) == np.shape(b) and np.allclose(a, b, atol=1e-4)
        for a, b in zip(before, after, strict=True)
    ]
    assert not all(same)


@pytest.mark.parametrize("name", ["tokenizer.json", "added_tokens.json"])
def test_added_tokens_count_wherever_they_stand(name, tmp_path):
    folder, words = (
        directory(tmp_path / "model", "roberta", "sentence-embedding"),
        ("the moon", "a moonlight"),
    )
    before = library_answers(folder, "sentence-embedding", words)
    path = folder / name
    if name == "tokenizer.json":
        tokens = json.loads(path.read_text())["added_tokens"]
        change(path, added_tokens=[*tokens, ADDED[0] | {"id": 600, "special": False}])
    else:
        change(path, moon=600)
    found = compared(folder, "sentence-embedding", words)
    assert found.largest <= found.allowed
    after = library_answers(folder, "sentence-embedding", words)
    assert not all(np.allclose(a, b, atol=1e-4) for a, b in zip(before, after, strict=True))
