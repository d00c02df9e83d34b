"""Every selector through one contract, and the properties of a robust mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import robula

#: Every robust mean that has a name, and the variants that are made as objects only.
SELECTORS = {
    **{
        name: kind()
        for name, kind in robula.selectors.SELECTORS.items()
        if issubclass(kind, robula.selectors.RobustMean)
    },
    "all_rows": robula.RecursiveMean(variant="all_rows"),
    "lai2016": robula.RecursiveMean(variant="lai2016"),
    "diakonikolas2017": robula.SpectralFilter(variant="diakonikolas2017"),
}
ROBUST = [name for name in SELECTORS if name != "mean"]
#: A coordinate-wise centre or scale depends on the axes: the other selectors are equivariant to permuting axes only.
ROTATION_EQUIVARIANT = ["mean", "diakonikolas2017", "geometric_median"]
#: Assumes points of unit covariance.
FIXED_SCALE = ["diakonikolas2017"]
#: A row belongs to a bucket with others: the weight of a row that was not there has no meaning.
WITH_RULE = [name for name in SELECTORS if name != "median_of_means"]
ANY_SCALE = [name for name in SELECTORS if name not in FIXED_SCALE]

pytestmark = pytest.mark.filterwarnings("ignore::robula.exceptions.BreakdownWarning")


@pytest.fixture(params=list(SELECTORS))
def selector(request: pytest.FixtureRequest) -> robula.selectors.RobustMean:
    return SELECTORS[request.param]


def cloud(seed: int, n: int = 150, d: int = 6, bad: int = 15) -> np.ndarray:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, d)) * np.linspace(1, 3, d)
    points[:bad] += rng.uniform(0, 10, d)
    return points


@pytest.mark.parametrize(("n", "d"), [(2, 1), (3, 5), (50, 1), (50, 2), (120, 7), (300, 16)])
def test_selection_is_linear_and_complete(selector, n, d):
    points = np.random.default_rng(n + d).standard_normal((n, d))
    selection = selector.select(points, 0.1)
    bases = [np.eye(d) if part.basis is None else part.basis for part in selection.parts]
    np.testing.assert_allclose(np.hstack(bases).T @ np.hstack(bases), np.eye(d), atol=1e-10)
    for part in selection.parts:
        assert part.weights.shape == (n,)
        assert part.weights.min() >= 0
        assert part.weights.max() == 1
    by_hand = sum(
        basis @ basis.T @ (part.weights @ points / part.weights.sum())
        for basis, part in zip(bases, selection.parts, strict=True)
    )
    np.testing.assert_allclose(selection.mean(points), by_hand, atol=1e-10)
    if selection.estimate is not None:
        np.testing.assert_allclose(selection.estimate, by_hand, atol=1e-10)
    np.testing.assert_allclose(robula.robust_mean(points, 0.1, selector), by_hand, atol=1e-10)
    scales = selection.scales or [1.0] * len(bases)
    shares = sum(
        basis.shape[1] / d * part.weights / scale
        for basis, part, scale in zip(bases, selection.parts, scales, strict=True)
    )
    np.testing.assert_allclose(selection.weights, np.minimum(shares, 1.0), atol=1e-12)


@pytest.mark.parametrize("name", WITH_RULE)
def test_rule_gives_the_rows_it_was_made_from_their_own_weights(name):
    points = cloud(0)
    selection = SELECTORS[name].select(points, 0.1)
    np.testing.assert_array_equal(selection.weights_for(points), selection.weights)


@pytest.mark.parametrize("name", WITH_RULE)
def test_rule_distrusts_far_new_rows(name):
    points, selector = cloud(1), SELECTORS[name]
    new = np.stack([points[20:].mean(axis=0), np.full(points.shape[1], 1e4)])
    weights = selector.select(points, 0.1).weights_for(new)
    assert weights.shape == (2,)
    if isinstance(selector, robula.SampleMean):
        assert weights[1] == 1.0
    elif isinstance(selector, robula.GeometricMedian):
        assert 0.0 < weights[1] < 1e-3
    else:
        assert weights[1] == 0.0
    assert weights[0] >= (0.3 if isinstance(selector, robula.SpectralFilter) else 0.5)


def test_selection_refuses_points_of_another_shape(selector):
    selection = selector.select(cloud(0), 0.1)
    with pytest.raises(robula.exceptions.InputError, match="shape"):
        selection.mean(np.zeros((3, 6)))
    with pytest.raises(robula.exceptions.InputError, match="shape" if selection.rule else "no rule"):
        selection.weights_for(np.zeros((3, 5)))


def test_zero_contamination_is_the_plain_mean(selector):
    points = cloud(2)
    selection = selector.select(points, 0.0)
    np.testing.assert_allclose(selection.mean(points), points.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(selection.weights, 1.0)


@given(seed=st.integers(0, 10**6), shift=st.floats(-100, 100), scale=st.floats(0.01, 100))
@pytest.mark.parametrize("name", list(SELECTORS))
def test_translation_and_scale_equivariance(name, seed, shift, scale):
    points = cloud(seed % 50, n=60, d=5, bad=6)
    before = robula.robust_mean(points, 0.1, SELECTORS[name])
    scale = 1.0 if name in FIXED_SCALE else scale
    after = robula.robust_mean(scale * points + shift, 0.1, SELECTORS[name])
    np.testing.assert_allclose(after, scale * before + shift, atol=1e-8 * max(1.0, scale, abs(shift)))


@given(seed=st.integers(0, 10**6))
@pytest.mark.parametrize("name", list(SELECTORS))
def test_row_and_column_order_do_not_matter(name, seed):
    rng = np.random.default_rng(seed)
    points = cloud(seed % 50, n=60, d=5, bad=6)
    rows, columns = rng.permutation(60), rng.permutation(5)
    selection = SELECTORS[name].select(points, 0.1)
    moved = SELECTORS[name].select(points[rows][:, columns], 0.1)
    np.testing.assert_allclose(moved.mean(points[rows][:, columns]), selection.mean(points)[columns], atol=1e-9)
    np.testing.assert_allclose(moved.weights, selection.weights[rows], atol=1e-12)


@pytest.mark.parametrize("name", ROTATION_EQUIVARIANT)
def test_rotation_equivariance(name, rng):
    points = cloud(3)
    rotation = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    np.testing.assert_allclose(
        robula.robust_mean(points @ rotation, 0.1, SELECTORS[name]),
        robula.robust_mean(points, 0.1, SELECTORS[name]) @ rotation,
        atol=1e-10,
    )


@pytest.mark.parametrize("name", ANY_SCALE)
def test_clean_anisotropic_sample_is_not_shrunk(name):
    """Half of the coordinates with sd 10; dividing by n instead of the sum of weights would give 0.4 here, not 1."""
    rng = np.random.default_rng(0)
    scales = np.array([1.0] * 8 + [10.0] * 8)
    points = 1.0 + scales * rng.standard_normal((20_000, 16))
    estimate = robula.robust_mean(points, 0.1, SELECTORS[name])
    # The standard error is scale / sqrt(n) and at most 1.5 times that after truncation; 6 of them.
    np.testing.assert_allclose(estimate[:8], 1.0, atol=6 * 1.5 / np.sqrt(20_000))


@pytest.mark.parametrize("name", sorted(set(ROBUST) & set(ANY_SCALE)))
@pytest.mark.parametrize("distance", [1e2, 1e6, 1e12])
def test_far_rows_do_not_move_the_estimate(name, distance):
    points = cloud(4, bad=0)
    far = points.copy()
    far[:15] = distance
    moved = robula.robust_mean(far, 0.15, SELECTORS[name])
    assert np.abs(moved - points[15:].mean(axis=0)).max() < 1.0


@pytest.mark.parametrize("name", ROBUST)
def test_close_to_the_inliers_only_mean(name):
    """Paper's mean shift, d = 20: the error stays a small multiple of the oracle's."""
    problem = robula.simulate.mean_estimation(n_clean=1000, dim=20, contamination=0.1, seed=5)
    oracle = problem.model.z[~problem.outlier_mask].mean(axis=0)
    estimate = robula.robust_mean(problem.model.z, 0.1, SELECTORS[name])
    # The geometric median pays sqrt(d) for every bad row, that of buckets for every bucket that holds one.
    limit = {"geometric_median": 0.6, "median_of_means": 2.0}.get(name, 0.35)
    assert np.linalg.norm(estimate - oracle) < limit
    assert np.linalg.norm(problem.model.z.mean(axis=0) - oracle) > 2.0


def test_degenerate_points_work(selector):
    np.testing.assert_allclose(robula.robust_mean(np.ones((20, 4)), 0.2, selector), 1.0)
    constant_column = np.column_stack([np.ones(30), np.random.default_rng(0).standard_normal((30, 2))])
    assert robula.robust_mean(constant_column, 0.2, selector)[0] == pytest.approx(1.0)
    duplicated = np.repeat(np.random.default_rng(1).standard_normal((40, 1)), 5, axis=1)
    estimate = robula.robust_mean(duplicated, 0.2, selector)
    np.testing.assert_allclose(estimate, estimate[0], atol=1e-8)


@pytest.mark.parametrize("name", ROBUST)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_points_that_are_not_numbers_raise_one_error(name, d):
    """The driver turns it into a DivergenceError; LAPACK alone would not always complain."""
    for value in (np.nan, np.inf, 1e300):
        points = np.random.default_rng(0).standard_normal((20, d))
        points[3, 0] = value
        with np.errstate(invalid="ignore", over="ignore"), pytest.raises(np.linalg.LinAlgError, match="not finite"):
            SELECTORS[name].select(points, 0.1)


def test_starved_levels_are_named():
    points = np.random.default_rng(0).standard_normal((40, 16))
    with pytest.warns(
        robula.exceptions.BreakdownWarning, match=r"recursion level 5 \(1 dimension\) is left with 8 of 40 rows"
    ):
        robula.RecursiveMean().select(points, 0.16)


def test_unknown_variant_suggests_the_nearest():
    with pytest.raises(robula.exceptions.InputError, match="bhatia2019"):
        robula.RecursiveMean(variant="bhatia")


def test_buckets_are_as_large_as_a_majority_of_clean_ones_allows(rng):
    """(1 - 0.2)^3 = 0.512 of buckets of three are clean, of four 0.41; told nothing else, three rows a bucket."""
    points = rng.standard_normal((300, 4))
    selection = robula.selectors.MedianOfMeans().select(points, 0.2)
    assert len(np.unique(selection.parts[0].weights)) <= 100
    sizes = np.unique(selection.parts[0].weights, return_counts=True)[1]
    assert set(sizes) == {3}
    by_hand = robula.selectors.MedianOfMeans(bucket_size=3).select(points, 0.2)
    np.testing.assert_array_equal(by_hand.parts[0].weights, selection.parts[0].weights)


def test_sample_splitting_uses_one_part_at_a_time(rng):
    points = rng.standard_normal((300, 4))
    split = robula.selectors.MedianOfMeans(splits=3)
    used = split.select(points, 0.2).parts[0].weights > 0
    assert used.sum() == 100
    np.testing.assert_array_equal(split.select(points, 0.2).parts[0].weights > 0, used)
    # Other gradients, another part, sooner or later; so no selection is good for ever.
    others = [split.select(points + shift, 0.2).parts[0].weights > 0 for shift in range(1, 9)]
    assert any((other != used).any() for other in others)
    assert not split.translation_equivariant
    assert robula.selectors.MedianOfMeans().translation_equivariant
    problem = robula.simulate.mean_estimation(200, 3, 0.1, seed=0)
    posterior = robula.sample(problem.model, contamination=0.1, selector=split, draws=50, burn_in=20, chains=2)
    assert posterior.settings["selections"] > 2
