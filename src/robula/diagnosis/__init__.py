"""What may be believed of a finished run."""
