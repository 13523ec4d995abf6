"""One trainer, run directories, fine-tuning, tokenizer training; knows no teacher."""
