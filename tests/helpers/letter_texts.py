"""Texts of single letters, and a teacher whose vectors say which letters a text has."""

import torch

from recipes.general_matchers.numerics import generator

WORDS = tuple("abcdefghijklmnopqrstuvwxyz")


def texts(count, seed=0):
    draw = generator(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(4, 9))) for _ in range(count)]


def by_words(size):
    """A teacher whose vectors say which words a text has."""
    table = torch.randn(len(WORDS), size, generator=torch.Generator().manual_seed(size))

    def encode(found):
        return torch.stack([table[[WORDS.index(w) for w in text.split()]].mean(0) for text in found])

    return encode
