"""The paper's five real data sets, fetched only when asked for."""

from robula.datasets.dataset_entries import ENTRIES, names
from robula.datasets.dataset_loaders import Dataset, load

__all__ = ["ENTRIES", "Dataset", "load", "names"]
