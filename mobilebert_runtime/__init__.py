"""Run an artefact folder of `mobilebert export`: numpy, tokenizers and one runtime, nothing else."""
