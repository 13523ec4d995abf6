"""How each shipped model was made; not installed."""
