"""`python -m mobilebert_export` is the same program as `mobilebert`."""

from mobilebert_export.command_line.program import main

if __name__ == "__main__":
    main()
