"""From text without labels to general matchers: teachers' vectors, trunk, decision, artefact.

    OUT/general.json            what the folder was begun with; another run may not go on in it
        cache/                  the texts, the teachers' vectors, near texts
        spelling.txt            words that misspelt texts are corrected by
        MATCHER/trunk/          the run of the trunk: checkpoint, record.jsonl, the finished trunk
        students/               with --on-the-fly the run of all trunks: MATCHER/trunk is a finished one
        pool/                   the texts that the decision learns from, with the teachers' vectors
        MATCHER/model/          trunk and decision, a model directory
        MATCHER/decision.json   the pairs of the decision and its figures
        MATCHER-QUANT/          the artefact
        MATCHER-QUANT.json      the record of all of it

What is finished is not done again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import torch

from mobilebert_export.console import shown_steps, silenced, step
from mobilebert_export.pipeline.export_request import ExportRequest
from mobilebert_export.pipeline.exporter import export
from mobilebert_export.terminal import Terminal
from mobilebert_models import find_directory, preset
from mobilebert_runtime.card_parts import SPELLING_FILE
from mobilebert_runtime.errors import OptionError, OutputError, ToolError
from mobilebert_runtime.files import file_sha256, replacing, write_json
from mobilebert_runtime.tokenizer import PairTokenizer
from recipes.general_matchers.decision.train import HELD, DecisionConfig, write_decided
from recipes.general_matchers.four_bit_weights import in_four_bits
from recipes.general_matchers.mine import write_neighbours
from recipes.general_matchers.pool import Pool, pool_files, write_pool, write_pool_once
from recipes.general_matchers.spelling import corpus_pieces, frequent_words, known_beside, write_words
from recipes.general_matchers.teachers import (
    Encode,
    check_mpnet,
    load_minilm,
    load_mpnet,
    load_shards,
    read_text_column,
    shards_are_complete,
    vectors,
    write_shards,
)
from recipes.general_matchers.texts import (
    CORPORA,
    write_own_texts,
    write_sentences,
    write_texts,
)
from recipes.general_matchers.train_students import StudentConfig, TrunkTraining, train_students
from recipes.general_matchers.train_trunk import TrunkConfig, train_trunk
from recipes.general_matchers.trainable_grids import Layers
from recipes.general_matchers.trunk import held

RECORD = "general.json"  # what a folder was begun with
SPELLED_BY = "matcher-open-m"  # whose list of words knows English where there are no corpora
MINUTES, QUICK_MINUTES = 40.0, 0.1
QUICK_TEXTS = 2000
SENTENCES = 800_000  # of the corpora, beside the texts that resemble use
BATCH, QUICK_BATCH, WORKERS = 1024, 64, 15  # texts a batch on the fly, processes that make them
MANY = 50_000  # texts from which on near ones are looked up in cells of an index
CELLS = 256
POOL_READ = 61_440  # texts of the pool that the teachers read before a decision is trained
DECISION = "decision.json"
# Pairs of each kind of edit, of each other domain, near ones, and the texts that these are among.
QUICK_PAIRS: dict[str, Any] = {"each": 16, "others": 64, "mined": 400, "mined_texts": 300}


@dataclass(frozen=True)
class GeneralRecipe:
    """How a trunk is made.

    Shares were chosen on dev pairs (results/general_matcher). matcher-open-s's trunk as it ships was trained
    on the fly on an accelerator, matcher-open-m's on the processor.
    """

    four_bits: Layers
    rate: float  # peak rate
    on_the_fly_rate: float
    minilm: float  # of MiniLM in the target where MPNet teaches too
    joint: float = 0.0  # share of the budget in which what pruning has taken is made up for
    fresh: float = 0.1  # share of batches with MiniLM's vectors alone, beside MPNet
    noise: float = 0.35  # share of texts that are misspelt
    kept: float = 0.6  # of the parent's weights in the trunk
    asked: int = 2  # times a question that someone asked counts


MATCHER_RECIPES = {
    "matcher-open-m": GeneralRecipe(four_bits="feed-forward", rate=1.5e-4, on_the_fly_rate=3e-4, minilm=0.4),
    "matcher-open-s": GeneralRecipe(
        four_bits="all",
        rate=3e-4,
        on_the_fly_rate=5e-4,
        minilm=0.5,
        joint=0.4,
    ),
}


@dataclass(frozen=True)
class GeneralConfig:
    """The options of `python -m recipes.general_matchers`."""

    data: Annotated[Path, "Folder with data/ and corpora/, or one file of plain text, a text a line."]
    out: Annotated[Path, "Folder of all of it; an interrupted run there is resumed."]
    matcher: Annotated[tuple[str, ...], "matcher-open-m or matcher-open-s; repeat for both."] = (
        "matcher-open-m",
    )
    teacher: Annotated[
        Path | None, "Folder of all-mpnet-base-v2, the second teacher; without it MiniLM teaches alone."
    ] = None
    on_the_fly: Annotated[
        bool,
        "With --teacher: both teachers read every batch of an endless stream of texts, and the trunks of all "
        "matchers are trained at once; for an accelerator.",
    ] = False
    minutes: Annotated[
        float | None, "Training time of each trunk; with --on-the-fly of all of them together. [40]"
    ] = None
    most_texts: Annotated[int | None, "Learn from at most this many texts; default: all."] = None
    quant: Annotated[str, "Quantization of the artefacts, as in `mobilebert export`."] = "int8"
    threads: Annotated[int, "CPU threads."] = 2
    quick: Annotated[bool, "A few steps of everything: shows that it runs, teaches nothing."] = False


def make_general(config: GeneralConfig, console: Terminal) -> None:
    """Make every general matcher of a config; what is finished is not done again.

    Raises:
        OptionError: an option that no step can take; nothing was begun.
        DataError: a file is missing or damaged, or the texts are too few; nothing was begun.
        ModelError: the teacher is not all-mpnet-base-v2; nothing was begun.
        ToolError: faiss is not installed; nothing was begun.
        OutputError: the folder holds another run.
        VerificationError: an artefact does not agree with its model.
    """
    exports = checked_exports(config)
    torch.set_num_threads(config.threads)
    texts = read_by_teachers(config, console)
    console.print(f"{len(texts):,} texts, read by {' and '.join(teachers(config))}")
    if config.on_the_fly:
        train_on_the_fly(config, list(exports), texts, console)
    pool = read_pool(config, texts, console)
    for name, request in exports.items():
        console.rule(name)
        make(name, config, pool, request, console)


def checked_exports(config: GeneralConfig) -> dict[str, ExportRequest]:
    """The export of each matcher to make, after checking all that can be checked before the work.

    Raises:
        UserError: see `make_general`.
    """
    exports = {name: request_of(config, name) for name in config.matcher}
    if config.data.is_dir():
        pool_files(config.data)
    if config.teacher is not None:
        check_mpnet(config.teacher)
    elif config.on_the_fly:
        raise OptionError("--on-the-fly: both teachers read every batch; give --teacher, the second one")
    if find_spec("faiss") is None:
        raise ToolError("faiss is missing; run `pip install mobilebert-export[mining]` first")
    record = config.out / RECORD
    if record.is_file():
        begun, given = json.loads(record.read_text(encoding="utf-8")), settings(config)
        if other := next((name for name in given if given[name] != begun.get(name)), None):
            raise OutputError(
                f"{config.out}: begun with another {other.replace('_', ' ')} ({begun.get(other)}); "
                "choose another --out"
            )
    elif taken := next((name for name in exports if (config.out / name).exists()), None):
        raise OutputError(f"{config.out / taken}: not of this recipe; choose another --out")
    for name, request in exports.items():
        if request.out.exists() and not (config.out / name / DECISION).is_file():
            raise OutputError(f"{request.out}: is of a decision whose record is gone; choose another --out")
    return exports


def request_of(config: GeneralConfig, name: str) -> ExportRequest:
    """The export of one matcher, checked."""
    if name not in MATCHER_RECIPES:
        raise OptionError(f"matcher {name!r} is unknown; expected one of {', '.join(MATCHER_RECIPES)}")
    request = ExportRequest(
        out=config.out / f"{name}-{config.quant}",
        model=str(config.out / name / "model"),
        quant=config.quant,
        buckets=(128,) if config.quick else None,
        measure=not config.quick,
    )
    request.recipe()
    return request


def settings(config: GeneralConfig) -> dict[str, Any]:
    """What all that is made depends on, for OUT/general.json."""
    files = pool_files(config.data) if config.data.is_dir() else [config.data]
    return {
        "data": sha256("".join(map(file_sha256, files)).encode()).hexdigest(),
        "teachers": teachers(config),
        "decision": "learned",  # earlier runs have another
        "most_texts": config.most_texts or (QUICK_TEXTS if config.quick else None),
        "minutes": minutes(config),
        # Trained together, so the rest of the run is of the same ones.
        "on_the_fly_training": sorted(config.matcher) if config.on_the_fly else None,
        "quick": config.quick,
    }


def minutes(config: GeneralConfig) -> float:
    """Training of each trunk."""
    return config.minutes or (QUICK_MINUTES if config.quick else MINUTES)


def teachers(config: GeneralConfig) -> list[str]:
    """Folders of the cache that hold the teachers' vectors."""
    return ["minilm"] if config.teacher is None else ["minilm", "mpnet"]


def read_by_teachers(config: GeneralConfig, console: Terminal) -> list[str]:
    """Texts, vectors, near texts and the list of words, as far as they are not there; the texts."""
    cache, record = config.out / "cache", config.out / RECORD
    if not record.is_file():
        given = settings(config)
        write = write_texts if config.data.is_dir() else write_own_texts
        facts = write(config.data, cache, given["most_texts"])
        write_json(record, given | {"texts": facts})
    texts = read_text_column(cache / "texts.tsv")
    loaders: dict[str, Callable[[], Encode]] = {"minilm": load_minilm}
    if config.teacher is not None:
        loaders["mpnet"] = partial(load_mpnet, config.teacher)
    for name, load in loaders.items():
        if not shards_are_complete(cache / name, len(texts)):
            with step(console, f"{name} reads {len(texts):,} texts"):
                with silenced():
                    encode = load()
                write_shards(cache / name, texts, partial(vectors, encode), progress=said(console))
    if not (cache / "neighbours.npy").is_file():
        with step(console, "Near texts of each"):
            write_neighbours(cache, "minilm", cells=CELLS if len(texts) >= MANY else 1)
    if not (config.out / SPELLING_FILE).is_file():
        with step(console, "Words to correct by"):
            write_words(words_of(config.data, texts), config.out / SPELLING_FILE)
    return texts


def read_pool(config: GeneralConfig, texts: list[str], console: Terminal) -> Pool:
    """The texts that the decision learns from, with the teachers' vectors, as far as they are not there.

    A user's texts are those of the trunk. Of a folder they are the pool's, which holds short texts too, as
    people type them.
    """
    cache, folder = config.out / "cache", config.out / "pool"
    tokenizer = PairTokenizer.load(find_directory("minilm"))
    if config.data.is_dir():
        with step(console, "Texts of the decision"):
            write_pool_once(config.data, folder, tokenizer)
    elif not (folder / "pool.json").is_file():
        write_pool([("own", text) for text in texts], folder, tokenizer)
    known = {name: load_shards(cache / name, len(texts))[0] for name in teachers(config)}
    sizes = known["minilm"].shape[1], known["mpnet"].shape[1] if "mpnet" in known else None
    pool = Pool(folder, tokenizer, sizes)
    if not config.data.is_dir():
        if not pool.complete:
            pool.take(known["minilm"], known.get("mpnet"))
        return pool
    most = config.most_texts or (QUICK_TEXTS if config.quick else POOL_READ)
    wanted = min(HELD + most, POOL_READ, len(pool.texts))
    if pool.read < wanted:
        with step(console, f"The teachers read {wanted:,} texts of the decision"):
            with silenced():
                near = load_minilm()
                wide = None if config.teacher is None else load_mpnet(config.teacher)
            while pool.read < wanted:
                pool.read_shard(near, wide)
                said(console)(f"{pool.read:,} of {wanted:,} texts")
    return pool


def last_teacher(config: GeneralConfig) -> Encode:
    """The teacher whose cosines label near texts: MPNet, or MiniLM where it teaches alone."""
    with silenced():
        return load_minilm() if config.teacher is None else load_mpnet(config.teacher)


def words_of(data: Path, texts: list[str]) -> list[str]:
    """Words to correct by: from corpora and texts; for a user's file also those of the shipped matcher."""
    if data.is_dir():
        return frequent_words(corpus_pieces([data / "corpora" / name for _, name, _ in CORPORA]), texts)
    shipped = find_directory(SPELLED_BY) / SPELLING_FILE
    return known_beside(shipped.read_text(encoding="utf-8").split(), frequent_words(texts))


def make(name: str, config: GeneralConfig, pool: Pool, request: ExportRequest, console: Terminal) -> None:
    """Trunk, decision, artefact and record of one matcher, as far as they are not there."""
    recipe, cache = MATCHER_RECIPES[name], config.out / "cache"
    data = config.data / "data" if config.data.is_dir() else None
    model, both = Path(request.model), config.teacher is not None
    run = students(config) / name if config.on_the_fly else config.out / name / "trunk"
    if not (run / "trunk").is_dir():
        trunk = TrunkConfig(
            out=run,
            cache=cache,
            arch=name,
            data=data,
            joint=60 * minutes(config) * recipe.joint,
            vectors=60 * minutes(config) * (1 - recipe.joint),
            rate=recipe.rate,
            noise=recipe.noise,
            kept=recipe.kept,
            asked=recipe.asked,
            share=recipe.minilm if both else 1.0,
            fresh=recipe.fresh if both else 0.0,
            threads=config.threads,
        )
        train_trunk(trunk, partial(in_four_bits, layers=recipe.four_bits), said(console))
    if not (run / "trunk" / SPELLING_FILE).is_file():
        words = (config.out / SPELLING_FILE).read_text(encoding="utf-8").split()
        write_words(words, run / "trunk" / SPELLING_FILE)
    decided = config.out / name / DECISION
    if not decided.is_file():
        decision = DecisionConfig(
            trunk=run / "trunk",
            out=model,
            record=decided,
            shared=config.data if config.data.is_dir() else None,
            held=held(len(pool.texts)) if data is None else HELD,
        )
        if config.quick:
            decision = replace(decision, **QUICK_PAIRS)
        with step(console, "The decision"):
            write_decided(decision, pool, partial(last_teacher, config), said(console))
    if not request.out.is_dir():
        with shown_steps() as progress:
            export(request, progress)
    record = config.out / f"{request.out.name}.json"
    if not record.is_file():
        noted = (run.parent if config.on_the_fly else run) / "record.jsonl"
        write_json(record, figures(noted, decided, request.out, config.out / RECORD))


def students(config: GeneralConfig) -> Path:
    """Folder of the run in which trunks are trained on the fly."""
    return config.out / "students"


def train_on_the_fly(config: GeneralConfig, names: list[str], texts: list[str], console: Terminal) -> None:
    """The trunks of all matchers, as far as they are not there."""
    assert config.teacher is not None, "refused by `check`"
    if all((students(config) / name / "trunk").is_dir() for name in names):
        return
    cache, folder, few = config.out / "cache", config.data.is_dir(), config.quick
    sentences = cache / "sentences.txt"
    if not sentences.is_file():
        with replacing(sentences, force=False) as file:
            if folder:
                write_sentences(config.data, file, QUICK_TEXTS if few else SENTENCES)
            else:
                file.write_text("\n".join(texts[held(len(texts)) :]), encoding="utf-8")
    recipes = {name: MATCHER_RECIPES[name] for name in names}
    training = TrunkTraining(
        out=students(config),
        cache=cache,
        sentences=sentences,
        near=find_directory("minilm"),
        wide=config.teacher,
        students=[
            StudentConfig(name, preset(name), four_bits=recipe.four_bits, rate=recipe.on_the_fly_rate)
            for name, recipe in recipes.items()
        ],
        data=config.data / "data" if folder else None,
        seconds=60 * minutes(config),
        size=QUICK_BATCH if few else BATCH,
        workers=0 if few else min(WORKERS, (os.cpu_count() or 1) - 1),
    )
    train_students(training, said(console))


def figures(record: Path, decided: Path, artefact: Path, begun: Path) -> dict[str, Any]:
    """The record of a matcher: what it was made of, how the stages ended, its decision, its verification."""
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    report = json.loads((artefact / "report.json").read_text(encoding="utf-8"))
    return {
        "made_of": json.loads(begun.read_text(encoding="utf-8")),
        "stages": [line for line in lines if line.get("finished")],
        "decision": json.loads(decided.read_text(encoding="utf-8")),
        "artefact": {name: report[name] for name in ("recipe", "bytes", "verification")},
    }


def said(console: Terminal) -> Callable[[str], None]:
    """Prints lines as they are."""
    return partial(console.print, highlight=False, soft_wrap=True)
