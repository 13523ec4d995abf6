"""Sentence-transformers folders as one network."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from safetensors import SafetensorError
from safetensors.torch import load_file

from mobilebert_models.loading.pretrained import load_pretrained, save_pretrained
from mobilebert_models.loading.sentence_modules import encoder_directory, read_sentence_modules
from mobilebert_models.networks.layers import Encoder, encoder_of
from mobilebert_models.networks.sentence_embedder import SentenceEmbedder, SentenceModules
from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import replacing_folder, write_json


def load_embedder(directory: str | Path) -> SentenceEmbedder:
    """A sentence-transformers folder as one network, in eval mode and float32.

    Raises:
        ModelError: as `load_pretrained` and `read_sentence_modules`; or the modules do not fit each other.
    """
    directory = Path(directory)
    modules = read_sentence_modules(directory)
    if modules is None:
        raise ModelError(f"{directory}: no modules.json, so nothing says how its token vectors are pooled")
    encoder = encoder_of(load_pretrained(encoder_directory(directory)))
    width = len(modules.pooling) * encoder.config.hidden_size
    for layer in modules.dense:
        if layer.in_features != width:
            raise ModelError(f"{layer.folder}: reads {layer.in_features} features, not the {width} before it")
        width = layer.out_features
    return _around(encoder, modules).eval()


def save_embedder(encoder: Encoder, directory: Path, *, tokenizer_from: Path, half: bool = False) -> None:
    """Write a sentence-transformers folder: the encoder, the mean over its tokens, unit length.

    Args:
        encoder: a bare one.
        directory: where to; an existing one is replaced at the end.
        tokenizer_from: as for `save_pretrained`.
        half: store float16.
    """
    kinds = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    modules = [
        {"idx": k, "name": str(k), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for k, (kind, path) in enumerate(kinds.items())
    ]
    pooling = {"word_embedding_dimension": encoder.config.hidden_size, "pooling_mode_mean_tokens": True}
    with replacing_folder(directory) as partial:
        save_pretrained(encoder, partial / "encoder", tokenizer_from=tokenizer_from, half=half)
        for path in (partial / "encoder").iterdir():
            path.rename(partial / path.name)
        (partial / "encoder").rmdir()
        (partial / "1_Pooling").mkdir()
        write_json(partial / "1_Pooling/config.json", pooling)
        write_json(partial / "modules.json", modules)


def _around(encoder: Encoder, modules: SentenceModules) -> SentenceEmbedder:
    embedder = SentenceEmbedder(encoder.config, modules)
    encoder.pooler = None
    embedder.encoder = encoder
    for linear, layer in zip(embedder.dense, modules.dense, strict=True):
        path = cast(Path, layer.folder) / "model.safetensors"
        try:
            tensors = load_file(path)
            linear.load_state_dict({name.removeprefix("linear."): value for name, value in tensors.items()})
        except (OSError, SafetensorError, RuntimeError) as error:
            reason = str(error).strip().splitlines()[-1].strip()
            raise ModelError(f"{path}: not the weights of this dense layer ({reason})") from error
    return embedder.float()
