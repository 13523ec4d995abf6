"""PyTorch to float TFLite."""
