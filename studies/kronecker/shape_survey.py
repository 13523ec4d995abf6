"""Every factor shape of the same size on a model's own matrices: which sum of products is nearest?

    python -m studies.kronecker.shape_survey results/kronecker/shapes.json \
        --model runs/teacher/model --part 0.135

For each linear map inside the layers and each shape of A that divides it, as many products as `--part` of the
matrix's parameters allow; the relative Frobenius error is the tail of the singular values of the rearranged
matrix (Eq. 2-5), no factors are formed. Shapes are ranked by their mean error over the layers; the record
keeps the best of every kind of layer.
"""

from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import torch
from rich.progress import track
from torch import Tensor, nn
from typer import Argument, Option

from mobilebert_models import load_pretrained
from mobilebert_models.kronecker.factored_layers import patches
from mobilebert_models.networks.layers import encoder_of
from mobilebert_runtime.files import write_json
from studies.common.script import command_line, console, run
from studies.kronecker.shape_search import divisors

KEPT = 12
Shape = tuple[int, int, int, int, int]  # m1, n1, m2, n2, products


def shapes(m: int, n: int, budget: int) -> list[Shape]:
    """Divisors and the most products of theirs that `budget` parameters hold, short of an exact sum."""
    found = []
    for m1 in divisors(m):
        for n1 in divisors(n):
            m2, n2 = m // m1, n // n1
            rank = budget // (m1 * n1 + m2 * n2)
            if 1 <= rank < min(m1 * n1, m2 * n2):
                found.append((m1, n1, m2, n2, rank))
    return found


def error(weight: Tensor, shape: Shape) -> float:
    """Relative error of the nearest sum, from the smaller Gram matrix of the rearranged W."""
    m1, n1, _, _, rank = shape
    rows = patches(weight, m1, n1)
    gram = rows @ rows.t() if rows.shape[0] <= rows.shape[1] else rows.t() @ rows
    squares = torch.linalg.eigvalsh(gram).flip(0).clamp_min(0)
    return float((squares[rank:].sum() / squares.sum()).sqrt())


def main(
    out: Annotated[Path, Argument(help="The record.")],
    model: Annotated[Path, Option(help="Model directory.")],
    part: Annotated[float, Option(help="Parameters that stay, of one matrix.")],
) -> None:
    """Rank the shapes of every kind of layer."""
    errors: dict[str, dict[Shape, list[float]]] = defaultdict(lambda: defaultdict(list))
    layers = [
        (name, module.weight.detach().double())
        for name, module in encoder_of(load_pretrained(model)).named_modules()
        if isinstance(module, nn.Linear) and name.startswith("encoder.")
    ]
    for name, weight in track(layers, "layers"):
        kind = name.split(".", 3)[3]  # encoder.layer.0.output.dense → output.dense
        for shape in shapes(weight.shape[0], weight.shape[1], int(part * weight.numel())):
            errors[kind][shape].append(error(weight, shape))
    result: dict[str, Any] = {"command": command_line(), "part": part, "kinds": {}}
    for kind, found in errors.items():
        ranked = sorted(found, key=lambda shape: sum(found[shape]))
        best = [
            dict(zip(("m1", "n1", "m2", "n2", "rank"), shape, strict=True))
            | {"error": sum(found[shape]) / len(found[shape])}
            for shape in ranked[:KEPT]
        ]
        result["kinds"][kind] = {"shapes": len(ranked), "nearest": best}
        named = ", ".join(f"{s[0]}×{s[1]} ⊗ {s[2]}×{s[3]}, {s[4]} products" for s in ranked[:3])
        console().print(f"{kind}: {len(ranked)} shapes; nearest: {named}")
    write_json(out, result)


if __name__ == "__main__":
    run(main)
