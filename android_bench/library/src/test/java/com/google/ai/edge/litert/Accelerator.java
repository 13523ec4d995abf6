package com.google.ai.edge.litert;

/** Of the stand-in for LiteRT. */
public enum Accelerator {
  NONE,
  CPU,
  GPU,
  NPU
}
