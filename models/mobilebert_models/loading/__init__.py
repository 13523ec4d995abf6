"""Model directories: what they are for, and the network, tokenizer and settings that they hold."""
