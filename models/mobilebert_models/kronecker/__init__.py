"""Kronecker-factored encoders (KroneckerBERT, Tahaei et al. 2022): layers, factors, shapes."""
