"""The recursive mean against the published program's outputs, and against the paper's text written out naively."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import robula

REFERENCE = np.load(Path(__file__).parent / "lai2016_reference.npz")
CASES = sorted({key.split("/")[0] for key in REFERENCE.files})

pytestmark = pytest.mark.filterwarnings("ignore::robula.exceptions.BreakdownWarning")


@pytest.mark.parametrize("case", CASES)
def test_lai2016_agrees_with_the_published_program(case):
    estimate = robula.robust_mean(
        REFERENCE[f"{case}/X"], float(REFERENCE[f"{case}/eps"]), robula.RecursiveMean(variant="lai2016")
    )
    np.testing.assert_allclose(estimate, REFERENCE[f"{case}/agnostic_mean_general"], rtol=0, atol=1e-8)


def algorithm_2(S: np.ndarray, epsilon: float) -> np.ndarray:
    """The paper's Algorithm 2, line by line, on points (n, d)."""
    d = S.shape[1]
    S_tilde = algorithm_3(S, epsilon)
    if d == 1:
        return S_tilde.mean(axis=0)
    _, _, Vt = np.linalg.svd(S_tilde - S_tilde.mean(axis=0), full_matrices=True)
    V, W = Vt[: math.ceil(d / 2)].T, Vt[math.ceil(d / 2) :].T
    return V @ algorithm_2(S_tilde @ V, epsilon) + W @ (S_tilde @ W).mean(axis=0)


def algorithm_3(S: np.ndarray, epsilon: float) -> np.ndarray:
    """The paper's Algorithm 3, line by line, by exhaustive search."""
    n, d = S.shape
    wanted = math.ceil(n * (1 - epsilon) ** 2 - 1e-9)
    if d == 1:
        x = np.sort(S[:, 0])
        pairs = [
            (x[j] - x[i], x[i], x[j])
            for i in range(n)
            for j in range(i, n)
            if (x <= x[j]).sum() - (x < x[i]).sum() >= wanted
        ]
        _, a, b = min(pairs)
        return S[(S[:, 0] >= a) & (S[:, 0] <= b)]
    a = np.array([algorithm_2(S[:, [i]], epsilon)[0] for i in range(d)])
    distance = ((S - a) ** 2).sum(axis=1)
    return S[distance <= np.sort(distance)[wanted - 1]]


# With fewer kept rows than dimensions the principal components are not unique, so no (n, epsilon) here goes that low.
@pytest.mark.parametrize(("n", "epsilon"), [(12, 0.05), (25, 0.2), (40, 0.05), (40, 0.4), (60, 0.4)])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_bhatia2019_is_the_papers_algorithm(n, d, epsilon):
    rng = np.random.default_rng(1000 * n + 10 * d)
    points = rng.standard_normal((n, d)) * np.linspace(1, 2, d)
    points[: int(epsilon * n)] += 4.0
    np.testing.assert_allclose(robula.robust_mean(points, epsilon), algorithm_2(points, epsilon), atol=1e-9)


def test_bhatia2019_keeps_every_row_tied_at_the_edge():
    """One dimension, many ties: the shortest interval keeps all rows at its ends."""
    values = np.array([0.0] * 3 + [1.0] * 4 + [5.0] * 3)[:, None]
    selection = robula.RecursiveMean().select(values, 0.3)  # (1 - 0.3)^2 * 10 = 4.9: five rows, so [0, 1]
    np.testing.assert_array_equal(selection.weights, [1.0] * 7 + [0.0] * 3)
    assert selection.estimate == pytest.approx(4 / 7)
    points = np.random.default_rng(0).integers(0, 3, size=(60, 3)).astype(float)
    np.testing.assert_allclose(
        robula.RecursiveMean().select(points, 0.2).parts[0].weights.sum(), len(algorithm_3(points, 0.2))
    )


def test_fractions_are_not_hostage_to_floating_point():
    """(1 - 0.2)^2 * 1250 is 800; floating point says 800.0000000000002, whose ceiling is 801."""
    points = np.random.default_rng(0).standard_normal((1250, 4))
    assert robula.RecursiveMean().select(points, 0.2).parts[0].weights.sum() == 800


def mirrored_equally(points: np.ndarray, contamination: float, variant: str) -> None:
    selector = robula.RecursiveMean(variant=variant)
    selection, mirrored = selector.select(points, contamination), selector.select(-points, contamination)
    np.testing.assert_array_equal(mirrored.weights, selection.weights)
    np.testing.assert_allclose(mirrored.estimate, -selection.estimate, atol=1e-12)


@pytest.mark.parametrize("variant", ["bhatia2019", "all_rows"])
@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.4])
def test_ties_do_not_depend_on_an_eigenvectors_sign(variant, epsilon):
    """Equally short intervals: many in whole numbers, all of them where a level keeps one row."""
    rng = np.random.default_rng(0)
    for rows in (4, 5, 30, 31):
        mirrored_equally(rng.integers(-3, 4, size=(rows, 1)).astype(float), epsilon, variant)
        mirrored_equally(rng.integers(-3, 4, size=(rows, 3)).astype(float), epsilon, variant)
        mirrored_equally(rng.standard_normal((rows, 8)), epsilon, variant)


def test_of_equally_short_intervals_the_one_nearest_the_median():
    """Keep 3 of 6 at contamination 0.3: [0, 2], [1, 3], ... are all 2 long; the middle two are equally near."""
    values = np.arange(6.0)[:, None]
    np.testing.assert_array_equal(robula.RecursiveMean().select(values, 0.3).weights, [0, 1, 1, 1, 1, 0])
    np.testing.assert_array_equal(robula.RecursiveMean().select(values[:5], 0.3).weights, [0, 1, 1, 1, 0])
