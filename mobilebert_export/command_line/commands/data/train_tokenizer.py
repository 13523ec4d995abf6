"""`mobilebert train-tokenizer`: a sub-word vocabulary from plain text."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mobilebert_export.command_line import options as opt


def train_tokenizer(
    corpus: Annotated[
        list[Path], opt.INPUT_FILE, Argument(help="Text, one paragraph per line (.txt, .xz, .gz).")
    ],
    out: Annotated[Path, opt.TOKENIZER_FOLDER, Option(help="Folder to make.")],
    kind: Annotated[
        str,
        opt.Choice("sentencepiece", "wordpiece"),
        Option(help="sentencepiece (ALBERT's) or wordpiece (BERT's)."),
    ] = "sentencepiece",
    size: Annotated[int, opt.VOCABULARY, Option(help="Entries, special ones included.")] = 30_000,
    lines: Annotated[
        int,
        opt.COUNT,
        Option(help="Learn from at most this many paragraphs; a unigram model needs memory for all."),
    ] = 1_000_000,
    force: opt.Force = False,
) -> None:
    """Learn a sub-word vocabulary from plain text.

    Leaves OUT/tokenizer.json and spiece.model (sentencepiece) or vocab.txt (wordpiece), as a model directory
    holds them, and vocabulary.json: tokens a word and the share of unknown tokens. The runtime on a phone
    reads WordPiece; a SentencePiece model trains and runs here.
    """
    from mobilebert_export.terminal import Terminal
    from mobilebert_matching.data.plain_text import read_documents
    from mobilebert_training.tokenizer_training import train_vocabulary

    console = Terminal(stderr=True)
    text = (line for document in read_documents(corpus) for line in document)
    with console.status(f"learning {size:,} entries"):
        record = train_vocabulary(
            text,
            kind,
            size,
            out,
            most_lines=lines,
            force=force,
            metadata={"corpus": [path.name for path in corpus]},
        )
    console.print(
        f"{record['entries']:,} entries from {record['lines']:,} paragraphs: {record['tokens_a_word']:.3f} "
        f"tokens a word, {100 * record['unknown_tokens']:.3f}% unknown"
    )
