"""Bad rows for any model, made with the law of its responses."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from benchmarks.anymodel.models import Problem, draw

ATTACKS = ("gross", "moderate", "leverage")
#: How many standard normal scores moderate rows are shifted by, and how far out leverage rows are.
SHIFT, FAR = 3.5, 5.0


def attack(problem: Problem, kind: str, share: float, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the data with a share of their rows made bad, and which rows (n,) those are.

    gross : responses far out on either side (30 normal scores' worth for numbers, 8 times for counts); wrong labels,
        any with the same chance.
    moderate : responses drawn from their law shifted by 3.5 normal scores to one side; labels moved to the next class.
    leverage : features five deviations out in one direction, with responses of their mirror image.
    """
    rng = np.random.default_rng([seed, 7919])
    data = {name: np.array(values) for name, values in problem.data.items()}
    n = len(data["y"])
    bad = np.zeros(n, dtype=bool)
    bad[rng.choice(n, round(share * n), replace=False)] = True
    if not bad.any():
        return data, bad
    m, kind_of = int(bad.sum()), data["y"].dtype
    others = {name: values for name, values in data.items() if name not in ("X", "y", "censored")}
    X = data["X"].astype(float)
    if kind == "leverage":
        columns = slice(1, None) if (X[:, 0] == 1.0).all() else slice(None)
        direction = rng.standard_normal(X[:, columns].shape[1])
        direction /= np.linalg.norm(direction)
        far = FAR * direction + 0.3 * rng.standard_normal((m, len(direction)))
        X[bad, columns] = far
        mirrored = X.copy()
        mirrored[bad, columns] = -far
        y = draw(problem, problem.law(mirrored, **others), rng)
        data["X"] = X
    elif problem.labels:
        step = rng.integers(1, problem.labels, n) if kind == "gross" else 1
        y = (data["y"] + step) % problem.labels
    elif kind == "gross":
        law = problem.law(X, **others)
        if _discrete(problem, others, X):
            y = np.where(rng.uniform(size=n) < 0.5, 8.0 * (law.mean() + 2.0), 0.0)
            y = np.round(np.minimum(y, law.support()[1]))
        elif np.all(law.support()[0] == 0.0):
            y = law.mean() * np.where(rng.uniform(size=n) < 0.5, 50.0, 0.001) * rng.uniform(0.5, 2.0, n)
        else:
            y = law.mean() + 30.0 * law.std() * rng.standard_normal(n)
    else:
        z = rng.standard_normal(n) + SHIFT
        y = np.asarray(problem.law(X, **others).ppf(np.clip(ndtr(z), 1e-12, 1.0 - 1e-12)))
    data["y"][bad] = np.asarray(y)[bad].astype(kind_of)
    if "censored" in data:
        data["censored"][bad] = False
    return data, bad


def _discrete(problem: Problem, others: dict[str, np.ndarray], X: np.ndarray) -> bool:
    return not hasattr(problem.law(X, **others).dist, "pdf")
