"""Pretraining ablations of MobileBERT, KroneckerBERT and ALBERT at a small scale."""
