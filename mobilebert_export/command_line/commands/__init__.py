"""One file per command of the `mobilebert` program; heavy imports stay inside the function bodies."""
