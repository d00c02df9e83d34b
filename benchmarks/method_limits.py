"""``python -m benchmarks.method_limits``: print the figures of docs/method.md that no other table has. About two minutes.

Other designs than normal features, noise that the model does not expect, and the share that is estimated on few rows.
No sampling: the posterior of the weighted rows is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import robula
from robula.simulate.attacks import ATTACKS, CleanRows

ROWS = 1000
SKIPPED = ("subtractive", "sentinel_response")


def features(kind: str, rng: np.random.Generator, dim: int) -> np.ndarray:
    """Return features (n, d) of a kind that the rule was not tuned on."""
    if kind == "student":
        return rng.standard_t(3, (ROWS, dim))
    if kind == "correlated":
        return np.sqrt(0.2) * rng.standard_normal((ROWS, dim)) + np.sqrt(0.8) * rng.standard_normal((ROWS, 1))
    if kind == "lognormal":
        return rng.lognormal(0.0, 0.8, (ROWS, dim))
    X = rng.standard_normal((ROWS, dim))
    X[:, 0] = 1.0
    level = rng.integers(0, dim // 2 + 1, ROWS)
    X[:, 1 : dim // 2 + 1] = level[:, None] == np.arange(1, dim // 2 + 1)
    return X


def compare(model: robula.LinearModel, clean: robula.LinearModel) -> tuple[float, float]:
    """Bias and spread of the weighted rows' posterior against all rows of ``clean``, in widths."""
    weights = robula.selectors.ExcessSelector().select_rows(model, np.zeros(model.dim), 0.2).weights
    found, wanted = model.gaussian_posterior(weights), clean.gaussian_posterior()
    width = np.sqrt(np.trace(wanted.covariance))
    return float(np.linalg.norm(found.mean - wanted.mean) / width), float(np.sqrt(np.trace(found.covariance)) / width)


def design_cell(kind: str, attack: str, dim: int, contamination: float, seed: int) -> tuple[float, float]:
    """One attack on one design."""
    rng = np.random.default_rng([seed, dim, round(100 * contamination)])
    X = features(kind, rng, dim)
    theta = rng.standard_normal(dim) / np.sqrt(dim)
    y = X @ theta + rng.standard_normal(ROWS)
    bad = ATTACKS[attack](rng, CleanRows(X, y, theta), round(ROWS * contamination / (1.0 - contamination)))
    model = robula.LinearModel(np.vstack([X, bad.X]), np.concatenate([y, bad.y]), noise_scale=1.0)
    return compare(model, robula.LinearModel(X, y, noise_scale=1.0))


def noise_cell(noise: Callable[[np.random.Generator], np.ndarray], dim: int, seed: int) -> tuple[float, float]:
    """Clean rows with noise of another law than the declared N(0, 1)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, dim))
    y = X @ rng.standard_normal(dim) + noise(rng)
    model = robula.LinearModel(X, y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 1.0))
    return compare(model, model)


NOISES: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "normal, scale 1.1": lambda rng: 1.1 * rng.standard_normal(ROWS),
    "normal, scale 1.25": lambda rng: 1.25 * rng.standard_normal(ROWS),
    "Student, 5 degrees of freedom": lambda rng: rng.standard_t(5, ROWS) * np.sqrt(3 / 5),
    "Laplace": lambda rng: rng.laplace(size=ROWS) / np.sqrt(2),
}


def main() -> None:
    """Print the three tables."""
    attacks = [name for name in ATTACKS if name not in SKIPPED]
    print(f"{len(attacks)} attacks, epsilon 0.1 and 0.2, three seeds: median bias, mean spread")
    for kind in ("student", "correlated", "dummies", "lognormal"):
        for dim in (5, 20):
            cells = [design_cell(kind, a, dim, e, s) for a in attacks for e in (0.1, 0.2) for s in (1, 2, 3)]
            bias, spread = np.array(cells).T
            print(f"{kind}, d = {dim}: {np.median(bias):.2f}, {spread.mean():.2f}", flush=True)
    print("noise of another law, eight seeds: mean bias, mean spread")
    for name, noise in NOISES.items():
        for dim in (5, 20):
            bias, spread = np.mean([noise_cell(noise, dim, seed) for seed in range(1, 9)], axis=0)
            print(f"{name}, d = {dim}: {bias:.2f}, {spread:.2f}", flush=True)
    shares = []
    for seed in range(1, 9):
        problem = robula.simulate.contaminated_regression("paper", 300, 5, 0.1, seed)
        shares.append(robula.selectors.ExcessSelector().prepared(problem.model, 0.2).estimated_contamination.share)
    print(f"300 good rows, d = 5, epsilon 0.1, the paper's outliers: mean estimated share {np.mean(shares):.2f}")


if __name__ == "__main__":
    main()
