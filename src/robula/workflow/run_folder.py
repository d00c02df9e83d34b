"""A run on disk: draws as netCDF, tables as CSV, a report, and JSON that says how to predict; nothing is pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from robula._types import FloatArray
from robula._version import __version__
from robula.exceptions import InputError
from robula.reporting.quantities import lines, quantities
from robula.reporting.report_page import report
from robula.result.arviz_conversion import effective_sample_sizes, r_hats, read_draws, write_netcdf
from robula.tables.encoding import Encoding
from robula.workflow.fit_table import MODELS, TableFit

_FORMAT, _FORMAT_VERSION = "robula-run", 1
_MANIFEST, _DRAWS = "run.json", "draws.nc"


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
