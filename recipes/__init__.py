"""Recipes: commands that remake what ships from text, one folder each."""
