"""A self-contained program for 64-bit Arm Linux: Python, one runtime, this package; run from `adb shell`."""
