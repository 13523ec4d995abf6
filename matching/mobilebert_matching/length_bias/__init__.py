"""Length-divergence bias (Jiang et al. 2022): definitions, audit, debiased sets, debiasing methods."""
