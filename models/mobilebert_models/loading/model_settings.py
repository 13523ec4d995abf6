"""Every setting of a model directory beside its weights, and what becomes of it.

One declaration (`FILES`) refuses what would change answers and is not applied, finds what nobody knows, and
writes the table of docs/model-settings.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mobilebert_models.loading.sentence_modules import module_folders, read_object
from mobilebert_runtime.errors import ModelError

APPLIED, REFUSED, NO_EFFECT = "applied", "refused", "without effect"


@dataclass(frozen=True)
class Setting:
    """One key of a file, or several of one kind."""

    keys: tuple[str, ...]
    handling: str  # of the three above
    note: str = ""  # how it is applied; of a refused one what to do
    harmless: tuple[Any, ...] = ()  # of a refused one: values that change nothing


def _applied(*keys: str, note: str = "") -> Setting:
    return Setting(keys, APPLIED, note)


def _refused(key: str, *harmless: Any, todo: str) -> Setting:
    return Setting((key,), REFUSED, todo, harmless)


def _no_effect(*keys: str, note: str = "") -> Setting:
    return Setting(keys, NO_EFFECT, note)


_MERGE = "load and save the model without it"
_CODE = "save the model as a class of transformers, which needs no code of its own"
_TEXT = ({"text": {"method": "forward", "method_output_name": "last_hidden_state"}},)
_LOGITS = ({"text": {"method": "forward", "method_output_name": "logits"}},)

_CONFIG = (
    _applied(
        *("model_type", "architectures", "vocab_size", "hidden_size", "num_hidden_layers"),
        *("num_attention_heads", "intermediate_size", "hidden_act", "max_position_embeddings"),
        *("type_vocab_size", "layer_norm_eps", "pad_token_id", "embedding_size"),
        note="the network",
    ),
    _applied(
        "dim", "n_layers", "n_heads", "hidden_dim", "activation", note="the network; DistilBERT's names"
    ),
    _applied("num_hidden_groups", note="ALBERT"),
    _applied("relative_attention_num_buckets", note="MPNet"),
    _applied(
        *("hidden_activation", "norm_eps", "layer_types", "global_attn_every_n_layers", "local_attention"),
        *("rope_parameters", "global_rope_theta", "local_rope_theta", "classifier_pooling"),
        note="the network; ModernBERT's names",
    ),
    _applied(
        *("pos_att_type", "share_att_key", "position_buckets", "max_relative_positions", "norm_rel_ebd"),
        "pooler_hidden_act",
        note="the network; DeBERTa's names",
    ),
    _applied(
        "attention_head_size",
        "pooler_hidden_size",
        note="the network; DeBERTa's names; must be what hidden_size says",
    ),
    _applied(
        *("intra_bottleneck_size", "num_feedforward_networks", "key_query_shared_bottleneck"),
        *("use_bottleneck_attention", "normalization_type", "classifier_activation"),
        note="MobileBERT",
    ),
    _applied("true_hidden_size", note="MobileBERT; must be intra_bottleneck_size"),
    _applied("kronecker", "layer_sharing", "attention_mask_value", note="networks of this project alone"),
    _applied("id2label", "num_labels", note="names of the labels, in io.json"),
    _applied("problem_type", note="softmax, sigmoid or the logits themselves"),
    _applied(
        "sentence_transformers",
        "sbert_ce_default_activation_function",
        note="the activation of a cross-encoder",
    ),
    _applied("tokenizer_class", note="where tokenizer_config.json names none"),
    _refused("position_embedding_type", "absolute", todo="only absolute is supported"),
    _refused("is_decoder", False, todo="a decoder is not supported"),
    _refused("is_encoder_decoder", False, todo="a decoder is not supported"),
    _refused("add_cross_attention", False, todo="a decoder is not supported"),
    _refused("use_bottleneck", True, todo="a MobileBERT without bottlenecks is not supported"),
    _refused("trigram_input", True, todo="a MobileBERT without trigrams is not supported"),
    _refused("inner_group_num", 1, todo="an ALBERT with inner groups is not supported"),
    *(
        _refused(name, False, todo="a ModernBERT with biases is not supported")
        for name in ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias")
    ),
    _refused("rope_scaling", None, todo="only angles without scaling are supported"),
    _refused("relative_attention", True, todo="a DeBERTa without relative positions is not supported"),
    _refused("position_biased_input", False, todo="a DeBERTa with absolute positions is not supported"),
    _refused("conv_kernel_size", 0, todo="a DeBERTa with a convolution is not supported"),
    _refused("quantization_config", None, todo="give the weights in float32 or float16"),
    _refused("pruned_heads", None, {}, todo=_MERGE),
    _no_effect(
        *("attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout"),
        *("classifier_dropout_prob", "dropout", "attention_dropout", "qa_dropout", "seq_classif_dropout"),
        *("summary_last_dropout", "summary_first_dropout", "initializer_range"),
        *("embedding_dropout", "mlp_dropout", "initializer_cutoff_factor", "sparse_prediction"),
        *("sparse_pred_ignore_index", "pooler_dropout", "cls_dropout"),
        note="training alone",
    ),
    _no_effect(
        "dtype", "torch_dtype", note="answers are compared with the library's in float32, whatever was saved"
    ),
    _no_effect(
        *("bos_token_id", "eos_token_id", "sep_token_id", "cls_token_id", "decoder_start_token_id"),
        note="the tokenizer's count",
    ),
    _no_effect(
        *("label2id", "transformers_version", "_name_or_path", "name_or_path", "finetuning_task"),
        *("gradient_checkpointing", "use_cache", "output_past", "output_attentions"),
        *("output_hidden_states", "return_dict", "tie_word_embeddings", "tie_weights_"),
        *("sinusoidal_pos_embds", "summary_activation", "summary_type", "summary_use_proj"),
        *("down_scale_factor", "gap_size", "net_structure_type", "num_memory_blocks", "directionality"),
        *("pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers"),
        *("pooler_size_per_head", "pooler_type", "chunk_size_feed_forward"),
        *("deterministic_flash_attn", "reference_compile", "repad_logits_with_grad", "decoder_bias"),
        *("legacy", "z_steps", "conv_act", "conv_groups"),
        *("attn_implementation", "_attn_implementation", "task_specific_params", "use_bfloat16"),
        note="",
    ),
    _no_effect("auto_map", note="code of the directory is never run; the library's own class counts"),
)

_SPECIAL_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")

_TOKENIZER_CONFIG = (
    _applied(
        *("tokenizer_class", "backend", "do_lower_case", "strip_accents", "tokenize_chinese_chars"),
        *("add_prefix_space", "trim_offsets", "keep_accents", "add_bos_token", "add_eos_token"),
        *("split_by_punct", "unk_id"),
        note="by transformers itself; tokenizer.json of the artefact holds what it makes of them",
    ),
    _applied(
        *_SPECIAL_TOKENS,
        *("added_tokens_decoder", "additional_special_tokens", "extra_special_tokens"),
        *("model_specific_special_tokens",),
        note="in tokenizer.json of the artefact",
    ),
    _applied("model_max_length", "max_len", note="the longest sequence"),
    _applied("truncation_side", note="in io.json; refused where answers are parts of a text"),
    _applied(
        "model_input_names",
        note="a network that is fed no token_type_ids takes both texts of a pair for the first",
    ),
    _applied("sort_texts", "spelling", note="matchers of this project alone"),
    _refused(
        "padding_side", "right", todo="set it to right: answers then do not hang on a text's neighbours"
    ),
    _refused("split_special_tokens", False, todo="set it to false"),
    _refused("auto_map", None, todo=_CODE),
    _no_effect(
        *("clean_up_tokenization_spaces", "name_or_path", "special_tokens_map_file", "tokenizer_file"),
        *("chat_template", "is_local", "local_files_only", "processor_class", "pad_token_type_id"),
        *("pad_to_multiple_of", "stride", "truncation_strategy", "max_length", "sp_model_kwargs"),
        *("use_fast", "legacy", "full_tokenizer_file", "errors", "never_split", "do_basic_tokenize"),
        *("padding", "truncation", "_name_or_path", "vocab_size", "remove_space", "vocab_type"),
        note="the library's tokens are the same with and without",
    ),
)

_SPECIAL_TOKENS_MAP = (
    _applied(
        *_SPECIAL_TOKENS,
        *("additional_special_tokens", "extra_special_tokens"),
        note="in tokenizer.json of the artefact",
    ),
)

_TOKENIZER = (
    _applied("model", "normalizer", "pre_tokenizer", "post_processor", "added_tokens"),
    _applied("truncation", note="its side, as transformers reads it; its length counts nowhere"),
    _no_effect("version", "padding", "decoder"),
)

_MODULE_ARGUMENTS = tuple(
    _refused(name, {}, None, todo="save the model without arguments of its own")
    for name in (
        *("model_args", "model_kwargs", "tokenizer_args", "processor_kwargs", "config_args"),
        *("config_kwargs", "processing_kwargs"),
    )
)
_TRANSFORMER = (
    _applied("max_seq_length", note="the longest sequence"),
    _refused(
        "do_lower_case",
        False,
        todo="let the normalizer of tokenizer.json lower texts and set do_lower_case to false",
    ),
    _refused("transformer_task", "feature-extraction", "sequence-classification", todo="not supported"),
    _refused("modality_config", *_TEXT, *_LOGITS, todo="only texts are supported"),
    _refused("module_output_name", "token_embeddings", "scores", todo="not supported"),
    *_MODULE_ARGUMENTS,
    *(
        _refused(name, None, todo="not supported; set it to null")
        for name in ("query_length", "document_length", "query_expansion", "tokenizer_name_or_path")
    ),
    _no_effect("unpad_inputs"),
)

_SENTENCE_TRANSFORMERS = (
    _applied("model_type"),
    _applied("prompts", note="by name, in io.json; of a cross-encoder refused"),
    _applied("default_prompt_name", note="in io.json; of a cross-encoder refused"),
    _applied("similarity_fn_name", note="`search` compares by it; in io.json"),
    _applied("truncate_dim", note="the network returns so many numbers"),
    _applied("activation_fn", note="of a cross-encoder"),
    _no_effect("__version__", "keep_in_fp32_modules"),
)

_POOLING = (
    _applied("pooling_mode", note="by cls, max, mean, mean_sqrt_len_tokens; others are refused"),
    _applied(
        *("pooling_mode_cls_token", "pooling_mode_max_tokens", "pooling_mode_mean_tokens"),
        *("pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"),
        note="as older versions wrote it",
    ),
    _refused(
        "include_prompt",
        True,
        todo="a prompt's tokens are pooled with the text's; set it to true if the model has no prompts",
    ),
    _no_effect("embedding_dimension", "word_embedding_dimension"),
)

_FEATURE_NAMES = (
    _refused("module_input_name", "sentence_embedding", todo="only sentence_embedding is supported"),
    _refused("module_output_name", "sentence_embedding", None, todo="only sentence_embedding is supported"),
)
_DENSE = (
    _applied("in_features", "out_features", "bias"),
    _applied("activation_function", note="Identity or Tanh; others are refused"),
    _refused("use_residual", False, todo="not supported"),
    *_FEATURE_NAMES,
)

ADAPTER_FILE = "adapter_config.json"
_WHOLE = "merge it with merge_and_unload of peft and save the whole model"
_ADAPTER = (
    _applied("base_model_name_or_path", note="the model beside the adapter counts before it"),
    _applied("task_type", "auto_mapping", note="the base model's head"),
    _applied("lora_alpha", "use_rslora", note="the factor of the product"),
    _refused("peft_type", "LORA", todo=f"only LoRA is merged exactly; {_WHOLE}"),
    _refused("bias", "none", todo=_WHOLE),
    _refused("init_lora_weights", "gaussian", True, False, todo=f"it changes the base model; {_WHOLE}"),
    _refused("revision", None, "main", todo="write the path of the base model's folder instead"),
    *(
        _refused(name, *harmless, todo=_WHOLE)
        for names, harmless in (
            (("use_dora", "lora_bias", "use_qalora", "ensure_weight_tying"), (False,)),
            (("alpha_pattern", "loftq_config"), ({}, None)),
            (("use_bdlora", "layer_replication", "target_parameters", "trainable_token_indices"), (None,)),
            (("alora_invocation_tokens", "megatron_config", "eva_config", "corda_config"), (None,)),
            (("lora_ga_config", "velora_config", "monteclora_config", "arrow_config"), (None,)),
            (("kasa_config",), (None,)),
        )
        for name in names
    ),
    _no_effect(
        *("r", "rank_pattern", "target_modules", "exclude_modules", "modules_to_save"),
        *("layers_to_transform", "layers_pattern"),
        note="the adapter's matrices say where they belong, and their rank",
    ),
    _no_effect("fan_in_fan_out", note="peft itself does not apply it to linear layers"),
    _no_effect(
        *("lora_dropout", "inference_mode", "peft_version", "megatron_core", "qalora_group_size"),
        "runtime_config",
    ),
)

# File → its keys; a module's file by its kind.
FILES: Mapping[str, tuple[Setting, ...]] = {
    "config.json": _CONFIG,
    "tokenizer_config.json": _TOKENIZER_CONFIG,
    "special_tokens_map.json": _SPECIAL_TOKENS_MAP,
    "tokenizer.json": _TOKENIZER,
    "sentence_bert_config.json": _TRANSFORMER,
    ADAPTER_FILE: _ADAPTER,
    "config_sentence_transformers.json": _SENTENCE_TRANSFORMERS,
    "Pooling/config.json": _POOLING,
    "Dense/config.json": _DENSE,
    "Normalize/config.json": _FEATURE_NAMES,
}
# Files as a whole.
WHOLE_FILES: Mapping[str, Setting] = {
    "added_tokens.json": Setting((), APPLIED, "in tokenizer.json of the artefact"),
    "modules.json": Setting(
        (), APPLIED, "Transformer, Pooling, then Dense and Normalize; others are refused"
    ),
    "model.safetensors": Setting((), APPLIED, "the weights"),
    "matcher.json": Setting((), APPLIED, "labels, threshold, temperature, length shift; of this project"),
    "spelling.txt": Setting((), APPLIED, "the words that correct texts; of this project"),
    "adapter_model.safetensors": Setting((), APPLIED, "a LoRA, merged into the weights of its base model"),
    "adapter_model.bin": Setting((), REFUSED, "save the adapter as adapter_model.safetensors"),
    "generation_config.json": Setting((), NO_EFFECT, "nothing is generated"),
    "vocab.txt": Setting((), NO_EFFECT, "tokenizer.json holds the vocabulary"),
    "vocab.json": Setting((), NO_EFFECT, "tokenizer.json holds the vocabulary"),
    "merges.txt": Setting((), NO_EFFECT, "tokenizer.json holds the merges"),
    "spiece.model": Setting((), NO_EFFECT, "tokenizer.json holds the vocabulary"),
    "sentencepiece.bpe.model": Setting((), NO_EFFECT, "tokenizer.json holds the vocabulary"),
    "spm.model": Setting((), NO_EFFECT, "tokenizer.json holds the vocabulary"),
    "README.md": Setting((), NO_EFFECT),
}


def account(folder: Path, directory: Path) -> tuple[str, ...]:
    """Refuse the settings of a model directory that an artefact would not obey; list those nobody knows.

    Args:
        folder: the model directory.
        directory: that holds its config.json and weights: the same, or a module of it.

    Returns:
        What is not read, in the order of the files: "config.json: some_key", "some_file.json".

    Raises:
        ModelError: naming the file, the setting and what to do.
    """
    unread: list[str] = []
    for place in dict.fromkeys((folder, directory)):
        for path in sorted(one for one in place.iterdir() if one.is_file()):
            name = _shown(path, folder)
            whole = WHOLE_FILES.get(path.name)
            if whole is not None and whole.handling == REFUSED:
                raise ModelError(f"{path}: is not applied; {whole.note}")
            if path.name in FILES:
                unread += _keys(path, name, FILES[path.name])
            elif whole is None and path.suffix in (".json", ".py", ".jinja"):
                unread.append(name)
    for kind, module in module_folders(folder):
        path = module / "config.json"
        if (settings := FILES.get(f"{kind}/config.json")) and path.is_file():
            unread += _keys(path, _shown(path, folder), settings)
    return tuple(unread)


def _keys(path: Path, name: str, settings: tuple[Setting, ...]) -> Iterator[str]:
    known = {key: setting for setting in settings for key in setting.keys}
    for key, value in read_object(path).items():
        setting = known.get(key)
        if setting is None:
            yield f"{name}: {key}"
        elif setting.handling == REFUSED and not any(
            value == one and type(value) is type(one) for one in setting.harmless
        ):
            raise ModelError(f"{path}: {key} is {_short(value)}, which is not applied; {setting.note}")


def check_adapter(path: Path) -> dict[str, Any]:
    """An adapter_config.json by which an adapter can be merged exactly.

    Raises:
        ModelError: it says something else, or something that nobody knows.
    """
    if unknown := list(_keys(path, path.name, _ADAPTER)):
        values = read_object(path)
        for key in (one.rpartition(": ")[2] for one in unknown):
            if values[key] not in (None, False, {}, []):
                raise ModelError(f"{path}: {key} is {_short(values[key])}, which is not known; {_WHOLE}")
    values = read_object(path)
    for key in ("peft_type", "lora_alpha"):
        if key not in values:
            raise ModelError(f"{path}: says no {key}; save the adapter again with save_pretrained")
    alpha = values["lora_alpha"]
    if isinstance(alpha, bool) or not isinstance(alpha, int | float):
        raise ModelError(f"{path}: lora_alpha is {_short(alpha)}; expected a number")
    return values


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _shown(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def to_markdown() -> str:
    """The tables of docs/model-settings.md."""
    lines = ["| file | |", "|---|---|"]
    lines += [f"| `{name}` | {_cell(one)} |" for name, one in WHOLE_FILES.items()]
    for name, settings in FILES.items():
        lines += ["", f"## {name}", "", "| key | |", "|---|---|"]
        for one in settings:
            lines.append(f"| {', '.join(f'`{key}`' for key in one.keys)} | {_cell(one)} |")
    return "\n".join(lines) + "\n"


def _cell(setting: Setting) -> str:
    harmless = [f"`{json.dumps(one)}`" for one in setting.harmless]
    but = f" unless {' or '.join(harmless)}" if harmless else ""
    return setting.handling + but + (f": {setting.note}" if setting.note else "")
