"""Unlabelled pairs for a teacher to label: by shared rare words, or by an embedder's vectors, in shards."""
