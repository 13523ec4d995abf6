"""Tokens a second of one core: the library's batches, words remembered, and the whole build.

    python -m studies.latency.corpus_speed TEXT.txt results/transfer/corpus-speed.json

Processor seconds, not wall-clock: other work on the machine then costs little.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from studies.common.records import Json
from studies.common.script import run

os.environ["TOKENIZERS_PARALLELISM"] = "false"

from tokenizers import Tokenizer

import mobilebert_models
from android_bench.measuring.machine import describe
from mobilebert_matching.data.plain_text import read_documents, split_sentences
from mobilebert_runtime.files import write_json
from mobilebert_training.pretraining.corpus import Packing, SentenceTokenizer, build


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of a call, and what it returned."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def main(
    text: Annotated[Path, Argument(help="Some megabytes of text, a blank line between documents.")],
    out: Annotated[Path, Argument(help="The record.")],
) -> None:
    """Measure each way once over the whole slice and write the record."""
    vocabulary = mobilebert_models.packaged_directory("minilm")
    took, sentences = seconds(
        lambda: [s for lines in read_documents([text]) for line in lines for s in split_sentences(line)]
    )
    library = Tokenizer.from_file(str(vocabulary / "tokenizer.json"))
    library.no_padding()
    library.no_truncation()
    library.encode_special_tokens = True
    by_library, encoded = seconds(lambda: library.encode_batch_fast(sentences, add_special_tokens=False))
    tokens = sum(len(e.ids) for e in encoded)
    ours = SentenceTokenizer(vocabulary / "tokenizer.json")
    by_word, ids = seconds(lambda: ours.ids(sentences))
    if ids != [e.ids for e in encoded]:
        raise SystemExit("the two ways disagree")
    again, _ = seconds(lambda: ours.ids(sentences))
    with tempfile.TemporaryDirectory() as folder:
        whole, built = seconds(lambda: build([text], vocabulary, Path(folder) / "corpus", Packing()))
    record: Json = {"characters": text.stat().st_size, "sentences": len(sentences), "tokens": tokens}
    record["tokens_per_cpu_second"] = {
        "reading and splitting": tokens / took,
        "tokenizers, batches": tokens / by_library,
        "word by word, nothing remembered yet": tokens / by_word,
        "word by word, everything remembered": tokens / again,
        "mobilebert corpus build, all of it": built.meta["tokens"] / whole,
    }
    write_json(out, record | {"machine": describe()})


if __name__ == "__main__":
    run(main)
