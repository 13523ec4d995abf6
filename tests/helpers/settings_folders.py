"""Model directories with settings beside their weights, saved by the libraries themselves; drawn by a seed.

A folder is one combination of the levels of `FACTORS`. `combinations` covers every pair of levels of two
factors that can stand together.
"""

import functools
import itertools
import json
import random
import shutil

from tests.helpers.model_directories import TOKENIZERS, embedder_directory, model_directory

TASKS = (
    "sentence-embedding",
    "cross-encoder",
    "text-matching",
    "text-classification",
    "token-classification",
    "question-answering",
)
POOLINGS = ("mean", "cls", "max", "mean_sqrt_len_tokens")
# The families that combinations are made of; the others have folders of their own.
KINDS = tuple(kind for kind in TOKENIZERS if kind not in ("modernbert", "deberta-v2"))
FACTORS = {
    "kind": KINDS,
    "task": TASKS,
    "pooling": POOLINGS,
    "behind": ("nothing", "normalize", "dense", "dense+normalize"),
    "limit": ("none", "max_seq_length", "model_max_length"),
    "cut": ("none", "truncate_dim", "longer truncate_dim"),
    "similarity": ("cosine", "dot", "euclidean", "manhattan", "null"),
    "prompts": ("none", "query+document", "query+passage", "default", "include_prompt false"),
    "side": ("default", "right", "left"),
    "case": ("default", "lower", "cased"),
    "accents": ("default", "strip", "keep"),
    "chinese": ("default", "split", "whole"),
    "added": (
        "none",
        "decoder",
        "additional",
        "extra",
        "added_tokens.json",
        "special_tokens_map.json",
        "spaced",
    ),
    "class": ("backend", "own"),
}
# The tokenizer class of a model_type in `transformers`, which builds its rules from tokenizer_config.json.
CLASSES = {
    "bert": "BertTokenizer",
    "mobilebert": "BertTokenizer",
    "distilbert": "BertTokenizer",
    "electra": "BertTokenizer",
    "mpnet": "MPNetTokenizer",
    "roberta": "RobertaTokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
    "albert": "AlbertTokenizer",
    "modernbert": "PreTrainedTokenizerFast",
    "deberta-v2": "DebertaV2Tokenizer",
}
ADDED = ("[NEW]", "<x1>", "straße")
SPACED = ("new york", "数学")
# Texts beside those that the check of an export has.
WORDS = (
    "[NEW]",
    "<x1>",
    "straße",
    "new york",
    "数学",
    "MOON",
    "Café",
    "don't",
    "x[NEW]y",
    "new  york",
    "STRASSE",
)


@functools.cache
def combinations(seed=0):
    """Dicts of a level for each factor: every pair of levels of two factors stands in one of them."""
    draw = random.Random(seed)
    open_pairs = {
        frozenset([(first, a), (second, b)])
        for first, second in itertools.combinations(FACTORS, 2)
        for a in FACTORS[first]
        for b in FACTORS[second]
    }
    found = []
    while open_pairs:
        best, covers = None, set()
        for _ in range(12):
            chosen = dict(draw.choice(sorted(map(sorted, open_pairs))))
            for name in draw.sample(sorted(FACTORS), len(FACTORS)):
                if name not in chosen:
                    chosen[name] = max(
                        draw.sample(FACTORS[name], len(FACTORS[name])),
                        key=lambda level, name=name, chosen=chosen: sum(
                            frozenset([(name, level), item]) in open_pairs for item in chosen.items()
                        ),
                    )
            new = {frozenset(pair) for pair in itertools.combinations(chosen.items(), 2)} & open_pairs
            if len(new) > len(covers):
                best, covers = chosen, new
        open_pairs -= covers
        found.append({name: best[name] for name in FACTORS})
    return found


def random_combination(seed):
    """One drawn level for each factor."""
    draw = random.Random(seed)
    return {name: draw.choice(levels) for name, levels in FACTORS.items()}


def write(folder, chosen, seed=0):
    """The model directory of a combination; the folder."""
    task, kind = chosen["task"], chosen["kind"]
    if task == "sentence-embedding":
        behind = chosen["behind"].split("+")
        embedder_directory(
            folder,
            kind,
            chosen["pooling"],
            dense=24 if "dense" in behind else None,
            seed=seed,
            normalized="normalize" in behind,
        )
        _sentence_settings(folder, chosen)
    elif task == "cross-encoder":
        from sentence_transformers import CrossEncoder

        source = model_directory(folder.with_name(folder.name + "-source"), kind, "one-logit", seed)
        CrossEncoder(str(source), device="cpu").save(str(folder))
        shutil.rmtree(source)
    else:
        model_directory(folder, kind, task, seed)
    if chosen["limit"] == "max_seq_length" and task in ("sentence-embedding", "cross-encoder"):
        change(folder / "sentence_bert_config.json", max_seq_length=21)
    _tokenizer_settings(folder, chosen)
    return folder


def change(path, **values):
    """Set keys of a JSON object, which need not be there yet."""
    path.write_text(json.dumps((json.loads(path.read_text()) if path.is_file() else {}) | values))


def _sentence_settings(folder, chosen):
    own = folder / "config_sentence_transformers.json"
    cut = {"none": None, "truncate_dim": 16, "longer truncate_dim": 512}[chosen["cut"]]
    change(own, similarity_fn_name=None if chosen["similarity"] == "null" else chosen["similarity"])
    if cut:
        change(own, truncate_dim=cut)
    prompts = {
        "none": {},
        "query+document": {"query": "query: ", "document": "Document — "},
        "query+passage": {"query": "Query:", "passage": "passage: "},
        "default": {"query": "search ", "task": "Instruct: find\nText: "},
        "include_prompt false": {"query": "query: "},
    }[chosen["prompts"]]
    if prompts:
        change(own, prompts=prompts)
    if chosen["prompts"] == "default":
        change(own, default_prompt_name="task")
    if chosen["prompts"] == "include_prompt false":
        change(folder / "1_Pooling" / "config.json", include_prompt=False)


def _tokenizer_settings(folder, chosen):
    path = folder / "tokenizer_config.json"
    values = json.loads(path.read_text())
    # What saving an encoder wrote, so that a level is what it says.
    values.pop("model_max_length", None)
    if chosen["limit"] == "model_max_length":
        values["model_max_length"] = 19
    if chosen["class"] == "own":
        values["tokenizer_class"] = CLASSES[chosen["kind"]]
    if chosen["side"] != "default":
        values["truncation_side"] = chosen["side"]
    for name, key, levels in (
        ("case", "do_lower_case", {"lower": True, "cased": False}),
        ("accents", "strip_accents", {"strip": True, "keep": False}),
        ("chinese", "tokenize_chinese_chars", {"split": True, "whole": False}),
    ):
        if chosen[name] != "default":
            values[key] = levels[chosen[name]]
    path.write_text(json.dumps(values))
    start = _entries(folder)
    tokens = SPACED if chosen["added"] == "spaced" else ADDED
    described = {
        str(start + i): {
            "content": token,
            "lstrip": False,
            "rstrip": False,
            "normalized": i % 2 == 1,
            "single_word": False,
            "special": i % 2 == 0,
        }
        for i, token in enumerate(tokens)
    }
    if chosen["added"] in ("decoder", "spaced"):
        change(path, added_tokens_decoder=described)
    elif chosen["added"] == "additional":
        change(path, additional_special_tokens=list(tokens))
    elif chosen["added"] == "extra":
        change(path, extra_special_tokens=list(tokens))
    elif chosen["added"] == "added_tokens.json":
        change(folder / chosen["added"], **{token: start + i for i, token in enumerate(tokens)})
    elif chosen["added"] == "special_tokens_map.json":
        change(folder / chosen["added"], additional_special_tokens=list(tokens))


def _entries(folder):
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
