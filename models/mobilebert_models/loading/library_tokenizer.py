"""The tokenizer of a model directory as `transformers` reads it, from all files that say anything of it.

tokenizer.json alone is not what `transformers` splits texts by: tokenizer_config.json may change its rules
(case, accents, Chinese characters), and added tokens may stand in tokenizer_config.json,
special_tokens_map.json or added_tokens.json. So the library loads the directory, and what it made of it is
taken as a tokenizer.json that holds everything.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mobilebert_models.config import EncoderConfig
from mobilebert_models.loading.pretrained import read_config
from mobilebert_models.loading.sentence_modules import read_object, transformer_settings
from mobilebert_runtime.card_parts import TOKENIZER_FILE
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.tokenizer import PairTokenizer
from mobilebert_runtime.tokenizer_kinds import CONFIG_FILE, NO_LIMIT

# Members of tokenizer.json that no reader of ours obeys: texts are cut and padded to the network's lengths.
_LENGTHS = ("truncation", "padding")


@dataclass(frozen=True)
class LoadedTokenizer:
    """A tokenizer, and the tokenizer.json that holds all of it."""

    tokenizer: PairTokenizer
    content: bytes  # of tokenizer.json


def load_tokenizer(directory: str | Path) -> PairTokenizer:
    """The tokenizer of a model directory, as `transformers` reads it.

    Raises:
        ModelError: a file is missing or damaged, or the library can't read it.
    """
    return read_tokenizer(Path(directory), read_config(directory)).tokenizer


def read_tokenizer(directory: Path, config: EncoderConfig, folder: Path | None = None) -> LoadedTokenizer:
    """The same with its tokenizer.json.

    Args:
        directory: that holds the tokenizer.
        config: of its network.
        folder: the model directory, where that is another one; a limit of sentence-transformers counts.

    Raises:
        ModelError: as `load_tokenizer`.
    """
    own = PairTokenizer.load(directory)  # its errors, before any of the library's
    saved = (directory / TOKENIZER_FILE).read_bytes()
    theirs = _library_tokenizer(directory, config)
    if theirs.padding_side != "right":
        raise ModelError(
            f"{directory}: padding_side is {theirs.padding_side} (in tokenizer_config.json, or the direction "
            "of padding in tokenizer.json), which is not applied; set it to right"
        )
    content = _whole(theirs, saved, keep_template=_reads_texts_apart(directory))
    limit = transformer_settings(folder or directory).max_seq_length or theirs.model_max_length
    if not isinstance(limit, int | float):
        raise ModelError(f"{directory / CONFIG_FILE}: model_max_length {limit!r:.60}: expected a number")
    tokenizer = PairTokenizer.read(
        directory / TOKENIZER_FILE,
        theirs.pad_token_id,
        int(limit) if limit < NO_LIMIT else None,
        own.spelling,
        sort_texts=own.sort_texts,
        truncation_side=theirs.truncation_side,
        content=content,
    )
    return LoadedTokenizer(tokenizer, content)


def _library_tokenizer(directory: Path, config: EncoderConfig) -> Any:
    from transformers import AutoConfig, AutoTokenizer
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    named = read_object(directory / "config.json").get("model_type")
    # A model_type of ours splits texts as the published one that it comes from.
    given = {} if named in CONFIG_MAPPING else {"config": AutoConfig.for_model(config.model_type)}
    try:
        return AutoTokenizer.from_pretrained(
            str(directory), local_files_only=True, trust_remote_code=False, **given
        )
    except Exception as error:  # the library's own, Rust's, and of the standard library
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(
            f"{directory / CONFIG_FILE}: transformers can't load this tokenizer ({lines[0][:200]}); save it "
            "again with save_pretrained"
        ) from error


def _whole(theirs: Any, saved: bytes, *, keep_template: bool) -> bytes:
    """tokenizer.json of what the library made; the bytes of the file where that is what it says already."""
    found, file = json.loads(theirs.backend_tokenizer.to_str()), json.loads(saved)
    if keep_template:
        found["post_processor"] = file.get("post_processor")
    elif "token_type_ids" not in theirs.model_input_names:
        found["post_processor"] = _without_types(found["post_processor"])
    lengths = dict.fromkeys(_LENGTHS)
    if found | lengths == file | lengths:
        return saved
    return json.dumps(found | lengths, ensure_ascii=False).encode()


def _without_types(step: dict[str, Any] | None) -> dict[str, Any] | None:
    """A post-processor whose tokens all have type 0: what a network reads that is fed no types."""
    if step is None:
        return None
    if step["type"] == "Sequence":
        return step | {"processors": [_without_types(one) for one in step["processors"]]}
    if step["type"] == "BertProcessing":
        before, after = step["cls"], step["sep"]
        names = {name: {"id": name, "ids": [number], "tokens": [name]} for name, number in (before, after)}
        parts = [
            {"SpecialToken": {"id": before[0], "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": after[0], "type_id": 0}},
        ]
        second = [{"Sequence": {"id": "B", "type_id": 0}}, parts[-1]]
        return {
            "type": "TemplateProcessing",
            "single": parts,
            "pair": parts + second,
            "special_tokens": names,
        }
    if step["type"] != "TemplateProcessing":
        return step
    return step | {
        name: [{kind: part | {"type_id": 0} for kind, part in item.items()} for item in step[name]]
        for name in ("single", "pair")
    }


def _reads_texts_apart(directory: Path) -> bool:
    """An embedding matcher puts each text of a pair in a template of its own, which is no model_type's."""
    named = read_object(directory / "config.json").get("architectures") or [""]
    return str(named[0]).endswith("EmbeddingMatcher")
