"""``robula fit`` for every model: exposures, row weights, and columns that do not suit it."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from robula.cli.main import app

RUNNER = CliRunner()
QUICK = ["--draws", "60", "--burn-in", "100", "--chains", "2", "--no-sensitivity"]
# Real warnings of the sampler become notes of the command; these tests are short on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning")


def invoke(*words: object, code: int = 0) -> str:
    result = RUNNER.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.output


def visits(n: int = 200) -> pd.DataFrame:
    """Counts over unlike times with ten bad rows, how often each row counts, three classes, positive numbers."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=n), "hours": rng.uniform(0.5, 4.0, n), "times": rng.integers(1, 4, n)})
    table["count"] = rng.poisson(table.hours * np.exp(1 + 0.5 * table.x) * rng.gamma(4.0, 0.25, n))
    table.loc[:9, "count"] = 999
    table["class"] = np.where(
        table.x + rng.normal(size=n) > 1, "high", np.where(table.x + rng.normal(size=n) > 0, "mid", "low")
    )
    table["cost"] = np.exp(1 + 0.5 * table.x) * rng.gamma(3.0, 1 / 3, n)
    return table


def test_exposure_and_row_weights_are_columns(tmp_path):
    visits().to_csv(tmp_path / "visits.csv", index=False)
    columns = ["--target", "count", "--features", "x", "--exposure", "hours", "--row-weights", "times"]
    data, run = tmp_path / "visits.csv", tmp_path / "run"
    invoke("fit", data, "--model", "negative-binomial", *columns, "--out", run, *QUICK)
    summary = pd.read_csv(run / "summary.csv", index_col="parameter")
    assert list(summary.index) == ["intercept", "x", "dispersion"]
    assert (summary["mean"] - [1.0, 0.5, 0.25]).abs().max() < 0.3
    weights = pd.read_csv(run / "rows.csv")["weight"]
    assert weights[:10].max() < 0.1
    assert weights[10:].mean() > 0.95
    assert "--exposure hours --row-weights times" in (run / "command.txt").read_text()
    assert "per unit of" in (run / "report.html").read_text()
    doubled = visits().assign(hours=lambda table: 2 * table.hours)
    doubled.to_csv(tmp_path / "doubled.csv", index=False)
    once, twice = (pd.read_csv(io.StringIO(invoke("predict", run, path))) for path in (data, tmp_path / "doubled.csv"))
    np.testing.assert_allclose(twice["prediction"], 2 * once["prediction"])
    visits().drop(columns="hours").to_csv(tmp_path / "bare.csv", index=False)
    assert "no column 'hours'" in invoke("predict", run, tmp_path / "bare.csv", code=2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "linear", "--target", "cost", "--exposure", "hours"], "models with a log link"),
        (["--model", "mean", "--row-weights", "times"], "regressions"),
        (["--model", "poisson", "--target", "count", "--exposure", "count"], "different columns"),
        (["--model", "poisson", "--target", "count", "--exposure", "class"], "one of texts"),
        (["--model", "logistic", "--target", "class"], "--model multinomial"),
        (["--model", "multinomial", "--target", "cost"], "two to 50"),
    ],
)
def test_columns_that_do_not_suit_the_model_are_refused(tmp_path, words, message):
    visits().to_csv(tmp_path / "visits.csv", index=False)
    assert message in invoke("fit", tmp_path / "visits.csv", *words, "--out", tmp_path / "run", *QUICK, code=2)


@pytest.mark.parametrize(("model", "target"), [("multinomial", "class"), ("gamma", "cost"), ("student-t", "cost")])
def test_every_model_fits_predicts_and_reports(tmp_path, model, target):
    visits().to_csv(tmp_path / "visits.csv", index=False)
    run = tmp_path / "run"
    invoke(
        "fit", tmp_path / "visits.csv", "--model", model, "--target", target, "--features", "x", "--out", run, *QUICK
    )
    found = pd.read_csv(io.StringIO(invoke("predict", run, tmp_path / "visits.csv")))
    assert len(found) == 200
    assert (found["low"] <= found["high"]).all()
    if model == "multinomial":
        assert set(found["prediction"]) <= {"high", "low", "mid"}
        assert list(pd.read_csv(run / "summary.csv")["parameter"]) == [
            "low:intercept",
            "low:x",
            "mid:intercept",
            "mid:x",
        ]
        assert found["probability"].between(1 / 3 - 0.01, 1.0).all()
    assert "<html" in (run / "report.html").read_text()
