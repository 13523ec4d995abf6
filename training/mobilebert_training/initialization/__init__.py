"""What a student has of its teacher before any training."""
