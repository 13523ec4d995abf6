"""Ways to train on biased pairs, compared."""
