"""What is sampled: the drift of the robust posterior, and its centre and curvature."""
