"""Encoders, their layers and heads."""
