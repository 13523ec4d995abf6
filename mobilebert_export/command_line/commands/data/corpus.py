"""`mobilebert corpus build`: plain text becomes token shards for pretraining."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt


def corpus(
    verb: Annotated[str, opt.Choice("build"), Argument(help="build.")],  # noqa: ARG001 (there is one)
    files: Annotated[
        list[Path],
        opt.INPUT_FILE,
        Argument(help="Text: a paragraph a line, a blank line between documents (.txt, .xz, .gz)."),
    ],
    out: Annotated[
        Path, opt.RUN_FOLDER, Option(help="Folder of the corpus; a killed build there is resumed.")
    ],
    vocab: Annotated[str, opt.MODEL, Option(help="minilm, or a directory with tokenizer.json.")] = "minilm",
    seq_len: Annotated[int, opt.TOKENS, Option(help="Tokens of an example, special ones included.")] = 128,
    short: Annotated[float, opt.SHARE, Option(help="Share of examples with a random shorter length.")] = 0.1,
    pairs: Annotated[str, Option(help="Default sentence pairs: nsp or sop.")] = "nsp",
    masking: Annotated[str, Option(help="Default masking: token or ngram.")] = "token",
    seed: opt.Seed = 0,
    workers: Annotated[int, opt.COUNT, Option(help="Processes.")] = 2,
) -> None:
    """Tokenise text and pack it into memory-mapped token shards.

    Pairs and masks are drawn when an example is read, anew in every epoch, from the seed; --pairs and
    --masking are what `mobilebert pretrain` takes unless told otherwise.
    """
    import time

    import mobilebert_models
    from mobilebert_export.terminal import Terminal
    from mobilebert_runtime.files import write_json
    from mobilebert_training.pretraining.corpus import Packing, build
    from mobilebert_training.pretraining.examples import ExampleRecipe

    recipe = ExampleRecipe(pairs, masking, seed)
    source = mobilebert_models.find_directory(vocab)
    console, started = Terminal(stderr=True), time.perf_counter()
    with console.status("building") as status:
        built = build(
            files,
            source,
            out,
            Packing(seq_len=seq_len, short=short, seed=seed),
            workers=workers,
            callback=lambda shards, tokens: status.update(f"{shards} shards, {tokens:,} tokens"),
        )
    write_json(out / "examples.json", {"pairs": recipe.pairs, "masking": recipe.masking, "seed": recipe.seed})
    seconds = time.perf_counter() - started
    m = built.meta
    console.print(
        f"{out}: {m['documents']:,} documents, {m['chunks']:,} chunks, {m['tokens']:,} tokens "
        f"in {len(m['shards'])} shards; {seconds:.1f} s",
        soft_wrap=True,
    )
