"""The paper's five real data sets, fetched only when asked for."""

from robula.datasets.dataset_loaders import ENTRIES, Dataset, load, names

__all__ = ["ENTRIES", "Dataset", "load", "names"]
