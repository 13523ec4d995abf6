"""The pair decision of the open matchers: its pairs, its training, what it is worth."""
