"""Where two other networks begin that were tried as trunks, for `train --start`: both of MiniLM itself.

    python -m recipes.mobilebert_trunk.other_starts rewritten --pool RUN/pool --out START

`rewritten`: NoNorm for LayerNorm and ReLU for GELU, by least squares on texts of the pool. `kronecker`: the
matrices of its feed-forward networks as sums of Kronecker products, so that with words in four bits and all
else in eight a file has the bytes of the network of MobileBERT's kind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import numpy as np
from typer import Argument, Option

from mobilebert_models import PairClassifier, build, load_pretrained, save_pretrained
from mobilebert_models.config import KroneckerRule
from mobilebert_models.convert.nonorm_relu import rewrite
from mobilebert_models.kronecker.compress import compress
from mobilebert_models.loading.packaged import packaged_directory
from mobilebert_models.networks.layers import Encoder, encoder_of
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.pool import Pool
from recipes.mobilebert_trunk.train import FITTED_AT_ONCE, FITTED_ON, HELD
from studies.common.script import console, run

# 384 × 1,536 numbers each; both factors of a product have 768.
RULES = (
    KroneckerRule("*.intermediate.dense", 48, 16, rank=32),
    KroneckerRule("encoder.layer.?.output.dense", 24, 32, rank=32),
)


def main(
    kind: Annotated[str, Argument(help="rewritten or kronecker.")],
    out: Annotated[Path, Option(help="Model directory to write.")],
    pool: Annotated[Path, Option(help="Pool of the run whose texts the rewrite is fitted to.")],
) -> None:
    """Write the network that `train --start` goes on from."""
    kinds = {"rewritten": rewritten, "kronecker": factored}
    if kind not in kinds:
        raise OptionError(f"{kind!r}: expected one of {', '.join(kinds)}")
    folder = packaged_directory("minilm")
    encoder = encoder_of(load_pretrained(folder)).eval()
    begun = kinds[kind](encoder, Pool(pool, PairTokenizer.load(folder)))
    save_pretrained(begun, out, tokenizer_from=folder)
    console().print(f"{out}: {sum(p.numel() for p in begun.parameters()):,} parameters")


def rewritten(encoder: Encoder, pool: Pool) -> Encoder:
    """MiniLM with NoNorm and ReLU."""
    model = cast(PairClassifier, build(encoder.config, "pair_classifier"))
    model.encoder.load_state_dict(encoder.state_dict(), strict=False)
    batches = pool.batches(np.arange(HELD, HELD + FITTED_ON), FITTED_AT_ONCE)
    found = rewrite(model, batches)[0].encoder
    found.pooler = None
    return found


def factored(encoder: Encoder, _: Pool) -> Encoder:
    """MiniLM with feed-forward networks of Kronecker products, the nearest ones to its matrices."""
    encoder.pooler = None
    return compress(encoder, RULES)[0]


if __name__ == "__main__":
    run(main)
