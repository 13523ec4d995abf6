"""Metrics with intervals, calibration of scores, perturbations."""
