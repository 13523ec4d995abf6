"""General text matchers from MiniLM without labels: texts, teachers, pruning, training of trunk and head."""
