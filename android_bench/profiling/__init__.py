"""Where an inference spends its time, by operator and by instruction, here and on emulated Arm."""
