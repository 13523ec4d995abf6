"""How long a linear layer takes in each runtime, whole and as Kronecker factors; fits the cost model.

    python -m studies.kronecker.operator_costs results/kronecker/operators.json

Every layer is a model of its own with a column vector behind it, converted and quantised as an export does.
Rounds visit all models of all recipes in turn, so that a machine that slows down slows them all. The numbers
go into `quantize/mobilebert_quantize/kronecker_costs.py` by hand.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from scipy.optimize import nnls
from torch import Tensor, nn
from typer import Argument, Option

from android_bench.measuring.machine import describe
from mobilebert_export.console import silenced
from mobilebert_export.pipeline.targets import Target
from mobilebert_models.kronecker.factored_layers import KroneckerLinear
from mobilebert_quantize.kronecker_costs import OperatorCosts, Work, factored_work, linear_work
from mobilebert_quantize.kronecker_lowering import TwoStepLinear
from mobilebert_quantize.recipes import RECIPES
from mobilebert_runtime.errors import OptionError
from mobilebert_runtime.files import write_json
from studies.common.script import command_line, run

# (n, m) of MiniLM's matrices, each whole and as (m1, n1, rank): blocks, several blocks, a low-rank matrix.
LAYERS: dict[tuple[int, int], list[tuple[int, int, int]]] = {
    (384, 384): [(192, 192, 1), (48, 48, 1), (96, 96, 4), (24, 192, 1), (384, 1, 48)],
    (384, 1536): [(8, 2, 1), (192, 48, 1), (384, 96, 4), (1536, 1, 48)],
    (1536, 384): [(2, 8, 1), (48, 192, 1), (96, 384, 4), (384, 1, 48)],
}
LENGTHS = (32, 128)
PERCENTILE = 10


class _Probe(nn.Module):
    def __init__(self, layer: nn.Module, width: int) -> None:
        super().__init__()
        self.layer, self.tail = layer, nn.Linear(width, 1)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"y": self.tail(self.layer(x))}


def probes() -> list[dict[str, Any]]:
    """Every layer at every length: what it is, its module, its work."""
    torch.manual_seed(0)
    found = []
    for ((n, m), forms), tokens in product(LAYERS.items(), LENGTHS):
        # The vector behind the layer, what makes x an integer tensor and y a float one again.
        around = Work(3, tokens * m, tokens, tokens, tokens * (n + m))
        name = f"{n}→{m}, {tokens} tokens"
        whole = {"layer": name, "form": "whole", "tokens": tokens, "n": n, "m": m}
        found.append(whole | {"module": nn.Linear(n, m), "work": linear_work(tokens, n, m) + around})
        for m1, n1, rank in forms:
            layer = KroneckerLinear(n, m, m1, n1, rank)
            sizes = m1, n1, m // m1, n // n1
            work = factored_work(tokens, sizes, rank, b_first=layer.b_first) + around
            form = f"{rank} · {m1}×{n1} ⊗ {sizes[2]}×{sizes[3]}"
            found.append(whole | {"form": form, "module": TwoStepLinear(layer), "work": work})
    return found


def write_tflite(model: nn.Module, x: Tensor, path: Path) -> None:
    """One signature, batch 1."""
    import litert_torch

    litert_torch.convert(model.eval(), sample_kwargs={"x": x}).export(str(path))


def write_onnx(model: nn.Module, x: Tensor, path: Path) -> None:
    """The exporter's own settings."""
    torch.onnx.export(
        model,
        (x,),
        path,
        input_names=["x"],
        output_names=["y"],
        opset_version=20,
        dynamo=True,
        external_data=False,
        verbose=False,
    )


def runner(path: Path, target: str, x: np.ndarray) -> Callable[[], object]:
    """One inference of a file, one thread."""
    if target == "tflite":
        from ai_edge_litert.interpreter import Interpreter

        interpreter = Interpreter(str(path), num_threads=1)
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        return interpreter.invoke
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": x})


def fit(times: np.ndarray, works: list[Work]) -> OperatorCosts:
    """Non-negative least squares of relative errors: microseconds (N,) and what was done in them."""
    rows = np.array(
        [[w.operators, w.macs / 1000, w.rows / 1000, w.results / 1000, w.moved / 1000] for w in works]
    )
    found, _ = nnls(rows / times[:, None], np.ones(len(times)))
    return OperatorCosts(*(float(f"{value:.3g}") for value in found))


def assess(rows: list[dict[str, Any]], costs: OperatorCosts, works: list[Work]) -> dict[str, Any]:
    """How far predictions are off, and how often the faster form of two is named."""
    relative = [costs.of(work) / row["us"] - 1 for row, work in zip(rows, works, strict=True)]
    whole = {
        row["layer"]: (row["us"], costs.of(w))
        for row, w in zip(rows, works, strict=True)
        if row["form"] == "whole"
    }
    choices = [
        ((row["us"] < whole[row["layer"]][0]) == (costs.of(w) < whole[row["layer"]][1]), row)
        for row, w in zip(rows, works, strict=True)
        if row["form"] != "whole"
    ]
    return {
        "median_error": float(np.median(np.abs(relative))),
        "largest_error": float(np.abs(relative).max()),
        "right_choices": sum(right for right, _ in choices),
        "choices": len(choices),
        "lost_by_wrong_choices_us": [
            [row["layer"], row["form"], round(abs(row["us"] - whole[row["layer"]][0]), 1)]
            for right, row in choices
            if not right
        ],
    }


def main(
    out: Annotated[Path, Argument(help="The record.")],
    rounds: Annotated[int, Option(min=1, help="Turns, four inferences of every model each.")] = 20,
    recipe: Annotated[list[str] | None, Option(help="Only this recipe (repeat for more).")] = None,
) -> None:
    """Measure every layer in every recipe's runtime and fit the cost model."""
    if unknown := [name for name in recipe or () if name not in RECIPES]:
        raise OptionError(f"--recipe {unknown[0]!r} is unknown; expected one of {', '.join(RECIPES)}")
    recipes = [RECIPES[name] for name in recipe or RECIPES]
    torch.set_num_threads(1)
    given = probes()
    calls: list[tuple[str, int, Callable[[], object]]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, probe in enumerate(given):
            x = torch.randn(1, probe["tokens"], probe["n"])
            for target in sorted({one.target for one in recipes}):
                plain = Path(scratch) / f"{number}-{target}"
                write = write_tflite if target == "tflite" else write_onnx
                with silenced():
                    write(_Probe(probe["module"], probe["m"]), x, plain)
                for one in recipes:
                    if one.target != target:
                        continue
                    file = plain
                    if one.quant != "none":
                        file = Path(scratch) / f"{number}-{one.name}"
                        with silenced():
                            Target(target).quantise(plain, file, one, {"x": x.numpy()})
                    calls.append((one.name, number, runner(file, target, x.numpy())))
        samples: dict[tuple[str, int], list[float]] = {(name, number): [] for name, number, _ in calls}
        for _ in range(rounds):
            for name, number, call in calls:
                for _ in range(4):
                    started = time.perf_counter()
                    call()
                    samples[name, number].append(1e6 * (time.perf_counter() - started))
    fitted = {}
    for one in recipes:
        works = [probe["work"] for probe in given]
        times = np.array([np.percentile(samples[one.name, i], PERCENTILE) for i in range(len(given))])
        costs = fit(times, works)
        rows = [
            {key: probe[key] for key in ("layer", "form", "tokens")} | {"us": round(float(us), 1)}
            for probe, us in zip(given, times, strict=True)
        ]
        fitted[one.name] = {
            "costs": asdict(costs),
            "fit": assess(rows, costs, works),
            "times": rows,
        }
    record = {
        "command": command_line(),
        "machine": describe(),
        "statistic": f"percentile {PERCENTILE} of {4 * rounds} inferences, {rounds} rounds, µs",
        "recipes": fitted,
    }
    write_json(out, record)


if __name__ == "__main__":
    run(main)
