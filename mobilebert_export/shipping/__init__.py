"""From labelled pairs to verified artefacts."""
