"""The runtimes on emulated Arm cores: for a checkout, which has the tools; not in the installed package."""
