"""Experiments of the papers and comparisons with other tools; not installed."""
