"""The runtimes on emulated Arm cores; part of a checkout, which has the tools, not of the installed package."""
