"""`mobilebert picture`: attention of student and teacher, training curves, the middle layer by t-SNE."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option


class Subject(StrEnum):
    """What can be drawn."""

    ATTENTION = "attention"
    CURVES = "curves"
    TSNE = "tsne"


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
    model: Annotated[
        list[str] | None, Option(help="tsne: a model directory, shipped or minilm (repeat for more).")
    ] = None,
    data: Annotated[Path | None, Option(help="tsne: labelled pairs.")] = None,
    max_pairs: Annotated[int, Option(min=1, help="tsne: the first so many pairs.")] = 1000,
    force: Annotated[bool, Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Draw attention of teacher and student, training curves, or middle layers by t-SNE.

    tsne also writes OUT with .json in the place of .png: coordinates, and how often the nearest neighbours of
    a pair have its label.

    attention also writes OUT with .json in the place of .png: the divergence of each student head from the
    teacher's of the same number and from its nearest.
    """
    from mobilebert_runtime.files import check_output, replacing, write_json

    check_output(out, force=force)
    if subject is Subject.CURVES:
        from studies.transfer import training_curves as curves

        with replacing(out, force=force) as partial:
            curves.draw(records or [], partial)
        return
    if subject is Subject.TSNE:
        _tsne(model or [], data, max_pairs, out, force=force)
        return
    from studies.transfer import attention_maps as attention_picture
    from training.initial_model import start_directory

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


def _tsne(names: list[str], data: Path | None, max_pairs: int, out: Path, *, force: bool) -> None:
    from matching.data.labelled_pairs import LabelledPairs, read_labelled
    from mobilebert_runtime.files import check_output, replacing, write_json
    from mobilebert_runtime.tokenizer import PairTokenizer
    from studies.kronecker import tsne as tsne_picture
    from studies.transfer.attention_maps import PictureError
    from training.initial_model import start_directory

    numbers = out.with_suffix(".json")
    check_output(numbers, force=force)
    if not names or data is None:
        raise PictureError("picture tsne needs --model, once or more often, and --data")
    everything = read_labelled(data)
    pairs = LabelledPairs(everything.pairs[:max_pairs], everything.labels[:max_pairs])
    clouds = []
    for name in names:
        encoder, tokenizer = _encoder(name), PairTokenizer.load(start_directory(name))
        features = tsne_picture.middle_features(encoder, tokenizer, pairs.pairs)
        layer = tsne_picture.middle_layer(encoder)
        clouds.append(tsne_picture.cloud(_shown(name), layer, features, pairs.labels))
    labels = [f"label {label}" for label in range(int(pairs.labels.max()) + 1)]
    with replacing(out, force=force) as partial:
        tsne_picture.draw(clouds, pairs.labels, labels, partial)
    write_json(numbers, {"data": "/".join(data.parts[-2:])} | tsne_picture.record(clouds, pairs))


def _shown(name: str) -> str:
    """A directory's name; of RUN/model the run's."""
    if not Path(name).is_dir():
        return name
    directory = Path(name).resolve()
    return directory.parent.name if directory.name == "model" else directory.name


def _encoder(name: str) -> Any:
    import models
    from models.layers import encoder_of
    from training.initial_model import start_directory

    return encoder_of(models.load_pretrained(start_directory(name)))


def _layers(given: str) -> list[int]:
    from studies.transfer.attention_maps import PictureError

    try:
        return [int(part) for part in given.split(",")]
    except ValueError as error:
        raise PictureError(f"--layers {given!r}: expected numbers separated by commas") from error
