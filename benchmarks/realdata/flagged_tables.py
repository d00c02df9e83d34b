"""Check whether the share of good rows that ``robula.flag`` expects is the true one where the law is only nearly right.

python -m benchmarks.realdata.flagged_tables [--half chosen_on | apart] [--every 4] [--out FILE.csv]

Errors are put into one to eight rows in a hundred of the tables of ``many_tables``: responses times ten, 5 and 3 noise widths
off, or of another row; a column times ten, in inches, or -999. A row without one counts as good. Rows that stood out before
any error came may be mistakes of the table's own, so the share is also counted without them.
"""

from __future__ import annotations

import argparse
import itertools
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402  (after the threads are set)
import pandas as pd  # noqa: E402

import robula  # noqa: E402
from benchmarks.realdata.many_tables import half, problems  # noqa: E402
from benchmarks.realdata.sets import stable_seed  # noqa: E402
from robula.sklearn import RobustBayesianRegressor  # noqa: E402

FDR = 0.1
_SHARES = (0.01, 0.03, 0.08)
_ROWS = (150, 1500)
#: A column needs so many values for an error in it to be one.
_VALUES = 10
#: Weights do not hang on the number of draws.
_DRAWS = 20
IN_Y, IN_X = ("y x 10", "y + 5 widths", "y - 3 widths", "y of another row"), ("x x 10", "x x 2.54", "x = -999")


def spoiled(name: str, X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """For each kind of error: its name, features and responses with it, and which rows have it."""
    columns = [place for place in range(X.shape[1]) if len(np.unique(X[:, place])) > _VALUES]
    design = np.column_stack([np.ones(len(y)), X])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    width = 1.4826 * float(np.median(np.abs(residual - np.median(residual)))) or float(residual.std())
    for kind in (*IN_Y, *(IN_X if columns else ())):
        rng = np.random.default_rng(stable_seed(name, 0, kind, 0.0))
        rows = rng.choice(len(y), max(2, round(rng.choice(_SHARES) * len(y))), replace=False)
        features, response = X.copy(), y.copy()
        here = (rows, rng.choice(columns)) if kind in IN_X else (rows,)
        if kind.startswith("x"):
            features[here] = {"x x 10": 10.0, "x x 2.54": 2.54}.get(kind, 0.0) * features[here]
            features[here] += -999.0 if kind == "x = -999" else 0.0
        elif kind == "y of another row":
            response[rows] = rng.permutation(y)[: len(rows)]
        else:
            response[rows] = {
                "y x 10": 10.0 * y[rows], "y + 5 widths": y[rows] + 5.0 * width, "y - 3 widths": y[rows] - 3.0 * width
            }[kind]  # fmt: skip
        bad = (features != X).any(axis=1) | (response != y)
        if bad.any():
            yield kind, features, response, bad


def look_at(name: str, X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """One line a kind of error; none where a fit fails."""
    before, _, _ = _flagged(X, y)
    lines = []
    for kind, features, response, bad in spoiled(name, X, y):
        flagged, expected, off = _flagged(features, response)
        fresh = flagged & ~(before & ~bad)
        lines.append(
            {
                "table": name,
                "error": kind,
                "rows": len(y),
                "law off": off,
                "flagged": int(flagged.sum()),
                "found": float(flagged[bad].mean()),
                "expected": expected,
                "good": _share(~bad, flagged),
                "good, without what stood out before": _share(~bad, fresh),
            }
        )
    return lines


def _flagged(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, bool]:
    posterior = RobustBayesianRegressor(contamination=0.1, draws=_DRAWS).fit(X, y).posterior_
    found = robula.flag(posterior, FDR)
    mask = np.zeros(len(y), dtype=bool)
    mask[found.rows] = True
    return mask, found.expected_good, bool(posterior.settings["rows_found"]["law"])


def _share(good: np.ndarray, rows: np.ndarray) -> float:
    return float(good[rows].mean()) if rows.any() else 0.0


def summary(table: pd.DataFrame) -> str:
    """Means over problems, by error and by whether the law was found to be off, in Markdown."""
    figures = ["found", "expected", "good", "good, without what stood out before"]
    said = table.assign(group=np.where(table["law off"], "law off", "nothing is off"))
    parts = [said.groupby("error")[figures].mean(), said.groupby("group")[figures].mean()]
    parts.append(pd.DataFrame([table[figures].mean()], index=["all"]))
    counts = [*table.groupby("error").size(), *said.groupby("group").size(), len(table)]
    lines = [f"| | problems | {' | '.join(figures)} |", "|---" * (len(figures) + 2) + "|"]
    for (name, row), count in zip(pd.concat(parts).iterrows(), counts, strict=True):
        lines.append(f"| {name} | {count} | {' | '.join(f'{value:.3f}' for value in row)} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is asked for, write the table and print its summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("chosen_on", "apart"), default="chosen_on")
    parser.add_argument("--every", type=int, default=4, help="each so manieth table of 150 to 1500 rows")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = (p for p in problems() if half(p[0]) == arguments.half and _ROWS[0] <= len(p[2]) <= _ROWS[1])
    lines: list[dict[str, Any]] = []
    for problem in itertools.islice(chosen, arguments.every - 1, None, arguments.every):
        lines += look_at(*problem)
        if arguments.out:
            pd.DataFrame(lines).to_csv(arguments.out, index=False)
    table = pd.DataFrame(lines)
    print(f"{table['table'].nunique()} tables, {arguments.half}\n\n{summary(table)}")


if __name__ == "__main__":
    main()
