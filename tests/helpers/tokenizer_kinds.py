"""A small tokenizer of every kind that an artefact may hold, learned from fuzzed and plain lines."""

import functools
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from tests.helpers.texts import MINILM, documents, fuzzed_lines

ROBERTA_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
KINDS = {
    "bert": "wordpiece",
    "mpnet": "wordpiece",
    "roberta": "byte-level-bpe",
    "modernbert": "byte-level-bpe",
    "xlm-roberta": "unigram",
}


def _lines():
    return [*documents().splitlines(), *fuzzed_lines(400, seed=99)]


@functools.cache
def tokenizer(name: str) -> Tokenizer:
    """A fresh one of `KINDS`; whoever changes it copies it first."""
    return {
        "bert": _bert,
        "mpnet": _mpnet,
        "roberta": _roberta,
        "modernbert": _modernbert,
        "xlm-roberta": _xlm_roberta,
    }[name]()


def write(name: str, folder: Path) -> Path:
    """Its tokenizer.json in a folder, with the vocab.txt of a WordPiece."""
    folder.mkdir(parents=True, exist_ok=True)
    made = tokenizer(name)
    made.save(str(folder / "tokenizer.json"))
    if KINDS[name] == "wordpiece":
        entries = sorted(made.get_vocab(), key=made.get_vocab().get)
        (folder / "vocab.txt").write_text("\n".join(entries) + "\n", encoding="utf-8")
    return folder


def _bert():
    return Tokenizer.from_file(str(MINILM / "tokenizer.json"))


def _mpnet():
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]
    made.train_from_iterator(_lines(), trainers.WordPieceTrainer(vocab_size=900, special_tokens=specials))
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return made


def _byte_level(specials, normalizer=None):
    made = Tokenizer(models.BPE(unk_token=None))
    made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    learn = trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet, special_tokens=specials)
    made.train_from_iterator(_lines(), learn)
    return made


def _roberta():
    made = _byte_level(ROBERTA_SPECIALS)
    made.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return made


def _modernbert():
    made = _byte_level(["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"], normalizers.NFC())
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return made


def _xlm_roberta():
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    learn = trainers.UnigramTrainer(vocab_size=300, special_tokens=ROBERTA_SPECIALS, unk_token="<unk>")
    # Of fuzzed lines it would need an entry for each of their thousands of characters.
    made.train_from_iterator(
        [*documents().splitlines(), "café naïve straße 数学 don't €5 … 0123456789"], learn
    )
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return made
