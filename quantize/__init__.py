"""From float to int8: calibration, recipes, the accuracy gate."""
