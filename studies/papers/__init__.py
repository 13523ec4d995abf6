"""Every table, figure and claim of the four papers, one row each: remade, in part, or not, and why."""
