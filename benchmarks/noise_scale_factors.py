"""Small-sample factors of robula.models.noise_scale: what the scale falls short on clean rows, by n and rank.

    python -m benchmarks.noise_scale_factors [--repeats 400]

Prints the constants to put into noise_scale.py (least squares on minus the mean log, each n and rank by n) and the
geometric mean and the spread of the scale that is left with those in the file, on clean rows of noise 1.
"""

from __future__ import annotations

import argparse

import numpy as np

from robula.models import noise_scale
from robula.models.noise_scale import robust_scale

SIZES = [(n, d) for n in (12, 20, 40, 80, 200, 1000) for d in (1, 2, 3, 5, 10, 20) if n >= 2 * (d + 1)]


def log_scales(n: int, d: int, repeats: int) -> np.ndarray:
    """Log of the scale of clean rows of noise 1, with an intercept, shape (repeats,)."""
    rng = np.random.default_rng([n, d])
    found = []
    for _ in range(repeats):
        X = np.column_stack([np.ones(n), rng.standard_normal((n, d - 1))])
        found.append(np.log(robust_scale(X, rng.standard_normal(n))[0]))
    return np.array(found)


def constants(repeats: int) -> tuple[float, float]:
    """(a, b) of the shortfall (a + b rank) / n, from the sizes where it is not too large."""
    design, target = [], []
    for n, d in SIZES:
        if d / n <= 0.25:
            error = log_scales(n, d, repeats)
            # Each size is as precise as its spread, in units of 1 / n.
            weight = 1.0 / error.std()
            design.append([weight / n, weight * d / n])
            target.append(-weight * error.mean())
    a, b = np.linalg.lstsq(np.array(design), np.array(target), rcond=None)[0]
    return float(a), float(b)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    repeats = parser.parse_args().repeats
    used = noise_scale._TRIMMED_SHORTFALL, noise_scale._LAST_SHORTFALL
    last = noise_scale._scale_and_fit
    noise_scale._scale_and_fit = noise_scale.trimmed_scale
    noise_scale._TRIMMED_SHORTFALL = (0.0, 0.0)
    print("_TRIMMED_SHORTFALL", tuple(round(value, 2) for value in constants(repeats)), "in use", used[0])
    noise_scale._scale_and_fit = last
    noise_scale._TRIMMED_SHORTFALL, noise_scale._LAST_SHORTFALL = used[0], (0.0, 0.0)
    print("_LAST_SHORTFALL   ", tuple(round(value, 2) for value in constants(repeats)), "in use", used[1])
    noise_scale._LAST_SHORTFALL = used[1]
    print("\n| n | rank | geometric mean | sd of log |\n|---|---|---|---|")
    for n, d in SIZES:
        error = log_scales(n, d, repeats)
        print(f"| {n} | {d} | {np.exp(error.mean()):.3f} | {error.std():.3f} |")


if __name__ == "__main__":
    main()
