"""Regressions that nobody chose: how a table becomes one, and which half it belongs to."""

from __future__ import annotations

import numpy as np
import pandas as pd
from benchmarks.realdata.many_tables import half, look_at, regression, summary


def table_of(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a = rng.normal(size=n)
    return pd.DataFrame(
        {
            "rownames": np.arange(n), "key": np.arange(n), "a": a, "b": np.round(rng.normal(size=n), 1),
            "kind": rng.choice(["u", "v"], n), "text": [f"t{i % 7}" for i in range(n)],
            "y": 2.0 * a + rng.normal(size=n), "lacking": np.where(np.arange(n) % 2, np.nan, 1.5),
        }
    )  # fmt: skip


def test_a_table_becomes_a_regression_without_labels_texts_and_columns_with_holes():
    (rows, response, columns), X, y = regression(table_of(200))
    assert (rows, response, columns) == (200, "a", ("b", "y", "kind_v"))
    assert X.shape == (200, 3)
    assert y.shape == (200,)
    assert regression(table_of(40)) is None


def test_copies_of_a_table_are_in_the_same_half():
    names = [f"one/item{i}:y" for i in range(200)]
    assert [half(name) for name in names] == [half(name.replace("one", "two")) for name in names]
    # Five standard errors of a share of one half.
    assert abs(np.mean([half(name) == "apart" for name in names]) - 0.5) < 0.18


def test_a_clean_table_loses_nothing_and_its_line_says_so():
    _, X, y = regression(table_of(200))
    row = look_at(("package/item:a", X, y, 0.1))
    assert row["removed"] < 0.02
    assert abs(row["log_likelihood"]) < 0.02
    failed = look_at(("package/other:a", X[:1], y[:1], 0.1)) | {"half": row["half"]}
    line = summary(pd.DataFrame([row, failed])).splitlines()[-1]
    assert line.startswith(f"| {half('package/item:a')} | 0.1 | 2 | 1 |")
    assert line.endswith("| 0.0% | 0.0% | 0.0% |")
    # Rows lost for nothing are silent only if the run is called usable.
    for verdict, silent in (("usable", "100.0%"), ("usable with care", "0.0%")):
        lossy = pd.DataFrame([row | {"removed": 0.3, "verdict": verdict}])
        assert summary(lossy).endswith(f"| 100.0% | 100.0% | 0.0% | 0.0% | {silent} |")
