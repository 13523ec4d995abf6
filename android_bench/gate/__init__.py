"""The latency gate, and the history of recorded runs."""
