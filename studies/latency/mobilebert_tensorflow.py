"""MobileBERT's forward pass as plain TensorFlow functions over the published state dict.

TFLiteConverter reads TensorFlow graphs only. The mask is the one of Google's published graph: −10000 added to
the scores of padded keys.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

MASK = -10000.0
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class MobileBert(tf.Module):
    """The classifier as a module: constants from a state dict, one function of static shape.

    Args:
        tensors: numpy arrays by the names of `transformers.MobileBertForSequenceClassification`.
        config: the content of config.json (published shape: shared key-query bottleneck, ReLU, NoNorm).
        seq_len: tokens.
    """

    def __init__(self, tensors: Mapping[str, np.ndarray], config: Mapping[str, Any], seq_len: int) -> None:
        super().__init__()
        self.tensors = tensors
        self.config = config
        self.seq_len = seq_len
        spec = {name: tf.TensorSpec([1, seq_len], tf.int32, name) for name in INPUTS}
        self.concrete = tf.function(self.logits).get_concrete_function(**spec)

    def logits(self, input_ids: tf.Tensor, attention_mask: tf.Tensor, token_type_ids: tf.Tensor) -> tf.Tensor:
        """Three (1, S) int32 → logits (1, labels)."""
        x = self._embed(input_ids, token_type_ids)
        mask = (1.0 - tf.cast(attention_mask, tf.float32))[:, None, None, :] * MASK
        for number in range(self.config["num_hidden_layers"]):
            x = self._layer(f"mobilebert.encoder.layer.{number}", x, mask)
        return tf.identity(self._linear("classifier", x[:, 0]), "logits")

    def _embed(self, ids: tf.Tensor, types: tf.Tensor) -> tf.Tensor:
        """(1, S) → (1, S, H): next | current | previous word, widened, plus type and position."""
        root = "mobilebert.embeddings"
        word = tf.gather(self.tensors[f"{root}.word_embeddings.weight"], ids)
        following = tf.pad(word[:, 1:], [[0, 0], [0, 1], [0, 0]])
        previous = tf.pad(word[:, :-1], [[0, 0], [1, 0], [0, 0]])
        trigram = tf.concat([following, word, previous], axis=2)  # (1, S, E) → (1, S, 3E)
        x = self._linear(f"{root}.embedding_transformation", trigram)
        x += tf.gather(self.tensors[f"{root}.token_type_embeddings.weight"], types)
        x += self.tensors[f"{root}.position_embeddings.weight"][: self.seq_len]
        return self._norm(f"{root}.LayerNorm", x)

    def _layer(self, root: str, x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """(1, S, H) → (1, S, H)."""
        inner = self._reduce(f"{root}.bottleneck.input", x)
        shared = self._reduce(f"{root}.bottleneck.attention", x)
        context = self._attend(f"{root}.attention.self", shared, x, mask)
        inner = self._project(f"{root}.attention.output", context, inner)
        for number in range(self.config["num_feedforward_networks"] - 1):
            ffn = f"{root}.ffn.{number}"
            wide = tf.nn.relu(self._linear(f"{ffn}.intermediate.dense", inner))
            inner = self._project(f"{ffn}.output", wide, inner)
        wide = tf.nn.relu(self._linear(f"{root}.intermediate.dense", inner))
        inner = self._project(f"{root}.output", wide, inner)
        return self._project(f"{root}.output.bottleneck", inner, x)

    def _attend(self, root: str, shared: tf.Tensor, x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Query and key from (1, S, W), value from (1, S, H) → (1, S, W)."""
        query, key, value = (
            self._heads(self._linear(f"{root}.{name}", source))
            for name, source in (("query", shared), ("key", shared), ("value", x))
        )
        scores = tf.matmul(query, key, transpose_b=True) * query.shape[-1] ** -0.5 + mask
        context = tf.matmul(tf.nn.softmax(scores), value)
        # (1, A, S, D) → (1, S, A, D) → (1, S, W)
        return tf.reshape(tf.transpose(context, [0, 2, 1, 3]), [1, self.seq_len, -1])

    def _heads(self, x: tf.Tensor) -> tf.Tensor:
        # (1, S, W) → (1, S, A, D) → (1, A, S, D)
        split = tf.reshape(x, [1, self.seq_len, self.config["num_attention_heads"], -1])
        return tf.transpose(split, [0, 2, 1, 3])

    def _reduce(self, root: str, x: tf.Tensor) -> tf.Tensor:
        return self._norm(f"{root}.LayerNorm", self._linear(f"{root}.dense", x))

    def _project(self, root: str, x: tf.Tensor, residual: tf.Tensor) -> tf.Tensor:
        return self._norm(f"{root}.LayerNorm", self._linear(f"{root}.dense", x) + residual)

    def _norm(self, root: str, x: tf.Tensor) -> tf.Tensor:
        return x * self.tensors[f"{root}.weight"] + self.tensors[f"{root}.bias"]

    def _linear(self, root: str, x: tf.Tensor) -> tf.Tensor:
        return tf.matmul(x, self.tensors[f"{root}.weight"].T) + self.tensors[f"{root}.bias"]
