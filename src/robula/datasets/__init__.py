"""The paper's five real data sets, fetched only when asked for."""

from robula.datasets.loaders import Dataset, load
from robula.datasets.registry import ENTRIES, names

__all__ = ["ENTRIES", "Dataset", "load", "names"]
