"""The `mobilebert` program and its commands."""
