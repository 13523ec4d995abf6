"""Compares what was expected of int8 on Arm cores with what a phone measured.

The file is one that `python -m studies.latency.arm_kernels` writes: cycles of an inference by core and
artefact, modelled, of one network.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from android_bench.measuring.latency import BenchError, Comparison
from mobilebert_runtime.files import parse_json


@dataclass(frozen=True)
class Estimate:
    """Expected times relative to the float file.

    Attributes:
        ratios: core → quantisation ("int8", "dynamic") → modelled time / that of the float file.
    """

    ratios: Mapping[str, Mapping[str, float]]

    @classmethod
    def read(cls, path: Path) -> "Estimate":
        """The file's ratios; `BenchError` where it is no such file."""
        try:
            data = parse_json(path.read_text(encoding="utf-8"))
            quants = {name: about["quant"] for name, about in data["artefacts"].items()}
            ratios = {
                core: _ratios({quants[name]: one["cycles"] for name, one in files.items()})
                for core, files in data["modelled"].items()
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise BenchError(f"{path}: no estimate of studies.latency.arm_kernels ({error!r})") from None
        return cls(ratios)

    def require(self, quants: Iterable[str]) -> None:
        """`BenchError` unless there is one float artefact among these and one that is estimated."""
        given = list(quants)
        if given.count("none") != 1 or not {"int8", "dynamic"} & set(given):
            raise BenchError(
                "--estimate compares int8 or dynamic artefacts with one in float; "
                f"these are {', '.join(given)}"
            )

    def table(self, run: Comparison, quants: Mapping[str, str]) -> list[str]:
        """Markdown lines: what the phone measured of each integer artefact beside what was expected.

        Args:
            run: on a phone.
            quants: quantisation of each candidate.
        """
        base = next(name for name, quant in quants.items() if quant == "none")
        cores = list(self.ratios)
        lines = [
            f"| time relative to {base} | measured | {' | '.join(f'expected, {core}' for core in cores)} |",
            f"|{'---|' * (len(cores) + 2)}",
        ]
        for name, quant in quants.items():
            if quant in ("int8", "dynamic"):
                expected = (self.ratios[core].get(quant) for core in cores)
                cells = ["–" if ratio is None else f"{ratio:.2f}" for ratio in expected]
                lines.append(f"| {name} | {run.ratio(base, name):.2f} | {' | '.join(cells)} |")
        return [*lines, "", "Expected: modelled, for matcher-qqp-m with one thread on one such core.", ""]


def _ratios(cycles: Mapping[str, float]) -> dict[str, float]:
    return {quant: taken / cycles["none"] for quant, taken in cycles.items() if quant != "none"}
