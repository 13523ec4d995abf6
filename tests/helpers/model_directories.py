"""Model directories as users bring them: small random models of `transformers`, tokenizers of their kinds.

Their weights are scaled so that outputs spread and hang on the words of the whole text, as a trained model's
do: labels that hang on the last digit of random numbers say nothing about an export.
"""

import functools
import itertools
import json
import math
import re
from collections import Counter

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing

from mobilebert_export import samples
from tests.helpers.published_models import published

VOCABULARY = 600
BERT_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA_SPECIALS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
# model_type → kind of its tokenizer.
TOKENIZERS = {
    "bert": "wordpiece",
    "mobilebert": "wordpiece",
    "albert": "unigram",
    "distilbert": "wordpiece",
    "roberta": "byte-level-bpe",
    "xlm-roberta": "unigram",
    "electra": "wordpiece",
    "mpnet": "wordpiece",
    "modernbert": "byte-level-bpe",
    "deberta-v2": "unigram",
}
# Factors of matrices by name, the first that fits; all others are halved.
SCALES = (
    (r"(classifier|out_proj|qa_outputs)\.weight$", 4.0),
    (r"(word|tok)_embeddings", 3.0),
    (r"embeddings\.(position|token_type)", 0.2),
    # What a token takes from the others.
    (r"(attention\.self\.value|v_lin|attn\.v|attention\.output\.dense|out_lin|attn\.(o|Wo))\.weight$", 4.0),
)
LOCAL = ((SCALES[-1][0], 0.5), (r"embeddings\.position", 2.0))
LIKE_ROBERTA = ("roberta", "xlm-roberta", "mpnet")  # of the special tokens
# Task → head, labels, problem_type.
CLASSIFIERS = {
    "text-matching": ("ForSequenceClassification", ("different", "duplicate"), None),
    "one-logit": ("ForSequenceClassification", ("LABEL_0",), None),
    "text-classification": ("ForSequenceClassification", ("sad", "calm", "glad"), None),
    "multi-label": ("ForSequenceClassification", ("sad", "calm", "glad"), "multi_label_classification"),
    "regression": ("ForSequenceClassification", ("LABEL_0",), "regression"),
    "token-classification": ("ForTokenClassification", ("O", "B-PER", "I-PER", "B-LOC", "I-LOC"), None),
    "question-answering": ("ForQuestionAnswering", ("LABEL_0", "LABEL_1"), None),
}


@functools.cache
def tokenizer_json(kind, like_roberta):
    """tokenizer.json of a small vocabulary of the bundled texts, the same in every process."""
    specials = list(ROBERTA_SPECIALS if like_roberta else BERT_SPECIALS)
    if like_roberta and kind == "wordpiece":  # MPNet's, which keeps BERT's unknown token
        specials.append("[UNK]")
    texts = [text for pair in samples.calibration_pairs() for text in pair]
    unknown = "[UNK]" if kind == "wordpiece" or not like_roberta else "<unk>"
    if kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        known = [*specials, *pieces(tokenizer, texts, "##")][:VOCABULARY]
        tokenizer.model = models.WordPiece({piece: i for i, piece in enumerate(known)}, unk_token=unknown)
    elif kind == "byte-level-bpe":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=VOCABULARY, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
        )
        tokenizer.train_from_iterator(texts, trainer)
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        scores = pieces(tokenizer, texts, "")
        whole = sum(scores.values())
        known = [(name, 0.0) for name in specials]
        known += [(piece, math.log(count / whole)) for piece, count in scores.items()]
        tokenizer.model = models.Unigram(known[:VOCABULARY], unk_id=specials.index(unknown))
    tokenizer.add_special_tokens(specials)
    first, last = (specials[0], specials[2]) if like_roberta else (specials[2], specials[3])
    pair = f"{first} $A {last} {last} $B {last}" if like_roberta else f"{first} $A {last} $B:1 {last}:1"
    tokenizer.post_processor = TemplateProcessing(
        single=f"{first} $A {last}",
        pair=pair,
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (first, last)],
    )
    return tokenizer.to_str()


def pieces(tokenizer, texts, within):
    """Parts of words → how often they stand there: all letters, then those that cover most of the texts.

    The library's own trainers of WordPiece and Unigram find another vocabulary in every process.

    Args:
        tokenizer: normalises and splits.
        texts: to learn from.
        within: what a part begins with that does not begin a word.
    """
    words = Counter(
        word
        for text in texts
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text))
    )
    counts = Counter()
    for word, times in words.items():
        for start, stop in itertools.combinations(range(len(word) + 1), 2):
            counts[within * (start > 0) + word[start:stop]] += times
    letters = {part: len(part.removeprefix(within)) for part in counts}
    order = sorted(counts, key=lambda part: (letters[part] > 1, -counts[part] * letters[part], part))
    return {part: counts[part] for part in order}


def write_tokenizer(folder, kind):
    """tokenizer.json and tokenizer_config.json of a model_type."""
    like_roberta = kind in LIKE_ROBERTA
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(tokenizer_json(TOKENIZERS[kind], like_roberta), encoding="utf-8")
    names = ROBERTA_SPECIALS if like_roberta else BERT_SPECIALS
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": names[1] if like_roberta else names[0],
        "unk_token": names[3] if like_roberta else names[1],
        "cls_token": names[0] if like_roberta else names[2],
        "sep_token": names[2] if like_roberta else names[3],
        "mask_token": names[4],
    }
    if kind == "modernbert":  # which has no token types
        config["model_input_names"] = ["input_ids", "attention_mask"]
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


def model_directory(folder, kind, task, seed=0):
    """A directory of `transformers` for a model_type and a task of `CLASSIFIERS`; the folder."""
    head, labels, problem = CLASSIFIERS[task]
    model = sized(kind, head, seed, num_labels=len(labels), problem_type=problem)
    model.config.id2label = dict(enumerate(labels))
    model.config.label2id = {name: i for i, name in enumerate(labels)}
    model.save_pretrained(folder)
    write_tokenizer(folder, kind)
    return folder


def sized(kind, head, seed=0, **options):
    """A model whose tokenizer is that of `write_tokenizer`, with scores that spread.

    A span's ends are told by their tokens and places, so a reader of spans takes little from other tokens.
    """
    scales = LOCAL + SCALES if head == "ForQuestionAnswering" else SCALES
    model = published(kind, head, seed, vocabulary=VOCABULARY + 8, positions=72, **options)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                weight.mul_(next((scale for part, scale in scales if re.search(part, name)), 0.5))
    return model


def embedder_directory(folder, kind, pooling="mean", dense=None, seed=0, normalized=True):
    """A sentence-transformers folder; `dense`: features of a dense layer with tanh."""
    import sentence_transformers as st
    from sentence_transformers import models as modules

    encoder = folder.with_name(folder.name + "-encoder")
    sized(kind, "Model", seed).save_pretrained(encoder)
    write_tokenizer(encoder, kind)
    torch.manual_seed(seed)
    parts = [modules.Transformer(str(encoder)), modules.Pooling(32, pooling_mode=pooling)]
    if dense:
        parts.append(modules.Dense(parts[-1].get_embedding_dimension(), dense))
    if normalized:
        parts.append(modules.Normalize())
    st.SentenceTransformer(modules=parts, device="cpu").save(str(folder))
    return folder
