"""The version, read by the package metadata's test and written into every result."""

__version__ = "0.2.0"
