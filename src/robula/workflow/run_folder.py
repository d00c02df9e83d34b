"""A run on disk: the posterior, tables as CSV, a report, and a manifest with the hash of each; nothing is pickled."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from robula._files import digest, sealed, unsealed, write_text
from robula._option_words import as_options
from robula._version import __version__
from robula.diagnosis.row_influence import influence
from robula.diagnosis.rows_to_check import OddRows, code_words, odd_rows
from robula.diagnosis.verdict import diagnose
from robula.exceptions import InputError
from robula.models import MODELS
from robula.models.law import ModelWithLaw
from robula.models.model import unique_names
from robula.models.regression import Regression
from robula.reporting.quantities import lines, quantities
from robula.reporting.report_page import report
from robula.result.arviz_conversion import has_netcdf, write_netcdf
from robula.result.convergence import effective_sample_sizes, r_hats
from robula.result.posterior import Posterior
from robula.result.storage import read_posterior
from robula.result.thresholds import FEWEST_DRAWS
from robula.tables.encoding import Encoding, with_numbers
from robula.tables.table_files import write_table
from robula.workflow.fit_files import WEIGHTS
from robula.workflow.staged_folder import settled
from robula.workflow.table_fit import TableFit

_FORMAT, _FORMAT_VERSION = "robula-run", 2
_MANIFEST, _POSTERIOR, _NETCDF = "run.json", "posterior.npz", "draws.nc"
_NAMES = {_MANIFEST, _POSTERIOR, _NETCDF, WEIGHTS, "summary.csv", "rows.csv", "report.html", "command.txt"}
# The report and what a file costs beside its numbers.
_OVERHEAD = 2**23


class StoredRun(NamedTuple):
    """What a prediction needs of a run."""

    model: str
    encoding: Encoding
    posterior: Posterior
    facts: dict[str, Any]


class WrittenRun(NamedTuple):
    """What a fit has to say on a terminal: the verdict of the report, if there are draws enough, and the notes."""

    verdict: str | None
    notes: list[str]


def is_run(folder: Path) -> bool:
    """Whether a folder holds an earlier run and nothing else, so that it may be replaced."""
    if not {path.name for path in folder.iterdir()} <= _NAMES:
        return False
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        return isinstance(manifest, dict) and manifest.get("format") == _FORMAT
    except (OSError, ValueError):
        return False


def space_needed(table: pd.DataFrame, draws: int) -> int:
    """Bytes that a run of so many draws will take, generously."""
    numbers = draws * (table.shape[1] + 8) + 4 * len(table)
    return 2 * 8 * numbers + 3 * int(table.memory_usage(deep=True).sum()) + _OVERHEAD


def write_run(fit: TableFit, table: pd.DataFrame, folder: Path, *, command: str, title: str) -> WrittenRun:
    """Write everything a fit leaves behind into an empty folder, and return what is to be said of it."""
    posterior = fit.posterior
    posterior.save(folder / _POSTERIOR)
    notes = [*fit.notes, *_write_netcdf(posterior, folder)]
    write_table(summary_table(fit), folder / "summary.csv")
    listed = rows_to_check(fit, table)
    write_table(rows_table(fit, table, listed), folder / "rows.csv")
    write_text(folder / "command.txt", command + "\n")
    shown = [*fit.encoding.columns, *([fit.target] if fit.target is not None else [])]
    report(
        posterior,
        folder / "report.html",
        model=fit.fitted,
        data=table.loc[fit.used, [*shown, *(column for column in table.columns if column not in shown)]],
        response=fit.target,
        odd=listed,
        plain=fit.plain,
        residuals=fit.residuals,
        sensitivity=fit.sensitivity,
        title=title,
        command=command,
        notes=notes,
    )
    manifest = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "robula": __version__,
        "model": fit.model,
        "target": fit.target,
        "encoding": fit.encoding.to_json(),
        "facts": fit.facts,
        "command": command,
        "notes": notes,
        "files": {
            path.name: {"bytes": path.stat().st_size, "sha256": digest(path.read_bytes())}
            for path in sorted(folder.iterdir())
        },
    }
    write_text(folder / _MANIFEST, json.dumps(sealed(manifest), indent=1) + "\n")
    return WrittenRun(_verdict(posterior, listed), [*notes, *_codes(fit, listed)])


def _codes(fit: TableFit, listed: OddRows) -> list[str]:
    """Say which codes were taken for numbers, and how to have them taken for what they are."""
    model, words = fit.fitted, code_words(listed)
    codes = {code for found in listed.cells.codes.values() for code in found}
    if fit.target is not None and isinstance(model, Regression):
        for code in model.response_codes:
            rows = int((model.y == code).sum())
            words.append(f"{code:g} is a code for missing in {fit.target}, the target, of {rows:,} rows.")
            codes.add(code)
    written = ",".join([*fit.encoding.missing, *(f"{code:g}" for code in sorted(codes))])
    return [" ".join([*words, f"To leave these rows out: --missing {written} --drop-missing."])] if codes else []


def _verdict(posterior: Posterior, listed: OddRows) -> str | None:
    if posterior.draws.shape[1] < FEWEST_DRAWS:
        return None
    found = diagnose(posterior, odd=listed)
    return as_options(" ".join([f"Verdict: {found.verdict}.", *found.findings]))


def _write_netcdf(posterior: Posterior, folder: Path) -> list[str]:
    """Write the draws for ArviZ too where that can be done, and return a sentence where it cannot."""
    if not has_netcdf():
        return ["draws.nc was not written: it needs a netCDF backend, pip install 'robula[netcdf]'."]
    if shutil.disk_usage(folder).free < 4 * posterior.draws.nbytes + _OVERHEAD:
        # HDF5 does not survive a full disk.
        return ["draws.nc was not written: the disk is nearly full."]
    write_netcdf(posterior, folder / _NETCDF)
    return []


def summary_table(fit: TableFit) -> pd.DataFrame:
    """One line a parameter: robust, plain, and the sampler's own quality."""
    shown = quantities(fit.posterior)
    enough = shown.draws.shape[1] >= FEWEST_DRAWS
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


def rows_to_check(fit: TableFit, table: pd.DataFrame) -> OddRows:
    """Judge the features of the rows that were used, and what each row does to the answer."""
    draws, dim = len(fit.posterior.flat_draws), fit.fitted.dim
    found = influence(fit.fitted, fit.posterior) if draws > 2 * (dim + 1) else None
    exposure = fit.facts.get("exposure")
    columns = [*fit.encoding.columns, *([] if exposure is None else [exposure])]
    features = with_numbers(table.loc[fit.used], columns)[columns]
    response = fit.fitted.response if isinstance(fit.fitted, ModelWithLaw) else None
    return odd_rows(fit.posterior, features, response=response, influence=found)


def rows_table(fit: TableFit, table: pd.DataFrame, listed: OddRows) -> pd.DataFrame:
    """Every row of the file, blank where it was left out.

    Its weight w and its rank, 1 for the row that counts least; its doubt w (1 - w), the variance of being clean; 1 in
    ``contested`` for the rows of a group that was kept though it may be bad, where there is one; its influence, by how
    many standard deviations it moves the parameter that it moves most, and which; the error of its prediction over the
    size that is expected; the column of its oddest cell with its score and, where it is odd, why.
    """
    weights = fit.posterior.row_weights
    columns: dict[str, Any] = {
        "weight": weights,
        "rank": pd.array(rankdata(weights, method="min").astype(int), dtype="Int64"),
    }
    if fit.posterior.weights_are_probabilities:
        columns["doubt"] = weights * (1.0 - weights)
    contested = fit.posterior.contested
    if len(contested):
        columns["contested"] = np.isin(np.arange(len(weights)), contested).astype(int)
    if listed.influence is not None:
        names = np.array(listed.influence.names, dtype=object)
        columns |= {"influence": listed.influence.strength, "moves": names[listed.influence.moved_most]}
    if fit.residuals:
        columns["prediction_error"] = next(iter(fit.residuals.values()))
    if listed.cells.names:
        columns |= {
            "oddest_column": np.array(listed.cells.names, dtype=object)[listed.cells.oddest],
            "oddness": listed.cells.row_scores,
            "why_odd": [listed.cells.reason(row) for row in range(len(weights))],
        }
    places = table.index[fit.used]
    ours = pd.DataFrame({_free("row", table): table.index}, index=table.index)
    for name, values in columns.items():
        ours[_free(name, table)] = pd.Series(values, index=places).reindex(table.index)
    return pd.concat([ours, table], axis=1)


def _free(name: str, table: pd.DataFrame) -> str:
    """Return a name that no column of the table has."""
    while name in table.columns:
        name = f"robula_{name}"
    return name


def read_run(folder: Path) -> StoredRun:
    """Read what a prediction needs of a run, or refuse it where anything does not fit together."""
    place = settled(folder)
    if not (place / _MANIFEST).is_file():
        raise InputError(f"{str(folder)!r} is not a run of robula fit: it has no {_MANIFEST}.")
    try:
        manifest = json.loads((place / _MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != _FORMAT:
            raise ValueError("another format")
        version = manifest["format_version"]
        if version != _FORMAT_VERSION:
            other = "a newer" if version > _FORMAT_VERSION else "an older"
            remedy = "upgrade with: pip install -U robula" if version > _FORMAT_VERSION else "fit again."
            raise InputError(f"{str(folder)!r} was written by {other} robula (format {version}); {remedy}")
        manifest = unsealed(manifest)
        posterior = _posterior(place, manifest["files"][_POSTERIOR])
        encoding = Encoding.from_json(manifest["encoding"])
        if manifest["model"] not in MODELS:
            raise ValueError(f"there is no model {manifest['model']!r}")
        expected = unique_names(["intercept", *encoding.names])
        classes = manifest["facts"].get("classes", ())
        if len(classes) > 2:
            expected = unique_names([f"{label}:{name}" for label in classes[1:] for name in expected])
        if manifest["model"] != "mean" and posterior.parameter_names[: len(expected)] != expected:
            raise ValueError("the draws are of other columns")
        return StoredRun(manifest["model"], encoding, posterior, manifest["facts"])
    except InputError:
        raise
    except Exception as error:  # damaged JSON can fail anywhere
        why = str(error) if isinstance(error, ValueError) else type(error).__name__
        raise InputError(
            f"{str(folder)!r} is damaged, or was being replaced while it was read ({why}); try again, else fit again."
        ) from error


def _posterior(place: Path, facts: dict[str, Any]) -> Posterior:
    path = place / _POSTERIOR
    if path.stat().st_size != facts["bytes"]:
        raise ValueError(f"{_POSTERIOR} has another size")
    data = path.read_bytes()
    if digest(data) != facts["sha256"]:
        raise ValueError(f"{_POSTERIOR} has another hash")
    return read_posterior(io.BytesIO(data), str(path))
