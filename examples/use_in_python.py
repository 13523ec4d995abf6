"""Which stored question means the same as a new one?

python examples/use_in_python.py artefacts/matcher-int8

Needs the runtime package alone: pip install "./mobilebert_runtime[tflite]".
"""

import sys

from mobilebert_runtime import Matcher

STORED = [
    "How do I reset my password?",
    "What is the best way to learn swimming?",
    "How old is the Moon?",
    "Can I pay by card?",
]
QUESTION = "How can I learn to swim?"


def main(folder: str) -> None:
    """Print the stored questions, the most similar first, with the matcher's decision."""
    matcher = Matcher.load(folder, threads=2)
    scores = matcher.score([(QUESTION, stored) for stored in STORED], symmetric=True)  # (N,)
    for best in scores.argsort()[::-1]:
        print(f"{scores[best]:.3f}  {matcher.label(float(scores[best])):10}  {STORED[best]}")


if __name__ == "__main__":
    main(sys.argv[1])
