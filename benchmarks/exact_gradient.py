"""One exact robust gradient beside the primitives it cannot avoid, measured side by side in one run.

    python -m benchmarks.exact_gradient [--rows 1250] [--dim 200] [--contamination 0.2] [--repeats 60]

The primitives, at the sizes the recursion really meets: ``np.sort`` of contiguous (k, m) float64 arrays, ``B @ B.T`` of
the truncated (k, m') points, ``np.linalg.eigh`` of the result. One BLAS thread. Medians over interleaved repeats.
"""

from __future__ import annotations

import argparse
import math
import platform
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

import robula
from robula.selectors.truncation import rows_to_keep


def levels(rows: int, dim: int, contamination: float) -> list[tuple[int, int, int]]:
    """Dimensions, rows and kept rows of every level of the recursion."""
    sizes = []
    while True:
        kept = rows_to_keep(rows, contamination)
        sizes.append((dim, rows, kept))
        if dim == 1:
            return sizes
        rows, dim = kept, math.ceil(dim / 2)


def seconds(function: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1250)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--contamination", type=float, default=0.2)
    parser.add_argument("--repeats", type=int, default=60)
    options = parser.parse_args()

    n_clean = round(options.rows * (1 - options.contamination))
    problem = robula.simulate.linear_regression(n_clean, options.dim, options.contamination, seed=0)
    # In the middle of the clean posterior, where a chain spends its time.
    model, theta = problem.model, problem.clean_posterior.mean
    selector = robula.RecursiveMean()
    rng = np.random.default_rng(0)
    sizes = levels(model.n_rows, model.dim, options.contamination)
    sortable = [rng.standard_normal((dim, rows)) for dim, rows, _ in sizes]
    points = [rng.standard_normal((dim, kept)) for dim, _, kept in sizes if dim > 1]
    grams = [matrix @ matrix.T for matrix in points]
    weights = np.ones(model.n_rows)
    cases: dict[str, Callable[[], object]] = {
        "robust gradient": lambda: selector.select_rows(model, theta, options.contamination).estimate,
        "np.sort": lambda: [np.sort(matrix, axis=1) for matrix in sortable],
        "B @ B.T": lambda: [matrix @ matrix.T for matrix in points],
        "np.linalg.eigh": lambda: [np.linalg.eigh(gram) for gram in grams],
        "plain gradient": lambda: model.weighted_gradient(theta, weights),
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    with threadpool_limits(1):
        for _ in range(options.repeats):
            for name, case in cases.items():
                times[name].append(seconds(case))
    median = {name: float(np.median(values)) for name, values in times.items()}
    primitives = median["np.sort"] + median["B @ B.T"] + median["np.linalg.eigh"]
    print(f"n = {model.n_rows}, d = {model.dim}, contamination = {options.contamination}, one thread, ", end="")
    print(f"medians of {options.repeats}; Python {platform.python_version()}, NumPy {np.__version__}")
    for name in ("np.sort", "B @ B.T", "np.linalg.eigh"):
        print(f"  {name:<22}{1e3 * median[name]:9.2f} ms")
    print(f"  {'sum of primitives':<22}{1e3 * primitives:9.2f} ms")
    print(f"  {'exact robust gradient':<22}{1e3 * median['robust gradient']:9.2f} ms")
    print(f"  {'ratio':<22}{median['robust gradient'] / primitives:9.2f}")
    print(f"  {'plain gradient':<22}{1e3 * median['plain gradient']:9.2f} ms", end="")
    print(f"   (a robust gradient costs {median['robust gradient'] / median['plain gradient']:.0f} of them)")


if __name__ == "__main__":
    main()
