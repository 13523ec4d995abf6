"""Interleaved latency and memory measurement on this machine."""
