"""Compact BERT text matchers: train, distil, export to TFLite and ONNX, verify, measure.

    import mobilebert_export as mb

    result = mb.export("matcher-open-m", "artefacts/matcher", target="tflite", quant="int8")
    print(result.recipe, result.verification.label_agreement)

Each function is what the command of its name calls, returns a frozen dataclass, prints nothing, and raises
`UserError` for bad input and `CheckError` for a result that is not good enough. `import mobilebert_export`
loads neither torch nor a runtime; a name is imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mobilebert_export.evaluation.scoring import Evaluation, evaluate
    from mobilebert_export.library import (
        GateResult,
        TrainingResult,
        calibrate,
        distill,
        export,
        gate,
        ship,
        train,
    )
    from mobilebert_export.pipeline.export_request import ExportRequest
    from mobilebert_export.pipeline.exporter import ExportResult
    from mobilebert_export.pipeline.report import Report
    from mobilebert_export.pipeline.verifier import verify
    from mobilebert_export.shipping.ship import ShippedMatcher, ShipResult
    from mobilebert_export.verification.verify import Verification, VerificationError
    from mobilebert_models import MatcherSettings
    from mobilebert_runtime import Matcher, load
    from mobilebert_runtime.errors import CheckError, UserError
    from mobilebert_training.distillation.distillation import DistillationResult

_LIBRARY = "mobilebert_export.library"
_MODULES = {
    "export": _LIBRARY,
    "verify": "mobilebert_export.pipeline.verifier",
    "train": _LIBRARY,
    "distill": _LIBRARY,
    "calibrate": _LIBRARY,
    "ship": _LIBRARY,
    "evaluate": "mobilebert_export.evaluation.scoring",
    "gate": _LIBRARY,
    "load": "mobilebert_runtime",
    "Matcher": "mobilebert_runtime",
    "CheckError": "mobilebert_runtime.errors",
    "DistillationResult": "mobilebert_training.distillation.distillation",
    "Evaluation": "mobilebert_export.evaluation.scoring",
    "ExportRequest": "mobilebert_export.pipeline.export_request",
    "ExportResult": "mobilebert_export.pipeline.exporter",
    "GateResult": _LIBRARY,
    "MatcherSettings": "mobilebert_models",
    "Report": "mobilebert_export.pipeline.report",
    "ShipResult": "mobilebert_export.shipping.ship",
    "ShippedMatcher": "mobilebert_export.shipping.ship",
    "TrainingResult": _LIBRARY,
    "UserError": "mobilebert_runtime.errors",
    "Verification": "mobilebert_export.verification.verify",
    "VerificationError": "mobilebert_export.verification.verify",
}
__all__ = [
    "CheckError",
    "DistillationResult",
    "Evaluation",
    "ExportRequest",
    "ExportResult",
    "GateResult",
    "Matcher",
    "MatcherSettings",
    "Report",
    "ShipResult",
    "ShippedMatcher",
    "TrainingResult",
    "UserError",
    "Verification",
    "VerificationError",
    "calibrate",
    "distill",
    "evaluate",
    "export",
    "gate",
    "load",
    "ship",
    "train",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
