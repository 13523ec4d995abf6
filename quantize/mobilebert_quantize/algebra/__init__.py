"""Exact rewrites of a trained network: less work and other number ranges, the same function."""

from mobilebert_quantize.algebra.simplify import DEFAULT_PASSES, PASSES, PassReport, Simplified, simplify

__all__ = ["DEFAULT_PASSES", "PASSES", "PassReport", "Simplified", "simplify"]
