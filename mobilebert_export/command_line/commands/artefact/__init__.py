"""Commands that make and run artefacts."""
