"""Commands that look at and prepare text."""
