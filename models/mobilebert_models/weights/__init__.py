"""Weights in fewer bits: eight-bit blocks, four-bit grids, product codes."""
