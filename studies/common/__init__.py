"""What the studies share: scripts, records, tables, plots, verdicts, the paper's data sets."""
