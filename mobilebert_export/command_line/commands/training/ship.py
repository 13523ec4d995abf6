"""`mobilebert ship`: from labelled pairs to matchers that a phone can run, in one command."""

from mobilebert_export.command_line import options as opt
from mobilebert_export.command_line.config_command import command_from
from mobilebert_export.command_line.named_columns import ColumnNames, known_columns
from mobilebert_export.shipping.ship import ShipConfig


def run(config: ShipConfig, **columns: str | None) -> None:
    """Make a matcher for your own pairs, or the shipped ones that were made of pairs.

    matcher-open-m and matcher-open-s are fine-tuned on the pairs. For matcher-m and matcher-s it fine-tunes
    the teachers, lets them label mined pairs, takes the length-divergence bias out of their labels, and
    distils the matcher. Each gets temperature, threshold and length shift fitted on dev.tsv, is exported,
    verified, and measured on test.tsv, or on dev.tsv where there is none. Of one file of pairs a fifth, at
    most 1,000, are the development pairs. Leaves OUT/MATCHER/model, the artefact OUT/MATCHER-QUANT and the
    records OUT/MATCHER.json and OUT/MATCHER-QUANT.json; of a matcher that is taught the original labels
    first also OUT/MATCHER-original/model. What is finished is not done again.
    """
    from mobilebert_export import library
    from mobilebert_export.console import shown_steps

    names = ColumnNames(**columns)
    with known_columns(config.data, names) as data, shown_steps() as progress:
        library.ship(**vars(config) | {"data": data}, bar=True, progress=progress)


ship = command_from(
    ShipConfig,
    run,
    opt.LABELLED_COLUMNS,
    data=opt.INPUT_FILE_OR_FOLDER,
    out=opt.RUN_FOLDER,
    teachers=opt.COUNT,
    debias=opt.STRENGTH,
    quant=opt.QUANTS,
    threads=opt.THREADS,
)
