"""`mobilebert picture attention|curves`: what a student attends to beside its teacher; training curves."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option


class Subject(StrEnum):
    """What can be drawn."""

    ATTENTION = "attention"
    CURVES = "curves"


def picture(
    subject: Annotated[Subject, Argument(help="What to draw.")],
    records: Annotated[
        list[Path] | None, Argument(help="curves: records of training runs, a panel each.")
    ] = None,
    *,
    out: Annotated[Path, Option(help="PNG to make.")],
    teacher: Annotated[str, Option(help="attention: minilm, shipped, or a model directory.")] = "minilm",
    student: Annotated[str, Option(help="attention: the same.")] = "shipped",
    pair: Annotated[tuple[str, str], Option(help="attention: two texts.")] = (
        "How do I reset my phone?",
        "What is the way to restore a phone to factory settings?",
    ),
    layers: Annotated[str, Option(help="attention: which layers, from 1.")] = "1,6",
    heads: Annotated[int, Option(min=1, help="attention: the first so many heads.")] = 6,
    force: Annotated[bool, Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Draw attention distributions of teacher and student, or training curves.

    attention also writes OUT with .json in the place of .png: the divergence of each student head from the
    teacher's of the same number and from its nearest.
    """
    from matching.output import check_output, replacing, write_json

    check_output(out, force=force)
    if subject is Subject.CURVES:
        from distill import curves

        with replacing(out, force=force) as partial:
            curves.draw(records or [], partial)
        return
    from distill import attention_picture
    from matching.start import start_directory

    numbers = out.with_suffix(".json")
    check_output(numbers, force=force)
    wanted = _layers(layers)
    maps = [
        attention_picture.attention_maps(_encoder(name), start_directory(name), pair)
        for name in (teacher, student)
    ]
    with replacing(out, force=force) as partial:
        rows = attention_picture.draw(maps[0], maps[1], wanted, heads, partial)
    names = [Path(name).resolve().name if Path(name).is_dir() else name for name in (teacher, student)]
    write_json(
        numbers,
        {"teacher": names[0], "student": names[1], "pair": pair, "tokens": maps[0].tokens, "layers": rows},
    )


def _encoder(name: str) -> Any:
    import models
    from matching.start import start_directory
    from models.layers import encoder_of

    return encoder_of(models.load_pretrained(start_directory(name)))


def _layers(given: str) -> list[int]:
    from distill.attention_picture import PictureError

    try:
        return [int(part) for part in given.split(",")]
    except ValueError as error:
        raise PictureError(f"--layers {given!r}: expected numbers separated by commas") from error
