"""Conversions of trained encoders: LayerNorm to NoNorm, GELU to ReLU, TensorFlow checkpoints, an ONNX file."""
