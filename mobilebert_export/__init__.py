"""Export a matcher to TFLite or ONNX, verify it, and run the artefact."""
