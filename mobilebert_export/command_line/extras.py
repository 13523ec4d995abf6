"""Which extra of the distribution a command needs, said in one line where it is not installed."""

from importlib.util import find_spec

from mobilebert_runtime.errors import ToolError

# What each extra of pyproject.toml brings that a base installation lacks, by its name for `import`.
TRAIN = ("torch", "transformers", "accelerate", "safetensors", "pyarrow", "sklearn", "scipy", "matplotlib")
EXTRAS: dict[str, tuple[str, ...]] = {
    "bench": ("matplotlib",),
    "export": (*TRAIN, "litert_torch", "ai_edge_quantizer", "ai_edge_litert", "onnx", "onnxruntime"),
    "mining": ("faiss", "ai_edge_litert"),
    "phone": ("adbutils",),
    "train": TRAIN,
}
# `run` and `match` need a runtime, of which the artefact says which; they name it themselves.
NEEDED: dict[str, str] = {
    **dict.fromkeys(("export", "verify", "quantize-audit", "ship"), "export"),
    **dict.fromkeys(("train-matcher", "finetune", "distill", "pretrain", "calibrate"), "train"),
    **dict.fromkeys(("evaluate", "invariances", "audit", "debias", "corpus", "train-tokenizer"), "train"),
    **dict.fromkeys(("rewrite", "factorize", "import-tensorflow", "models"), "train"),
    **dict.fromkeys(("bench", "gate"), "bench"),
    "mine": "mining",
}
# What only some uses of a command need: the extra that brings a package.
FURTHER = {
    "ray": "ray",
    "sentencepiece": "vocabulary",
    "tensorboard": "tensorboard",
    "tensorflow": "tensorflow",
    "cryptography": "export",
}


def require(command: str) -> None:
    """Refuse a command whose extra is not installed.

    Raises:
        ToolError: naming the extra.
    """
    extra = NEEDED.get(command)
    missing = [name for name in EXTRAS.get(extra or "", ()) if find_spec(name) is None]
    if missing:
        raise ToolError(advice(command, missing[0], str(extra)))


def advice(command: str, package: str, extra: str) -> str:
    """What to do about a package that is not installed."""
    return f'{command}: {package} is not installed; pip install "mobilebert-export[{extra}]"'


def of_error(command: str, error: ModuleNotFoundError) -> str | None:
    """What to do about a failed import; None where no extra brings the package."""
    package = (error.name or "").partition(".")[0]
    brings = {**FURTHER, **{name: extra for extra, names in EXTRAS.items() for name in names}}
    return advice(command, package, brings[package]) if package in brings else None
