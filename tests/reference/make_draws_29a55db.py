"""Store what `rob_ula` and `sample` drew at commit 29a55db, before the house was rebuilt.

Run once, on that commit: ``PYTHONPATH=<worktree of 29a55db>/src python tests/reference/make_draws_29a55db.py``.
``test_draws_29a55db.py`` runs the same calls on the present code. Only public names that outlive the rebuild are used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import robula

STORED = Path(__file__).with_name("draws_29a55db.npz")
CONTAMINATION = 0.15
#: What `sample` did when nothing was said, spelled out.
DEFAULTS = {
    "selector": "excess",
    "kernel": "preconditioned_lm",
    "likelihood_rows": "weights",
    "refresh_every": "auto",
}
SETTINGS = {
    "default": DEFAULTS,
    "spectral-ula": {**DEFAULTS, "selector": "spectral", "kernel": "ula", "refresh_every": 5},
    "geometric_median-lm": {**DEFAULTS, "selector": "geometric_median", "kernel": "lm", "likelihood_rows": "clean"},
    "recursive-baoab": {**DEFAULTS, "selector": "recursive", "kernel": "baoab", "likelihood_rows": "n"},
}
LENGTH = {"draws": 25, "burn_in": 20, "chains": 2, "seed": 7, "progress": False}


def models(seed: int = 2026, rows: int = 120) -> dict[str, object]:
    """One of each model on 120 rows, the last twelve of them bad."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 3))
    line = X @ [0.5, -1.0, 0.3]
    y = line + 0.7 * rng.standard_normal(rows)
    labels = (rng.uniform(size=rows) < 1 / (1 + np.exp(-2 * line))).astype(int)
    counts = rng.poisson(np.exp(0.5 * line + 1.0))
    points = X + np.array([1.0, 2.0, 3.0])
    y[-12:] += 8.0
    labels[-12:] = line[-12:] < 0
    counts[-12:] += 30
    points[-12:] += 5.0
    prior = robula.NormalPrior(0.0, 10.0)
    return {
        "mean": robula.MeanModel(points, prior=prior),
        "linear": robula.LinearModel(X, y, noise_scale=0.7, prior=prior, intercept=True),
        "unknown-scale": robula.LinearModel(X, y, noise_scale="estimate", prior=prior, intercept=True),
        "logistic": robula.LogisticModel(X, labels, prior=prior, intercept=True),
        "poisson": robula.PoissonModel(X, counts, prior=prior, intercept=True),
    }


def runs() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield every run as its name and the call that makes its posterior."""
    for name, model in models().items():
        yield f"rob_ula/{name}", lambda model=model: robula.rob_ula(model, contamination=CONTAMINATION, **LENGTH)
        for setting, options in SETTINGS.items():
            yield (
                f"sample/{name}/{setting}",
                lambda model=model, options=options: robula.sample(
                    model, contamination=CONTAMINATION, step_size=None, thin=1, **options, **LENGTH
                ),
            )


def arithmetic() -> np.ndarray:
    """Results that depend on the machine's linear algebra to the last bit: the draws can only be as equal as these."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((120, 4))
    gram = A.T @ A
    return np.concatenate([gram.ravel(), np.linalg.eigh(gram)[1].ravel(), np.exp(A[:, 0]), A @ gram[0]])


def main() -> None:
    """Run everything and write the draws and row weights."""
    stored = {"arithmetic": arithmetic()}
    for name, run in runs():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", robula.exceptions.RobulaWarning)
            posterior = run()
        stored[f"{name}/draws"] = posterior.draws
        stored[f"{name}/row_weights"] = posterior.row_weights
    np.savez_compressed(STORED, **stored)


if __name__ == "__main__":
    main()
