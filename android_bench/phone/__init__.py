"""Drive a phone over adb: choose it, watch it, put a bundle on it, measure and match there."""
