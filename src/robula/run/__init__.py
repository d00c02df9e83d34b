"""A run: the sampler, its loop, its steps and starts."""
