"""The shipped matchers beside what they replace."""
