"""The converter of multilingual-e5-small: four-bit blocks, and the tokenizer's character classes."""

import struct

import numpy as np
import pytest

from mobilebert_runtime.errors import ModelError
from studies.any_encoder.e5_small import PackedModel, dequantised, read_packed, tokenizer_of

# multilingual-e5-small's character map says that a zero-width space is a space, a control character nothing.
CHARACTERS = {"a b": "a b", "a\tb": "a b", "a\u200bb": "a b", "a\x01b": "ab", "  a   b": "a b", "ﬁ①": "fi1"}


def test_four_bit_blocks_equal_the_definition_number_by_number() -> None:
    random = np.random.default_rng(0)
    scales, packed = (
        random.normal(size=3).astype(np.float16),
        random.integers(0, 256, (3, 16), dtype=np.uint8),
    )
    data = b"xx" + b"".join(
        struct.pack("<e", s) + bytes(p.tolist()) for s, p in zip(scales, packed, strict=True)
    )
    expected = [
        float(s) * ((int(p[i % 16]) >> (4 * (i // 16)) & 15) - 8)
        for s, p in zip(scales, packed, strict=True)
        for i in range(32)
    ]
    np.testing.assert_allclose(dequantised(data, 2, 96), expected, rtol=1e-6)


def test_tokenizer_reads_characters_as_the_map_of_the_package_does() -> None:
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces += [(piece, -1.0) for piece in ("▁", "a", "b", "f", "i", "1")]
    tokenizer = tokenizer_of(PackedModel((), 0.0, pieces, (0, 2, 1, 3), {}))
    for text, plain in CHARACTERS.items():
        words = [f"▁{word}" for word in plain.split()]
        assert "".join(tokenizer.encode(text, add_special_tokens=False).tokens) == "".join(words)
    assert tokenizer.encode("a", "b").tokens == ["<s>", "▁", "a", "</s>", "</s>", "▁", "b", "</s>"]


def test_another_file_is_refused(tmp_path) -> None:
    (tmp_path / "model.bin").write_bytes(b"E5S1")
    with pytest.raises(ModelError, match="fetch the package again"):
        read_packed(tmp_path / "model.bin")
