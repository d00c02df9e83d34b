"""Whole experiments on top of the library."""
