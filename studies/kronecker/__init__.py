"""KroneckerBERT's Table 6, factor shapes, operator costs, accuracy over size."""
