"""What an export will do: a request, resolved and checked against its model before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mobilebert_export.pipeline.loading import LoadedModel
from mobilebert_export.pipeline.recipe_choice import Rejected
from mobilebert_export.pipeline.targets import Target
from mobilebert_export.verification.accuracy_budget import AccuracyGoal
from mobilebert_export.verification.network_outputs import Encoded, Text
from mobilebert_quantize.recipes import Recipe
from mobilebert_runtime.card import ArtefactCard
from mobilebert_runtime.tokenizer import Pair


@dataclass(frozen=True)
class Plan:
    """All that the steps of an export need; none of them sees the request."""

    out: Path
    force: bool  # replace an artefact that lies there
    target: Target
    model: LoadedModel
    card: ArtefactCard
    recipe: Recipe  # what was asked for, and the network is rewritten for
    recipes: tuple[Recipe, ...]  # to try, the fastest first
    left_out: tuple[Rejected, ...]  # recipes that do not suit the network
    simplify: bool  # rewrite exactly
    kronecker: str  # form of Kronecker layers
    calibration: Encoded | None  # int32 (N, S) by input name, where the recipe measures anything on text
    calibration_source: str  # name of the user's file, or "bundled samples"
    goal: AccuracyGoal | None  # where there is an accuracy budget
    texts: Sequence[Text]  # to compare outputs with PyTorch on
    pairs: Sequence[Pair]  # to count changed decisions on
    threads: int | None  # of the latency measurement; None: no measurement
    secret_key: Path | None  # to sign with
