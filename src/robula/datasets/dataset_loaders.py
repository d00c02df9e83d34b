"""The data sets by name, loaded from a local folder, the cache, or the LIBSVM page, with their checksums verified."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robula._types import FloatArray
from robula._validation import check_name
from robula.exceptions import DatasetUnavailableError

#: The LIBSVM data page's folder of binary classification sets.
SOURCE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"

#: Comes with scikit-learn, for places with neither the network nor a local copy.
BUILT_IN = "wisconsin"


@dataclass(frozen=True)
class Entry:
    """One data set.

    Attributes
    ----------
    files : tuple of (str, str)
        File name and SHA-256; several files are stacked in this order.
    rows, features : int
        After loading.
    positive : float
        The label in the file that becomes 1.
    meaning : str
        What label 1 means.
    dropped : tuple of int
        Columns that are not measurements.
    """

    title: str
    files: tuple[tuple[str, str], ...]
    rows: int
    features: int
    positive: float
    meaning: str
    citation: str
    licence: str
    dropped: tuple[int, ...] = ()


ENTRIES: dict[str, Entry] = {
    "astro": Entry(
        title="Astroparticle (svmguide1, train and test files together)",
        files=(
            ("svmguide1", "2b9ab55b6236f62cee6b7739b52f9e7cb033771f39b9c22c1f1790d80ef14d7f"),
            ("svmguide1.t", "f9c2fd4c725172aeb4476fc1e2327d537f7fbc2f53f49dfd073f80efbe1ba8f7"),
        ),
        rows=7089,
        features=4,
        positive=1.0,
        meaning="label 1 of the file",
        citation="Hsu, Chang, Lin (2003), A Practical Guide to Support Vector Classification",
        licence="none found",
    ),
    "phishing": Entry(
        title="Phishing Websites",
        files=(("phishing", "0cf66ef36604c393da9359b2e5d894a2df8aee31fd184633cefa138add2ef08a"),),
        rows=11055,
        features=68,
        positive=1.0,
        meaning="UCI Result 1",
        citation="Mohammad, McCluskey (2012), Phishing Websites, UCI, doi:10.24432/C51W2X",
        licence="CC BY 4.0",
    ),
    "breast-cancer": Entry(
        title="Wisconsin Breast Cancer (original)",
        files=(("breast-cancer", "445505b580a88e9e19b533b4f126d3dda1883bc7551e46907041ca263aa3c5d9"),),
        rows=683,
        features=9,
        positive=4.0,
        meaning="malignant",
        citation="Wolberg (1990), Breast Cancer Wisconsin (Original), UCI, doi:10.24432/C5HP4Z",
        licence="CC BY 4.0",
        dropped=(0,),  # the sample's identification number
    ),
    "diabetes": Entry(
        title="Pima Indians Diabetes",
        files=(("diabetes", "419ba20be4862fc53a6fe92e55a84a53ae0075df06632c07592a17d619b5cb23"),),
        rows=768,
        features=8,
        positive=-1.0,  # the file codes "no diabetes" as +1
        meaning="diabetic",
        citation="Smith, Everhart, Dickson, Knowler, Johannes (1988), ADAP, Proc. SCAMC 261-265",
        licence="none found",
    ),
    "german": Entry(
        title="Statlog German Credit, numeric form",
        files=(("german.numer", "49cd2d01c2b2908a84db1f1c94e3ec04f772db3a91560af1225edf739f003194"),),
        rows=1000,
        features=24,
        positive=1.0,
        meaning="bad credit",
        citation="Hofmann (1994), Statlog (German Credit Data), UCI, doi:10.24432/C5NC77",
        licence="CC BY 4.0",
    ),
}


def names() -> list[str]:
    """Return the names that :func:`robula.datasets.load` takes."""
    return [*ENTRIES, BUILT_IN]


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
