"""Figures of a model or an artefact on labelled pairs, and of its products in int8."""
