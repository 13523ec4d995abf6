"""How near an int8 inference is to what its products alone would take at the processor's int8 peak.

    python -m studies.latency.int8_limit artefacts/matcher-int8 --out results/bench/int8-limit

The peak is measured: XNNPACK's own int8 fully connected operator on one large matrix product, in the runtime
that runs the artefacts. The limit of an artefact is its multiply–accumulates over that peak; the rest of an
inference is told by the runtime's operator profile.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument, Option

from android_bench.measuring import machine
from android_bench.measuring.model_facts import model_facts
from android_bench.profiling.litert_profiler import ProfiledModel
from android_bench.profiling.operator_profile import Row, profile
from mobilebert_runtime.files import write_json
from studies.common.markdown import table
from studies.common.records import Json, check_outputs, write_text
from studies.common.script import Force, command_line, run

# Rows, inner size and width of the product whose rate is the peak.
ROWS, INNER, WIDTH = 512, 1024, 1024
WARM_UP, RUNS = 50, 300
# What the runtime calls an operator begins with one of these; the first that fits gives the group.
GROUPS = {
    "int8 linear layers": ("Fully Connected (NC, Q",),
    "float linear layers": ("Fully Connected",),
    "attention's products": ("Batch Matrix Multiply",),
    "softmax": ("Softmax",),
    "additions and multiplications": ("Add", "Multiply", "Subtract"),
    "conversions between int8 and float": ("Convert",),
    "moves": ("Transpose", "Static Reshape", "Copy", "Slice", "Constant Pad", "Concatenate"),
}
OTHER, BETWEEN = "other operators", "between operators"


def main(
    artefacts: Annotated[list[Path], Argument(help="Integer .tflite artefacts, or bare models as of peers.")],
    out: Annotated[Path, Option(help="Writes OUT.json and OUT.md.")],
    force: Force = False,
) -> None:
    """Share of the int8 limit of some artefacts on this processor, one thread."""
    check_outputs(out.with_suffix(".json"), out.with_suffix(".md"), force=force)
    macs = ROWS * INNER * WIDTH
    microseconds = product_time()
    peak = macs / microseconds / 1e3  # thousands of millions a second
    rows = []
    for folder in artefacts:
        facts, found = model_facts(folder), profile(folder)
        rows.append(
            limit_row(folder.name, facts, found.plain_ms, found.rows, peak) | {"runtime": found.runtime}
        )
    about = {"command": command_line(), "machine": machine.describe(), "threads": 1}
    product = {"rows": ROWS, "inner": INNER, "width": WIDTH, "us": microseconds, "gmac_per_s": peak}
    write_json(out.with_suffix(".json"), about | {"product": product, "artefacts": rows})
    write_text(out.with_suffix(".md"), page(product, rows))


def product_time() -> float:
    """Median microseconds of the large int8 product, timed by the runtime's profiler."""
    from ai_edge_quantizer import qtyping, quantizer
    from litert_torch import convert
    from torch import nn, zeros

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "product.tflite"
        convert(nn.Linear(INNER, WIDTH).eval(), (zeros(1, ROWS, INNER),)).export(str(path))
        work = quantizer.Quantizer(str(path))
        work.add_static_config(
            ".*", qtyping.TFLOperationName.ALL_SUPPORTED, activation_num_bits=8, weight_num_bits=8
        )
        values = np.random.default_rng(0).standard_normal((1, ROWS, INNER), np.float32)
        name = "args_0"
        ranges = work.calibrate({"serving_default": [{name: values}]})
        path.write_bytes(work.quantize(ranges).quantized_model)
        model = ProfiledModel(path, ROWS, 1)
        given = {name: np.clip(np.round(values * 40), -128, 127).astype(np.int8)}
        for _ in range(WARM_UP):
            model.run(given)
        times = [operator_us(model.profiled(given)) for _ in range(RUNS)]
    return statistics.median(times)


def operator_us(operators: Sequence[tuple[str, bool, float]]) -> float:
    """Microseconds of the one product in an inference's operators."""
    (found,) = (ms for kind, _, ms in operators if kind.startswith(GROUPS["int8 linear layers"]))
    return 1e3 * found


def limit_row(name: str, facts: Mapping[str, Any], plain_ms: float, rows: Sequence[Row], peak: float) -> Json:
    """What an inference takes beside its limit, ms.

    Args:
        name: of the artefact.
        facts: `model_facts` of it.
        plain_ms: a median inference without the profiler.
        rows: of its operator profile.
        peak: of the processor, 10⁹ multiply–accumulates a second.
    """
    macs = facts["macs"]
    limit = macs / peak / 1e6
    groups = dict.fromkeys((*GROUPS, OTHER), 0.0)
    for row in rows:
        groups[group_of(row.kind)] += row.ms
    groups[BETWEEN] = plain_ms - sum(groups.values())
    return {
        "artefact": name,
        "seq_len": facts["seq_len"],
        "macs": macs,
        "limit_ms": limit,
        "inference_ms": plain_ms,
        "share": limit / plain_ms,
        "groups": groups,
        "operators": sum(row.count for row in rows),
    }


def group_of(kind: str) -> str:
    """The group of an operator, from what the runtime calls it."""
    return next((group for group, starts in GROUPS.items() if kind.startswith(starts)), OTHER)


def page(product: Json, rows: Sequence[Json]) -> str:
    """The limit of every artefact, then where its time goes."""
    limits = [
        [
            row["artefact"],
            f"{row['macs'] / 1e6:,.0f}",
            f"{row['limit_ms']:.2f}",
            f"{row['inference_ms']:.2f}",
            f"{row['share']:.1%}",
        ]
        for row in rows
    ]
    names = list(rows[0]["groups"])
    parts = [[name, *(f"{row['groups'][name]:.2f}" for row in rows)] for name in names]
    shape = f"{product['rows']} × {product['inner']} by {product['inner']} × {product['width']}"
    return f"""# int8 inferences beside the processor's int8 limit

One thread. Peak: XNNPACK's int8 product of {shape} takes {product["us"]:.0f} µs,
{product["gmac_per_s"]:.0f} GMAC/s. The limit of a file is all its multiply–accumulates at that peak.

{table(["file", "MMAC", "limit ms", "inference ms", "share of the limit"], limits)}

Where the time goes, ms, by the runtime's operator profile. It rounds every operator down to a whole
microsecond, so short ones count as nothing; what they take is in "{BETWEEN}", beside the runtime's own work.

{table(["", *(row["artefact"] for row in rows)], parts)}
"""


if __name__ == "__main__":
    run(main)
