"""PyTorch to float ONNX."""
