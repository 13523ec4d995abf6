"""ONNX files: int8 and fused attention."""
