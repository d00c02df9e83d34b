"""Load a data set from a local folder, the cache, or the LIBSVM page, always with its checksum verified."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robula._types import FloatArray
from robula._validation import check_name
from robula.datasets.dataset_entries import BUILT_IN, ENTRIES, SOURCE, names
from robula.exceptions import DatasetUnavailableError


@dataclass(frozen=True)
class Dataset:
    """A binary classification problem.

    Attributes
    ----------
    name : str
    X : ndarray, shape (n, d)
    y : ndarray, shape (n,)
        0.0 and 1.0.
    positive : str
        What 1 means.
    citation, licence : str
    """

    name: str
    X: FloatArray
    y: FloatArray
    positive: str
    citation: str
    licence: str


def load(name: str) -> Dataset:
    """Return one of the paper's data sets, or "wisconsin" (built into scikit-learn).

    Files are read from the folder in the environment variable ``ROBULA_DATA_DIR`` if it is set, else from robula's
    cache, which is filled from the LIBSVM data page on first use. A file whose checksum is wrong is never used.

    Parameters
    ----------
    name : {"astro", "phishing", "breast-cancer", "diabetes", "german", "wisconsin"}

    Raises
    ------
    DatasetUnavailableError
        If there is neither a local copy nor a connection; the message has both remedies.
    """
    if check_name(name, "name", names()) == BUILT_IN:
        return _load_built_in()
    from sklearn.datasets import load_svmlight_file

    entry = ENTRIES[name]
    parts = [
        load_svmlight_file(str(_find(name, file, checksum)), n_features=entry.features + len(entry.dropped))
        for file, checksum in entry.files
    ]
    X = np.vstack([features.toarray() for features, _ in parts])
    labels = np.concatenate([labels for _, labels in parts])
    X = np.delete(X, entry.dropped, axis=1)
    y = (labels == entry.positive).astype(np.float64)
    return Dataset(name, X, y, entry.meaning, entry.citation, entry.licence)


def where(name: str) -> str:
    """Say where :func:`load` would find a data set now, without the network."""
    if check_name(name, "name", names()) == BUILT_IN:
        return "scikit-learn"
    folders = [os.environ.get("ROBULA_DATA_DIR"), str(_cache())]
    for folder in folders:
        if folder and all((Path(folder) / file).is_file() for file, _ in ENTRIES[name].files):
            return folder
    return "to be downloaded"


def _load_built_in() -> Dataset:
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    # scikit-learn codes malignant as 0; here 1 is malignant, as in "breast-cancer".
    return Dataset(
        BUILT_IN,
        np.asarray(bunch.data, dtype=np.float64),
        (np.asarray(bunch.target) == 0).astype(np.float64),
        "malignant",
        "Wolberg, Mangasarian, Street, Street (1993), Breast Cancer Wisconsin (Diagnostic), UCI, doi:10.24432/C5DW2B",
        "CC BY 4.0",
    )


def _find(name: str, file: str, checksum: str) -> Path:
    folder = os.environ.get("ROBULA_DATA_DIR")
    if folder:
        path = Path(folder) / file
        if not path.is_file():
            raise DatasetUnavailableError(
                f"ROBULA_DATA_DIR={folder} has no file {file!r} (data set {name!r}). Put it there (source: "
                f"{SOURCE}{file}), or unset ROBULA_DATA_DIR to have it downloaded."
            )
        if hashlib.sha256(path.read_bytes()).hexdigest() != checksum:
            raise DatasetUnavailableError(
                f"{path} is not the file the LIBSVM page distributes (its checksum differs); fetch it again from "
                f"{SOURCE}{file}."
            )
        return path
    return _download(name, file, checksum)


def _download(name: str, file: str, checksum: str) -> Path:
    import pooch

    try:
        path = pooch.retrieve(
            SOURCE + file, known_hash=f"sha256:{checksum}", fname=file, path=_cache(), progressbar=False
        )
    except Exception as error:  # any transport failure reads the same to a user: the file could not be had
        raise DatasetUnavailableError(
            f"data set {name!r} could not be downloaded from {SOURCE}{file} ({type(error).__name__}: {error}). Either "
            f"connect to the network, or put the file(s) {', '.join(part for part, _ in ENTRIES[name].files)} into a "
            "folder and set ROBULA_DATA_DIR to it. robula.datasets.load('wisconsin') needs neither."
        ) from error
    return Path(path)


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("robula"))
