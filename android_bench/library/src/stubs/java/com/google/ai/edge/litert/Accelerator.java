package com.google.ai.edge.litert;

/** Signatures the app uses, for the build without Gradle; never packaged. */
public enum Accelerator {
  NONE,
  CPU,
  GPU,
  NPU
}
