"""Conversions of trained encoders: LayerNorm to NoNorm, GELU to ReLU, TensorFlow and ONNX files."""
