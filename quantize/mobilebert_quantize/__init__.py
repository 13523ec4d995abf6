"""From float to int8: exact rewrites, equalisation, calibration, recipes, per-product audit."""
