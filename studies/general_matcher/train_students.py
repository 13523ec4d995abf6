"""Train small sentence encoders on the vectors of two teachers, on an accelerator where there is one.

python -m studies.general_matcher.train_students --student m=matcher-open-m --out runs/general/students
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, cast, get_args

from typer import Option

from mobilebert_models import EncoderConfig, find_directory, preset
from mobilebert_runtime.errors import OptionError
from recipes.general_matchers.train_students import StudentConfig, TrunkTraining, train_students
from recipes.general_matchers.trainable_grids import Layers
from studies.common.script import console, run
from studies.general_matcher.options import (
    CACHE,
    MPNET,
    SENTENCES,
    SHARED,
    Cache,
    NearShare,
    Noise,
    Seconds,
    Sentences,
    Shared,
    Size,
    Wide,
    Workers,
)

NUMBERS = [field.name for field in fields(EncoderConfig) if field.type in (int, "int")]


def main(
    out: Annotated[Path, Option(help="Folder of the run; an interrupted run there is resumed.")],
    student: Annotated[
        list[str],
        Option(
            help="One to train (repeat): NAME=PRESET, then with commas rate=1e-4, four_bits=feed-forward, "
            "parent=MODEL, similarity=4 or numbers of its config, as num_hidden_layers=4."
        ),
    ],
    cache: Cache = CACHE,
    shared: Shared = SHARED,
    sentences: Sentences = SENTENCES,
    questions: Annotated[bool, Option("--questions", help="Also questions about their phrases.")] = False,
    words: Annotated[
        Path | None, Option(help="Words for them, as studies.general_matcher.words writes them.")
    ] = None,
    near: Annotated[str, Option(help="Teacher in whose width targets lie.")] = "minilm",
    wide: Wide = MPNET,
    seconds: Seconds = 500,
    share: NearShare = 0.3,
    noise: Noise = 0.15,
    size: Size = 1024,
    workers: Workers = 12,
    seed: Annotated[int, Option(help="Of texts, misspellings and edits.")] = 0,
) -> None:
    """Train, and write OUT/NAME/trunk of every student."""
    if words is not None and not questions:
        raise OptionError(f"--words {words}: for questions alone; give --questions too")
    config = TrunkTraining(
        out=out,
        cache=cache,
        sentences=sentences,
        near=find_directory(near),
        wide=find_directory(wide),
        students=[parsed(text) for text in student],
        data=shared / "data",
        seconds=seconds,
        share=share,
        noise=noise,
        size=size,
        workers=workers,
        questions=questions,
        words=words,
        seed=seed,
    )
    train_students(config, console().print)


def parsed(text: str) -> StudentConfig:
    """A student as `--student` writes it.

    Raises:
        OptionError: something else.
    """
    name, _, rest = text.partition("=")
    shape, *others = rest.split(",")
    values = {key: value for key, _, value in (other.partition("=") for other in others)}
    try:
        numbers = {key: int(values.pop(key)) for key in NUMBERS if key in values}
        rate, similarity = float(values.pop("rate", "5e-4")), float(values.pop("similarity", "1"))
    except ValueError as error:
        raise OptionError(f"--student {text!r}: {error}") from error
    four_bits, parent = values.pop("four_bits", "all"), values.pop("parent", "minilm")
    if not (name and rest) or values or four_bits not in get_args(Layers):
        raise OptionError(f"--student {text!r}: expected NAME=PRESET and KEY=VALUE after commas; see --help")
    config = EncoderConfig.from_dict(preset(shape).to_dict() | numbers)
    return StudentConfig(name, config, parent, cast(Layers, four_bits), rate, similarity)


if __name__ == "__main__":
    run(main)
