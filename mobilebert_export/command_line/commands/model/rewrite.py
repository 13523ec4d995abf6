"""`mobilebert rewrite`: a stock BERT matcher with NoNorm and ReLU in the place of LayerNorm and GELU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from mobilebert_export.command_line import options as opt
from mobilebert_runtime.errors import OptionError

if TYPE_CHECKING:
    from mobilebert_matching.data.labelled_pairs import LabelledPairs

NORMS = {"nonorm": "no_norm", "layernorm": "layer_norm"}


def rewrite(
    model: Annotated[
        Path, opt.INPUT_FOLDER, Option(help="Model directory of a fine-tuned plain BERT pair classifier.")
    ],
    out: opt.RunFolder,
    norm: Annotated[str, Option(help="nonorm, or layernorm to keep them.")] = "nonorm",
    activation: Annotated[str, Option(help="relu, or gelu to keep it.")] = "relu",
    calibration: Annotated[
        Path | None,
        opt.INPUT_FILE,
        Option(help="Text pairs for the closed form; default: the bundled samples."),
    ] = None,
    calibration_pairs: Annotated[
        int, opt.COUNT, Option(help="Use at most this many pairs, the first of that file.")
    ] = 1024,
    recover_pairs: Annotated[
        Path | None, opt.INPUT_FILE, Option(help="Labelled pairs to recover on, taught by the original.")
    ] = None,
    steps: Annotated[int, opt.COUNT, Option(help="Recovery steps: layer-wise, joint, task.")] = 1500,
    batch_size: Annotated[int, opt.BATCH, Option(help="Pairs a recovery step.")] = 64,
    dev: Annotated[
        Path | None, opt.INPUT_FILE, Option(help="Labelled pairs that the decision settings are fitted on.")
    ] = None,
    test: Annotated[
        Path | None, opt.INPUT_FILE, Option(help="Labelled pairs for the accuracies in the record.")
    ] = None,
    positive: opt.PositiveClass = None,
    seed: opt.Seed = 0,
    threads: opt.Threads = 2,
    force: opt.Force = False,
) -> None:
    """Rewrite LayerNorm and GELU of a trained BERT to NoNorm and ReLU.

    Least squares layer by layer on calibration text; with --recover-pairs the original then teaches the copy,
    and OUT/fitted keeps what least squares gave. Leaves OUT/model and OUT/rewrite.json: what each fit
    explains, and the accuracy on --test before, after the fit and after recovery.
    """
    import torch

    import mobilebert_models
    from mobilebert_export.terminal import Terminal
    from mobilebert_matching.data.labelled_pairs import require_two_classes
    from mobilebert_models.convert.nonorm_relu import rewrite as closed_form
    from mobilebert_runtime.files import check_output, refuse_finished, write_json
    from mobilebert_runtime.tokenizer import PairTokenizer
    from mobilebert_training.distillation.rewrite_recovery import recovery_recipe

    if norm not in NORMS:
        raise OptionError(f"--norm {norm!r} is unknown; expected one of {', '.join(NORMS)}")
    if recover_pairs is not None and dev is None:
        raise OptionError("--recover-pairs needs --dev, to watch the recovery and to fit the decision")
    refuse_finished(out / "model", force=force)
    if out.is_dir():
        check_output(out / "rewrite.json", force=force)
    torch.set_num_threads(threads)
    original, tokenizer = mobilebert_models.load_classifier(model), PairTokenizer.load(model)
    given = mobilebert_models.MatcherSettings.load(model, positive)
    taught, held, tested = (_labelled(path, original.num_labels) for path in (recover_pairs, dev, test))
    if held:
        require_two_classes(held.labels, str(dev))
    plan = recovery_recipe(len(taught.pairs), steps, batch_size, seed) if taught else None
    batches, text = _calibration(calibration, calibration_pairs, tokenizer)
    console = Terminal(stderr=True)
    with console.status("least squares, layer by layer"):
        copy, fits = closed_form(original, batches, norm=NORMS[norm], activation=activation)
    record: dict[str, Any] = {"model": model.resolve().name, "norm": norm, "activation": activation}
    record |= {"calibration": text, "seed": seed, "fits": [vars(fit) for fit in fits]}
    rows = []

    def keep(name: str, network: Any, folder: str | None) -> None:
        settings, row = _decide(network, tokenizer, given, held, tested)
        if row:
            rows.append({"network": name} | row)
            console.print(f"{name}: accuracy {row['accuracy']:.4f} on {row['pairs']:,} pairs")
        if folder:
            mobilebert_models.save_pretrained(network, out / folder, tokenizer_from=model, settings=settings)

    keep("original", original, None)
    keep("fitted", copy, "model" if taught is None else "fitted")
    if taught and held and plan and recover_pairs:
        from mobilebert_training.distillation.task_distillation import distil

        facts = {"rewritten": record["model"], "data": "/".join(recover_pairs.parts[-2:]), "threads": threads}
        stages = distil(copy, original, tokenizer, *taught, held, plan, out, facts)
        keep("recovered", copy, "model")
        record["recovery"] = {
            "pairs": len(taught.pairs),
            "steps": steps,
            "examples_seen": steps * batch_size,
            "seconds": sum(stage["seconds"] for stage in stages),
        }
    write_json(out / "rewrite.json", record | {"accuracy": rows})


def _labelled(path: Path | None, classes: int) -> LabelledPairs | None:
    """The pairs of a file, all of the model's classes; None where no file is given."""
    from mobilebert_matching.data.labelled_pairs import read_labelled, require_known_labels

    if path is None:
        return None
    found = read_labelled(path)
    require_known_labels(found.labels, classes, path)
    return found


def _calibration(path: Path | None, most: int, tokenizer: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Batches of up to 64 pairs of similar length, and where they are from."""
    import torch

    from mobilebert_export import samples
    from mobilebert_matching.data.pairs import read_text_pairs
    from mobilebert_training.finetuning.encoded_pairs import TRAIN_LENGTH

    pairs = (samples.calibration_pairs() if path is None else read_text_pairs(path))[:most]
    encoded = sorted(tokenizer.ids(pairs, TRAIN_LENGTH), key=lambda row: len(row[0]))
    padded = [tokenizer.pad(encoded[i : i + 64], None) for i in range(0, len(encoded), 64)]
    batches = [{name: torch.from_numpy(array) for name, array in batch.items()} for batch in padded]
    source = "bundled samples" if path is None else "/".join(path.parts[-2:])
    return batches, {"from": source, "pairs": len(pairs), "tokens": sum(len(ids) for ids, _ in encoded)}


def _decide(
    network: Any, tokenizer: Any, given: Any, dev: Any, test: Any
) -> tuple[Any, dict[str, Any] | None]:
    """Decision settings, fitted on `dev` where there is one, and the figures on `test`."""
    from mobilebert_matching.evaluation import metrics
    from mobilebert_matching.evaluation.score_calibration import probabilities, refit
    from mobilebert_training.finetuning.encoded_pairs import predict_logits

    settings = refit(given, predict_logits(network, tokenizer, dev.pairs), dev) if dev else given
    if test is None:
        return settings, None
    logits = predict_logits(network, tokenizer, test.pairs)
    if network.num_labels == 2:
        found = probabilities(logits, settings, test.pairs) >= settings.threshold
    else:
        found = logits.argmax(1)
    correct = int((found == test.labels).sum())
    return settings, {
        "pairs": len(test.labels),
        "accuracy": correct / len(test.labels),
        "accuracy_interval": metrics.wilson(correct, len(test.labels)),
    }
