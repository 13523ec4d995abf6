"""`mobilebert ship`: from pairs, or from texts alone, to matchers that a phone can run, in one command."""

from mobilebert_export import options as opt
from mobilebert_export.config_command import command_from
from mobilebert_export.shipping import ShipConfig


def run(config: ShipConfig) -> None:
    """Make a matcher for your own pairs, or the shipped ones that were made of pairs.

    matcher-open-m and matcher-open-s are fine-tuned on the pairs. For matcher-m and matcher-s it
    fine-tunes the teachers, lets them label mined pairs, takes the length-divergence bias out of their
    labels, and distils the matcher. Each gets temperature, threshold and length shift fitted on dev.tsv,
    is exported, verified, and measured on test.tsv. Of one file of pairs a fifth, at most 1,000, are the
    development pairs. Leaves OUT/MATCHER/model, the artefact OUT/MATCHER-QUANT and the records
    OUT/MATCHER.json and OUT/MATCHER-QUANT.json; of a matcher that is taught the original labels first
    also OUT/MATCHER-original/model. What is finished is not done again.

    With --general it makes matchers of texts without labels: MiniLM and, with --teacher, MPNet read them;
    MiniLM is made smaller and learns from both; a decision about pairs is taught on top, and each is exported
    and verified. OUT/MATCHER-QUANT.json is the record.
    """
    from rich.console import Console

    if config.general:
        from mobilebert_export.general_shipping import ship_general as make
    else:
        from mobilebert_export.shipping import ship as make
    make(config, Console(stderr=True))


ship = command_from(
    ShipConfig,
    run,
    data=opt.INPUT_FILE_OR_FOLDER,
    out=opt.RUN_FOLDER,
    teacher=opt.INPUT_FOLDER,
    minutes=opt.ABOVE_ZERO,
    most_texts=opt.LEARNED,
    teachers=opt.COUNT,
    debias=opt.STRENGTH,
    quant=opt.QUANTS,
    threads=opt.THREADS,
)
