"""The way of a model through an export: load, rewrite, write, verify, folder."""
