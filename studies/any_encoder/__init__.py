"""Encoders that users bring: real weights from packages, in int8, beside other converters."""
