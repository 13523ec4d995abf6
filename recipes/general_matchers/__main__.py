"""`python -m recipes.general_matchers`: make the open matchers, or ones of your own texts, without labels."""

from mobilebert_export.command_line import options as opt
from mobilebert_export.command_line import program
from mobilebert_export.command_line.config_command import command_from
from mobilebert_export.terminal import Terminal
from recipes.general_matchers.make import GeneralConfig, make_general
from recipes.general_matchers.texts import FEWEST


def run(config: GeneralConfig) -> None:
    """Make general matchers of texts without labels.

    MiniLM and, with --teacher, MPNet read the texts; MiniLM is made smaller and learns from both; a decision
    about pairs is learned on top, debiased by length, and each matcher is exported and verified.
    OUT/MATCHER-QUANT.json is the record. What is finished is not done again.
    """
    make_general(config, Terminal(stderr=True))


make = command_from(
    GeneralConfig,
    run,
    data=opt.INPUT_FILE_OR_FOLDER,
    out=opt.RUN_FOLDER,
    teacher=opt.INPUT_FOLDER,
    minutes=opt.ABOVE_ZERO,
    most_texts=opt.Number(FEWEST, 10**9),
    quant=opt.QUANTS,
    threads=opt.THREADS,
)

if __name__ == "__main__":
    program.run(program.command_of(make, "general_matchers"), None, "general_matchers")
