"""Adds `optimum-cli export tflite` and `optimum-cli export onnx-mobile`; optimum reads `REGISTER_COMMANDS`.

Folders of this namespace hold no __init__.py (PEP 420): other distributions put files into them too. What
exports is imported when a command runs, so that `optimum-cli --help` stays fast.
"""

from __future__ import annotations

from argparse import ArgumentParser

from optimum.commands.base import BaseOptimumCLICommand, CommandInfo
from optimum.commands.export.base import ExportCommand

# The values of optimum's old `--quantize`, and what they are called here.
QUANTS = {"none": "none", "int8": "int8", "int8-dynamic": "dynamic"}


class _ArtefactExport(BaseOptimumCLICommand):
    """`mobilebert export` under optimum's names for its options."""

    target: str

    @staticmethod
    def parse_args(parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "-m", "--model", required=True, help="Model directory, hub id, or shipped matcher."
        )
        parser.add_argument("--quantize", choices=QUANTS, default="none", help="Weights and arithmetic.")
        parser.add_argument("--sequence_length", type=int, default=128, help="Tokens; longer texts are cut.")
        parser.add_argument("--task", help="What the model does, where its files do not say.")
        parser.add_argument(
            "--texts", type=int, help="Texts that a text classifier reads: 1, or 2 for a pair."
        )
        parser.add_argument("--positive", help="Class that means a match, where its name does not say so.")
        parser.add_argument("--force", action="store_true", help="Replace a folder that exists.")
        parser.add_argument("output", help="Artefact folder to make.")

    def run(self) -> None:
        """Export, verify, and end the program with `mobilebert`'s exit code."""
        from mobilebert_export.command_line.program import main

        words = ["export", "--model", self.args.model, "--target", self.target, "--out", self.args.output]
        words += ["--quant", QUANTS[self.args.quantize], "--seq-len", str(self.args.sequence_length)]
        for option in ("task", "texts", "positive"):
            if (given := getattr(self.args, option)) is not None:
                words += [f"--{option}", str(given)]
        main([*words, "--no-measure", *(["--force"] if self.args.force else [])])


class TfliteExport(_ArtefactExport):
    """`optimum-cli export tflite`."""

    COMMAND = CommandInfo(
        name="tflite", help="Write a verified TFLite artefact folder, by mobilebert-export."
    )
    target = "tflite"


class OnnxMobileExport(_ArtefactExport):
    """`optimum-cli export onnx-mobile`."""

    COMMAND = CommandInfo(
        name="onnx-mobile", help="Write a verified ONNX artefact folder, by mobilebert-export."
    )
    target = "onnx"


REGISTER_COMMANDS = [(TfliteExport, ExportCommand), (OnnxMobileExport, ExportCommand)]
