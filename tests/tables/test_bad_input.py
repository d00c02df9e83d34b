"""Bad input is refused before any work, with a message that says what came, what is allowed and what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import robula

X = np.random.default_rng(0).standard_normal((20, 3))
Y = X @ [1.0, 2.0, 3.0]
PRIOR = robula.NormalPrior(0.0, 1.0)


def with_value(value: float, row: int = 4, column: int = 2) -> np.ndarray:
    changed = X.copy()
    changed[row, column] = value
    return changed


REFUSED_MODELS = {
    "nan names its place": (lambda: robula.MeanModel(with_value(np.nan)), "row 4, column 2"),
    "inf names its place": (lambda: robula.LinearModel(with_value(np.inf), Y, noise_scale=1.0), "row 4, column 2"),
    "absurd magnitude": (lambda: robula.MeanModel(with_value(1e200)), "beyond 1e\\+30"),
    "nan in a named column": (
        lambda: robula.MeanModel(pd.DataFrame(with_value(np.nan), columns=["a", "b", "age"])),
        "row 4, column age",
    ),
    "nan in a row with a label": (
        lambda: robula.MeanModel(pd.DataFrame(with_value(np.nan), index=[f"r{place}" for place in range(20)])),
        "row r4, column 2",
    ),
    "nan in y": (lambda: robula.LinearModel(X, [np.nan] * 20, noise_scale=1.0), "y has 20 value"),
    "empty": (lambda: robula.MeanModel(np.empty((0, 3))), "2 rows or more are needed, 0 came"),
    "no columns": (lambda: robula.MeanModel(np.empty((5, 0))), "no column"),
    "one row": (lambda: robula.MeanModel(X[:1]), "2 rows or more are needed, 1 came"),
    "one-dimensional": (lambda: robula.MeanModel(X[:, 0]), r"reshape\(-1, 1\)"),
    "three-dimensional": (lambda: robula.MeanModel(X[None]), "two-dimensional"),
    "ragged": (lambda: robula.MeanModel([[1.0, 2.0], [3.0]]), "equal length"),
    "text": (lambda: robula.MeanModel([["a", "b"], ["c", "d"]]), "only real numbers"),
    "mixed objects": (lambda: robula.MeanModel(np.array([[1, "a"], [2, 3]], dtype=object)), "text"),
    "complex": (lambda: robula.MeanModel(X + 1j), "only real numbers"),
    "dates": (lambda: robula.MeanModel(np.full((3, 2), np.datetime64("2020-01-01"))), "only real numbers"),
    "None": (lambda: robula.MeanModel(None), "z is None"),
    "y too short": (lambda: robula.LinearModel(X, Y[:-1], noise_scale=1.0), "shape \\(19,\\), but there are 20 rows"),
    "noise scale zero": (lambda: robula.LinearModel(X, Y, noise_scale=0.0), "noise_scale=0.0"),
    "noise scale text": (lambda: robula.LinearModel(X, Y, noise_scale="auto"), "noise_scale='auto'"),
    "three labels": (lambda: robula.LogisticModel(X, np.arange(20) % 3, prior=PRIOR), "3 distinct labels"),
    "one strange label": (lambda: robula.LogisticModel(X, ["a"] * 20, prior=PRIOR), "1 distinct labels"),
    "labels of mixed type": (
        lambda: robula.LogisticModel(X, np.array([1, "a"] * 10, dtype=object), prior=PRIOR),
        "mixes",
    ),
    "nan label": (lambda: robula.LogisticModel(X, [0.0, np.nan] * 10, prior=PRIOR), r"rows \[1, 3"),
    "nan label among objects": (
        lambda: robula.LogisticModel(X, np.array([1, np.nan] * 10, dtype=object), prior=PRIOR),
        r"rows \[1, 3",
    ),
    "missing label of pandas": (lambda: robula.LogisticModel(X, pd.Series([True, None] * 10), prior=PRIOR), "missing"),
    "pandas NA names its place": (
        lambda: robula.MeanModel(pd.DataFrame({"a": [1, 2, 3], "b": pd.array([1, None, 3], dtype="Int64")})),
        "row 1, column b",
    ),
    "masked value names its place": (lambda: robula.MeanModel(np.ma.masked_equal(np.eye(3), 0.0)), "row 0, column 1"),
    "huge integer": (lambda: robula.NormalPrior(10**400, 1.0), "prior mean"),
    "prior of text": (lambda: robula.NormalPrior("0", "1"), "only real numbers"),
    "complex prior": (lambda: robula.NormalPrior(0.0, 1j), "only real numbers"),
    "row labels in another order": (
        lambda: robula.LinearModel(pd.DataFrame(X), pd.Series(Y).iloc[::-1], noise_scale=1.0),
        "different row labels",
    ),
    "flat logistic": (lambda: robula.LogisticModel(X, np.arange(20) % 2), "needs a proper prior"),
    "flat poisson": (lambda: robula.PoissonModel(X, np.arange(20)), "needs a proper prior"),
    "negative count": (lambda: robula.PoissonModel(X, np.arange(20) - 1, prior=PRIOR), r"y\[0\]=-1"),
    "a code for missing among counts": (
        lambda: robula.PoissonModel(X, np.where(np.arange(20) == 9, -99, 1), prior=PRIOR),
        r"y\[9\]=-99; .*-99, once, looks like a code for missing: take -99 for missing",
    ),
    "negative weight in a row with a label": (
        lambda: robula.LinearModel(
            X, Y, noise_scale=1.0, row_weights=pd.Series(np.arange(20.0)[::-1] - 1, index=[*"abcdefghijklmnopqrst"])
        ),
        "row_weights has 1 value.* below 0, first -1 in row t",
    ),
    "fractional count": (lambda: robula.PoissonModel(X, np.arange(20) + 0.5, prior=PRIOR), "counts are whole numbers"),
    "indefinite covariance": (
        lambda: robula.MeanModel(X, covariance=np.diag([1.0, 1.0, -1.0])),
        "smallest eigenvalue is -1",
    ),
    "asymmetric covariance": (lambda: robula.MeanModel(X, covariance=np.triu(np.ones((3, 3)))), "not symmetric"),
    "covariance of another size": (lambda: robula.MeanModel(X, covariance=np.eye(2)), "for 2 columns, but z has 3"),
    "zero variance": (lambda: robula.NormalPrior(0.0, 0.0), "not positive definite"),
    "prior of another size": (lambda: robula.MeanModel(X, prior=robula.NormalPrior([0, 0], 1.0)), "model has 3"),
    "prior mean and covariance disagree": (lambda: robula.NormalPrior([0, 0], [1, 1, 1]), "2 entries"),
    "not a prior": (lambda: robula.MeanModel(X, prior="normal"), "not a prior"),
    "duplicated column, flat prior": (
        lambda: robula.LinearModel(np.column_stack([X, X[:, 0]]), Y, noise_scale=1.0),
        "linearly dependent \\(involved: (0, 3|3, 0)\\)",
    ),
    "zero column, flat prior": (
        lambda: robula.LinearModel(np.column_stack([X, np.zeros(20)]), Y, noise_scale=1.0),
        r"column\(s\) 3 of X are all zero",
    ),
    "constant column and intercept": (
        lambda: robula.LinearModel(np.column_stack([X, np.ones(20)]), Y, noise_scale=1.0, intercept=True),
        "intercept",
    ),
    "fewer rows than columns, flat prior": (
        lambda: robula.LinearModel(X[:2], Y[:2], noise_scale=1.0),
        "linearly dependent",
    ),
    "intercept not a flag": (lambda: robula.LinearModel(X, Y, noise_scale=1.0, intercept="yes"), "True or False"),
}


@pytest.mark.parametrize("case", list(REFUSED_MODELS))
def test_models_refuse(case):
    build, message = REFUSED_MODELS[case]
    with pytest.raises(robula.exceptions.InputError, match=message):
        build()


MODEL = robula.MeanModel(X)
REFUSED_CALLS = {
    "contamination one half": (dict(contamination=0.5), r"contamination=0.5 is not a number in \[0, 0.5\)"),
    "contamination negative": (dict(contamination=-0.1), r"\[0, 0.5\)"),
    "contamination nan": (dict(contamination=np.nan), r"\[0, 0.5\)"),
    "contamination text": (dict(contamination="10%"), r"\[0, 0.5\)"),
    "contamination flag": (dict(contamination=True), r"\[0, 0.5\)"),
    "misspelt selector": (dict(selector="recursiv"), "Did you mean 'recursive'"),
    "selector class": (dict(selector=robula.RecursiveMean), r"RecursiveMean\(\)"),
    "selector object": (
        dict(selector=42),
        "allowed are 'geometric_median', 'mean', 'median_of_means', 'recursive'",
    ),
    "misspelt kernel": (dict(kernel="ulla"), "Did you mean 'ula'"),
    "kernel class": (dict(kernel=robula.kernels.ULA), r"ULA\(\)"),
    "unknown rows": (dict(likelihood_rows="all"), "allowed are 'clean', 'n', 'weights'"),
    "step size zero": (dict(step_size=0.0), "step_size=0.0"),
    "step size nan": (dict(step_size=float("nan")), "step_size=nan"),
    "step sizes with a negative one": (dict(step_size=[0.1] * 4 + [-1.0] * 9), "step_size is -1 at step 5"),
    "step sizes too few": (dict(step_size=[0.1] * 3), r"burn_in \+ draws \* thin = 12"),
    "step size function returns zero": (dict(step_size=lambda k: 1.0 - k), "step_size is 0 at step 1"),
    "step size function fails": (dict(step_size=lambda k: 1 / 0), "ZeroDivisionError"),
    "no draws": (dict(draws=0), "draws=0"),
    "fractional draws": (dict(draws=10.5), "draws=10.5"),
    "negative burn-in": (dict(burn_in=-1), "burn_in=-1"),
    "no chains": (dict(chains=0), "chains=0"),
    "no thin": (dict(thin=0), "thin=0"),
    "refresh every 0": (dict(refresh_every=0), "refresh_every=0"),
    "seed negative": (dict(seed=-1), "seed=-1"),
    "seed text": (dict(seed="a"), "seed='a'"),
    "start of another shape": (dict(start=np.zeros(2)), r"start has shape \(2,\)"),
    "start huge": (dict(start=[10**400, 0, 0]), "start"),
    "more draws than memory": (dict(draws=10**11), "does not fit in the memory"),
    "more steps than memory": (dict(burn_in=10**11), "does not fit in the memory"),
    "start nan": (dict(start=[np.nan, 0, 0]), "start has missing"),
    "start variance": (dict(start_variance=0), "start_variance=0"),
}


@pytest.mark.parametrize("case", list(REFUSED_CALLS))
def test_sample_refuses(case):
    arguments, message = REFUSED_CALLS[case]
    settings = {"contamination": 0.1, "draws": 10, "burn_in": 2, **arguments}
    with pytest.raises(robula.exceptions.InputError, match=message):
        robula.sample(MODEL, **settings)


def test_contamination_is_required():
    with pytest.raises(TypeError, match="contamination"):
        robula.sample(MODEL)


def test_not_a_model():
    with pytest.raises(robula.exceptions.InputError, match="not a robula model"):
        robula.sample(X, contamination=0.1)


def test_robust_mean_refuses():
    with pytest.raises(robula.exceptions.InputError, match="points"):
        robula.robust_mean([1.0, 2.0], 0.1)
    with pytest.raises(robula.exceptions.InputError, match=r"\[0, 0.5\)"):
        robula.robust_mean(X, 0.6)


def test_rows_that_do_not_determine_the_parameters_have_no_exact_posterior():
    model = robula.LinearModel(X, Y, noise_scale=1.0)
    with pytest.raises(robula.exceptions.InputError, match="improper"):
        model.gaussian_posterior(np.eye(20)[0])


def test_selecting_directly_is_checked_too():
    assert robula.RecursiveMean().select(X.tolist(), 0.1).weights.shape == (20,)
    with pytest.raises(robula.exceptions.InputError, match="contamination"):
        robula.RecursiveMean().select(X, 0.99)
    with pytest.raises(robula.exceptions.InputError, match="points"):
        robula.RecursiveMean().select(X[0], 0.1)


def test_a_duplicated_or_constant_column_works_with_a_proper_prior():
    design = np.column_stack([X, X[:, 0], np.ones(20), np.zeros(20)])
    model = robula.LinearModel(design, Y, noise_scale=1.0, prior=PRIOR, intercept=True)
    posterior = robula.sample(model, contamination=0.1, draws=20, burn_in=20)
    assert np.isfinite(posterior.draws).all()


def test_labels_of_every_kind_mean_the_same():
    truth = np.arange(20) % 2
    encodings = {
        "0/1": truth,
        "-1/1": 2 * truth - 1,
        "floats": truth.astype(float),
        "booleans": truth.astype(bool),
        "names": np.array(["ham", "spam"])[truth],
        "column": truth[:, None],
        "series": pd.Series(truth),
    }
    for name, labels in encodings.items():
        np.testing.assert_array_equal(robula.LogisticModel(X, labels, prior=PRIOR).y, truth, err_msg=name)
    assert robula.LogisticModel(X, encodings["names"], prior=PRIOR).classes == ("ham", "spam")
    assert robula.LogisticModel(X, -np.ones(20), prior=PRIOR).classes == (-1, 1)


def test_frames_give_their_names_to_the_parameters():
    frame = pd.DataFrame(X, columns=["age", "dose", "dose"])
    model = robula.LinearModel(frame, Y, noise_scale=1.0, prior=PRIOR, intercept=True)
    assert model.parameter_names == ("intercept", "age", "dose", "dose.2")
