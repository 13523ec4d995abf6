"""Commands on model directories."""
