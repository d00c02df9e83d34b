"""A run on disk, and predictions from it: draws as netCDF, tables as CSV, a report, and JSON; nothing is pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import rankdata

from robula._types import FloatArray
from robula._validation import show
from robula._version import __version__
from robula.exceptions import InputError
from robula.models import MODELS
from robula.reporting.quantities import lines, quantities
from robula.reporting.report_page import report
from robula.result.arviz_conversion import effective_sample_sizes, r_hats, read_draws, write_netcdf
from robula.tables.encoding import Encoding, complete_rows, with_numbers
from robula.tables.read_table import read_table
from robula.workflow.fit_table import TableFit

_FORMAT, _FORMAT_VERSION = "robula-run", 1
_MANIFEST, _DRAWS = "run.json", "draws.nc"
# Rows whose predictors for all draws are held at a time.
_ROWS_AT_A_TIME = 500
_LARGEST_LOG_RATE = 40.0


@dataclass(frozen=True)
class StoredRun:
    """What a prediction needs of a run."""

    model: str
    target: str | None
    encoding: Encoding
    draws: FloatArray
    noise_scale: float | None
    classes: list[str] | None


def check_folder(folder: Path) -> None:
    """Refuse, before any work, a folder that holds something else than an earlier run."""
    if folder.is_file():
        raise InputError(f"--out {str(folder)!r} is a file; name a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / _MANIFEST).is_file():
        raise InputError(f"--out {str(folder)!r} holds other files; name a new folder, or one of an earlier run.")


def write_run(fit: TableFit, table: pd.DataFrame, folder: Path, *, command: str, title: str) -> None:
    """Write everything a fit leaves behind."""
    folder.mkdir(parents=True, exist_ok=True)
    posterior = fit.posterior
    write_netcdf(posterior, folder / _DRAWS)
    summary_table(fit).to_csv(folder / "summary.csv", index=False)
    rows_table(fit, table).to_csv(folder / "rows.csv", index=False)
    manifest = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "robula": __version__,
        "model": fit.model,
        "target": fit.target,
        "encoding": fit.encoding.to_json(),
        "parameter_names": list(posterior.parameter_names),
        "noise_scale": fit.noise_scale,
        "classes": fit.classes,
        "command": command,
        "notes": fit.notes,
        "settings": dict(posterior.settings),
        "citations": list(posterior.citations),
    }
    (folder / _MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    (folder / "command.txt").write_text(command + "\n", encoding="utf-8")
    shown = [*fit.encoding.columns, *([fit.target] if fit.target is not None else [])]
    report(
        posterior,
        folder / "report.html",
        data=table.loc[fit.used, [*shown, *(column for column in table.columns if column not in shown)]],
        plain=fit.plain,
        residuals=fit.residuals,
        sensitivity=fit.sensitivity,
        title=title,
        command=command,
        notes=fit.notes,
    )


def summary_table(fit: TableFit) -> pd.DataFrame:
    """One line a parameter: robust, plain, and the sampler's own quality."""
    shown = quantities(fit.posterior)
    enough = shown.draws.shape[1] >= 4
    sizes = effective_sample_sizes(shown.draws) if enough else np.full(len(shown.names), np.nan)
    agreement = r_hats(shown.draws) if enough else np.full(len(shown.names), np.nan)
    records = [
        {
            "parameter": line.name,
            "mean": line.mean,
            "sd": line.deviation,
            "low": line.low,
            "high": line.high,
            "ess": float(sizes[line.place]),
            "r_hat": float(agreement[line.place]),
            "plain_mean": line.plain_mean,
            "plain_low": line.plain_low,
            "plain_high": line.plain_high,
            "moved_by_sd": line.moved,
        }
        for line in sorted(lines(shown, fit.plain), key=lambda line: line.place)
    ]
    return pd.DataFrame(records)


def rows_table(fit: TableFit, table: pd.DataFrame) -> pd.DataFrame:
    """Every row of the file with its weight and its rank, 1 for the row that counts least; blank where left out."""
    weights = np.full(len(table), np.nan)
    weights[fit.used] = fit.posterior.row_weights
    ranks = pd.array([pd.NA] * len(table), dtype="Int64")
    ranks[fit.used] = rankdata(fit.posterior.row_weights, method="min").astype(int)
    names = [_free(name, table) for name in ("row", "weight", "rank")]
    ours = pd.DataFrame({names[0]: table.index, names[1]: weights, names[2]: ranks}, index=table.index)
    return pd.concat([ours, table], axis=1)


def _free(name: str, table: pd.DataFrame) -> str:
    """Return a name that no column of the table has."""
    while name in table.columns:
        name = f"robula_{name}"
    return name


def read_run(folder: Path) -> StoredRun:
    """Read what a prediction needs of a run written by :func:`write_run`."""
    path = folder / _MANIFEST
    if not path.is_file():
        raise InputError(f"{str(folder)!r} is not a run of robula fit: it has no {_MANIFEST}.")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if manifest["format"] != _FORMAT or manifest["model"] not in MODELS:
            raise ValueError("another format")
        if manifest["format_version"] > _FORMAT_VERSION:
            raise InputError(f"{str(folder)!r} was written by a newer robula; upgrade with: pip install -U robula")
        encoding = _encoding(manifest["encoding"])
        noise, classes = manifest["noise_scale"], manifest["classes"]
        draws = read_draws(folder / _DRAWS)
        if draws.shape[-1] != len(manifest["parameter_names"]):
            raise ValueError("draws of another model")
        return StoredRun(manifest["model"], manifest["target"], encoding, draws, noise, classes)
    except InputError:
        raise
    except Exception as error:  # damaged JSON or netCDF can fail anywhere
        raise InputError(f"{str(folder)!r} is damaged ({type(error).__name__}); fit again.") from error


def _encoding(stored: Mapping[str, Any]) -> Encoding:
    return Encoding(
        [str(name) for name in stored["numbers"]],
        {str(name): [str(level) for level in levels] for name, levels in stored["categories"].items()},
    )


def predict_file(folder: Path, path: Path, *, drop_missing: bool = False) -> pd.DataFrame:
    """Return one line a row of the file: its number, the prediction and a 95 % interval.

    linear: predictive mean, deviation and interval of a new response. poisson: the same of a new count. logistic: the
    probability of the second class, averaged over the draws, its interval over the draws, and the likelier class.
    """
    run = read_run(folder)
    if run.model == "mean":
        raise InputError("a mean model has nothing to predict; its draws and row weights are in the folder.")
    table = read_table(path)
    lost = [column for column in run.encoding.columns if column not in table.columns]
    if lost:
        raise InputError(f"{path.name} has no column {lost[0]!r}; the fit used {show(run.encoding.columns, 200)}.")
    numbers = with_numbers(table, run.encoding.columns)
    for column in run.encoding.numbers:
        if numbers[column].dtype.kind != "f":
            raise InputError(
                f"column {column!r} was a column of numbers in the fit, and is one of texts in {path.name}."
            )
    used = complete_rows(numbers, table, drop=drop_missing)
    if not used.any():
        raise InputError(f"no row of {path.name} is without missing values.")
    part = numbers[used]
    design = np.column_stack([np.ones(len(part)), run.encoding.design(part).to_numpy()])
    chunks = [
        _predict(run, design[first : first + _ROWS_AT_A_TIME]) for first in range(0, len(design), _ROWS_AT_A_TIME)
    ]
    result = pd.concat(chunks, ignore_index=True)
    result.insert(0, "row", part.index)
    return result


def _predict(run: StoredRun, design: FloatArray) -> pd.DataFrame:
    eta = design @ run.draws.reshape(-1, run.draws.shape[-1]).T
    if run.model == "linear":
        mean = eta.mean(axis=1)
        deviation = np.sqrt(eta.var(axis=1) + (run.noise_scale or 0.0) ** 2)
        return pd.DataFrame(
            {"prediction": mean, "sd": deviation, "low": mean - 1.96 * deviation, "high": mean + 1.96 * deviation}
        )
    if run.model == "poisson":
        rate = np.exp(np.minimum(eta, _LARGEST_LOG_RATE))
        # One new count a draw, the same for the same rows: a fixed seed.
        counts = np.random.default_rng(0).poisson(rate)
        low, high = np.quantile(counts, [0.025, 0.975], axis=1)
        mean = rate.mean(axis=1)
        return pd.DataFrame({"prediction": mean, "sd": np.sqrt(mean + rate.var(axis=1)), "low": low, "high": high})
    probability = expit(eta)
    low, high = np.quantile(probability, [0.025, 0.975], axis=1)
    mean = probability.mean(axis=1)
    labels = np.asarray(run.classes, dtype=object)[(mean > 0.5).astype(int)]
    return pd.DataFrame({"prediction": labels, "probability": mean, "low": low, "high": high})
