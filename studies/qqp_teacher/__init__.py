"""A stronger teacher for the matchers of Quora questions, and what they learn from it."""
