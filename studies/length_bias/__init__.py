"""Length-divergence bias of four matchers on four data sets (Jiang et al. 2022)."""
