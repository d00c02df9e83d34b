"""From a file of rows to a run on disk, and back to predictions: what the command line does."""
