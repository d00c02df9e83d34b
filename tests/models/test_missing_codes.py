"""Codes for "missing": what is one, and what only looks like one."""

from __future__ import annotations

import numpy as np
import pytest

from robula.tables.missing_codes import codes_of_columns, repeated_apart


def column(kind, rng):
    plain = rng.gamma(4.0, 50.0, 400)
    return {
        "-200 beyond a small gap": np.append(plain, np.full(30, -200.0)),
        "-999 in a column that reaches lower": np.append(rng.normal(0.0, 3000.0, 400), np.full(30, -999.0)),
        "9999 far out": np.append(plain, np.full(5, 9999.0)),
        "-99 beside ratings": np.append(rng.integers(1, 6, 400), np.full(9, -99.0)),
        "-1 among ages": np.append(rng.integers(20, 60, 400), np.full(9, -1.0)),
        "-5 alone below 0": np.append(rng.uniform(size=400), np.full(9, -5.0)),
    }[kind]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("-200 beyond a small gap", -200.0),
        ("-999 in a column that reaches lower", -999.0),
        ("9999 far out", 9999.0),
        ("-99 beside ratings", -99.0),
        ("-1 among ages", -1.0),
        ("-5 alone below 0", -5.0),
    ],
)
def test_codes(kind, code):
    assert codes_of_columns(column(kind, np.random.default_rng(1))[:, None]) == ((code,),)


@pytest.mark.parametrize(
    "values",
    [
        np.repeat([-1.0, 0.0, 1.0], [120, 160, 120]),  # a factor, coded
        np.repeat([-1.0, 1.0], 200),
        np.append(np.linspace(-0.4, 1.0, 300), np.full(100, -1.0)),  # many zeros, brought to -1..1
        np.append(np.linspace(50.0, 900.0, 300), np.zeros(100)),  # none at all
        np.append(np.round(np.linspace(100.0, 3000.0, 300)), np.full(40, 999.0)),  # prices
        np.full(50, 7.0),
        np.append(np.round(np.linspace(1.0, 300.0, 300)), np.full(20, 646.0)),  # what a group has in common
        np.append(np.linspace(-1.5, 2.0, 300), np.full(20, -1.0)),
    ],
)
def test_what_is_no_code(values):
    assert codes_of_columns(values[:, None]) == ((),)


def test_a_report_may_point_to_nines_inside_the_range():
    prices = np.append(np.round(np.linspace(100.0, 3000.0, 300)), np.full(40, 999.0))
    assert repeated_apart(*np.unique(prices, return_counts=True)).codes == (999.0,)


def doubtful(values):
    found = repeated_apart(*np.unique(values, return_counts=True), sure=True)
    assert found.codes == ()
    return found.doubtful


def test_a_number_that_looks_like_no_code_may_be_one_far_out():
    locations = np.random.default_rng(1).gamma(2.0, 20.0, 400).round()
    assert doubtful(np.append(locations, np.full(20, 646.0))) == (646.0,)
    # Negative controls: once is no repetition, and a value near the others is one of them.
    assert doubtful(np.append(locations, 646.0)) == ()
    assert doubtful(np.append(locations, np.full(20, locations.max() + 10.0))) == ()


@pytest.mark.parametrize("count", [2, 30])
def test_zeros_apart_from_all_others_may_be_codes(count):
    rng = np.random.default_rng(1)
    zeros = np.zeros(count)
    assert doubtful(np.append(rng.uniform(9_900.0, 41_000.0, 400), zeros)) == (0.0,)
    assert doubtful(np.append(rng.integers(28, 38, 400), zeros)) == (0.0,)
    # Negative controls: counts, amounts, and years at school among which 0 is next to the others.
    for ordinary in (rng.poisson(3.0, 400) + 1.0, rng.lognormal(6.0, 1.0, 400), rng.integers(4, 18, 400)):
        assert doubtful(np.append(ordinary, zeros)) == ()


def test_zeros_of_many_rows_are_a_state_of_their_own():
    assert doubtful(np.append(np.random.default_rng(1).uniform(9_900.0, 41_000.0, 400), np.zeros(60))) == ()


def test_the_unit_is_that_of_the_record():
    values = column("-200 beyond a small gap", np.random.default_rng(1))
    assert codes_of_columns(values[:, None] / 1000.0) == ((),)
