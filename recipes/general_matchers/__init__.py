"""General text matchers of MiniLM: texts, teachers, pruning, training of trunk and head; no labels."""
