"""Pretraining under a teacher as data: MobileBERT's strategies (section 3.6) and its ablations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mobilebert_runtime.errors import OptionError
from mobilebert_training.distillation.losses import Weights

# MobileBERT Eq. 4 with α = 0.5 (appendix D).
_DISTIL = {"mlm": 0.5, "mlm_distillation": 0.5, "pair": 1.0}
_TRANSFER = {"feature_map": 1.0, "statistics": 1.0, "attention": 1.0}
_BARE = {"mlm": 1.0, "pair": 1.0}
_FEATURE_MAPS = {"feature_map": 1.0, "statistics": 1.0}
# KroneckerBERT Eq. 14 at pretraining (section 3.5.2): intermediate layers, MLM and NSP.
_HIDDEN_STATES = {"embedding": 1.0, "hidden_states": 1.0, "attention_scores": 1.0}
_KRONECKER = _HIDDEN_STATES | {"mlm": 1.0, "pair": 1.0}

Learns = Literal["all", "layers", "layer by layer"]


@dataclass(frozen=True)
class Phase:
    """A row of a strategy.

    `budget`: whose steps it takes: those of transfer (240k in the paper, the same for every strategy,
    section 4.2), those of pretraining, or both. `learns`: everything; the layers alone, while embeddings and
    classifier stay the teacher's; or one layer after the other. `below`: learning rate of the layers below
    the one that learns, as a multiple; 0 freezes them.
    """

    name: str
    budget: Literal["transfer", "pretraining", "both"]
    weights: Weights
    learns: Learns = "all"
    below: float = 0.0


@dataclass(frozen=True)
class Strategy:
    """Phases in order; `inherits`: embeddings and classifier start as the teacher's copies."""

    phases: tuple[Phase, ...]
    inherits: bool = True
    needs_teacher: bool = True


_PD = Phase("distil", "pretraining", Weights(**_DISTIL))

STRATEGIES: dict[str, Strategy] = {
    # Table 8: auxiliary, joint and progressive knowledge transfer.
    "akt": Strategy((Phase("auxiliary", "both", Weights(**_TRANSFER, **_DISTIL)),), inherits=False),
    "jkt": Strategy((Phase("joint", "transfer", Weights(**_TRANSFER), "layers"), _PD)),
    "pkt": Strategy((Phase("layer", "transfer", Weights(**_TRANSFER), "layer by layer"), _PD)),
    # "We further tune the lower layers with a small learning rate rather than entirely freezing them"; the
    # paper gives no figure for small.
    "pkt-soft": Strategy(
        (Phase("layer", "transfer", Weights(**_TRANSFER), "layer by layer", below=0.1), _PD)
    ),
    # Table 9; its last row is pkt.
    "bare": Strategy((Phase("bare", "both", Weights(**_BARE)),), inherits=False, needs_teacher=False),
    "pd": Strategy((Phase("distil", "both", Weights(**_DISTIL)),), inherits=False),
    "pd-fmt": Strategy((Phase("layer", "transfer", Weights(**_FEATURE_MAPS), "layer by layer"), _PD)),
    # KroneckerBERT's first stage; the student starts as the teacher's nearest Kronecker sum.
    "kronecker": Strategy((Phase("kronecker", "both", Weights(**_KRONECKER)),)),
    # The same under a teacher that is an encoder without an MLM head, such as MiniLM.
    "kronecker-encoder": Strategy((Phase("kronecker", "both", Weights(**_HIDDEN_STATES)),)),
}


@dataclass(frozen=True)
class PretrainingStage:
    """One run of the trainer.

    Attributes:
        name: of its record.
        steps: updates.
        weights: of the parts of its loss.
        learns: "all", "layers", or the number of the one layer, from 0.
        below: learning rate of the layers below that one, as a multiple; 0 = frozen.
    """

    name: str
    steps: int
    weights: Weights
    learns: Literal["all", "layers"] | int = "all"
    below: float = 0.0


def strategy(name: str) -> Strategy:
    """Look up a strategy.

    Raises:
        OptionError: no strategy has this name.
    """
    if name not in STRATEGIES:
        raise OptionError(f"strategy {name!r} is unknown; expected one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name]


def stages(
    plan: Strategy, layers: int, transfer_steps: int, pretraining_steps: int
) -> list[PretrainingStage]:
    """The runs of a strategy, for a student with so many layers.

    Every strategy takes `transfer_steps + pretraining_steps` updates in all. Layer by layer the transfer
    steps are shared evenly; what does not divide goes to the last layers.

    Raises:
        OptionError: there are fewer transfer steps than layers.
    """
    out = []
    for phase in plan.phases:
        steps = {
            "transfer": transfer_steps,
            "pretraining": pretraining_steps,
            "both": transfer_steps + pretraining_steps,
        }[phase.budget]
        if phase.learns == "layer by layer":
            if steps < layers:
                raise OptionError(f"{steps} transfer steps for {layers} layers; give each at least one")
            ends = [steps * (i + 1) // layers for i in range(layers)]
            for layer, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
                name = f"{phase.name}-{layer + 1:02d}"
                out.append(PretrainingStage(name, end - start, phase.weights, layer, phase.below))
        elif steps:
            out.append(PretrainingStage(phase.name, steps, phase.weights, phase.learns))
    return out
