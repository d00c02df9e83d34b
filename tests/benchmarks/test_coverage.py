"""A short version of benchmarks/coverage.py: one data set a cell, two attacks."""

from __future__ import annotations

import pandas as pd

from benchmarks import coverage


def test_a_run_goes_on_and_its_page_has_the_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(coverage, "_SIZES", ((100, 2),))
    monkeypatch.setattr(coverage, "ATTACKS", {"leverage_cluster": None})
    monkeypatch.setattr("sys.argv", ["coverage", "--datasets", "1", "--results", str(tmp_path)])
    coverage.main()
    first = pd.read_csv(tmp_path / "coverage.csv")
    assert first["attack"].tolist() == [coverage.CLEAN, "leverage_cluster"]
    assert 0.9 < first["spread"][0] < 1.1
    monkeypatch.setattr("sys.argv", ["coverage", "--datasets", "2", "--results", str(tmp_path)])
    coverage.main()
    table = pd.read_csv(tmp_path / "coverage.csv")
    assert table[:2].equals(first)
    assert len(table) == 4
    assert "4 data sets" in (tmp_path / "coverage.md").read_text()
