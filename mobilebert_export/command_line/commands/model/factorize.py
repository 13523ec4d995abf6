"""`mobilebert factorize`: store an encoder's matrices as sums of Kronecker products."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from mobilebert_export.command_line import options as opt
from mobilebert_export.console import reading
from mobilebert_runtime.errors import OptionError

if TYPE_CHECKING:
    from torch import nn

    from mobilebert_models import EncoderConfig
    from mobilebert_models.config import KroneckerRule
    from mobilebert_models.kronecker.compress import FactoredLayer
    from mobilebert_models.kronecker.factor_fit import Inputs


def factorize(
    *,
    model: Annotated[
        str,
        opt.MODEL,
        Option(help="Model directory, 'minilm', 'shipped'; to count also a name of `mobilebert models`."),
    ],
    preset: Annotated[str | None, Option(help="8, 21 or 5: a row of KroneckerBERT's Table 1.")] = None,
    low_rank: Annotated[
        int | None,
        opt.COUNT,
        Option(help="Truncated SVD of this rank instead: the special case n1 = m2 = 1."),
    ] = None,
    factors: Annotated[
        Path | None,
        opt.INPUT_FILE,
        Option(help='JSON list of rules, as [{"layers": "*.dense", "m1": 8, "n1": 2}].'),
    ] = None,
    rank: Annotated[
        int | None,
        opt.COUNT,
        Option(help="Products in the sum of every linear map; default: the preset's."),
    ] = None,
    words_rank: Annotated[
        int | None,
        opt.COUNT,
        Option(help="Products in the sum of the word embedding, with --low-rank."),
    ] = None,
    calibration: Annotated[
        Path | None,
        opt.INPUT_FILE,
        Option(help="TSV of text pairs; fit factors to what layers return on them, not to weights."),
    ] = None,
    seq_len: Annotated[int, opt.TOKENS, Option(help="Tokens that FLOPs are counted for.")] = 128,
    out: Annotated[Path | None, opt.MODEL_FOLDER, Option(help="Model directory to write.")] = None,
    json_file: opt.JsonFile = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Count only: no weights are read or written.")] = False,
    force: opt.Force = False,
) -> None:
    """Store an encoder's matrices as sums of Kronecker products.

    Each picked matrix becomes its nearest sum of products (Van Loan and Pitsianis), or with --calibration the
    sum whose outputs are nearest; the rest is copied. Shown are relative errors, parameters, and FLOPs of the
    layers' linear maps, before and after. Train the result: without distillation it is far from the model it
    came from.
    """
    from mobilebert_runtime.files import replacing

    if sum((preset is not None, low_rank is not None, factors is not None)) != 1:
        raise OptionError("give one of --preset, --low-rank and --factors")
    if rank is not None and preset is None:
        raise OptionError("--rank goes with --preset; a file of rules holds its own")
    if words_rank is not None and low_rank is None:
        raise OptionError("--words-rank goes with --low-rank")
    if calibration is not None and dry_run:
        raise OptionError("--calibration fits weights; leave out --dry-run")
    if not dry_run and out is None:
        raise OptionError("--out is missing; give a model directory to write, or --dry-run")
    source = _Source(preset, low_rank, factors, rank, words_rank)
    found = _compress(model, source, seq_len, None if dry_run else out, calibration)
    if json_file is not None:
        with replacing(json_file, force=force) as partial:
            partial.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class _Source:
    """Where the rules come from: one of the first three, and ranks that go with it."""

    preset: str | None
    low_rank: int | None
    factors: Path | None
    rank: int | None
    words_rank: int | None

    def rules(self, config: EncoderConfig) -> tuple[KroneckerRule, ...]:
        from mobilebert_models.kronecker.factor_shapes import low_rank_rules, preset_rules, read_rules

        if self.factors is not None:
            return read_rules(self.factors)
        if self.low_rank is not None:
            return low_rank_rules(config, self.low_rank, self.words_rank)
        return preset_rules(config, self.preset or "", self.rank)


def _compress(
    model: str, source: _Source, seq_len: int, out: Path | None, calibration: Path | None
) -> dict[str, Any]:
    """Count, and with `out` compress and save; print the table and return it."""
    from mobilebert_models import MatcherSettings, load_pretrained, save_pretrained
    from mobilebert_models.kronecker.compress import compress
    from mobilebert_models.kronecker.factor_shapes import costs, plan
    from mobilebert_models.loading.pretrained import TOKENIZER_FILES

    config, directory = _locate(model, counting=out is None)
    rules = source.rules(config)
    layers = plan(config, rules)
    if out is not None and directory is not None:
        dense = load_pretrained(directory)
        inputs = None if calibration is None else _inputs(dense, directory, calibration)
        with reading("Kronecker products") as progress:
            compressed, layers = compress(dense, rules, progress, inputs)
        has_tokenizer = all((directory / name).is_file() for name in TOKENIZER_FILES)
        has_settings = (directory / "matcher.json").is_file()
        save_pretrained(
            compressed,
            out,
            tokenizer_from=directory if has_tokenizer else None,
            settings=MatcherSettings.load(directory) if has_settings else None,
        )
    before, after = costs(config, seq_len), costs(replace(config, kronecker=rules), seq_len)
    _show_layers(f"{model}, {seq_len} tokens", layers, before, after)
    return {
        "model": Path(model).name,
        "seq_len": seq_len,
        "rules": [asdict(rule) for rule in rules],
        "before": before,
        "after": after,
        "layers": [asdict(layer) for layer in layers],
    }


def _inputs(model: nn.Module, directory: Path, calibration: Path) -> dict[str, Inputs]:
    """What the layers of a model read in the pairs of a file."""
    from mobilebert_matching.data.pairs import read_text_pairs
    from mobilebert_models.networks.layers import encoder_of
    from mobilebert_runtime.tokenizer import PairTokenizer
    from mobilebert_training.initialization.student import inputs_of

    return inputs_of(encoder_of(model), PairTokenizer.load(directory), read_text_pairs(calibration))


def _locate(model: str, *, counting: bool) -> tuple[EncoderConfig, Path | None]:
    """The config of what --model names, and its directory; a preset of `mobilebert models` has none."""
    from mobilebert_models import PRESETS, find_directory, read_config

    if counting and model in PRESETS:
        return PRESETS[model], None
    directory = find_directory(model)
    return read_config(directory), directory


def _show_layers(
    title: str, layers: list[FactoredLayer], before: dict[str, int], after: dict[str, int]
) -> None:
    """One row a layer, then the whole encoder; FLOPs in millions."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column("layer", no_wrap=True)
    for name in ("W", "A", "B", "sums", "error", "of outputs", "parameters", "", "MFLOPs/token", ""):
        table.add_column(name, justify="right", no_wrap=True)
    for layer in layers:
        table.add_row(
            layer.name.removeprefix("encoder."),
            f"{layer.m}×{layer.n}",
            f"{layer.m1}×{layer.n1}",
            f"{layer.m2}×{layer.n2}",
            f"{layer.rank}",
            *("–" if error is None else f"{error:.4f}" for error in (layer.error, layer.output_error)),
            f"{layer.parameters_before:,}",
            f"{layer.parameters_after:,}",
            f"{2 * layer.macs_before / 1e6:.3f}",
            f"{2 * layer.macs_after / 1e6:.3f}",
        )
    _print(table)
    for name, unit in (("parameters", "parameters"), ("FLOPs", "flops")):
        old, new = before[unit], after[unit]
        _print(f"{name}: {old:,} → {new:,}, {old / new:.2f} times fewer")


def _print(what: object) -> None:
    """To standard output, at full width where it is no terminal."""
    from mobilebert_export.terminal import Terminal

    terminal = Terminal(highlight=False)
    (terminal if terminal.is_terminal else Terminal(highlight=False, width=160)).print(what)
