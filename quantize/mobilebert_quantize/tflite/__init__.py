"""TFLite files: parse, quantize, store."""
