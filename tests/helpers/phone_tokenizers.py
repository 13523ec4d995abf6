"""Tokenizers of the kinds that the phone reads, and what `tokenizers` makes of lines with them."""

import json
import shutil

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from tests.helpers.texts import LEXICON, MINILM, fuzzed_lines, inflected_lines

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
LINES = 3_200


def phone_lines():
    """Fuzzed lines with runs of white space, contractions, emoji and special tokens between them."""
    spaces = ["", " ", "  ", "\t", " \n ", "\u00a0", "\u3000  ", "   "]
    odd = ["<mask>", " <mask> ", "</s>", "<s>", "we've", "I'm", "'ll", "'S", "½²", "👍🏽"]
    lines = fuzzed_lines(LINES, seed=11)
    return [
        line if i % 3 else f"{spaces[i % 8]}{line}{spaces[i // 8 % 8]}{odd[i % 10]}{spaces[i // 64 % 8]}"
        for i, line in enumerate(lines)
    ]


def byte_level_bpe(*, prefix_space, post, use_regex=True, normalized=True):
    """A byte-level BPE of 1,500 entries with RoBERTa's special tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space, use_regex=use_regex)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1_500, special_tokens=SPECIALS, initial_alphabet=alphabet, show_progress=False
    )
    text = [*fuzzed_lines(800, seed=2), *inflected_lines(300), *(f" {word} we've" for word in LEXICON)]
    tokenizer.train_from_iterator(text, trainer)
    tokenizer.add_special_tokens(
        [AddedToken(one, normalized=normalized, lstrip=one == "<mask>") for one in SPECIALS]
    )
    if post:
        tokenizer.post_processor = post
    return tokenizer


def roberta():
    """As RoBERTa's: a space before each text, characters without spaces."""
    post = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return byte_level_bpe(prefix_space=False, post=post)


def _bert(**settings):
    data = json.loads((MINILM / "tokenizer.json").read_text(encoding="utf-8"))
    data["normalizer"] |= settings
    return data


def _masked():
    """With a special token that takes the space before it, and one that is looked for after normalisation."""
    data = _bert()
    data["added_tokens"][4] |= {"lstrip": True}
    data["added_tokens"][3] |= {"normalized": True}
    return data


def _early():
    """As early versions of `tokenizers` wrote it: a model without a type, nothing where nothing is set."""
    data = _bert()
    for name in ("truncation", "padding", "decoder"):
        del data[name]
    del data["model"]["type"]
    del data["normalizer"]["strip_accents"]
    return data


BUILDERS = {
    "wordpiece": _bert,
    "wordpiece-cased": lambda: _bert(lowercase=False),
    "wordpiece-masked": _masked,
    "wordpiece-early": _early,
    "roberta": roberta,
    "gpt2": lambda: byte_level_bpe(
        prefix_space=True,
        post=processors.ByteLevel(add_prefix_space=True, trim_offsets=True),
        normalized=False,
    ),
    "untrimmed": lambda: byte_level_bpe(prefix_space=True, post=None),
    "no-regex": lambda: byte_level_bpe(
        prefix_space=False, post=processors.ByteLevel(trim_offsets=False), use_regex=False
    ),
}


def write_golden(folder):
    """A folder for each tokenizer: tokenizer.json, vocab.txt of a WordPiece, and lines.json."""
    for name, build in BUILDERS.items():
        place = folder / name
        place.mkdir(parents=True)
        built = build()
        if isinstance(built, dict):
            (place / "tokenizer.json").write_text(json.dumps(built), encoding="utf-8")
            shutil.copy(MINILM / "vocab.txt", place)
        else:
            built.save(str(place / "tokenizer.json"))
        tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        lines = phone_lines()
        rows = [
            {"text": line, "ids": one.ids, "words": one.word_ids, **_characters(line, one.offsets)}
            for line, one in zip(lines, tokenizer.encode_batch(lines, add_special_tokens=False), strict=True)
        ]
        (place / "lines.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


def _characters(line, offsets):
    before = utf16(line)
    return {"starts": [before[start] for start, _ in offsets], "ends": [before[end] for _, end in offsets]}


def utf16(text):
    """Places in a text as Java counts characters, by those in code points: beyond U+FFFF one is two."""
    before = [0]
    for char in text:
        before.append(before[-1] + (2 if ord(char) > 0xFFFF else 1))
    return before
