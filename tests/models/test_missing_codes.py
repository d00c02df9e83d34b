"""Codes for "missing": what is one, and what only looks like one."""

from __future__ import annotations

import numpy as np
import pytest

from robula.tables.missing_codes import codes_of_columns, missing_codes


def column(kind, rng):
    plain = rng.gamma(4.0, 50.0, 400)
    return {
        "-200 beyond a small gap": np.append(plain, np.full(30, -200.0)),
        "-999 in a column that reaches lower": np.append(rng.normal(0.0, 3000.0, 400), np.full(30, -999.0)),
        "9999 far out": np.append(plain, np.full(5, 9999.0)),
        "-99 beside ratings": np.append(rng.integers(1, 6, 400), np.full(9, -99.0)),
    }[kind]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("-200 beyond a small gap", -200.0),
        ("-999 in a column that reaches lower", -999.0),
        ("9999 far out", 9999.0),
        ("-99 beside ratings", -99.0),
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
    ],
)
def test_what_is_no_code(values):
    assert codes_of_columns(values[:, None]) == ((),)


def test_a_report_may_point_to_nines_inside_the_range():
    prices = np.append(np.round(np.linspace(100.0, 3000.0, 300)), np.full(40, 999.0))
    assert missing_codes(*np.unique(prices, return_counts=True)) == (999.0,)


def test_the_unit_is_that_of_the_record():
    values = column("-200 beyond a small gap", np.random.default_rng(1))
    assert codes_of_columns(values[:, None] / 1000.0) == ((),)
