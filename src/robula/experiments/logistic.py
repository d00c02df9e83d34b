"""The paper's section 6.2: logistic regression on real data, with and without label flips (figures 4 and 5)."""

from __future__ import annotations

import time
import zlib
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from robula._types import BoolArray, FloatArray, IntArray
from robula.datasets.dataset_loaders import load
from robula.exceptions import DivergenceError
from robula.experiments.choices import LETTER, READINGS, Reading
from robula.experiments.runner import Outcome
from robula.models.logistic_model import LogisticModel
from robula.result.convergence import effective_sample_sizes, r_hats
from robula.result.posterior import Posterior
from robula.run.sampler import sample
from robula.selectors.sample_mean import SampleMean
from robula.target.centre_search import robust_centre

#: Tuned on a fifth of the training rows: the step size times L (the curvature at the centre; the bound over all theta
#: is up to thirty times larger and mixes that much slower) and contamination.
STEP_MULTIPLES = (0.25, 0.5, 1.0)
CONTAMINATIONS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
#: What Rob-ULA is told without tuning, where no labels are flipped.
UNTUNED = 0.1
#: The run goes on until the R-hat of the linear predictors is below this, or its budget of steps is spent.
ACCEPTABLE_RHAT = 1.1
_THIN = 4
_ALGORITHMS = ("Rob-ULA", "ULA")


class Split(NamedTuple):
    """Scaled training and test parts; ``flipped`` marks the training rows whose label was changed."""

    train_X: FloatArray
    train_y: FloatArray
    flipped: BoolArray
    test_X: FloatArray
    test_y: FloatArray


def logistic_job(
    dataset: str,
    flips: float,
    run: int,
    seed: int,
    chains: int,
    segment: int,
    budget: dict[str, int],
    rows: int | None,
    reading: str = LETTER,
) -> Outcome:
    """One split of one data set, both algorithms.

    Parameters
    ----------
    flips : float
        Share of the training labels that are flipped.
    segment : int
        Steps of burn-in, and of each segment after it.
    budget : dict
        Most steps after burn-in, by algorithm.
    rows : int or None
        Use only this many rows (quick runs).
    """
    rng = np.random.default_rng([seed, run, zlib.crc32(dataset.encode())])
    split = make_split(load(dataset), flips, rng, rows)
    validation = rng.permutation(len(split.train_y)) < round(0.2 * len(split.train_y))
    tables, points = [], {}
    for algorithm in _ALGORITHMS:
        began = time.process_time()
        tuned = _tune(algorithm, split, validation, flips, 1000 * seed + run, segment, READINGS[reading])
        middle = time.process_time()
        posterior, steps, rhat = _converge(
            algorithm, split, tuned, 1000 * seed + run, chains, segment, budget[algorithm], READINGS[reading]
        )
        at_mean = log_likelihoods(split.test_X, split.test_y, posterior.mean)
        points[algorithm] = at_mean.tolist()
        tables.append(
            {
                "dataset": dataset,
                "flips": flips,
                "run": run,
                "algorithm": algorithm,
                "train_rows": len(split.train_y),
                "test_rows": len(split.test_y),
                "contamination": tuned[0],
                "step_multiple": tuned[1],
                "step_size": posterior.settings["step_size"],
                "steps": steps,
                "tuning_seconds": round(middle - began, 1),
                "seconds": round(time.process_time() - middle, 1),
                "rhat_predictor": rhat,
                "rhat_coefficients": largest_rhat(posterior.draws),
                "effective_sample_size": float(np.median(effective_sample_sizes(posterior.draws))),
                **_scores(split, posterior, at_mean),
            }
        )
    return {"rows": tables, "points": points}


def make_split(data: Any, flips: float, rng: np.random.Generator, rows: int | None) -> Split:
    """Split 70 / 30, scale features to [-1, 1] by the training part's ranges, flip random training labels."""
    order: IntArray = rng.permutation(len(data.y))[:rows]
    count = round(0.7 * len(order))
    train, test = order[:count], order[count:]
    low, high = data.X[train].min(axis=0), data.X[train].max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    scaled = np.where(high > low, 2.0 * (data.X - low) / span - 1.0, 0.0)
    flipped = rng.permutation(count) < round(flips * count)
    labels = np.where(flipped, 1.0 - data.y[train], data.y[train])
    return Split(scaled[train], labels, flipped, scaled[test], data.y[test])


def _model(X: FloatArray, y: FloatArray, reading: Reading) -> LogisticModel:
    return LogisticModel(X, y, prior=reading.prior, intercept=True)


def _tune(
    algorithm: str, split: Split, validation: BoolArray, flips: float, seed: int, steps: int, reading: Reading
) -> tuple[float, float]:
    """Return contamination and step multiple by the mean log-likelihood of the validation rows.

    First the contamination at the largest step, then the step; of the steps within one standard error of the best, the
    largest: it mixes fastest, and the validation rows cannot tell them apart.
    """
    model = _model(split.train_X[~validation], split.train_y[~validation], reading)
    levels: tuple[float, ...] = CONTAMINATIONS if reading.tuned else (flips or UNTUNED,)
    levels = levels if algorithm == "Rob-ULA" else (0.0,)

    def scored(contamination: float, multiple: float) -> tuple[float, float, float]:
        """Mean, its standard error, and the multiple; minus infinity where the chain diverged."""
        try:
            runner = _Runner(model, algorithm, contamination, reading)
            posterior = runner.run(multiple, seed, chains=1, burn_in=steps // 2, steps=steps // 2)
        except DivergenceError:
            return -np.inf, 0.0, multiple
        values = log_likelihoods(split.train_X[validation], split.train_y[validation], posterior.mean)
        return float(values.mean()), float(values.std() / np.sqrt(len(values))), multiple

    largest, *smaller = sorted(STEP_MULTIPLES, reverse=True)
    found = {level: scored(level, largest) for level in levels}
    contamination = max(found, key=lambda level: found[level][0])
    candidates = [found[contamination], *(scored(contamination, multiple) for multiple in smaller)]
    best, error, _ = max(candidates)
    if best == -np.inf:
        return contamination, min(STEP_MULTIPLES)
    close = [multiple for value, _, multiple in candidates if value >= best - error]
    return contamination, max(close)


def _converge(
    algorithm: str,
    split: Split,
    tuned: tuple[float, float],
    seed: int,
    chains: int,
    segment: int,
    budget: int,
    reading: Reading,
) -> tuple[Posterior, int, float]:
    """Run on, doubling the number of steps, until R-hat is acceptable or the budget is spent.

    R-hat is of the linear predictors of 100 test points: what the figures depend on. Collinear columns leave
    directions of the coefficients that only the prior holds, and no prediction sees.
    """
    runner = _Runner(_model(split.train_X, split.train_y, reading), algorithm, tuned[0], reading)
    design = _with_ones(split.test_X[:100])
    posterior = runner.run(tuned[1], seed + 500, chains, burn_in=segment, steps=segment)
    parts, total = [posterior], segment
    while True:
        draws = np.concatenate([part.draws for part in parts], axis=1)
        rhat = largest_rhat(np.einsum("cnd,md->cnm", draws, design))
        if rhat < ACCEPTABLE_RHAT or total >= budget:
            weights = np.average(
                [part.row_weights for part in parts], axis=0, weights=[part.draws.shape[1] for part in parts]
            )
            return replace(posterior, draws=draws, row_weights=weights), segment + total, rhat
        more = min(total, budget - total)
        posterior = runner.run(
            tuned[1], seed + 500 * (len(parts) + 1), chains, burn_in=0, steps=more, start=posterior.draws[:, -1]
        )
        parts.append(posterior)
        total += more


class _Runner:
    """Chains of one algorithm on one model, started around its robust centre."""

    def __init__(self, model: LogisticModel, algorithm: str, contamination: float, reading: Reading) -> None:
        self._model = model
        selector = reading.selector if algorithm == "Rob-ULA" else SampleMean()
        self._settings: dict[str, Any] = {
            "contamination": contamination,
            "selector": selector,
            "kernel": "ula",
            "likelihood_rows": "n",
            "refresh_every": 1,
            "progress": False,
        }
        self._centre = robust_centre(model, selector, contamination, "n", model.initial)

    def run(
        self, multiple: float, seed: int, chains: int, burn_in: int, steps: int, start: FloatArray | None = None
    ) -> Posterior:
        """Make ``burn_in + steps`` steps of ``multiple`` / L."""
        if start is None:
            noise = np.random.default_rng([seed, 1]).standard_normal((chains, self._model.dim))
            start = self._centre.theta + noise / np.sqrt(self._centre.smoothness)
        return sample(
            self._model,
            step_size=multiple / self._centre.local_smoothness,
            draws=max(1, steps // _THIN),
            thin=_THIN,
            burn_in=burn_in,
            chains=chains,
            seed=seed,
            start=start,
            **self._settings,
        )


def _scores(split: Split, posterior: Posterior, at_mean: FloatArray) -> dict[str, float]:
    """Held-out figures: at the posterior mean (the paper's curves) and of the posterior predictive."""
    design = _with_ones(split.test_X)
    thinned = posterior.flat_draws[:: max(1, len(posterior.flat_draws) // 500)]
    predictive = expit(thinned @ design.T).mean(axis=0)
    predictive = np.clip(predictive, 1e-300, 1.0 - 1e-16)
    plug_in = expit(design @ posterior.mean)
    of_label = np.where(split.test_y > 0.5, predictive, 1.0 - predictive)
    return {
        "log_likelihood_mean": float(at_mean.mean()),
        "log_likelihood_median": float(np.median(at_mean)),
        "log_likelihood_q05": float(np.quantile(at_mean, 0.05)),
        "log_likelihood_min": float(at_mean.min()),
        "predictive_log_likelihood": float(np.log(of_label).mean()),
        "accuracy": float(((plug_in > 0.5) == (split.test_y > 0.5)).mean()),
        "calibration_error": calibration_error(plug_in, split.test_y),
        "predictive_calibration_error": calibration_error(predictive, split.test_y),
        "row_weight_flipped": float(posterior.row_weights[split.flipped].mean())
        if split.flipped.any()
        else float("nan"),
        "row_weight_kept": float(posterior.row_weights[~split.flipped].mean()),
    }


def _with_ones(X: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(X)), X])


def log_likelihoods(X: FloatArray, y: FloatArray, theta: FloatArray) -> FloatArray:
    """Log-likelihood of each label (n,) of 0 and 1 under logistic regression with theta = (intercept, coefficients)."""
    eta = theta[0] + X @ theta[1:]
    values: FloatArray = -np.logaddexp(0.0, np.where(y > 0.5, -eta, eta))
    return values


def calibration_error(probabilities: FloatArray, y: FloatArray, bins: int = 10) -> float:
    """Expected calibration error: mean over equal bins of |mean probability - share of ones|, weighted by rows."""
    which = np.minimum((probabilities * bins).astype(int), bins - 1)
    counts = np.bincount(which, minlength=bins)
    gaps = np.abs(np.bincount(which, probabilities, bins) - np.bincount(which, y, bins))
    return float(gaps.sum() / counts.sum())


def largest_rhat(values: FloatArray) -> float:
    """Largest R-hat over the columns of values (chains, draws, k)."""
    return float(np.nanmax(r_hats(values)))
