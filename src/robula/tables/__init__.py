"""First stage: user input becomes checked arrays."""
