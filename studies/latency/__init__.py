"""Latency and size beside other converters and the papers' tables."""
