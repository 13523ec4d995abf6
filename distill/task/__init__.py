"""Task distillation: recipes, data, teacher-forced and joint transfer, the Kronecker loss."""
