"""Build the Android app and its Java core without Gradle, from a checkout; not part of the wheel."""
