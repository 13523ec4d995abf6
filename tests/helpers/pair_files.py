"""Files of pairs and what a reader found wrong with them."""

HEADER = "label\tquestion1\tquestion2\n"


def outcome(table):
    """Reason → line numbers."""
    return {reason: list(lines) for reason, lines in table.problems.lines.items()}
