"""`mobilebert ship`: from labelled pairs to matchers that a phone can run, in one command."""

from mobilebert_export import options as opt
from mobilebert_export.config_command import command_from
from mobilebert_export.shipping import ShipConfig


def run(config: ShipConfig) -> None:
    """Make the shipped matchers, or yours from your own pairs.

    Fine-tunes the teachers, lets them label mined pairs, takes the length-divergence bias out of their
    labels, distils each matcher, fits temperature, threshold and length shift on dev.tsv, exports, verifies,
    and measures it on test.tsv. Leaves OUT/MATCHER/model, the artefact OUT/MATCHER-QUANT and the records
    OUT/MATCHER.json and OUT/MATCHER-QUANT.json; of a matcher that is taught the original labels first also
    OUT/MATCHER-original/model. What is finished is not done again.
    """
    from rich.console import Console

    from mobilebert_export.shipping import ship as make

    make(config, Console(stderr=True))


ship = command_from(
    ShipConfig,
    run,
    data=opt.INPUT_FOLDER,
    out=opt.RUN_FOLDER,
    teachers=opt.COUNT,
    debias=opt.STRENGTH,
    quant=opt.QUANTS,
    threads=opt.THREADS,
)
