"""Texts, pairs, ranked lists and tasks: read from files, with the line of every bad row."""
