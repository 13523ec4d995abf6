"""Teach a student: transfer losses, stages, recipes."""
