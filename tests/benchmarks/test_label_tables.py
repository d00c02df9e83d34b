"""Labels that nobody chose: how a table becomes a problem, and what its line says."""

from __future__ import annotations

import numpy as np
import pandas as pd
from benchmarks.realdata.label_tables import labels, look_at, summary
from benchmarks.realdata.many_tables import half


def table_of(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a = rng.normal(size=n)
    return pd.DataFrame(
        {
            "rownames": np.arange(n), "a": a, "kind": rng.choice(["u", "v", "w"], n),
            "rare": rng.random(n) < 0.2, "even": np.where(rng.logistic(size=n) < 1.5 * a, "yes", "no"),
        }
    )  # fmt: skip


def test_the_two_valued_column_nearest_to_half_and_half_is_the_label_and_its_rarer_value_is_1():
    table = table_of(300)
    (rows, response, columns), X, y = labels(table)
    assert (rows, response, columns) == (300, "even", ("a", "rare", "kind_v"))
    assert X.shape == (300, 4)
    np.testing.assert_array_equal(y, (table["even"] == table["even"].value_counts().index[-1]).astype(float))
    assert labels(table.drop(columns=["even", "rare"])) is None


def test_too_few_of_a_class_or_classes_told_apart_for_sure_are_left_out():
    table = table_of(300).drop(columns="even")
    table["rare"] = np.arange(300) < 19
    assert labels(table) is None
    table["rare"] = table["a"] > 0.3
    assert labels(table) is None


def test_a_clean_table_loses_nothing_and_its_line_says_so():
    _, X, y = labels(table_of(300))
    row = look_at(("package/item:even", X, y, 0.2))
    assert row["removed"] < 0.02
    assert abs(row["base_rate"]) < 0.02
    assert abs(row["log_likelihood"]) < 0.02
    failed = look_at(("package/other:even", X, np.full(300, 7.5), 0.2)) | {"half": row["half"]}
    line = summary(pd.DataFrame([row, failed])).splitlines()[-1]
    assert line.startswith(f"| {half('package/item:even')} | 0.2 | 2 | 1 |")
    for verdict, silent in (("usable", "100.0%"), ("usable with care", "0.0%")):
        lossy = pd.DataFrame([row | {"removed": 0.3, "verdict": verdict}])
        assert summary(lossy).endswith(f"| {silent} |")
