"""The real-data board: robula and its rivals on real data, as they come and with injected errors."""
