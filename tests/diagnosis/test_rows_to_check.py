"""Odd cells, the list of rows to check, and rows flagged at a share of false alarms."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

import robula
from robula.diagnosis.rows_to_check import Matter, matter_words
from robula.exceptions import InputError
from robula.sklearn import RobustBayesianRegressor
from robula.tables.odd_cells import Why, odd_cells


def correlated(rows: int = 500, seed: int = 0) -> np.ndarray:
    """Three columns that follow a common factor, one that does not, and one of two values."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal(rows)
    return np.column_stack(
        [
            (100.0 + 10.0 * (factor + 0.3 * rng.standard_normal(rows))).round(1),
            (50.0 + 5.0 * (factor + 0.3 * rng.standard_normal(rows))).round(1),
            np.exp(0.5 * (factor + 0.5 * rng.standard_normal(rows))).round(3),
            (30.0 + 4.0 * rng.standard_normal(rows)).round(1),
            rng.integers(0, 2, rows),
        ]
    )


NAMES = ("a", "b", "skewed", "alone", "binary")


def test_few_cells_of_clean_tables_are_called_odd():
    shares = [
        np.mean(abs((found := odd_cells(correlated(seed=seed), NAMES)).scores) >= found.limit) for seed in range(20)
    ]
    # One cell a table would be 4e-4; long tails of skewed columns are allowed a few more, and no code is seen.
    assert np.mean(shares) < 2e-3
    assert not any(odd_cells(correlated(seed=seed), NAMES).codes for seed in range(20))


@pytest.mark.parametrize("value", [1e120, 1e300])
def test_a_cell_whose_square_overflows_is_odd_and_spoils_nothing(value):
    table = correlated()
    usual = odd_cells(table, NAMES).log_odds
    table[7, 3] = value
    found = odd_cells(table, NAMES)
    assert found.log_odds[7, 3] > 10.0
    assert found.why[7, 3] == Why.COLUMN
    assert np.isfinite(found.log_odds).all()
    others = np.arange(500) != 7
    assert ((found.log_odds >= 0.0) == (usual >= 0.0))[others].all()


@pytest.mark.parametrize(
    ("column", "change", "why"),
    [
        (3, lambda x: 10 * x, Why.COLUMN),
        (3, lambda x: x / 10, Why.COLUMN),
        (2, lambda x: 1000 * x, Why.COLUMN),
        (0, lambda x: np.where(x > 100, x - 25.0, x + 25.0), Why.ROW),
        (2, lambda x: x / 2.54, Why.DECIMALS),
    ],
)
def test_errors_are_found_in_their_cell_and_told_why(column, change, why):
    table = correlated()
    bad = np.arange(0, 500, 50)
    table[bad, column] = change(table[bad, column])
    found = odd_cells(table, NAMES)
    first = np.argsort(-found.row_scores)[:15]
    assert np.isin(bad, first).mean() >= 0.9
    assert (found.oddest[bad] == column).mean() >= 0.9
    assert (found.why[bad, column] == why).mean() >= 0.8
    # A negative control: nothing was done to the other rows.
    assert not np.isin(np.arange(1, 500, 50), first[:10]).any()


def test_a_decimal_slip_is_named_as_one():
    table = correlated()
    table[7, 3] = 2.9
    assert odd_cells(table, NAMES).reason(7).endswith("times 10 it would be usual")
    table[7, 3] = 300.0
    assert odd_cells(table, NAMES).reason(7).endswith("divided by 10 it would be usual")
    assert odd_cells(table, NAMES).reason(8) == ""


def test_the_usual_values_that_are_named_are_those_of_the_row():
    rng = np.random.default_rng(0)
    miles = rng.normal(300.0, 60.0, 600).round(1)
    minutes, fuel = ((0.2 * miles + rng.normal(0.0, 3.0, 600)).round(1) for _ in range(2))
    miles[0], minutes[0], fuel[0] = 400.0, 50.0, 80.0
    found = odd_cells(np.column_stack([minutes, miles, fuel]), ("minutes", "miles", "fuel"))
    low, high = found.usual(0, 0)
    # 50 minutes are usual in the column, and not on 400 miles.
    assert found.of_column[0, 0] < 50.0 < low < 80.0 < high < 90.0
    assert found.reason(0, 0) == (
        f"minutes = 50 is too low for the row's other columns, with which {low:.4g} to {high:.4g} is usual"
    )
    # Negative control: most cells of other rows are within what is usual in theirs.
    inside = [found.usual(row, 0)[0] <= minutes[row] <= found.usual(row, 0)[1] for row in range(1, 600)]
    assert 0.85 < np.mean(inside) < 0.95


def test_what_would_be_usual_is_within_what_is_called_usual():
    rng = np.random.default_rng(0)
    for seed in range(20):
        table = correlated(seed=seed)
        table[:10, 3] *= rng.choice([0.1, 0.2, 5.0, 10.0, 20.0], 10)
        found = odd_cells(table, NAMES)
        told = [row for row in range(10) if "it would be usual" in found.reason(row, 3)]
        for row in told:
            low, high = found.usual(row, 3)
            assert low <= table[row, 3] / found.mistakes[row, 3].factor <= high
        assert told


@pytest.mark.parametrize("count", [15, 40])
def test_right_cells_that_are_half_of_what_is_usual_are_no_slips(count):
    """Part-time work is not full-time work in inches."""
    rng = np.random.default_rng(0)
    hours = rng.normal(45.0, 6.0, 900).round()
    hours[:count] = rng.integers(14, 21, count)
    table = np.column_stack([hours, rng.normal(size=900)])
    assert (odd_cells(table, ("hours", "other")).log_odds[:count, 0] < 0.0).all()
    # A negative control: a tenth of full-time work is one.
    table[:count, 0] = rng.integers(41, 50, count) / 10.0
    assert (odd_cells(table, ("hours", "other")).log_odds[:count, 0] > 5.0).all()


def test_exchanged_cells_are_named_together():
    table = correlated()
    bad = np.arange(0, 500, 50)
    table[np.ix_(bad, [1, 3])] = table[np.ix_(bad, [3, 1])]
    found = odd_cells(table, NAMES)
    assert np.isin(bad, np.argsort(-found.row_log_odds)[:25]).mean() >= 0.9
    pairs = [(found.partner(row, 1), found.partner(row, 3)) for row in bad]
    assert pairs.count((3, 1)) >= 7
    assert found.reason(int(bad[pairs.index((3, 1))]), 1).endswith("would be usual if exchanged")
    # A negative control: columns of the same law, unrelated to the others, can be exchanged and nobody sees it.
    same = np.random.default_rng(0).normal(50.0, 5.0, size=(500, 2))
    assert not odd_cells(same[:, ::-1], ("a", "b")).mistakes


def test_many_exchanged_cells_do_not_hide_behind_the_relation_that_they_make():
    rng = np.random.default_rng(0)
    age, years = rng.integers(30, 61, 750).astype(float), rng.choice([12.0, 12.0, 12.0, 10.0, 14.0, 16.0, 17.0], 750)
    table = np.column_stack([age, years, rng.normal(size=750)])
    clean = odd_cells(table, ("age", "years", "other"))
    bad = np.arange(0, 750, 12)
    table[np.ix_(bad, [0, 1])] = table[np.ix_(bad, [1, 0])]
    found = odd_cells(table, ("age", "years", "other"))
    assert (found.row_log_odds[bad] > 5.0).mean() >= 0.9
    assert np.mean([found.partner(row, 0) == 1 for row in bad]) >= 0.9
    # Negative controls: the other rows, and the table before.
    assert (np.delete(found.row_log_odds, bad) >= 0.0).mean() < 0.01
    assert (clean.row_log_odds >= 0.0).mean() < 0.01


def test_slips_of_one_column_come_before_long_tails_of_others():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(100.0, 15.0, 600).round(), *(rng.standard_t(3, 600) for _ in range(8))])
    table[:12, 0] = (table[:12, 0] * 10.0).round()
    found = odd_cells(table, [f"x{place}" for place in range(9)])
    assert np.isin(np.arange(12), np.argsort(-found.row_log_odds)[:15]).mean() >= 0.9
    assert "divided by 10 it would be usual" in found.reason(0)


def test_counts_are_not_odd_and_a_value_of_its_own_is():
    rng = np.random.default_rng(0)
    children = rng.choice([0.0, 1.0, 2.0, 3.0], 800, p=[0.8, 0.16, 0.03, 0.01])
    grades = rng.choice(np.arange(25.0) * 4.0, 800)
    grades[:3] = [37.0, 41.0, 58.0]
    found = odd_cells(np.column_stack([children, grades]), ("children", "grades"))
    assert (found.log_odds[:, 0] < 0).all()
    assert set(np.argsort(-found.row_log_odds)[:3]) == {0, 1, 2}
    assert (found.why[:3, 1] == Why.SELDOM).all()


@pytest.mark.parametrize("code", [-200.0, -999.0, 9999.0, 99999.0, -1e6])
@pytest.mark.parametrize("count", [3, 15, 120])
def test_codes_are_named_and_do_not_spoil_their_column(code, count):
    table = correlated()
    clean = odd_cells(table, NAMES)
    table[:count, 3] = code
    found = odd_cells(table, NAMES)
    assert found.codes == {"alone": (code,)}
    assert (found.why[:count, 3] == Why.CODE).all()
    assert "is a code for missing" in found.reason(0)
    assert np.abs(found.scores[count:, 3] - clean.scores[count:, 3]).max() < 1.0


def test_numbers_that_only_look_like_codes_are_left_alone():
    rng = np.random.default_rng(0)
    ages = rng.integers(1, 100, 2000).astype(float)  # 99 is an age
    zeros = np.where(rng.uniform(size=2000) < 0.3, 0.0, rng.lognormal(6.0, 0.5, 2000).round())
    levels = rng.choice([1.0, 2.0, 3.0, 99.0], 2000)
    found = odd_cells(np.column_stack([ages, zeros, levels]), ("age", "zeros", "levels"))
    assert "age" not in found.codes
    assert "zeros" not in found.codes
    assert (np.abs(found.scores[zeros == 0, 1]) < found.limit).all()
    assert found.codes == {"levels": (99.0,)}


def test_what_may_be_a_code_is_odd_and_named_but_no_more_than_that():
    """Rows with 0 for an unknown age, or a chain's number of restaurants, count: they are for the user to judge."""
    rng = np.random.default_rng(0)
    ages, locations = rng.integers(28, 39, 600).astype(float), rng.lognormal(3.7, 0.8, 600).round()
    table = np.column_stack([ages, locations])
    clean = odd_cells(table, ("age", "locations"), sure=True)
    ages[:50], locations[50:75] = 0.0, 4.0 * locations.max()
    found = odd_cells(np.column_stack([ages, locations]), ("age", "locations"), sure=True)
    assert found.doubtful == {"age": (0.0,), "locations": (locations[50],)}
    assert found.codes == {}
    assert found.reason(0) == "age = 0 is in 50 rows and far from all others: is it a code for missing?"
    assert (found.row_log_odds[:75] >= 0.0).all()
    assert found.row_log_odds[:75].max() < 5.0
    assert ((found.log_odds >= 0.0) == (clean.log_odds >= 0.0))[75:].mean() > 0.995
    # Negative control: it is the gap that tells, and not that the value is repeated.
    assert clean.doubtful == {}


def test_a_number_that_is_no_code_is_judged_by_how_far_out_it_is():
    table = correlated()
    table[:40, 3] = 50_000.0
    found = odd_cells(table, NAMES, sure=True)
    assert found.doubtful == {"alone": (50_000.0,)}
    assert found.log_odds[:40, 3].min() > 10.0


def test_missing_cells_constant_columns_and_no_columns():
    table = correlated()
    table[:20, 0] = np.nan
    table[:, 3] = 5.0
    found = odd_cells(table, NAMES)
    assert np.isfinite(found.scores).all()
    assert (found.scores[:20, 0] == 0).all()
    empty = odd_cells(np.zeros((4, 0)), ())
    assert empty.row_scores.tolist() == [0.0] * 4
    assert empty.reason(0) == ""


def test_units_do_not_matter():
    table = correlated()
    table[3, 0] = 10.0
    scaled = odd_cells(table * np.array([1000.0, 1000.0, 1000.0, 1000.0, 1.0]), NAMES)
    assert np.abs(scaled.scores).max(axis=0) == pytest.approx(
        np.abs(odd_cells(table, NAMES).scores).max(axis=0), rel=1e-6
    )


def blood_pressure() -> tuple[pd.DataFrame, np.ndarray]:
    """The diabetes data with the blood pressure of seven patients divided by ten."""
    table = load_diabetes(as_frame=True, scaled=False).frame
    rows = np.random.default_rng(0).choice(len(table), 7, replace=False)
    table.loc[rows, "bp"] = (table.loc[rows, "bp"] / 10.0).round(2)
    return table, rows


@pytest.fixture(scope="module")
def slipped() -> tuple[robula.diagnosis.OddRows, np.ndarray, float]:
    """With every row kept: what is told of them is what a user reads who trusts all rows."""
    table, rows = blood_pressure()
    fitted = RobustBayesianRegressor(contamination=0, draws=500).fit(table.drop(columns="target"), table["target"])
    found = robula.influence(fitted.model_, fitted.posterior_)
    listed = robula.odd_rows(fitted.posterior_, table, response="target", influence=found)
    original = load_diabetes(as_frame=True, scaled=False).frame
    right = RobustBayesianRegressor(contamination=0.1, draws=500).fit(
        original.drop(columns="target").drop(index=rows), original["target"].drop(index=rows)
    )
    return listed, rows, float(right.coef_[3])


def test_seven_slipped_blood_pressures_are_first_in_the_list(slipped):
    listed, rows, _ = slipped
    assert set(listed.order[:7]) == set(rows)
    frame = listed.to_frame(7)
    assert frame["why"].str.startswith("bp = ").all()
    assert (frame["why"].str.contains("times 10 it would be usual")).sum() >= 5


def test_the_list_has_all_rows_under_the_labels_of_the_data(slipped):
    listed, _, _ = slipped
    assert len(listed.to_frame()) == len(listed.weights) > 20
    table, _ = blood_pressure()
    table.index = pd.Index([f"patient {place}" for place in range(len(table))], name="who")
    fitted = RobustBayesianRegressor(contamination=0, draws=50).fit(table.drop(columns="target"), table["target"])
    labelled = robula.odd_rows(fitted.posterior_, table, response="target")
    frame = labelled.to_frame(7)
    assert list(frame.index) == [f"patient {place}" for place in frame["row"]]
    assert (table.loc[frame.index, "bp"].to_numpy() < 40).all()
    assert f"first row patient {labelled.kept[0]}: bp = " in labelled.text


def test_what_they_do_to_the_answer_is_told(slipped):
    listed, rows, right = slipped
    matter = listed.matter
    assert set(rows) <= {*listed.kept.tolist(), *np.flatnonzero(listed.weights < 0.5).tolist()}
    assert matter.name == "bp"
    assert matter.in_sds > 1.0
    assert matter.without == pytest.approx(right, abs=0.15)
    assert "They matter: without them bp would be about" in listed.text


def test_the_rule_finds_them_by_itself():
    table, rows = blood_pressure()
    fitted = RobustBayesianRegressor(contamination=0.1, draws=100).fit(table.drop(columns="target"), table["target"])
    assert fitted.row_weights_[rows].max() < 0.01
    assert np.delete(fitted.row_weights_, rows).mean() > 0.99


def test_distrusted_rows_stand_in_the_same_list():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = X @ [1.0, 2.0] + rng.standard_normal(300)
    y[:10] += rng.uniform(20.0, 40.0, 10)
    X[10:13, 1] = -999.0
    y[10:13] = X[10:13, 0]
    model = robula.LinearModel(X, y, noise_scale=1.0)
    posterior = robula.sample(model, contamination=0.2, draws=100, progress=False)
    listed = robula.odd_rows(posterior, X, response=y)
    assert set(listed.order[:13]) == set(range(13))
    assert "-999 is a code for missing in 1: 3 cells" in repr(listed)
    assert listed.matter is None


def test_wrong_input_is_refused():
    posterior = robula.Posterior(np.zeros((1, 4, 1)), np.ones(5), ("a",))
    with pytest.raises(InputError, match="5"):
        robula.odd_rows(posterior, np.zeros((4, 2)))
    with pytest.raises(InputError, match="not a robula posterior"):
        robula.odd_rows(None, np.zeros((4, 2)))
    with pytest.raises(InputError, match="is not known"):
        robula.odd_rows(posterior, pd.DataFrame({"a": range(5)}), response="b")
    with pytest.raises(InputError, match="shape"):
        robula.odd_rows(posterior, pd.DataFrame({"a": range(5)}), response=[1.0])
    for wrong in (0, 1, "a", None):
        with pytest.raises(InputError, match="fdr"):
            robula.flag(posterior, fdr=wrong)


def test_flagged_rows_hold_few_good_ones():
    shares, found = [], []
    for seed in range(12):
        problem = robula.simulate.contaminated_regression(
            "heavy_tails", n_clean=270, dim=3, contamination=0.1, seed=seed
        )
        posterior = robula.sample(problem.model, contamination=0.2, draws=50, progress=False)
        flagged = robula.flag(posterior, fdr=0.1)
        assert flagged.expected_good <= 0.1
        assert (posterior.row_weights[flagged.rows] <= 0.1).all()
        shares.append(1.0 - problem.outlier_mask[flagged.rows].mean() if len(flagged) else 0.0)
        found.append(problem.outlier_mask[flagged.rows].sum() / problem.outlier_mask.sum())
    assert np.mean(shares) <= 0.12
    assert np.mean(found) > 0.3


def test_more_is_flagged_where_more_false_alarms_are_allowed():
    problem = robula.simulate.contaminated_regression("heavy_tails", n_clean=270, dim=3, contamination=0.1, seed=1)
    posterior = robula.sample(problem.model, contamination=0.2, draws=50, progress=False)
    few, many = robula.flag(posterior, fdr=0.01), robula.flag(posterior, fdr=0.5)
    assert set(few.rows) <= set(many.rows)
    assert "rows are flagged" in many.text
    clean = dataclasses.replace(posterior, row_weights=np.ones(300))
    assert robula.flag(clean).text == "No row of 300 is flagged."


def test_good_rows_are_expected_where_the_law_is_off():
    weights = np.array([0.0, 0.01, 0.05, 0.09, 0.5, 1.0])

    def posterior(*law: str) -> robula.Posterior:
        settings = {"rows_found": {"explanations": {}, "law": list(law)}}
        return robula.Posterior(np.zeros((1, 4, 1)), weights, ("a",), settings=settings)

    right = robula.flag(posterior(), fdr=0.1)
    assert right.rows.tolist() == [0, 1, 2, 3]
    assert right.expected_good == pytest.approx(weights[:4].mean())
    off = robula.flag(posterior("tails heavier than declared"), fdr=0.1)
    assert off.rows.tolist() == [0, 1]
    assert off.expected_good == pytest.approx(0.07 + 0.93 * 0.005)
    # What is bad for sure is still to be looked at, and nothing is promised of it.
    little = robula.flag(posterior("tails heavier than declared"), fdr=0.01)
    assert little.rows.tolist() == [0]
    assert "cannot be promised where the law of the rows is off" in little.text
    assert "promised" not in off.text + right.text


def test_weights_that_are_no_probabilities_are_refused():
    problem = robula.simulate.mean_estimation(n_clean=100, dim=2, contamination=0.1, seed=1)
    posterior = robula.sample(problem.model, contamination=0.1, selector="spectral", draws=50, progress=False)
    with pytest.raises(InputError, match="no probabilities"):
        robula.flag(posterior)


@pytest.mark.parametrize("given", ["column", "array"])
def test_labels_may_be_texts(given):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(50.0, 5.0, 200).round(1)})
    table["label"] = np.where(rng.random(200) < 0.5, "yes", "no")
    table.loc[3, "x"] = 5000.0
    posterior = robula.Posterior(rng.normal(size=(1, 8, 1)), np.ones(200), ("x",))
    response = "label" if given == "column" else table["label"].to_numpy()
    listed = robula.odd_rows(posterior, table, response=response)
    assert listed.order[0] == 3
    assert listed.odd[3]


@pytest.mark.parametrize(("count", "words"), [(1, "It matters: without it b "), (2, "They matter: without them b ")])
def test_one_row_is_one(count, words):
    assert matter_words(Matter("b", 1.0, 3.0, 4.0), count).startswith(words)
