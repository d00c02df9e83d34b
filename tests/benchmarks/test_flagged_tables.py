"""Errors that are put into tables, and what is counted among the rows that are flagged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.realdata import flagged_tables


def table_of(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(50.0, 5.0, n).round(1), rng.integers(0, 2, n)])
    return X, X @ [1.0, 2.0] + rng.normal(size=n)


def test_errors_are_where_they_are_said_to_be():
    X, y = table_of(300)
    kinds = {kind: parts for kind, *parts in flagged_tables.spoiled("a table", X, y)}
    assert set(kinds) == {*flagged_tables.IN_Y, *flagged_tables.IN_X}
    for kind, (features, response, bad) in kinds.items():
        assert 1 <= bad.sum() <= 24, kind
        assert np.array_equal(features[~bad], X[~bad])
        assert np.array_equal(response[~bad], y[~bad])
        assert np.array_equal(features, X) == (kind in flagged_tables.IN_Y)
    features, _, bad = kinds["x = -999"]
    assert (features[bad, 0] == -999.0).all()
    assert np.allclose(kinds["x x 10"][0][kinds["x x 10"][2], 0], 10.0 * X[kinds["x x 10"][2], 0])


@pytest.mark.slow
def test_rows_that_stood_out_before_are_told_apart():
    X, y = table_of(300)
    y[:2] += 40.0  # a mistake of the table's own
    lines = pd.DataFrame([line for line in flagged_tables.look_at("a table", X, y) if line["error"] == "x = -999"])
    line = lines.iloc[0]
    assert line["found"] == 1.0
    assert line["good"] > 0.0
    assert line["good, without what stood out before"] == 0.0
    text = flagged_tables.summary(lines)
    assert text.splitlines()[-1].startswith("| all | 1 | 1.000 |")
