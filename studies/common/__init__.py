"""What the studies share: records, tables, plots."""
