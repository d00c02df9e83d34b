"""NumPyro models of many kinds with bad rows in their data, against NUTS on the clean rows: docs/anymodel.md."""
