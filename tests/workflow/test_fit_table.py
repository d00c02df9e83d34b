"""``robula fit`` and ``robula predict``, as a user calls them."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import robula
from robula.cli.main import app
from robula.tables.table_files import read_table
from robula.workflow.fit_table import fit_table
from robula.workflow.table_fit import Options

RUNNER = CliRunner()
QUICK = ["--draws", "60", "--burn-in", "100", "--chains", "2", "--no-sensitivity"]
# Real warnings of the sampler become notes of the command; these tests are short on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning")


def people(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Body weights from height, age, a score and a site, with 5 % of the rows corrupted in four ways."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "height": rng.normal(172, 9, n),
            "age": rng.uniform(20, 70, n),
            "score": rng.normal(size=n),
            "site": rng.choice(["north", "south", "east"], n, p=[0.5, 0.3, 0.2]),
        }
    )
    table["mass"] = -80 + 0.85 * table.height + 0.15 * table.age + 2 * table.score + 3 * (table.site == "south")
    table["mass"] += rng.normal(scale=5, size=n)
    table = table.round(3)
    bad = rng.choice(n, size=n // 20, replace=False)
    units, swapped, target, sentinel = np.array_split(bad, 4)
    table.loc[units, "height"] /= 100  # metres
    table.loc[swapped, ["height", "age"]] = table.loc[swapped, ["age", "height"]].to_numpy()
    table.loc[target, "mass"] = -999
    table.loc[sentinel, "age"] = -999
    return table, bad


def invoke(*words: object, code: int = 0) -> str:
    result = RUNNER.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> tuple[Path, np.ndarray]:
    folder = tmp_path_factory.mktemp("fit")
    table, bad = people()
    table.to_csv(folder / "people.csv", index=False)
    output = invoke("fit", folder / "people.csv", "--target", "mass", "--out", folder / "run", "--draws", 200)
    assert "rows count less than half. Verdict: usable" in output
    return folder, bad


def test_corrupted_rows_count_least(run):
    """Wrong units, swapped columns, sentinels: at least 90 % of them are among the rows of lowest weight."""
    folder, bad = run
    rows = pd.read_csv(folder / "run" / "rows.csv")
    told = ["row", "weight", "rank", "doubt"]
    assert list(rows.columns[:4]) == told
    assert list(rows.columns[-5:]) == ["height", "age", "score", "site", "mass"]
    assert list(rows["row"]) == list(range(1, 401))
    lowest = rows["rank"] <= len(bad)
    assert lowest[bad].mean() >= 0.9
    assert lowest.sum() < 1.5 * len(bad)  # ties at weight 0 do not swallow the table


def test_everything_is_written(run):
    folder, _ = run
    written = {path.name for path in (folder / "run").iterdir()}
    assert written == {
        "posterior.npz", "draws.nc", "summary.csv", "rows.csv", "report.html", "run.json", "command.txt"
    }  # fmt: skip
    assert {path.name for path in folder.iterdir()} <= {"people.csv", "run", "again"}  # neither lock nor part
    summary = pd.read_csv(folder / "run" / "summary.csv").set_index("parameter")
    assert list(summary.index) == ["intercept", "height", "age", "score", "site=south", "site=east", "noise_scale"]
    assert abs(summary.loc["height", "mean"] - 0.85) < 0.2
    assert abs(summary.loc["height", "plain_mean"] - 0.85) > 0.3
    assert summary.loc["height", "low"] < 0.85 < summary.loc["height", "high"]
    html = (folder / "run" / "report.html").read_text()
    assert "mass in people.csv" in html
    assert "another share of bad rows" in html
    assert "prediction error of mass" in html


def test_the_command_repeats_the_run(run):
    folder, _ = run
    words = shlex.split((folder / "run" / "command.txt").read_text())
    assert words[:2] == ["robula", "fit"]
    words[words.index("--out") + 1] = str(folder / "again")
    invoke(*words[1:])
    for name in ("rows.csv", "summary.csv"):
        assert (folder / "again" / name).read_bytes() == (folder / "run" / name).read_bytes()


def test_a_run_may_be_overwritten_and_other_folders_not(run, tmp_path):
    folder, _ = run
    (tmp_path / "mine.txt").write_text("keep")
    words = ["fit", folder / "people.csv", "--target", "mass", "--out"]
    assert "holds other files" in invoke(*words, tmp_path, code=2)
    invoke(*words, tmp_path / "new" / "run", *QUICK)
    invoke(*words, tmp_path / "new" / "run", *QUICK)
    assert "is a file" in invoke(*words, tmp_path / "mine.txt", code=2)


def test_predictions_of_a_linear_run(run, tmp_path):
    folder, bad = run
    clean, _ = people()
    clean = clean.drop(index=bad)
    clean.drop(columns="mass").to_csv(tmp_path / "new.csv", index=False)
    invoke("predict", folder / "run", tmp_path / "new.csv", "--out", tmp_path / "p.csv")
    predicted = pd.read_csv(tmp_path / "p.csv")
    assert list(predicted.columns) == ["row", "prediction", "sd", "low", "high"]
    inside = (clean["mass"].to_numpy() > predicted["low"]) & (clean["mass"].to_numpy() < predicted["high"])
    assert 0.88 < inside.mean() < 0.995
    printed = invoke("predict", folder / "run", tmp_path / "new.csv")
    assert printed.startswith("row,prediction,sd,low,high\n1,")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.drop(columns="age"), "no column 'age'"),
        (lambda t: t.assign(site="west"), "were not in the data of the fit, such as 'west' in row"),
        (lambda t: t.assign(age="old"), "was a column of numbers"),
        (lambda t: t.assign(age=[None, *t["age"][1:]]), "1 row(s) have missing"),
    ],
)
def test_new_rows_that_do_not_fit(run, tmp_path, change, words):
    folder, _ = run
    change(people()[0][:20]).to_csv(tmp_path / "new.csv", index=False)
    output = invoke("predict", folder / "run", tmp_path / "new.csv", code=2)
    assert words in output
    assert len(output.strip().splitlines()) == 1


def test_logistic_poisson_and_mean(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    table = pd.DataFrame(
        {
            "x": x,
            "n": rng.poisson(np.exp(1 + 0.5 * x)),
            "won": np.where(rng.uniform(size=200) < 1 / (1 + np.exp(-x)), "yes", "no"),
        }
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    plain = ["--contamination", 0, *QUICK]
    invoke(
        "fit",
        tmp_path / "t.csv",
        "--model",
        "logistic",
        "--target",
        "won",
        "--features",
        "x",
        "--out",
        tmp_path / "l",
        *plain,
    )
    output = invoke("predict", tmp_path / "l", tmp_path / "t.csv").splitlines()
    assert output[0] == "row,prediction,probability,low,high"
    assert output[1].split(",")[1] in ("yes", "no")
    invoke(
        "fit",
        tmp_path / "t.csv",
        "--model",
        "poisson",
        "--target",
        "n",
        "--exclude",
        "won",
        "--out",
        tmp_path / "p",
        *plain,
    )
    assert invoke("predict", tmp_path / "p", tmp_path / "t.csv").startswith("row,prediction,sd,low,high\n1,")
    invoke("fit", tmp_path / "t.csv", "--model", "mean", "--exclude", "won", "--out", tmp_path / "m", *plain)
    summary = pd.read_csv(tmp_path / "m" / "summary.csv").set_index("parameter")
    assert abs(summary.loc["n", "mean"] - table["n"].mean()) < 0.5
    settings = robula.load(tmp_path / "m" / "posterior.npz").settings
    # Draws are in the units of the file, and what is in others is said to be.
    assert settings["standardized"]
    assert "step_size" not in settings
    assert settings["in_standardized_columns"]["setup"]
    assert "nothing to predict" in invoke("predict", tmp_path / "m", tmp_path / "t.csv", code=2)


@pytest.mark.parametrize(("delimiter", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", ".")])
def test_delimiters_and_decimal_commas(tmp_path, delimiter, decimal):
    table = pd.DataFrame({"a, quoted": [1.5, 2.5], 'b "x"': ["p;q", "r\ts"], "c": [1, 2]})
    table.to_csv(tmp_path / "t.csv", sep=delimiter, decimal=decimal, index=False)
    read = read_table(tmp_path / "t.csv")
    assert list(read.columns) == list(table.columns)
    assert list(read["a, quoted"]) == [1.5, 2.5]
    assert list(read['b "x"']) == ["p;q", "r\ts"]


def test_parquet_is_the_same_as_csv(tmp_path):
    pytest.importorskip("pyarrow")
    table, _ = people(60)
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet"), read_table(tmp_path / "t.csv"))
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nonsense")
    output = invoke("fit", tmp_path / "broken.parquet", "--target", "mass", "--out", tmp_path / "o", code=2)
    assert "cannot be read as Parquet" in output


def test_missing_values_are_refused_with_their_rows_or_dropped(tmp_path):
    table, _ = people(80)
    table["age"] = table["age"].astype(object)
    table.loc[[4, 9], "age"] = [None, "n.b."]
    table.loc[20, "site"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", tmp_path / "t.csv", "--target", "mass", "--out", tmp_path / "o", *QUICK]
    output = invoke(*words, code=2)
    assert "3 row(s) have missing, unreadable or infinite values: 5, 10, 21" in output
    assert "By column: 'age' lacks 2; 'site' lacks 1." in output
    assert "--drop-missing, or columns with --exclude" in output
    assert not (tmp_path / "o").exists()
    invoke(*words, "--drop-missing")
    rows = pd.read_csv(tmp_path / "o" / "rows.csv")
    assert len(rows) == 80
    assert list(rows["row"][rows["weight"].isna()]) == [5, 10, 21]
    assert "3 row(s) with missing values were left out" in (tmp_path / "o" / "report.html").read_text()


def test_the_share_of_bad_rows_can_be_estimated(run, tmp_path):
    folder, _ = run
    words = ["fit", folder / "people.csv", "--target", "mass", "--out", tmp_path / "o", "--contamination", "estimate"]
    invoke(*words, *QUICK)
    html = (tmp_path / "o" / "report.html").read_text()
    assert re.search(r"[45][.0-9]* % are estimated to be bad \(standard error", html)


def test_our_columns_give_way_to_the_users(tmp_path):
    table, _ = people(60)
    table.rename(columns={"mass": "weight"}).to_csv(tmp_path / "t.csv", index=False)
    invoke("fit", tmp_path / "t.csv", "--target", "weight", "--out", tmp_path / "o", *QUICK)
    assert {"weight", "robula_weight"} <= set(pd.read_csv(tmp_path / "o" / "rows.csv").columns)


def test_a_nasty_column_is_text_in_the_report(tmp_path):
    table, _ = people(60)
    table.rename(columns={"age": "<script>alert(1)</script>"}).to_csv(tmp_path / "t.csv", index=False)
    invoke("fit", tmp_path / "t.csv", "--target", "mass", "--out", tmp_path / "o", *QUICK)
    html = (tmp_path / "o" / "report.html").read_text()
    assert "<script>alert(1)" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "nope"], "no column 'nope'"),
        (["--target", "mass", "--features", "age,nope"], "no column 'nope'"),
        (["--target", "mass", "--features", "mass"], "among the features"),
        ([], "needs --target"),
        (["--model", "lineer", "--target", "mass"], "Did you mean 'linear'"),
        (["--model", "ols", "--target", "mass"], "'student_t'.\n"),  # and not: did you mean 'poisson'?
        (["--model", "mean", "--target", "mass"], "has no target"),
        (["--model", "mean"], "is a column of texts"),
        (["--model", "logistic", "--target", "mass"], "needs two"),
        (["--model", "linear", "--target", "site"], "needs numbers"),
        (["--model", "poisson", "--target", "mass"], "not counts"),
        (["--target", "mass", "--contamination", "0.7"], "--contamination 0.7 is not a number"),
        (["--target", "mass", "--contamination", "lots"], "--contamination lots is not a number"),
        (["--target", "mass", "--noise-scale", "-1"], "--noise-scale -1.0 is not allowed"),
        (["--target", "mass", "--selector", "nope"], "--selector nope is not known"),
        (["--target", "mass", "--missing", ","], "--missing ',' names nothing"),
        (["--target", "mass", "--exclude", "mass"], "cannot be left out"),
    ],
)
def test_wrong_use_is_one_line(run, tmp_path, arguments, words):
    folder, _ = run
    output = invoke("fit", folder / "people.csv", "--out", tmp_path / "o", *arguments, code=2)
    assert words in output
    assert len(output.strip().splitlines()) == 1
    assert output.startswith("robula fit: ")
    assert not (tmp_path / "o").exists()


def test_debug_shows_the_trace(tmp_path):
    result = RUNNER.invoke(
        app, ["fit", str(tmp_path / "none.csv"), "--target", "y", "--out", str(tmp_path / "o"), "--debug"]
    )
    assert result.exit_code == 1
    assert "there is no file" in str(result.exception)


def test_text_columns_that_are_names_are_refused():
    table = pd.DataFrame({"name": [f"p{i}" for i in range(50)], "x": np.arange(50.0), "y": np.arange(50.0)})
    with pytest.raises(ValueError, match="--exclude name"):
        fit_table(table, model="linear", target="y")


def test_a_file_of_one_category_and_true_false(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"only": "a", "flag": rng.uniform(size=60) < 0.5, "y": rng.normal(size=60)})
    table.to_csv(tmp_path / "t.csv", index=False)
    fitted = fit_table(
        read_table(tmp_path / "t.csv"),
        model="linear",
        target="y",
        options=Options(draws=20, burn_in=20, chains=1, sensitivity=False),
    )
    assert fitted.posterior.parameter_names == ("intercept", "flag", "log_noise_scale")


def test_columns_that_can_hardly_be_meant_are_named():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": np.arange(1001, 1041), "x": rng.normal(size=40), "unit": 7.0, "y": rng.normal(size=40)})
    table["copy"] = table["x"]
    table.loc[3, "x"] = table.loc[3, "copy"] = np.nan
    table.index += 1
    quick = Options(draws=60, chains=2, sensitivity=False, drop_missing=True)
    notes = " ".join(fit_table(table, model="linear", target="y", options=quick).notes)
    assert "'id' counts the rows" in notes  # although a row is left out
    assert "'unit' is 7 in every row" in notes
    assert "'copy' is the same as 'x' in every row" in notes
    assert notes.count("--exclude") == 3
    wide = pd.DataFrame(rng.normal(size=(8, 9)), columns=list("abcdefghy"), index=range(1, 9))
    assert "8 rows for 8 columns" in " ".join(fit_table(wide, model="linear", target="y", options=quick).notes)


def test_short_runs_at_other_shares_leave_no_notes():
    table, _ = people(200)
    table.index += 1
    options = Options(draws=400, chains=4)
    with_path, without = (
        fit_table(table, model="linear", target="mass", options=choice)
        for choice in (options, replace(options, sensitivity=False))
    )
    # A fourth of the draws would not be enough for the answer; they are, for a picture of where it goes.
    assert with_path.notes == without.notes
    assert with_path.sensitivity is not None
