"""`mobilebert calibrate`: fit what turns a matcher's logits into a decision."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt
from mobilebert_export.command_line.named_columns import ColumnNames, known_columns


def calibrate(
    model: Annotated[Path, opt.INPUT_FOLDER, Argument(help="Model directory of a matcher with two labels.")],
    data: Annotated[
        Path, opt.INPUT_FOLDER, Option(help="Folder with dev.tsv and, for --debias, the biased train.tsv.")
    ],
    debias: Annotated[
        bool, Option("--debias", help="For pairs whose difference in length says nothing of the label.")
    ] = False,
    equal_recall: Annotated[
        bool,
        Option("--equal-recall", help="With --debias: as many matches found at equal and unequal lengths."),
    ] = False,
    positive: opt.PositiveClass = None,
    text_a: opt.TextA = None,
    text_b: opt.TextB = None,
    label: opt.Label = None,
    positive_label: opt.PositiveLabel = None,
    threads: opt.Threads = 2,
    force: opt.Force = False,
) -> None:
    """Fit temperature and threshold on dev.tsv, and write them to MODEL/matcher.json.

    Of an embedding matcher, whose logits are a cosine's, also an offset of the log-odds.

    With --debias development pairs are weighted so that their length divergence says nothing of the label,
    and what of the training pairs' length prior the matcher still has is taken out of its score: a number
    added to the log-odds by length-divergence category, which every runtime of ours applies. How much is
    taken out is a matter of likelihood; with --equal-recall it is as much as makes the true positive rates of
    pairs of similar (CAT1) and of very different length (CAT4) equal, false positive rates then differ.
    """
    import torch
    from rich.console import Console

    import mobilebert_models
    from mobilebert_matching.data.labelled_pairs import read_split, require_two_classes
    from mobilebert_matching.evaluation.score_calibration import refit
    from mobilebert_matching.length_bias.length_prior import LengthPrior
    from mobilebert_runtime.errors import DataError, OptionError
    from mobilebert_runtime.files import replacing
    from mobilebert_runtime.tokenizer import PairTokenizer
    from mobilebert_training.finetuning.encoded_pairs import predict_logits

    if equal_recall and not debias:
        raise OptionError("--equal-recall: says how --debias is fitted; give both")
    torch.set_num_threads(threads)
    network, tokenizer = mobilebert_models.load_pair_network(model), PairTokenizer.load(model)
    if network.num_labels != 2:
        raise mobilebert_models.ModelError(
            f"{model}: has {network.num_labels} labels; this fits matchers of two"
        )
    given = mobilebert_models.MatcherSettings.load(model, positive)
    with known_columns(data, ColumnNames(text_a, text_b, label, positive_label)) as folder:
        dev = read_split(folder, "dev")
        train = read_split(folder, "train") if debias else None
    require_two_classes(dev.labels, f"{data}/dev.tsv")
    if dev.labels.max() > 1:
        raise DataError(f"{data}/dev.tsv: has label {dev.labels.max()}; expected 0 and 1")
    prior = LengthPrior.fit(*train) if train else None
    with replacing(model / "matcher.json", force=force) as partial:
        with Console(stderr=True).status(f"scoring {len(dev.pairs):,} pairs"):
            logits = predict_logits(network, tokenizer, dev.pairs)
        offset = isinstance(network, mobilebert_models.EmbeddingMatcher)
        settings = refit(given, logits, dev, prior, offset=offset, equal_recall=equal_recall)
        settings.write(partial)
    console = Console()
    console.print(f"temperature {settings.temperature:.3f}, threshold {settings.threshold:.3f}")
    if settings.length_shift:
        added = settings.length_shift["added"]
        if len(set(added)) == 1:
            console.print(f"added to the log-odds: {added[0]:+.3f}")
        else:
            shown = ", ".join(f"{value:+.3f}" for value in added)
            console.print(f"added to the log-odds in CAT1 to CAT4: {shown}")
