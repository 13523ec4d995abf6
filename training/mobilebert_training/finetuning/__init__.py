"""Fine-tuning of matchers, GLUE-style tasks and SQuAD."""
