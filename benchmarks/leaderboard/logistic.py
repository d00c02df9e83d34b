"""One method on one split of a real data set, with or without wrong labels in the training part."""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.leaderboard import related, settings
from benchmarks.leaderboard.ours import run_ours
from benchmarks.leaderboard.scores import detection, predictive_scores
from benchmarks.leaderboard.weighted_rows import LogisticRows
from robula.datasets.dataset_loaders import load
from robula.experiments.logistic import Split, make_split
from robula.models.logistic_model import LogisticModel
from robula.models.priors import NormalPrior
from robula.selectors import resolve_selector
from robula.simulate import confident_flips, random_flips
from robula.target.centre_search import robust_centre


@lru_cache(maxsize=1)
def _data(dataset: str) -> Any:
    return load(dataset)


def make_problem(dataset: str, flips: str, split: int) -> Split:
    """Return a split; the same number gives the same rows whatever the flips."""
    rng = np.random.default_rng([settings.SEEDS[0], split, zlib.crc32(dataset.encode())])
    clean = make_split(_data(dataset), 0.0, rng, settings.MOST_ROWS)
    if flips == "none":
        return clean
    kind, share = flips.split()
    if kind == "random":
        flipped = random_flips(len(clean.train_y), float(share), rng)
    else:
        flipped = confident_flips(_own_label_probability(clean), float(share))
    return clean._replace(train_y=np.where(flipped, 1.0 - clean.train_y, clean.train_y), flipped=flipped)


def _own_label_probability(split: Split) -> np.ndarray:
    """Probability of each training label under a logistic regression on the right labels."""
    from sklearn.linear_model import LogisticRegression

    fit = LogisticRegression(max_iter=5000).fit(split.train_X, split.train_y)
    return fit.predict_proba(split.train_X)[np.arange(len(split.train_y)), split.train_y.astype(int)]


def run(split: Split, method: str, seed: int) -> dict[str, Any]:
    """Return the held-out figures of a method."""
    if method in settings.OURS:
        return _run_ours(split, method, seed)
    design = np.column_stack([np.ones(len(split.train_y)), split.train_X])
    if method in settings.RELATED:
        draws, suspicion = related.run(method, LogisticRows(design, split.train_y), seed)
        auc = None if suspicion is None else detection(suspicion, split.flipped)
        return {**predictive_scores(draws, split.test_X, split.test_y), "auc": auc}
    from benchmarks.leaderboard.nuts import Rows, run_nuts  # imports JAX

    model = "logistic" if method == "nuts" else method
    draws, warmup = settings.LOGISTIC_DRAWS
    rows = Rows(design, split.train_y, np.ones(len(split.train_y)))
    result = run_nuts(model, rows, [np.zeros(design.shape[1])], len(split.train_y), seed, draws, warmup)
    return {**predictive_scores(result.theta, split.test_X, split.test_y), "divergent": result.divergent}


def _run_ours(split: Split, method: str, seed: int) -> dict[str, Any]:
    model = LogisticModel(split.train_X, split.train_y, prior=NormalPrior(0.0, 1.0), intercept=True)
    sizes, arguments = settings.LOGISTIC_RUN, {}
    if method == "ula":
        # 1 / L with the curvature where the posterior is: the bound over all theta is up to thirty times larger.
        centre = robust_centre(model, resolve_selector("mean"), 0.0, "n", model.initial)
        sizes = settings.LOGISTIC_ULA_RUN
        arguments = {"step_size": 1.0 / centre.local_smoothness, "start": centre.theta}
    posterior = run_ours(method, model, sizes, seed, **arguments)
    auc = None if method == "ula" else detection(-posterior.row_weights, split.flipped)
    return {**predictive_scores(posterior.draws, split.test_X, split.test_y), "auc": auc}
