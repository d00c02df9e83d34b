"""The grid of NumPyro models, in short: attacks touch bad rows only, one cell runs, the page's tables are made."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.anymodel import __main__ as board
from benchmarks.anymodel.attacks import ATTACKS, attack
from benchmarks.anymodel.models import MODELS, make
from benchmarks.anymodel.run import Cell, Workbench, grid, methods_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", MODELS)
def test_attacks_change_bad_rows_and_no_others(name):
    problem = make(name, 60, seed=1)
    for kind in ATTACKS:
        data, bad = attack(problem, kind, 0.2, seed=2)
        assert bad.sum() == 12
        for key, values in problem.data.items():
            np.testing.assert_array_equal(data[key][~bad], values[~bad])
        changed = (data["y"] != problem.data["y"])[bad] | (data["X"] != problem.data["X"])[bad].any(axis=1)
        assert changed.mean() > 0.5
        assert np.isfinite(data["y"]).all()
    untouched, bad = attack(problem, "none", 0.0, seed=2)
    assert not bad.any()
    np.testing.assert_array_equal(untouched["y"], problem.data["y"])


def test_the_grid_has_every_model_and_attack_once():
    cells = grid(seeds=2, n=100)
    assert len(set(cells)) == len(cells) == 2 * len(MODELS) * (1 + 3 * len(ATTACKS))


def test_one_cell_and_its_tables(tmp_path, monkeypatch):
    pytest.importorskip("numpyro")
    cell = Cell("linear", "gross", 0.1, 0, 100)
    bench = Workbench(cell, draws=100, chains=2)
    monkeypatch.setattr(board, "REFERENCES", tmp_path / "references.csv")
    board.write_reference(cell, bench.reference())
    reference = board.read_references()[cell]
    assert reference.names == ("beta[0]", "beta[1]", "beta[2]", "beta[3]", "sigma_unconstrained__")
    rows = [bench.line(method, reference) for method in methods_of(cell)]
    bias = {row["method"]: row["bias"] for row in rows}
    assert set(bias) == {"robula", "robula (exact law)", "all rows", "Student-t", "mixture"}
    assert bias["robula"] < 1.0 < bias["all rows"]
    assert rows[0]["bad_weight"] < 0.5 < 0.9 < rows[0]["good_weight"]
    text = board.tables(pd.DataFrame(rows))
    assert "| bad rows | robula | 1 |" in text
    assert "| linear |" in text
